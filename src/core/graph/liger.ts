/**
 * What `use_liger_kernel` puts in place of a model's own operations: the fused linear cross-entropy (no logits), RMSNorm
 * and the gated activation. Rewrites the captured graph, so that everything else stays as it was. Rotary embedding's
 * fused kernel saves only short-lived temporaries and is left out.
 * Source: liger_kernel/transformers/monkey_patch.py.
 */
import type { ChunkedLossSpec } from "../training/run";
import { LIGER_FAMILIES, type LigerKernel } from "./liger-families";
import { bareName } from "./reads";
import type { ArchitectureGraph, GraphFunction, Instruction, Operand, OpInstruction } from "./types";

/** Values named anywhere in an operand. */
function valuesOf(operand: Operand): string[] {
  if (typeof operand === "string") return operand.startsWith("%") ? [operand.slice(1)] : [];
  return Array.isArray(operand) ? operand.flatMap((item: Operand) => valuesOf(item)) : [];
}

function reads(instruction: Instruction): string[] {
  return "in" in instruction ? instruction.in.flatMap(valuesOf) : [];
}

function writes(instruction: Instruction): string[] {
  if (!("out" in instruction)) return [];
  return instruction.out.filter((name): name is string => name !== null).map(bareName);
}

const base = (operator: string): string => operator.split(".")[0]!;

/** What one operator on the head's input and weight takes besides. */
interface LossOperator {
  readonly op: string;
  readonly more: (labels: Operand) => readonly Operand[];
}

/** Replaces everything from the head's logits to the loss by one operator on the head's input. */
function fuseLoss(main: GraphFunction, head: string, { op, more }: LossOperator): GraphFunction {
  const start = main.body.findIndex((instruction) => "call" in instruction && instruction.path === head);
  const end = main.body.findIndex(
    (instruction) => "op" in instruction && base(instruction.op) === "cross_entropy_loss",
  );
  const call = main.body[start];
  const loss = main.body[end] as OpInstruction | undefined;
  if (call === undefined || !("call" in call) || loss === undefined || end < start) return main;
  const gone = new Set(writes(call));
  const removed = new Set<number>([start]);
  for (let k = start + 1; k < end; k++) {
    const instruction = main.body[k]!;
    if (!reads(instruction).some((name) => gone.has(name))) continue;
    for (const name of writes(instruction)) gone.add(name);
    removed.add(k);
  }
  const fused: Instruction = {
    op,
    in: [call.in[0]!, `@${head}.weight`, ...more(loss.in[1]!)],
    out: loss.out,
  };
  const fn = rebuild(main, removed, new Map([[end, fused]]));
  return { ...fn, outputs: main.outputs.filter((name) => !gone.has(bareName(name))) };
}

/** The operators of an RMSNorm as models write it, and what each takes from the one before. */
const RMS_NORM = ["to", "pow", "mean", "add", "rsqrt", "mul", "to", "mul"] as const;

function fuseNorms(fn: GraphFunction): GraphFunction {
  const removed = new Set<number>();
  const replaced = new Map<number, Instruction>();
  const operators = fn.body
    .map((instruction, k) => ({ instruction, k }))
    .filter(({ instruction }) => !("drop" in instruction) && !("scope" in instruction));
  for (let n = 0; n + RMS_NORM.length <= operators.length; n++) {
    const window = operators.slice(n, n + RMS_NORM.length);
    if (!window.every(({ instruction }, k) => "op" in instruction && base(instruction.op) === RMS_NORM[k])) continue;
    const steps = window.map(({ instruction }) => instruction as OpInstruction);
    const weight = steps[7]!.in.find((operand) => typeof operand === "string" && operand.startsWith("@"));
    const chained = steps.every((step, k) => k === 0 || k === 5 || reads(step).includes(writes(steps[k - 1]!)[0]!));
    if (weight === undefined || !chained || steps[0]!.in[1] !== "$float32") continue;
    for (const { k } of window) removed.add(k);
    replaced.set(window[7]!.k, { op: "liger_rms_norm", in: [steps[0]!.in[0]!, weight], out: steps[7]!.out });
  }
  return rebuild(fn, removed, replaced);
}

/** `act(gate) * up` as one operator that keeps both factors and nothing else. */
function fuseGates(fn: GraphFunction): GraphFunction {
  const removed = new Set<number>();
  const replaced = new Map<number, Instruction>();
  fn.body.forEach((instruction, k) => {
    if (!("call" in instruction) || instruction.call !== "Activation") return;
    const activated = writes(instruction)[0]!;
    const product = fn.body.findIndex(
      (other, n) => n > k && "op" in other && base(other.op) === "mul" && reads(other).includes(activated),
    );
    const mul = fn.body[product] as OpInstruction | undefined;
    const up = mul?.in.find((operand) => valuesOf(operand)[0] !== activated);
    if (mul === undefined || typeof up !== "string" || !up.startsWith("%")) return;
    removed.add(k);
    replaced.set(product, { op: "liger_gated_product", in: [instruction.in[0]!, up], out: mul.out });
  });
  return rebuild(fn, removed, replaced);
}

