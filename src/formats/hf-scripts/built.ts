/** A model that a script makes from a config instead of published weights: `GPT2LMHeadModel(GPT2Config(n_layer=8))`. */
import type { LocatedNode, PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { BUILDS, isBefore, trainingOf } from "./training";

const FROM_CONFIG = /(?:^|\.)(\w+)\.(?:from_config|_from_config)$/;
const CONFIG = /(?:^|\.)[A-Z]\w*Config$/;
const PUBLISHED = /(?:^|\.)[A-Z]\w*Config\.from_pretrained$/;

/** The call that a value is the result of, directly or through the names it is bound to. */
function callBehind(node: LocatedNode | undefined, { calls }: PythonModule): PythonCall | undefined {
  if (node?.kind !== "unknown") return undefined;
  const at = node.source ?? node;
  return calls.find(({ start, end }) => start === at.start && end === at.end);
}

/** The class that is made and the config it is made from; nothing where published weights are loaded. */
export function builtModel(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  if (training.load?.callee.endsWith(".from_pretrained") === true) return [];
  const before = python.calls.filter((call) => isBefore(training, call));
  for (const call of training.load === undefined ? before : [training.load, ...before]) {
    const name = (FROM_CONFIG.exec(call.callee) ?? BUILDS.exec(call.callee))?.[1];
    const given = call.positional[0] ?? call.keywords.entries.find(({ key }) => key === "config")?.value;
    const config = name === undefined ? undefined : callBehind(given, python);
    if (name === undefined || config === undefined) continue;
    const made = { kind: "scalar" as const, value: name, raw: name, ...call.calleeSpan };
    const ofClass = { name: "model_class" as const, key: name, value: name, node: made, keySpan: call.calleeSpan };
    const dimensions = dimensionsOf(config);
    if (dimensions !== undefined) return [{ ...ofClass, valueSpan: call.calleeSpan }, dimensions];
  }
  return [];
}

function dimensionsOf({ callee, calleeSpan, keywords, positional }: PythonCall): LocatedSetting | undefined {
  const key = callee;
  if (CONFIG.test(callee))
    return { name: "model_config", key, value: callee, node: keywords, keySpan: calleeSpan, valueSpan: calleeSpan };
  const [node] = positional;
  if (!PUBLISHED.test(callee) || node?.kind !== "scalar" || typeof node.value !== "string") return undefined;
  const valueSpan = { start: node.start, end: node.end };
  return { name: "config_name", key, value: node.value, node, keySpan: calleeSpan, valueSpan };
}
