/**
 * peft's `modules_to_save`: the frozen original stays and a full trainable copy takes its place.
 * Source: peft/utils/other.py (ModulesToSaveWrapper).
 */
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { PlacedTensor } from "../model";
import type { AdapterSpec } from "../run";

/** Replaces a parameter of a saved module by its trainable copy; false when the module is not one. */
export function applyModulesToSave(
  torch: Torch,
  adapter: AdapterSpec,
  item: PlacedTensor,
  byName: Map<string, Tensor>,
  parameters: Tensor[],
): boolean {
  const path = item.name.replace(/\.[^.]+$/, "");
  if (!adapter.modulesToSave.some((name) => path === name || path.endsWith(`.${name}`))) return false;
  const copy = torch.empty("clone", item.sizes, item.dtype);
  if (copy.storage.id >= 0) torch.ledger.kinds[copy.storage.id] = "adapters";
  copy.name = item.name;
  copy.requiresGradFlag = true;
  byName.set(item.name, copy);
  parameters.push(copy);
  return true;
}
