/**
 * What `use_liger_kernel` puts in place of a model's own operations: the fused linear cross-entropy (no logits), RMSNorm
 * and the gated activation. Rewrites the captured graph, so that everything else stays as it was. Rotary embedding's
 * fused kernel saves only short-lived temporaries and is left out.
 * Source: liger_kernel/transformers/monkey_patch.py.
 */
import { table } from "../../terms/table";
import captured from "./liger-families.json";
import { bareName } from "./reads";
import { base, reads, rebuild, valuesOf, writes } from "./rewrite";
import type { ArchitectureGraph, GraphFunction, Instruction, Operand, OpInstruction } from "./types";

/** Kernels that Liger puts into a model by itself, by `model_type`: a type that is not here is left alone. */
const KERNELS: Readonly<Record<string, readonly string[]>> = table(captured.families);

export type LigerKernel =
  | "cross_entropy"
  | "fused_linear_cross_entropy"
  | "geglu"
  | "layer_norm"
  | "relu_squared"
  | "rms_norm"
  | "rope"
  | "swiglu";

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

/** Whether Liger puts a kernel into models of a `model_type` when it is asked for nothing in particular. */
export function ligerPatches(family: string, kernel: LigerKernel): boolean {
  return KERNELS[family]?.includes(kernel) === true;
}

/** Whether Liger leaves models of a `model_type` as they are. */
export const ligerLeavesAlone = (family: string): boolean => KERNELS[family] === undefined;

/** Which kernels run: the fused loss, the norms, the gate (when Liger has a gated kernel for the activation). */
export interface LigerKernels {
  readonly loss: boolean;
  /** Float32 logits of a piece of the loss, where they decide how many pieces there are. */
  readonly pieceBytes?: number | undefined;
  readonly norms: boolean;
  readonly gates: boolean;
}

const LIGER: LossOperator = { op: "liger_fused_linear_cross_entropy", more: (labels) => [labels] };

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
