/**
 * Optimizers that step one parameter after the other; the locals of the loop keep the last parameter's tensors.
 * Sources: torchdistx (optimizers/anyprecision_optimizer.py), torch-optimi 0.3 (stableadamw.py), grokadamw 0.1
 * (grokadamw.py), with the arguments transformers/trainer_optimizer.py gives them.
 */

import { floatNamed } from "../../../terms/dtypes";
import { type DType, ELEMENT_BYTES } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "./locals";
import { type OptimizerFactory, state, stateLike, withGradient } from "./types";

/** Runs `update` on every parameter with a gradient; `first` is true when its states do not exist yet. */
function loop(
  groups: readonly (readonly Tensor[])[],
  update: (torch: Torch, parameter: Tensor, locals: Locals, first: boolean) => void,
): { step(torch: Torch): void } {
  const seen = new Set<Tensor>();
  return {
    step(torch) {
      const locals = new Locals();
      for (const parameter of groups.flatMap(withGradient)) {
        update(torch, parameter, locals, !seen.has(parameter));
        seen.add(parameter);
      }
      locals.release();
    },
  };
}

function temporary(torch: Torch, operator: string, parameter: Tensor, dtype: DType = parameter.dtype): Tensor {
  return torch.empty(operator, parameter.sizes, dtype);
}

/** Moments in dtypes of their own, optionally with a Kahan compensation. */
export const anyPrecision: OptimizerFactory = (_, groups, args) => {
  const dtype = (name: string, fallback: DType): DType => floatNamed(args[name]) ?? fallback;
  const momentum = dtype("momentum_dtype", "float32");
  const variance = dtype("variance_dtype", "float32");
  const compensation = dtype("compensation_buffer_dtype", "bfloat16");
  const kahan = /^(true|1|yes|y|t|on)$/i.test(args["use_kahan_summation"] ?? "");
  return loop(groups, (torch, parameter, locals, first) => {
    if (first) {
      stateLike(torch, parameter, momentum);
      stateLike(torch, parameter, variance);
      if (kahan) stateLike(torch, parameter, compensation);
    }
    const root = temporary(torch, "sqrt", parameter, variance);
    locals.bind("centered_variance", temporary(torch, "div", parameter, variance));
    root.release();
    if (kahan) locals.bind("temp_buffer", temporary(torch, "clone", parameter));
  });
};

/** The Triton kernels (the default on CUDA) work in place; half-precision parameters get a Kahan compensation. */
export const stableAdamW: OptimizerFactory = (_, groups) =>
  loop(groups, (torch, parameter, __, first) => {
    if (!first) return;
    stateLike(torch, parameter);
    stateLike(torch, parameter);
    state(torch, "tensor", [], parameter.dtype);
    if (ELEMENT_BYTES[parameter.dtype] === 2) stateLike(torch, parameter);
    else state(torch, "zeros", [1], "uint8");
    state(torch, "zeros", [1], "float32");
  });

/** Three states per parameter wait on the host and visit the device one parameter at a time. */
export const grokAdamW: OptimizerFactory = (_, groups) =>
  loop(groups, (torch, parameter, locals) => {
    const average = temporary(torch, "_to_copy", parameter);
    locals.bind("exp_avg_sq", temporary(torch, "_to_copy", parameter));
    locals.bind("exp_avg", average);
    locals.bind("grok_ema", temporary(torch, "_to_copy", parameter));
    const amplified = temporary(torch, "mul", parameter);
    locals.bind("grok_grad", temporary(torch, "add", parameter));
    amplified.release();
    temporary(torch, "sqrt", parameter).release();
  });
