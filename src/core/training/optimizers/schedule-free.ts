/**
 * Schedule-free optimizers, foreach by default: the point `z` beside the parameter, a second moment for the Adam forms
 * and one list of denominators while stepping; the gradient's memory is reused.
 * Source: schedulefree 1.4 (adamw_schedulefree.py, radam_schedulefree.py, sgd_schedulefree.py).
 */
import { table } from "../../../terms/table";
import type { Tensor } from "../../engine/tensor";
import { foreach, type OptimizerFactory, releaseAll, stateLike, withGradient } from "./types";

const scheduleFree =
  (adam: boolean): OptimizerFactory =>
  (_, groups) => {
    const seen = new Set<Tensor>();
    return {
      step(torch) {
        let denominators: Tensor[] = [];
        for (const group of groups) {
          const parameters = withGradient(group);
          for (const parameter of parameters) {
            if (seen.has(parameter)) continue;
            seen.add(parameter);
            stateLike(torch, parameter, parameter.dtype, "clone");
            if (adam) stateLike(torch, parameter);
          }
          if (!adam) continue;
          const next = foreach(torch, "_foreach_div", parameters);
          releaseAll(denominators);
          denominators = next;
        }
        releaseAll(denominators);
      },
    };
  };

/** Factories by the name `optim` uses. */
export const SCHEDULE_FREE_OPTIMIZERS: Readonly<Record<string, OptimizerFactory>> = table({
  schedule_free_adamw: scheduleFree(true),
  schedule_free_radam: scheduleFree(true),
  schedule_free_sgd: scheduleFree(false),
});
