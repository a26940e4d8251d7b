/** Parameters as DeepSpeed leaves them on the device. */
import { type DType, ELEMENT_BYTES } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { reserve } from "../strategy";

/**
 * `flatten_dense_tensors_aligned` and `_update_model_bit16_weights` (deepspeed/runtime/zero/stage_1_and_2.py): the parameters
 * are parts of one block from now on, and their own go.
 *
 * @param roomBytes where the card has them for the block beside all else, it is made there, and the segments of what goes are what the steps
 *   find in the pool (the cache is emptied before a group, not after it); else parameters wait on the host
 */
export function flattenParameters(
  torch: Torch,
  parameters: readonly Tensor[],
  aligned: number,
  dtype: DType,
  roomBytes = 0,
): void {
  const own = parameters.filter(({ storage }) => storage.id >= 0);
  const make = (): Tensor => reserve(torch, "flatten_dense_tensors_aligned", aligned, dtype, "weights");
  const free = (): void => {
    for (const { storage } of own) torch.ledger.free(storage.id);
  };
  const isBeside = torch.ledger.live + aligned * ELEMENT_BYTES[dtype] <= roomBytes;
  torch.ledger.segmentsFrom = isBeside ? torch.ledger.eventCount : null;
  if (!isBeside) free();
  const flat = make();
  if (isBeside) free();
  for (const { storage } of own) storage.id = flat.storage.id;
}