/** A function without some instructions and with others in place; what a new one reads lives until it. */
function rebuild(
  fn: GraphFunction,
  removed: ReadonlySet<number>,
  replaced: ReadonlyMap<number, Instruction>,
): GraphFunction {
  const last = new Map<string, number>();
  for (const [at, instruction] of replaced) for (const name of reads(instruction)) last.set(name, at);
  const late = new Map<number, string[]>();
  const drops = fn.body.map((instruction, k): Instruction => {
    if (!("drop" in instruction)) return instruction;
    const kept = instruction.drop.filter((name) => {
      const until = last.get(bareName(name));
      if (until === undefined || until < k) return true;
      late.set(until, [...(late.get(until) ?? []), name]);
      return false;
    });
    return { drop: kept };
  });
  const body = drops.flatMap((instruction, k): Instruction[] => {
    const other = replaced.get(k);
    const delayed = late.get(k);
    if (other !== undefined) return delayed === undefined ? [other] : [other, { drop: delayed }];
    return removed.has(k) ? [] : [instruction];
  });
  return { ...fn, body };
}

/** Whether Liger puts a kernel into models of a `model_type` when it is asked for nothing in particular. */
export function ligerPatches(family: string, kernel: LigerKernel): boolean {
  return LIGER_FAMILIES[family]?.split(" ").includes(kernel) === true;
}

/** Whether Liger leaves models of a `model_type` as they are. */
export const ligerLeavesAlone = (family: string): boolean => LIGER_FAMILIES[family] === undefined;

/** Which kernels run: the fused loss, the norms, the gate (when Liger has a gated kernel for the activation). */
export interface LigerKernels {
  readonly loss: boolean;
  /** Float32 logits of a piece of the loss, where they decide how many pieces there are. */
  readonly pieceBytes?: number | undefined;
  readonly norms: boolean;
  readonly gates: boolean;
}

const LIGER: LossOperator = { op: "liger_fused_linear_cross_entropy", more: (labels) => [labels] };

/** Operators between a model's logits and its cross-entropy: they change the dtype or the shape, and nothing else. */
const REWRITES: ReadonlySet<string> = new Set(["to", "_to_copy", "view", "reshape", "contiguous", "alias", "slice"]);

/** Replaces the cross-entropy and the copies before it by one operator on the logits as the model returns them. */
function overLogits(main: GraphFunction, chunks: number): GraphFunction {
  const end = main.body.findIndex(
    (instruction) => "op" in instruction && base(instruction.op) === "cross_entropy_loss",
  );
  const loss = main.body[end] as OpInstruction | undefined;
  if (loss === undefined) return main;
  const removed = new Set<number>();
  let logits = loss.in[0]!;
  for (let k = end - 1; k >= 0; k--) {
    const instruction = main.body[k]!;
    if (!("op" in instruction) || !writes(instruction).includes(valuesOf(logits)[0]!)) continue;
    if (!REWRITES.has(base(instruction.op))) break;
    removed.add(k);
    logits = instruction.in[0]!;
  }
  const operator: Instruction = { op: "cross_entropy_of_pieces", in: [logits, loss.in[1]!, chunks], out: loss.out };
  return rebuild(main, removed, new Map([[end, operator]]));
}

/** The graph with a loss over pieces of every sequence in place of its own. */
export function withChunkedLoss(
  graph: ArchitectureGraph,
  head: string | null,
  { chunks, compiled, keepsLogits, whole }: ChunkedLossSpec,
): ArchitectureGraph {
  if (head === null || graph.task !== "causal-lm") return graph;
  if (whole === true) return { ...graph, main: overLogits(graph.main, chunks) };
  const operator = { op: "chunked_cross_entropy", more: (labels: Operand) => [labels, chunks, compiled, keepsLogits] };
  return { ...graph, main: fuseLoss(graph.main, head, operator) };
}

/** The graph as it runs with Liger's kernels. */
export function withLiger(graph: ArchitectureGraph, head: string | null, kernels: LigerKernels): ArchitectureGraph {
  const fuse = (fn: GraphFunction): GraphFunction => {
    const normed = kernels.norms ? fuseNorms(fn) : fn;
    return kernels.gates ? fuseGates(normed) : normed;
  };
  const fused = kernels.loss && head !== null && graph.task === "causal-lm";
  const { pieceBytes } = kernels;
  const more = (labels: Operand): Operand[] => (pieceBytes === undefined ? [labels] : [labels, pieceBytes]);
  const main = fused ? fuseLoss(graph.main, head, { ...LIGER, more }) : graph.main;
  return { ...graph, main: fuse(main), blocks: graph.blocks.map(fuse) };
}
