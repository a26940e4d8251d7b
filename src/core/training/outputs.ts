/** Accelerate's view of a model's outputs under mixed precision (accelerate/utils/operations.py, convert_outputs_to_fp32). */
import { isFloating } from "../engine/dtype";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";

/** The outputs in float32, owned; the half-precision ones live until all are converted. */
export function toFloat32(torch: Torch, outputs: readonly Tensor[]): Tensor[] {
  const converted = outputs.map((output) =>
    isFloating(output.dtype) && output.dtype !== "float32" && output.dtype !== "float64"
      ? torch.toCopy(output, "float32")
      : output.retain(),
  );
  for (const output of outputs) output.release();
  return converted;
}
