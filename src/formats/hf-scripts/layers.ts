/** Lists of layers that a script puts in the place of the model's own (`model.model.layers = nn.ModuleList(…)`). */
import type { PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { loadsBehind } from "./training";

/** What transformers' models call the list of their layers. */
const LAYERS = /^(?:layers?|h|blocks?)$/;

/** How many stay is known when the script runs: they are named as not counted. */
export function replacedLayers(python: PythonModule): readonly LocatedSetting[] {
  return python.effects.flatMap(({ path, attribute, value: node, start, end }): LocatedSetting[] => {
    const names = path.steps.flatMap((step) => (step.kind === "attribute" ? [step.name] : []));
    const isPart = LAYERS.test(attribute) && names.length > 0 && names.length === path.steps.length;
    if (!isPart || loadsBehind(python, path.object).length === 0) return [];
    const key = [path.root, ...names, attribute].join(".");
    const valueSpan = { start: node.start, end: node.end };
    return [{ name: null, key, value: null, uncounted: true, node, keySpan: { start, end }, valueSpan }];
  });
}
