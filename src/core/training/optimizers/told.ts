/** Optimizers that their row tells wholly: the states of a parameter, and the temporaries of an update under Python's names. */
import type { Ways } from "../../../terms/optimizers";
import type { Tensor } from "../../engine/tensor";
import { Locals } from "./locals";
import { foreach, type OptimizerFactory, stateLike, withGradient } from "./types";

export const told =
  ({ states, temporaries, lists }: Ways["told"]): OptimizerFactory =>
  (_, groups) => {
    const seen = new Set<Tensor>();
    return {
      step(torch) {
        const locals = new Locals();
        for (const group of groups) {
          const parameters = withGradient(group);
          for (const list of lists ? [parameters] : parameters.map((parameter) => [parameter])) {
            for (const parameter of list) {
              if (!seen.has(parameter)) for (const made of states) stateLike(torch, parameter, parameter.dtype, made);
              seen.add(parameter);
            }
            for (const [name, operator] of temporaries) locals.bindAll(name, foreach(torch, operator, list));
          }
        }
        locals.release();
      },
    };
  };
