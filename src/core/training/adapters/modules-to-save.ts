/**
 * Modules trained as full copies: the frozen original stays and a trainable copy takes its place.
 * Sources: peft/utils/other.py (ModulesToSaveWrapper), peft/tuners/ln_tuning/layer.py.
 */
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { PlacedTensor } from "../placed";

/** Replaces a parameter of a saved module by its trainable copy. */
export function applyModulesToSave(
  torch: Torch,
  item: PlacedTensor,
  byName: Map<string, Tensor>,
  parameters: Tensor[],
): void {
  const copy = torch.empty("clone", item.sizes, item.dtype);
  torch.ledger.relabel(copy.storage.id, "adapters");
  copy.name = item.name;
  copy.requiresGradFlag = true;
  copy.layer = item.index;
  copy.pattern = `${item.pattern}.saved`;
  byName.set(item.name, copy);
  parameters.push(copy);
}
