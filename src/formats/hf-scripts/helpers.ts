/** Functions that get the trained model before it trains and whose code is not there: what they do to it is not known. */

import { isLibrary } from "../../syntax/python/libraries";
import type { PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { given, qualified, uncounted } from "./called";
import { isFollowedHook } from "./compression";
import { callsBefore, callsBehind, loadsBehind, trainingOf } from "./training";

/** Names of functions that only tell something of a model. */
const TELLS =
  /(?:^|[._])(?:print|count|log|show|summary|summarize|evaluate|eval|test|save|num|info|report|tokenizer|collator|optimizer|scheduler)(?:_|$)/i;

/** Whether a call is one of code that is neither a library's nor read here. */
function isElsewhere({ callee }: PythonCall, python: PythonModule): boolean {
  const [root = ""] = callee.split(".", 1);
  const dotted = qualified(callee, python);
  if (!python.bound.has(root) || isLibrary(dotted)) return false;
  return !python.functions.has(callee) && !python.classes.some(({ name }) => name === callee);
}

/**
 * Functions of libraries that change what a model or a step keeps, and that nothing here follows: float8 and packed weights of torchao,
 * what is saved on the host (torch/autograd/graph.py), a model that is spread or offloaded by accelerate (big_modeling.py), hooks that step
 * in backward (torch/optim, `register_post_accumulate_grad_hook`).
 */
const CHANGES =
  /(?:^|\.)(?:convert_to_float8_training|quantize_|save_on_cpu|saved_tensors_hooks|dispatch_model|(?:cpu|disk)_offload|load_checkpoint_and_dispatch|register_post_accumulate_grad_hook|register_comm_hook)$/;

/** Calls of those, by what they are called. */
export function unfollowedChanges(python: PythonModule): readonly LocatedSetting[] {
  const found = new Map(
    python.calls.flatMap((call) =>
      CHANGES.test(call.callee) && !isFollowedHook(call) ? [[call.callee, call] as const] : [],
    ),
  );
  return [...found.values()].map(({ callee, calleeSpan }) => uncounted(callee, calleeSpan, calleeSpan));
}

/** The calls, each as a key that nothing is computed from. */
export function unfollowedHelpers(python: PythonModule): readonly LocatedSetting[] {
  const { load, trainer } = trainingOf(python);
  if (load === undefined) return [];
  // What it gives as optimizers is said of those.
  const optimizers = callsBehind(python, given(trainer, "optimizers"));
  const calls = callsBefore(python).filter((call) => {
    if (!isElsewhere(call, python) || TELLS.test(call.callee) || optimizers.includes(call)) return false;
    return [...call.positional, given(call, "model")].some((node) => loadsBehind(python, node).includes(load));
  });
  return calls.slice(0, 4).map((call) => uncounted(call.callee, call.calleeSpan, call.calleeSpan));
}
