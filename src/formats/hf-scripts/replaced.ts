/**
 * Modules that a script puts in the place of the model's own (`layer.mlp = MyMLP(config)`): what they keep is the script's. In the layers
 * they are most of the model, so that a number without them would be another model's; elsewhere they are named as not counted.
 */
import type { PythonEffect, PythonModule, PythonStep } from "../../syntax/tree";
import type { ReplacedModule } from "../../terms/replaced-module";
import type { LocatedSetting } from "../types";
import { placed, scalar, uncounted } from "./called";
import { isModel } from "./freezing";
import { LAYERS } from "./layers";
import { rawOf } from "./loads";
import { builtNetwork, isReadHead } from "./networks";
import { loadsBehind, trainingOf } from "./training";

/** A value that is made or changed by a call. */
const MADE = /^[\w.]{1,200}\(/;
/** What hangs on a model and is no module of it. */
const NO_MODULE =
  /^(?:data|grad|config|\w{0,40}_config|requires_grad|device|dtype|hf_device_map|\w{0,40}tokenizer|\w{0,40}processor)$/;
const MOST = 8;

/** Replaced modules: of layers as `replaced_modules`, others as keys that nothing is computed from. */
export function replacedModules(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const put = python.effects.filter(
    (effect) => effect.order <= training.ends && puts(effect) && isModel(effect.path, training, python),
  );
  const inLayers =
    put.find(({ path, attribute }) => attribute !== "forward" && isOfLayers(path.steps)) ?? setByName(python);
  if (inLayers !== undefined) {
    const key = "callee" in inLayers ? inLayers.callee : nameOf(inLayers);
    return [placed("replaced_modules", key, inLayers, scalar(true, inLayers), true)];
  }
  const others = put.filter((effect) => !isReadHead(nameOf(effect), rawOf(effect.value) ?? "", python));
  const named = others.slice(0, MOST);
  return [...named.map((effect) => uncounted(nameOf(effect), effect, effect.value)), ...replacements(named, python)];
}

/** Layers of torch's in the place of modules of a library's network; which of them its graph can be given, the analysis says. */
function replacements(effects: readonly PythonEffect[], python: PythonModule): readonly LocatedSetting[] {
  const put = effects.flatMap((effect): ReplacedModule[] =>
    effect.layers === undefined ? [] : [{ path: pathOf(effect), key: nameOf(effect), layers: effect.layers }],
  );
  const [first] = effects;
  if (put.length === 0 || first === undefined || builtNetwork(python) === undefined) return [];
  const value = JSON.stringify(put);
  return [placed("module_replacements", nameOf(first), first, scalar(value, first), value)];
}

function puts({ path, attribute, value, deletes }: PythonEffect): boolean {
  const { object } = path;
  const ofSelf = object.kind === "unknown" && object.raw === "self";
  const onConfig = path.steps.some((step) => step.kind === "attribute" && NO_MODULE.test(step.name));
  const isMade = value.kind === "unknown" && MADE.test(value.raw);
  // Lists of layers are followed for themselves (`changedLayers`).
  return isMade && deletes !== true && !ofSelf && !onConfig && !NO_MODULE.test(attribute) && !LAYERS.test(attribute);
}

/** Whether a way leads through a loop, or through the list of the layers. */
function isOfLayers(steps: readonly PythonStep[]): boolean {
  return steps.some(
    (step, k) =>
      step.kind === "each" || (step.kind === "attribute" && LAYERS.test(step.name) && steps[k + 1]?.kind === "items"),
  );
}

/** `setattr(parent, name, Quantized(module))`, which scripts call for the modules that they go through. */
function setByName(python: PythonModule) {
  const { load, ends } = trainingOf(python);
  if (load === undefined) return undefined;
  return python.calls.find(({ callee, positional: [owner, , value], order = 0 }) => {
    const made = value?.kind === "unknown" && MADE.test(value.raw);
    return callee === "setattr" && order <= ends && made && loadsBehind(python, owner).includes(load);
  });
}

/** The module's path in the model. */
function pathOf({ path, attribute }: PythonEffect): string {
  return [...path.steps.flatMap((step) => (step.kind === "attribute" ? [step.name] : [])), attribute].join(".");
}

function nameOf(effect: PythonEffect): string {
  return `${effect.path.root}.${pathOf(effect)}`;
}
