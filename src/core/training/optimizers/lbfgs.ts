/**
 * torch.optim.LBFGS: all parameters are one vector, and so is each step and each change of the gradient that it remembers. A step
 * calls the pass again and again, with what it has made so far beside it. Source: torch/optim/lbfgs.py (step, _gather_flat_grad,
 * _strong_wolfe).
 */
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "./locals";
import { type OptimizerArguments, type OptimizerFactory, state } from "./types";

const HISTORY = 100;
const ITERATIONS = 20;
/** Gradients that a line search names at its most, beside the one it started from: two at a time are the ends of its bracket. */
const SEARCHED = ["g", "g_prev", "g_new", "low", "high"];

/** A number among the arguments. */
function count(args: OptimizerArguments, name: string, standard: number): number {
  const given = Number(args[name] ?? standard);
  return Number.isSafeInteger(given) && given >= 0 ? given : standard;
}

/** The memory as full as it becomes: so many pairs of vectors with two numbers each, the direction, and the gradient before. */
function remember(torch: Torch, vector: (operator: string) => Tensor, pairs: number): void {
  const { ledger } = torch;
  if (pairs > 0) {
    const { dtype } = vector("neg");
    const each = [vector("sub"), vector("mul"), ...["reciprocal", "mul"].map((name) => state(torch, name, [], dtype))];
    ledger.makeAgain(
      each.map(({ storage }) => storage.id),
      pairs - 1,
    );
  }
  vector("clone");
}

/**
 * The memory is there from the first step on, and the pass of the second step is one of those inside of a step: both are what a
 * run comes to after so many iterations.
 */
export const lbfgs: OptimizerFactory = (_, groups, args) => {
  const parameters = groups.flat();
  const elements = parameters.reduce((sum, parameter) => sum + parameter.elements, 0);
  const [first] = parameters;
  // `torch.cat` of several dtypes promotes.
  const dtype = first !== undefined && parameters.every((one) => one.dtype === first.dtype) ? first.dtype : "float32";
  const again = count(args, "max_iter", ITERATIONS) > 1;
  const searches = args["line_search_fn"] !== undefined && args["line_search_fn"] !== "None";
  const locals = new Locals();
  let steps = 0;
  return {
    step(torch) {
      const vector = (operator: string): Tensor => torch.empty(operator, [elements], dtype);
      const passing = (operator: string): void => vector(operator).release();
      locals.bind("flat_grad", vector("cat"));
      passing("abs");
      if (steps++ === 0)
        remember(torch, (operator) => state(torch, operator, [elements], dtype), count(args, "history_size", HISTORY));
      // Beside a full memory: a pair that curves the wrong way is named, and not remembered.
      locals.bind("y", vector("sub"));
      locals.bind("s", vector("mul"));
      locals.bind("q", vector("neg"));
      // The state has the direction before until the step is over.
      locals.bind("r", vector("mul"));
      if (searches) {
        locals.bindAll(
          "x_init",
          parameters.map((parameter) => torch.empty("clone", parameter.sizes, parameter.dtype)),
        );
        for (const name of SEARCHED) locals.bind(name, vector("clone"));
      }
      if (again) {
        const moved = vector("mul");
        passing("abs");
        moved.release();
      }
      if (!again || steps > 1) locals.release();
    },
  };
};
