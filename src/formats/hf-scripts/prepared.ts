/**
 * A model that an Accelerator of the script's own has prepared before the trainer gets it: the trainer's own leaves it as it is, with
 * the autocast that it has or has not (accelerate/accelerator.py, `prepare_model`: `_is_accelerate_prepared`).
 */
import type { PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, plain } from "./called";
import { ACCELERATOR, callsBehind, loadsBehind, trainingOf } from "./training";

const PREPARES = /\.prepare(?:_model)?$/;
const PRECISIONS: ReadonlySet<unknown> = new Set(["bf16", "fp16", "fp8"]);

export function preparedBeforeTrainer(python: PythonModule): readonly LocatedSetting[] {
  const { load, trainer, ends } = trainingOf(python);
  if (load === undefined || trainer === undefined) return [];
  const last = Math.min(ends, trainer.order ?? ends);
  for (const call of python.calls) {
    const { order = 0, callee, receiver, positional, guards = [] } = call;
    if (order > last || guards.length > 0 || !PREPARES.test(callee)) continue;
    const own = callsBehind(python, receiver).find((made) => ACCELERATOR.test(made.callee));
    if (own === undefined || !positional.some((node) => loadsBehind(python, node).includes(load))) continue;
    const node = given(own, "mixed_precision");
    const precision = node === undefined ? "no" : plain(node);
    // One that is not known is said where it is read.
    if (typeof precision !== "string") return [];
    return [at("compute_dtype", call, PRECISIONS.has(precision) ? precision : "fp32", node)];
  }
  return [];
}
