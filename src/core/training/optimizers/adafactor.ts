/**
 * transformers' Adafactor: factored second moments in float32, everything else recomputed per parameter. Python's
 * locals keep the last parameter's tensors until the next one's replace them.
 * Source: transformers/optimization.py (Adafactor.step).
 */
import { type DType, ELEMENT_BYTES } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "./locals";
import { type OptimizerFactory, state, withGradient } from "./types";

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

export const adafactor: OptimizerFactory = (_, groups, args) => {
  const firstMoment = args["beta1"] !== undefined && args["beta1"] !== "None";
  const seen = new Set<Tensor>();
  const roots = new Map<Tensor, Tensor>();
  return {
    step(torch) {
      const locals = new Locals();
      for (const group of groups)
        for (const parameter of withGradient(group)) update(torch, parameter, locals, seen, roots, firstMoment);
      locals.release();
    },
  };
};

function update(
  torch: Torch,
  parameter: Tensor,
  locals: Locals,
  seen: Set<Tensor>,
  roots: Map<Tensor, Tensor>,
  firstMoment: boolean,
): void {
  const { sizes } = parameter;
  const grad = parameter.grad!;
  locals.bind("grad", grad.retain());
  if (isHalf(grad.dtype)) locals.bind("grad", torch.empty("_to_copy", sizes, "float32"));
  const factored = sizes.length >= 2;
  if (!seen.has(parameter)) {
    seen.add(parameter);
    if (firstMoment) state(torch, "zeros_like", sizes, "float32");
    if (factored) {
      state(torch, "_to_copy", sizes.slice(0, -1), "float32");
      state(torch, "_to_copy", [...sizes.slice(0, -2), sizes[sizes.length - 1]!], "float32");
    } else state(torch, "zeros_like", sizes, "float32");
  }
  locals.bind("p_data_fp32", parameter.retain());
  if (isHalf(parameter.dtype)) locals.bind("p_data_fp32", torch.empty("_to_copy", sizes, "float32"));
  const root = rms(torch);
  roots.get(parameter)?.release();
  roots.set(parameter, root);
  if (root.storage.id >= 0) torch.ledger.kinds[root.storage.id] = "optimizer";
  const squared = torch.empty("pow", sizes, "float32");
  locals.bind("update", torch.empty("add", sizes, "float32"));
  squared.release();
  if (factored) {
    torch.empty("mean", sizes.slice(0, -1), "float32").release();
    torch.empty("mean", [...sizes.slice(0, -2), sizes[sizes.length - 1]!], "float32").release();
    locals.bind("update", approximate(torch, sizes));
  } else locals.bind("update", torch.empty("rsqrt", sizes, "float32"));
  const scale = rms(torch);
  const ratio = torch.empty("div", [], "float32");
  scale.release();
  ratio.release();
  // p_data_fp32.add_(-update)
  torch.empty("neg", sizes, "float32").release();
}
