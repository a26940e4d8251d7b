/**
 * The models a trainer's loss calls, cut from their training graphs: up to the hidden states that the head would take
 * (`model.base_model(...)`), or up to the logits (`model(...)` without labels).
 */
import { bareName, outputOf } from "../../graph/reads";
import type { ArchitectureGraph, Instruction } from "../../graph/types";

const named = (operand: unknown): string | null =>
  typeof operand === "string" && operand.startsWith("%") ? operand.slice(1) : null;

/** Where the model's own forward takes over from its backbone: the last change to the root scope before the head. */
function headStart(body: readonly Instruction[], head: string): { start: number; input: string } | null {
  const call = body.findIndex((instruction) => "call" in instruction && instruction.path === head);
  const instruction = body[call];
  if (instruction === undefined || !("call" in instruction)) return null;
  let start = call;
  while (start > 0) {
    const before = body[start - 1]!;
    if ("scope" in before && before.scope === "") break;
    start--;
  }
  if (start === 0) return null;
  // The head's input goes back through views of the backbone's output.
  let input = named(instruction.in[0]);
  for (let k = call - 1; k >= start && input !== null; k--) {
    const made = body[k]!;
    if ("op" in made && made.out.some((name) => name === input || name === `%${input}`)) input = named(made.in[0]);
  }
  return input === null ? null : { start: start - 1, input };
}

/** The graph as far as the hidden states; null when the head cannot be told from the backbone. */
export function untilHidden(graph: ArchitectureGraph, head: string | null): ArchitectureGraph | null {
  if (head === null) return null;
  const found = headStart(graph.main.body, head);
  if (found === null) return null;
  const { start, input } = found;
  return withMain(graph, graph.main.body.slice(0, start), input);
}

/** The graph of a body with the states of its tokens alone: what it makes of them beside is let go of where it is called. */
export function statesOfBody(graph: ArchitectureGraph): ArchitectureGraph {
  return { ...graph, main: { ...graph.main, outputs: graph.main.outputs.slice(0, 1) } };
}

/** The graph of a classifier as far as the states that its head takes, for each token. */
export function untilStates(graph: ArchitectureGraph, head: string | null): ArchitectureGraph | null {
  const { body } = graph.main;
  const at = body.findIndex((instruction) => "call" in instruction && instruction.path === head);
  const call = body[at];
  const states = call !== undefined && "call" in call ? named(call.in[0]) : null;
  return states === null ? null : withMain(graph, body.slice(0, at), states);
}

/**
 * The graph as far as the logits, its output after the loss.
 *
 * @param kept tokens at the end of the sequence whose logits are asked for (`logits_to_keep`); 0: all
 */
export function untilLogits(graph: ArchitectureGraph, head: string | null, kept = 0): ArchitectureGraph | null {
  const logits = outputOf(graph.main, 1);
  if (logits === undefined) return null;
  const made = graph.main.body.findIndex(
    (instruction) => "out" in instruction && instruction.out.some((name) => name !== null && bareName(name) === logits),
  );
  if (made < 0) return null;
  const body = graph.main.body.slice(0, made + 1);
  return withMain(graph, kept > 0 ? withLast(body, head, kept) : body, logits);
}

/** Value that holds the hidden states whose logits are asked for. */
const KEPT = "kept";

/** `hidden_states[:, -kept:, :]` before the head, a view (transformers/models/llama/modeling_llama.py, forward). */
function withLast(body: readonly Instruction[], head: string | null, kept: number): Instruction[] {
  return body.flatMap((instruction): Instruction[] => {
    if (!("call" in instruction) || instruction.path !== head) return [instruction];
    const [hidden, ...rest] = instruction.in;
    return [
      { op: "slice.Tensor", in: [hidden!, 1, -kept, Number.MAX_SAFE_INTEGER], out: [KEPT] },
      { ...instruction, in: [`%${KEPT}`, ...rest] },
      { drop: [KEPT] },
    ];
  });
}

/** Inputs that only the loss took (labels) are left out by whoever runs it. */
function withMain(graph: ArchitectureGraph, body: readonly Instruction[], output: string): ArchitectureGraph {
  const others = graph.main.outputs.slice(LOSS_AND_LOGITS).filter((name) => makes(body, bareName(name)));
  return { ...graph, main: { ...graph.main, body, outputs: [output, ...others] } };
}

/** Outputs every training graph begins with; what follows are states that the model's outputs name, of its pictures for one. */
const LOSS_AND_LOGITS = 2;

function makes(body: readonly Instruction[], value: string): boolean {
  return body.some(
    (instruction) => "out" in instruction && instruction.out.some((name) => name !== null && bareName(name) === value),
  );
}

/** Tensors of a batch that are text, or that losses make of it. */
const OF_TEXT: ReadonlySet<string> = new Set(["input_ids", "labels", "num_items_in_batch"]);

/** What a trainer's loss hands on to its models as it came: pictures, and what says how they lie in the text. */
export function mediaOf({ batch }: ArchitectureGraph): ArchitectureGraph["batch"] {
  return batch.filter(({ name }) => !OF_TEXT.has(name));
}

/** The mask of paddings, which earlier releases' models take as it is; every trainer hands it on. */
export const MASK = "attention_mask";

/** Whether a model takes pictures or recordings beside its text. */
export function takesMedia(graph: ArchitectureGraph): boolean {
  return mediaOf(graph).some(({ name }) => name !== MASK);
}
