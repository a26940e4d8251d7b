/**
 * The state-space mixers of Mamba 2 as `mamba_ssm` runs them in training, where it is installed: one autograd function from the
 * first product to the last (transformers/models/mamba2/modeling_mamba2.py, Mamba2Mixer.forward; the same code in bamba, falcon_h1,
 * granitemoehybrid, nemotron_h and zamba2). Captured is what runs without the package: the scan written out in PyTorch.
 */
import { base, rebuild, writes } from "./rewrite";
import type { ArchitectureGraph, GraphFunction, Instruction, Operand, OpInstruction } from "./types";

interface Mixer {
  readonly path: string;
  /** Where the first product's result is split, and where the last product is called. */
  readonly from: number;
  readonly to: number;
}

const isOp = (instruction: Instruction | undefined, ...names: readonly string[]): instruction is OpInstruction =>
  instruction !== undefined && "op" in instruction && names.includes(base(instruction.op));

/** Modules between whose two products a scan of Mamba 2 stands: that of Mamba 1 has a product more (`x_proj`). */
function mixersOf({ body }: GraphFunction): readonly Mixer[] {
  const calledAt = (path: string): number => body.findIndex((one) => "call" in one && one.path === path);
  return body.flatMap((instruction, k): Mixer[] => {
    if (!("call" in instruction) || !instruction.path.endsWith(".in_proj")) return [];
    const path = instruction.path.slice(0, -".in_proj".length);
    const to = calledAt(`${path}.out_proj`);
    const scans = body.some((one) => "in" in one && one.in.includes(`@${path}.A_log`));
    if (to < k || !scans || calledAt(`${path}.x_proj`) >= 0) return [];
    const from = body.findIndex((one, n) => n > k && isOp(one, "split_with_sizes"));
    return from < k || from > to ? [] : [{ path, from, to }];
  });
}

/** Lists of sizes that the written-out scan gives its views. */
function viewed(steps: readonly Instruction[], rank: number): readonly (readonly Operand[])[] {
  return steps.flatMap((step) => {
    const sizes = isOp(step, "view", "reshape") ? step.in[1] : undefined;
    return Array.isArray(sizes) && sizes.length === rank ? [sizes] : [];
  });
}

function fused(fn: GraphFunction, { path, from, to }: Mixer): GraphFunction {
  const steps = fn.body.slice(from, to);
  const weight = (name: string): Operand => {
    const named = `@${path}.${name}`;
    return fn.body.some((one) => "in" in one && one.in.includes(named)) ? named : null;
  };
  const split = fn.body[from] as OpInstruction;
  const decay = fn.body.slice(0, from).findLast((one) => isOp(one, "neg"));
  const kernel = fn.body.slice(0, from).findLast((one) => isOp(one, "squeeze"));
  // The second of the views by heads is of what the scan's groups share; the first of rank five cuts the sequence into chunks.
  const groups = viewed(steps, 4)[1]?.[2];
  const chunk = viewed(steps, 5)[0]?.[2];
  const last = fn.body[to]!;
  if (decay === undefined || kernel === undefined || groups === undefined || chunk === undefined) return fn;
  const whole: Instruction = {
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
    out: "out" in last ? last.out : [],
  };
  const gone = new Set(fn.body.flatMap((one, k) => (k >= from && k < to && !("drop" in one) ? [k] : [])));
  return rebuild(fn, gone, new Map([[to, whole]]));
}

/** Whether the graph has such mixers. */
export const hasStateSpaces = (graph: ArchitectureGraph): boolean =>
  [graph.main, ...graph.blocks].some((fn) => mixersOf(fn).length > 0);

/** The graph as it runs with `mamba_ssm`. */
export function withStateSpaceKernels(graph: ArchitectureGraph): ArchitectureGraph {
  const each = (fn: GraphFunction): GraphFunction => mixersOf(fn).reduceRight(fused, fn);
  return { ...graph, main: each(graph.main), blocks: graph.blocks.map(each) };
}
