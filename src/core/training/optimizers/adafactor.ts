/**
 * transformers' Adafactor: factored second moments in float32, everything else recomputed per parameter. Python's
 * locals keep the last parameter's tensors until the next one's replace them. GaLore's own is the same around a projection.
 * Sources: transformers/optimization.py (Adafactor.step), galore-torch 1.0 (adafactor.py).
 */
import { type DType, ELEMENT_BYTES } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "./locals";
import { type OptimizerFactory, replaceStates, state, withGradient } from "./types";

function isHalf(dtype: DType): boolean {
  return ELEMENT_BYTES[dtype] === 2;
}

/** `tensor.norm(2) / numel ** 0.5`: two scalars, the second is the result. */
function rms(torch: Torch): Tensor {
  const norm = torch.empty("linalg_vector_norm", [], "float32");
  const result = torch.empty("div", [], "float32");
  norm.release();
  return result;
}

/** `r_factor * c_factor` from the row and column means. */
function approximate(torch: Torch, sizes: readonly number[]): Tensor {
  const rows = sizes.slice(0, -1);
  const columns = [...sizes.slice(0, -2), sizes[sizes.length - 1]!];
  const mean = torch.empty("mean", [...rows.slice(0, -1), 1], "float32");
  const rowFactor = torch.empty("div", rows, "float32");
  mean.release();
  const columnFactor = torch.empty("rsqrt", columns, "float32");
  const product = torch.empty("mul", sizes, "float32");
  rowFactor.release();
  columnFactor.release();
  return product;
}

/** What GaLore puts around an update. */
export interface GradientProjection {
  /** Sizes of the projected gradient. */
  readonly sizes: readonly number[];
  /** Projects the gradient; owned. */
  project(torch: Torch): Tensor;
  /** Projects the update back; owned. */
  back(torch: Torch): Tensor;
}

/** The states of one optimizer: what was made, and the scalar root mean squares that every step replaces. */
export class AdafactorStates {
  private readonly seen = new Set<Tensor>();
  private readonly roots = new Map<Tensor, Tensor>();

  constructor(private readonly firstMoment: boolean) {}

  make(torch: Torch, parameter: Tensor, sizes: readonly number[]): void {
    if (this.seen.has(parameter)) return;
    this.seen.add(parameter);
    if (this.firstMoment) state(torch, "zeros_like", sizes, "float32");
    if (sizes.length >= 2) {
      state(torch, "_to_copy", sizes.slice(0, -1), "float32");
      state(torch, "_to_copy", [...sizes.slice(0, -2), sizes[sizes.length - 1]!], "float32");
    } else state(torch, "zeros_like", sizes, "float32");
  }

  replaceRoot(torch: Torch, parameter: Tensor): void {
    const root = rms(torch);
    const old = this.roots.get(parameter);
    for (const stays of replaceStates(torch, old === undefined ? [] : [old], [root])) {
      this.roots.set(parameter, stays);
      torch.ledger.relabel(stays.storage.id, "optimizer");
    }
  }
}

export const adafactor: OptimizerFactory = (_, groups, args) => {
  const states = new AdafactorStates(args["beta1"] !== undefined && args["beta1"] !== "None");
  return {
    step(torch) {
      const locals = new Locals();
      for (const parameter of groups.flatMap(withGradient)) adafactorUpdate(torch, parameter, locals, states, null);
      locals.release();
    },
  };
};

/** One parameter's update; `projection` is GaLore's, or null. */
export function adafactorUpdate(
  torch: Torch,
  parameter: Tensor,
  locals: Locals,
  states: AdafactorStates,
  projection: GradientProjection | null,
): void {
  const { sizes } = parameter;
  const grad = parameter.grad!;
  locals.bind("grad", grad.retain());
  if (isHalf(grad.dtype)) locals.bind("grad", torch.empty("_to_copy", sizes, "float32"));
  if (projection !== null) locals.bind("grad", projection.project(torch));
  const low = projection?.sizes ?? sizes;
  states.make(torch, parameter, low);
  locals.bind("p_data_fp32", parameter.retain());
  if (isHalf(parameter.dtype)) locals.bind("p_data_fp32", torch.empty("_to_copy", sizes, "float32"));
  states.replaceRoot(torch, parameter);
  const squared = torch.empty("pow", low, "float32");
  locals.bind("update", torch.empty("add", low, "float32"));
  squared.release();
  if (low.length >= 2) {
    torch.empty("mean", low.slice(0, -1), "float32").release();
    torch.empty("mean", [...low.slice(0, -2), low[low.length - 1]!], "float32").release();
    locals.bind("update", approximate(torch, low));
  } else locals.bind("update", torch.empty("rsqrt", low, "float32"));
  const scale = rms(torch);
  const ratio = torch.empty("div", [], "float32");
  scale.release();
  ratio.release();
  if (projection !== null) locals.bind("update", projection.back(torch));
  // p_data_fp32.add_(-update)
  torch.empty("neg", sizes, "float32").release();
}
