/** A model that a script makes from a config instead of published weights: `GPT2LMHeadModel(GPT2Config(n_layer=8))`. */
import type { MapNode, PythonCall, PythonModule } from "../../syntax/tree";
import { attributesSet } from "../attributes";
import type { LocatedSetting } from "../types";
import { at, given, keyword, placed, scalar, uncounted } from "./called";
import { ownModelCall } from "./own";
import { BUILDS, callBehind, callsBefore, trainingOf } from "./training";

const FROM_CONFIG = /(?:^|\.)(\w+)\.(?:from_config|_from_config)$/;
const CONFIG = /(?:^|\.)[A-Z]\w*Config$/;
const PUBLISHED = /(?:^|\.)[A-Z]\w*Config\.from_pretrained$/;

/** The class that is made and the config it is made from; nothing where published weights are loaded. */
export function builtModel(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  if (training.load?.callee.endsWith(".from_pretrained") === true) return [];
  const before = callsBefore(python);
  for (const call of training.load === undefined ? before : [training.load, ...before]) {
    const name = (FROM_CONFIG.exec(call.callee) ?? BUILDS.exec(call.callee))?.[1];
    const config = name === undefined ? undefined : configOf(call, python);
    if (name === undefined || config === undefined) continue;
    const { calleeSpan } = call;
    const dimensions = dimensionsOf(config, configChanges(config, call, python));
    if (dimensions === undefined) continue;
    const made = [placed("model_class", name, calleeSpan, scalar(name, calleeSpan), name), dimensions];
    // Where an optimizer steps a module that has nothing to do with it, the model is not trained (features that a head is given).
    const other = training.load === undefined ? ownModelCall(python) : undefined;
    return other === undefined
      ? made
      : [...made, { ...uncounted(other.callee, other.calleeSpan, other.keywords), direction: "less" as const }];
  }
  return [];
}

/** The call that makes the config which a model is made from or loaded with. */
function configOf(call: PythonCall, python: PythonModule): PythonCall | undefined {
  const first = call.callee.endsWith(".from_pretrained") ? undefined : call.positional[0];
  return callBehind(python, given(call, "config") ?? first);
}

/** What a config is given by the call that makes it, and after that by its attributes until a model is made of it. */
function configChanges(config: PythonCall, made: PythonCall, python: PythonModule): MapNode {
  const set = attributesSet(config, python, made.order);
  const changed = new Set(set.map(({ key }) => key));
  return { ...config.keywords, entries: [...config.keywords.entries.filter(({ key }) => !changed.has(key)), ...set] };
}

/**
 * What the config of the trained model has beside what is published under its name: arguments of the call that loads it, which are
 * the config's where it does not know them itself, or those of the config it is given.
 */
export function configOverrides(python: PythonModule): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  if (load === undefined) return [];
  const config = configOf(load, python);
  if (config === undefined && (!load.callee.endsWith(".from_pretrained") || keyword(load, "config") !== undefined))
    return [];
  if (config !== undefined && !PUBLISHED.test(config.callee)) return [];
  const { callee: key, calleeSpan } = config ?? load;
  const node = config === undefined ? load.keywords : configChanges(config, load, python);
  return [{ name: "config_overrides", key, value: null, node, keySpan: calleeSpan, valueSpan: calleeSpan }];
}

function dimensionsOf(config: PythonCall, changes: MapNode): LocatedSetting | undefined {
  const { callee: key, calleeSpan, positional } = config;
  if (CONFIG.test(key))
    return { name: "model_config", key, value: key, node: changes, keySpan: calleeSpan, valueSpan: calleeSpan };
  const [node] = positional;
  if (!PUBLISHED.test(key) || node?.kind !== "scalar" || typeof node.value !== "string") return undefined;
  return at("config_name", config, node.value, node);
}
