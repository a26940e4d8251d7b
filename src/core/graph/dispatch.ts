/**
 * Rows of experts that other ranks hold: they are sent there before the experts' first product and come back behind the last. Where
 * a rank has several experts, what arrives is sorted by them, and back.
 * Source: megatron/core/transformer/moe/token_dispatcher.py (MoEAlltoAllTokenDispatcher: token_dispatch, dispatch_postprocess,
 * combine_preprocess, token_combine), moe_utils.py (sort_chunks_by_idxs), moe_layer.py (MoELayer.forward).
 */
import { bareName, nameOf } from "./reads";
import type { ArchitectureGraph, FamilyGraphs, GraphFunction, Instruction, Operand, OpInstruction } from "./types";

const PRODUCT = "_grouped_mm";
/** Both give as many rows as they take, in forward and in backward. */
const STEPS = { sent: "all_to_all_single", sorted: "sort_chunks" } as const;

/** Steps from one value to the next; the last has the name `to`. */
function through(from: string, to: string, operators: readonly string[]): OpInstruction[] {
  const names = [from, ...operators.map((_, k) => (k === operators.length - 1 ? to : `${to}.${k}`))];
  return operators.map((op, k) => ({ op, in: [`%${names[k]!}`], out: [names[k + 1]!] }));
}

/** Lets go of what the steps read, once the next is there. */
function passingOn(steps: readonly OpInstruction[]): Instruction[] {
  return steps.flatMap((step) => [step, { drop: step.in.map((name) => bareName(String(name))) }]);
}

/** The instruction with another value where it reads `from`, or lets it go. */
function renamed(instruction: Instruction, from: string, to: string): Instruction {
  const other = (operand: Operand): Operand => (nameOf(operand) === from ? `%${to}` : operand);
  if ("drop" in instruction) return { drop: instruction.drop.map((name) => (bareName(name) === from ? to : name)) };
  return "op" in instruction || "call" in instruction
    ? ({ ...instruction, in: instruction.in.map(other) } as Instruction)
    : instruction;
}

function dispatched(fn: GraphFunction, sorts: boolean): GraphFunction {
  const products = fn.body.flatMap((one, k) => ("op" in one && one.op === PRODUCT ? [k] : []));
  const [first, last] = [products[0], products.at(-1)];
  if (first === undefined || last === undefined || first === last) return fn;
  const rows = nameOf((fn.body[first] as OpInstruction).in[0]);
  const [made] = (fn.body[last] as OpInstruction).out;
  if (rows === undefined || made === null || made === undefined) return fn;
  const sorted = sorts ? [STEPS.sorted] : [];
  const result = bareName(made);
  const arrived = `${rows}.arrived`;
  const own = `${result}.own`;
  const there = through(rows, arrived, [STEPS.sent, ...sorted]);
  // `MoELayer.forward` names what it sent, and what came, until the layer's result is there.
  const named: Instruction = { drop: there.map((step) => bareName(String(step.in[0]))) };
  const ends = fn.body.findIndex((one, k) => k > last && "scope" in one);
  const body = fn.body.flatMap((one, k): Instruction[] => {
    if (k < first) return [one];
    const instruction = renamed(one, rows, arrived);
    if (k === first) return [...there, instruction];
    if (k === ends) return [named, instruction];
    if (k !== last) return [instruction];
    const product = { ...(instruction as OpInstruction), out: [own] };
    return [product, ...passingOn(through(own, result, [...sorted, STEPS.sent]))];
  });
  return { ...fn, body };
}

/** Whether a family's experts are multiplied together, which is what rows are sent to. */
export function groupsExperts({ graphs }: Pick<FamilyGraphs, "graphs">): boolean {
  return graphs.some(({ blocks }) => blocks.some(({ body }) => body.some((one) => "op" in one && one.op === PRODUCT)));
}

/** The graph of one rank among those that share the experts; `sorts`: each has several. */
export function withDispatch(graph: ArchitectureGraph, sorts: boolean): ArchitectureGraph {
  return { ...graph, blocks: graph.blocks.map((fn) => dispatched(fn, sorts)) };
}
