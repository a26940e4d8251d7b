/**
 * Modules trained as full copies: the frozen original stays and a trainable copy takes its place.
 * Sources: peft/utils/other.py (ModulesToSaveWrapper, _set_trainable), peft/tuners/ln_tuning/layer.py.
 */
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { PlacedTensor } from "../placed";

/** Whether a parameter is in a module that is saved: the path of the module ends as a listed name does. */
export function isSaved(modules: readonly string[], parameter: string): boolean {
  if (modules.length === 0) return false;
  const parts = parameter.split(".").slice(0, -1);
  return parts.some((_, k) => {
    const path = parts.slice(0, k + 1).join(".");
    return modules.some((name) => path.endsWith(name));
  });
}

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
