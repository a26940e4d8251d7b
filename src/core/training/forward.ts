/** A forward as accelerate wraps it (accelerate/accelerator.py, prepare_model), and the batch it is given. */
import type { DType } from "../engine/dtype";
import type { Fold } from "../engine/folding/plan";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import { toFloat32 } from "./outputs";
import type { Pass } from "./trainers/pass";

/** One tensor that the trainer hands to the model. */
export interface BatchTensor {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly dtype: DType;
}

/** Makes what a micro-batch runs; folded ones leave out layers that repeat their neighbours. */
export type PassFactory = (fold: Fold) => Pass;

/** The batch on the device, named in the graph's order. */
export function allocateBatch(torch: Torch, batch: readonly BatchTensor[]): Tensor[] {
  return batch.map(({ sizes, dtype }) => torch.empty("zeros", sizes, dtype));
}

/**
 * The model's forward as accelerate wraps it.
 *
 * @param step the step whose forward phase starts with it, or null when it belongs to the phase in force
 * @param converts whether accelerate hands on the outputs in float32
 * @returns the loss first, then what else the model returns, all owned by the caller
 */
export function forward(
  torch: Torch,
  pass: Pass,
  batch: readonly Tensor[],
  autocast: DType | null,
  step: number | null,
  converts = true,
): Tensor[] {
  if (step !== null) torch.ledger.enter("forward", step);
  torch.kind = "activations";
  torch.autocastEnabled = autocast !== null && pass.ownsAutocast === undefined;
  torch.autocastDtype = autocast;
  let outputs = pass.main(batch);
  torch.autocastEnabled = false;
  torch.clearCastCache();
  if (autocast !== null && converts) outputs = toFloat32(torch, outputs);
  torch.logits = false;
  return outputs;
}
