/**
 * Liger's kernels as scripts call them: a function for each type of model, and loaders that call it by themselves. What is called
 * behind the load without the model reaches its class only: the loss, but no layer that was made before
 * (liger_kernel/transformers/monkey_patch.py, auto_model.py).
 */
import type { PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, plain } from "./called";
import { callsBefore, trainingOf } from "./training";

const APPLIES = /(?:^|\.)_?apply_liger_kernel(?:_to_\w{1,80})?$/;
const LOADS_WITH = /(?:^|\.)AutoLigerKernelFor\w{1,40}\.from_(?:pretrained|config)$/;

/** Its own switches of layers, and of the loss. */
const NORMS = ["rms_norm"];
const GATES = ["swiglu", "geglu"];
const LOSS = ["fused_linear_cross_entropy"];

/** What Liger puts into the trained model; nothing where a script does not call it. */
export function ligerCalls(python: PythonModule): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  const loads = load !== undefined && LOADS_WITH.test(load.callee);
  const call = loads
    ? load
    : callsBefore(python).findLast(({ callee, guards = [] }) => APPLIES.test(callee) && guards.length === 0);
  if (call === undefined) return [];
  const isEarlier = load === undefined || (call.order ?? 0) < (load.order ?? 0);
  const reachesLayers = loads || isEarlier || isGiven(call);
  const norms = reachesLayers && isOn(call, NORMS);
  const gates = reachesLayers && isOn(call, GATES);
  const layers = norms === gates ? norms : norms ? "norms" : "gates";
  return [...(isOn(call, LOSS) ? [at("fused_loss", call, true)] : []), at("fused_layers", call, layers)];
}

/** Whether the model itself is handed over: the modules that it has are patched, too. */
function isGiven(call: PythonCall): boolean {
  const model = given(call, "model") ?? (call.callee.endsWith("_to_instance") ? call.positional[0] : undefined);
  return model !== undefined && plain(model) !== null;
}

/** On unless the call says otherwise. */
function isOn(call: PythonCall, names: readonly string[]): boolean {
  return names.every((name) => plain(given(call, name)) !== false);
}
