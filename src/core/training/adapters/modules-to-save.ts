/**
 * Modules trained as full copies: the frozen original stays and a trainable copy takes its place.
 * Sources: peft/utils/other.py (ModulesToSaveWrapper, _set_trainable), peft/tuners/ln_tuning/layer.py.
 */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { isTable, type PlacedTensor } from "../placed";

/** The module that is saved and holds a parameter: the first on its path that ends as a listed name does. */
export function savedModule(modules: readonly string[], parameter: string): string | undefined {
  if (modules.length === 0) return undefined;
  const parts = parameter.split(".").slice(0, -1);
  const paths = parts.map((_, k) => parts.slice(0, k + 1).join("."));
  return paths.find((path) => modules.some((name) => path.endsWith(name)));
}

/** Replaces a parameter of a saved module by its trainable copy. */
export function applyModulesToSave(
  torch: Torch,
  item: PlacedTensor,
  byName: Map<string, Tensor>,
  parameters: Tensor[],
  castTo?: DType,
): void {
  // A copy of what is there by now: `prepare_model_for_kbit_training` may have raised it to float32.
  const copy = torch.empty("clone", item.sizes, castTo ?? byName.get(item.name)?.dtype ?? item.dtype);
  torch.ledger.relabel(copy.storage.id, "adapters");
  copy.name = item.name;
  // A copied embedding is one, too, which optimizers of 8 bits keep at 32 (transformers/trainer.py, create_optimizer).
  copy.moduleKind = item.module;
  copy.isTable = isTable(item);
  copy.requiresGradFlag = true;
  copy.layer = item.index;
  copy.pattern = `${item.pattern}.saved`;
  byName.set(item.name, copy);
  parameters.push(copy);
}
