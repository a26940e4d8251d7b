/** Layers that a script takes out of the model (`del model.model.layers[8:]`), and lists of them that it puts in the place of the model's own. */
import type { PythonEffect, PythonModule } from "../../syntax/tree";
import type { LayerCut } from "../../terms/layer-cut";
import type { LocatedSetting } from "../types";
import { listed, uncounted } from "./called";
import { loadsBehind, trainingOf } from "./training";

/** What transformers' models call the list of their layers. */
export const LAYERS = /^(?:layers?|h|blocks?)$/;
/** More are no way that anybody cuts a model. */
const MOST_CUTS = 64;
/** The list of an encoder that stands alone (transformers/models/bert/modeling_bert.py, `encoder.layer`); halves of two have `layers` and `block`. */
const ALONE = /^[a-z0-9_]{1,40}\.encoder\.layer$/;
/** A list that is one of two, or that the config counts nowhere. */
const APART = /^(?:encoder|decoder|vision_\w{1,30}|\w{1,30}_tower|visual)$/;

/** Names on the way to the list, its own last; none: the way goes through something else. */
function namesOf({ path, attribute }: PythonEffect): readonly string[] {
  const names = path.steps.flatMap((step) => (step.kind === "attribute" ? [step.name] : []));
  return names.length === path.steps.length && names.length > 0 && LAYERS.test(attribute) ? [...names, attribute] : [];
}

/** Which of a list's own layers an effect leaves in it; undefined: others, or some that cannot be told. */
function cutOf({ source, path, attribute, deletes, guards }: PythonEffect): LayerCut | undefined {
  const items = source?.steps.at(-1);
  if (source === null || (items?.kind !== "items" && items?.kind !== "picked") || guards.length > 0) return undefined;
  const list = [...path.steps, { kind: "attribute", name: attribute }];
  const same = source.root === path.root && JSON.stringify(source.steps.slice(0, -1)) === JSON.stringify(list);
  const { kind: _, ...chosen } = items;
  return same ? { ...chosen, keeps: deletes !== true } : undefined;
}

/**
 * What a script does to the model's layers before it trains: `layer_cuts`, each as JSON, where what stays can be told; else the list is
 * named as not counted.
 */
export function changedLayers(python: PythonModule): readonly LocatedSetting[] {
  const { ends } = trainingOf(python);
  const changes = python.effects.filter(
    (effect) =>
      effect.order <= ends && namesOf(effect).length > 0 && loadsBehind(python, effect.path.object).length > 0,
  );
  const cuts = changes.map(cutOf);
  const names = changes.map((effect) => [effect.path.root, ...namesOf(effect)].join("."));
  const [first] = changes;
  if (first === undefined) return [];
  const isOne =
    changes.length <= MOST_CUTS &&
    new Set(names).size === 1 &&
    (ALONE.test(namesOf(first).join(".")) || !namesOf(first).some((name) => APART.test(name)));
  if (!isOne || cuts.includes(undefined))
    return changes.map(({ value, start, end }, k) => uncounted(names[k]!, { start, end }, value));
  const texts = cuts.map((cut, k) => ({ at: changes[k]!, text: JSON.stringify(cut) }));
  return listed("layer_cuts", names[0]!, texts);
}
