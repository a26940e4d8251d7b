/**
 * Liger's kernels as scripts call them: a function for each type of model, and loaders that call it by themselves. What is called
 * behind the load without the model reaches its class only: the loss, but no layer that was made before
 * (liger_kernel/transformers/monkey_patch.py, auto_model.py).
 */
import type { MapNode, PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at } from "./called";
import { callsBefore, trainingOf } from "./training";

const APPLIES = /(?:^|\.)_?apply_liger_kernel(?:_to_\w{1,80})?$/;
const LOADS_WITH = /(?:^|\.)AutoLigerKernelFor\w{1,40}\.from_(?:pretrained|config)$/;

/** Its own switches of layers; those of the loss are told apart. */
const NORMS = ["rms_norm"];
const GATES = ["swiglu", "geglu"];

/** What Liger puts into the trained model; nothing where a script does not call it. */
export function ligerCalls(python: PythonModule): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  const loads = load !== undefined && LOADS_WITH.test(load.callee);
  const call = loads
    ? load
    : callsBefore(python).findLast(({ callee, guards = [] }) => APPLIES.test(callee) && guards.length === 0);
  if (call === undefined) return [];
  const reachesLayers = loads || load === undefined || isGiven(call) || orderOf(call) < orderOf(load);
  const norms = reachesLayers && isOn(call.keywords, NORMS);
  const gates = reachesLayers && isOn(call.keywords, GATES);
  const layers = norms === gates ? norms : norms ? "norms" : "gates";
  return [
    ...(isOn(call.keywords, ["fused_linear_cross_entropy"]) ? [at("fused_loss", call, true)] : []),
    at("fused_layers", call, layers),
  ];
}

/** Whether the model itself is handed over: the modules that it has are patched, too. */
function isGiven({ callee, keywords, positional }: PythonCall): boolean {
  const instance = callee.endsWith("_to_instance") && positional.length > 0;
  return instance || keywords.entries.some(({ key, value }) => key === "model" && !isNone(value));
}

function isNone(node: MapNode["entries"][number]["value"]): boolean {
  return node.kind === "scalar" && node.value === null;
}

/** On unless the call says otherwise. */
function isOn({ entries }: MapNode, names: readonly string[]): boolean {
  return !entries.some(({ key, value }) => names.includes(key) && value.kind === "scalar" && value.value === false);
}

function orderOf({ order, start }: PythonCall): number {
  return order ?? start;
}
