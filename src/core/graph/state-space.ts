/**
 * State-space mixers as `mamba_ssm` runs them in training, where it is installed: one autograd function. Captured is what runs without
 * the package: the scan written out in PyTorch. Of Mamba 1, all between the first product and the last one's result
 * (transformers/models/mamba/modeling_mamba.py, MambaMixer.forward; the same in falcon_mamba, with norms). Of Mamba 2, from the first
 * product to the last (transformers/models/mamba2/modeling_mamba2.py, Mamba2Mixer.forward; the same code in bamba, falcon_h1,
 * granitemoehybrid, nemotron_h and zamba2).
 */
import { base, rebuild, writes } from "./rewrite";
import type { ArchitectureGraph, GraphFunction, Instruction, Operand, OpInstruction } from "./types";

interface Mixer {
  readonly path: string;
  /** A third product stands between the two: Mamba 1 makes its time steps of what was convolved. */
  readonly selects: boolean;
  /** Where the first product's result is split, and where the last product is called. */
  readonly from: number;
  readonly to: number;
}

const isOp = (instruction: Instruction | undefined, ...names: readonly string[]): instruction is OpInstruction =>
  instruction !== undefined && "op" in instruction && names.includes(base(instruction.op));

/**
 * Modules between whose two products a scan stands. Jamba's has its norms elsewhere and calls convolution and scan one by one
 * (transformers/models/jamba/modeling_jamba.py, JambaMambaMixer.forward): it is left as it is.
 */
function mixersOf({ body }: GraphFunction): readonly Mixer[] {
  const calledAt = (path: string): number => body.findIndex((one) => "call" in one && one.path === path);
  return body.flatMap((instruction, k): Mixer[] => {
    if (!("call" in instruction) || !instruction.path.endsWith(".in_proj")) return [];
    const path = instruction.path.slice(0, -".in_proj".length);
    const to = calledAt(`${path}.out_proj`);
    const scans = body.some((one) => "in" in one && one.in.includes(`@${path}.A_log`));
    if (to < k || !scans) return [];
    const selects = calledAt(`${path}.x_proj`) >= 0;
    const from = body.findIndex((one, n) => n > k && isOp(one, selects ? "chunk" : "split_with_sizes"));
    return from < k || from > to || normsApart(body, path) ? [] : [{ path, selects, from, to }];
  });
}

/** Norms with weights of their own stand on the time steps, which the function norms after their product. */
const normsApart = (body: readonly Instruction[], path: string): boolean =>
  body.some((one) => "in" in one && one.in.includes(`@${path}.dt_layernorm.weight`));

/** Lists of sizes that the written-out scan gives its views. */
function viewed(steps: readonly Instruction[], rank: number): readonly (readonly Operand[])[] {
  return steps.flatMap((step) => {
    const sizes = isOp(step, "view", "reshape") ? step.in[1] : undefined;
    return Array.isArray(sizes) && sizes.length === rank ? [sizes] : [];
  });
}

/** A weight of the mixer; null: it has none. */
function weightOf({ body }: GraphFunction, { path }: Mixer, name: string): Operand {
  const named = `@${path}.${name}`;
  return body.some((one) => "in" in one && one.in.includes(named)) ? named : null;
}

/** The function without what stands between two places, and the last product replaced. */
function replaced(fn: GraphFunction, { from, to }: Mixer, whole: Omit<OpInstruction, "out">): GraphFunction {
  const last = fn.body[to]!;
  const gone = new Set(fn.body.flatMap((one, k) => (k >= from && k < to && !("drop" in one) ? [k] : [])));
  return rebuild(fn, gone, new Map([[to, { ...whole, out: "out" in last ? last.out : [] }]]));
}

/** Mamba 1: what the function is given in float32 stands before the split. */
function selective(fn: GraphFunction, mixer: Mixer): GraphFunction {
  const { path, from } = mixer;
  const before = fn.body.slice(0, from);
  const decay = before.findLast((one) => isOp(one, "neg"));
  const wide = (name: string): Operand => {
    const cast = before.findLast((one) => isOp(one, "to") && one.in[0] === `@${path}.${name}`);
    return cast === undefined ? null : `%${writes(cast)[0]}`;
  };
  const norms = fn.body.some((one) => "scope" in one && one.scope === `${path}.dt_layernorm`);
  if (decay === undefined) return fn;
  return replaced(fn, mixer, {
    op: "mamba_inner",
    in: [
      (fn.body[from] as OpInstruction).in[0]!,
      `@${path}.conv1d.weight`,
      weightOf(fn, mixer, "conv1d.bias"),
      `@${path}.x_proj.weight`,
      `@${path}.dt_proj.weight`,
      `@${path}.out_proj.weight`,
      wide("out_proj.bias"),
      `%${writes(decay)[0]}`,
      wide("D"),
      wide("dt_proj.bias"),
      norms,
    ],
  });
}

function combined(fn: GraphFunction, mixer: Mixer): GraphFunction {
  const { path, from, to } = mixer;
  const steps = fn.body.slice(from, to);
  const weight = (name: string): Operand => weightOf(fn, mixer, name);
  const split = fn.body[from] as OpInstruction;
  const decay = fn.body.slice(0, from).findLast((one) => isOp(one, "neg"));
  const kernel = fn.body.slice(0, from).findLast((one) => isOp(one, "squeeze"));
  // The second of the views by heads is of what the scan's groups share; the first of rank five cuts the sequence into chunks.
  const groups = viewed(steps, 4)[1]?.[2];
  const chunk = viewed(steps, 5)[0]?.[2];
  if (decay === undefined || kernel === undefined || groups === undefined || chunk === undefined) return fn;
  return replaced(fn, mixer, {
    op: "mamba_split_conv1d_scan_combined",
    in: [
      split.in[0]!,
      `%${writes(kernel)[0]}`,
      weight("conv1d.bias"),
      weight("dt_bias"),
      `%${writes(decay)[0]}`,
      weight("D"),
      weight("norm.weight"),
      `@${path}.out_proj.weight`,
      chunk,
      groups,
    ],
  });
}

/** Paths (`{i}`: of every layer) of the last products of such mixers: the function multiplies by their weights itself. */
export const stateSpaceProducts = (graph: ArchitectureGraph): readonly string[] =>
  [graph.main, ...graph.blocks].flatMap((fn) => mixersOf(fn).map(({ path }) => `${path}.out_proj`));

/** The graph as it runs with `mamba_ssm`. */
export function withStateSpaceKernels(graph: ArchitectureGraph): ArchitectureGraph {
  const fused = (fn: GraphFunction, mixer: Mixer): GraphFunction =>
    mixer.selects ? selective(fn, mixer) : combined(fn, mixer);
  const each = (fn: GraphFunction): GraphFunction => mixersOf(fn).reduceRight(fused, fn);
  return { ...graph, main: each(graph.main), blocks: graph.blocks.map(each) };
}
