/**
 * A forward on one rank's part of sequences that several share. What the Trainer prepares before they are cut is given to the model:
 * labels that are shifted already, and positions, of every row (transformers/trainer.py, _prepare_context_parallel_inputs;
 * transformers/loss/loss_utils.py, ForCausalLMLoss with `shift_labels`).
 */
import { base, writes } from "./rewrite";
import type { ArchitectureGraph, Instruction, Operand } from "./types";

/** Operators that take the place of positions on the way from `arange` to the model's own use of them. */
const POSITIONS: ReadonlySet<string> = new Set(["add", "unsqueeze"]);

/** Name of the positions in the batch. */
const GIVEN = "position_ids";

/**
 * The graph whose labels are not shifted, and whose positions come with the batch.
 *
 * @param given what comes with the batch beside
 * @param rows how many rows of it there are
 */
export function onSharedSequences(
  graph: ArchitectureGraph,
  given: readonly string[],
  rows: "1" | "B",
): ArchitectureGraph {
  const shifted = new Set<Operand>(["%labels"]);
  const positions = new Set<Operand>([`%${GIVEN}`]);
  const frequencies = new Set<Operand>();
  const follow = (values: Set<Operand>, instruction: Instruction): void => {
    for (const value of writes(instruction)) values.add(`%${value}`);
  };
  const body = graph.main.body.map((instruction): Instruction => {
    if (!("op" in instruction)) return instruction;
    const { in: inputs, out } = instruction;
    const [input] = inputs;
    const operator = base(instruction.op);
    const ofTable = typeof input === "string" && /^@.*inv_freq$/.test(input);
    if (operator === "unsqueeze" && (ofTable || frequencies.has(input!))) follow(frequencies, instruction);
    if (operator === "expand" && frequencies.has(input!)) return { ...instruction, in: [input!, ["=B", -1, 1]] };
    if (operator === "arange" && inputs.length === 1 && input === "=S") {
      follow(positions, instruction);
      return { op: "alias", in: [`%${GIVEN}`], out };
    }
    const shifts = (operator === "pad" || operator === "slice") && shifted.has(input!);
    const places = POSITIONS.has(operator) && positions.has(input!) && typeof inputs[1] === "number" && inputs[1] === 0;
    if (!shifts && !places) return instruction;
    follow(shifts ? shifted : positions, instruction);
    return { op: "alias", in: [input!], out };
  });
  return {
    ...graph,
    batch: [...graph.batch, ...given.map((name) => ({ name, shape: [rows, "S"], dtype: "$int64" as const }))],
    main: { ...graph.main, inputs: [...graph.main.inputs, ...given], body },
  };
}
