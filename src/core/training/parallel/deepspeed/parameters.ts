/** Parameters as DeepSpeed leaves them on the device. */
import type { DType } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { reserve } from "../strategy";

/**
 * `flatten_dense_tensors_aligned` and `_update_model_bit16_weights` (deepspeed/runtime/zero/stage_1_and_2.py): the parameters
 * are parts of one block from now on, and their own go.
 */
export function flattenParameters(torch: Torch, parameters: readonly Tensor[], aligned: number, dtype: DType): void {
  const own = parameters.filter(({ storage }) => storage.id >= 0);
  // Where the card has no room for both, the copy is made on the host: it adds nothing to what loading needs.
  for (const { storage } of own) torch.ledger.free(storage.id);
  const flat = reserve(torch, "flatten_dense_tensors_aligned", aligned, dtype, "weights");
  for (const { storage } of own) storage.id = flat.storage.id;
}
