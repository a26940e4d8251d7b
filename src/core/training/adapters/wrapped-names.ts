/**
 * What parameters are called once peft has wrapped a model: the model stands in `base_model.model`, an adapted layer in its
 * `base_layer`, a copied module in `modules_to_save` (peft/tuners/tuners_utils.py, BaseTuner and BaseTunerLayer;
 * peft/utils/other.py, ModulesToSaveWrapper).
 */
import type { Tensor } from "../../engine/tensor";
import type { Named } from "../part-of";
import type { PlacedTensor } from "../placed";

/** The one adapter that scripts put on (peft/peft_model.py, `adapter_name`). */
const NAME = "default";

/** The path of a module, and what a parameter is called in it. */
function cut(name: string): readonly [string, string] {
  const at = name.lastIndexOf(".");
  return [name.slice(0, at), name.slice(at + 1)];
}

/**
 * @param parameters those of the model with its adapter
 * @param placed those of the model before
 */
export function wrappedNames(
  parameters: readonly Tensor[],
  placed: readonly PlacedTensor[],
): readonly { readonly tensor: Tensor; readonly item: Named }[] {
  const own = new Map(placed.map((item) => [item.name, item]));
  const added = parameters.flatMap(({ name }) => (name === null || own.has(name) ? [] : [name]));
  const adapted = new Set(added.map((name) => cut(name)[0]));
  return parameters.flatMap((tensor) => {
    const { name, layer: index } = tensor;
    if (name === null) return [];
    const [path, last] = cut(name);
    const inside = (): string => {
      if (path === "prompt_encoder") return `${path}.${NAME}.${last}`;
      if (!own.has(name)) return `base_model.model.${path}.${last}.${NAME}.weight`;
      if (tensor.pattern?.endsWith(".saved")) return `base_model.model.${path}.modules_to_save.${NAME}.${last}`;
      return `base_model.model.${path}${adapted.has(path) ? ".base_layer" : ""}.${last}`;
    };
    return [{ tensor, item: { name: inside(), module: own.get(name)?.module ?? "", index } }];
  });
}
