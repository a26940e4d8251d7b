/** Functions that get the trained model before it trains and whose code is not there: what they do to it is not known. */
import { isLibrary } from "../../syntax/python/libraries";
import type { PythonCall, PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { uncounted } from "./beside";
import { qualified } from "./called";
import { callsBehind, isBefore, loadsBehind, trainingOf } from "./training";

/** Names of functions that only tell something of a model. */
const TELLS =
  /(?:^|[._])(?:print|count|log|show|summary|summarize|evaluate|eval|test|save|num|info|report|tokenizer|collator|optimizer|scheduler)(?:_|$)/i;
const MODEL_ARGUMENT = "model";

/** Whether a call is one of code that is neither a library's nor read here. */
function isElsewhere({ callee }: PythonCall, python: PythonModule): boolean {
  const [root = ""] = callee.split(".", 1);
  const dotted = qualified(callee, python);
  if (!python.bound.has(root) || isLibrary(dotted)) return false;
  return !python.functions.has(callee) && !python.classes.some(({ name }) => name === callee);
}

/** The calls, each as a key that nothing is computed from. */
export function unfollowedHelpers(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const { load, trainer } = training;
  if (load === undefined) return [];
  const given = trainer?.keywords.entries.find(({ key }) => key === "optimizers")?.value;
  const optimizers = callsBehind(python, given);
  const calls = python.calls.filter((call) => {
    if (!isElsewhere(call, python) || TELLS.test(call.callee)) return false;
    // What it gives as optimizers is said of those.
    if (optimizers.includes(call)) return false;
    if (!isBefore(training, call)) return false;
    const named = call.keywords.entries.find(({ key }) => key === MODEL_ARGUMENT)?.value;
    return [...call.positional, named].some((node) => loadsBehind(python, node).includes(load));
  });
  return calls.slice(0, 4).map((call) => uncounted(call.callee, call.calleeSpan, call.calleeSpan));
}
