/**
 * Optimizers of torch.optim as they run on CUDA: the foreach implementation by default, its lists of temporaries
 * alive until the function that made them reassigns or leaves. Source: torch/optim/{adam,sgd,rmsprop,adagrad}.py.
 */
import type { Tensor } from "../../engine/tensor";
import { byDtype, foreach, type OptimizerFactory, releaseAll, state, stateLike, withGradient } from "./types";

const numberOf = (text: string | undefined, fallback: number): number => {
  const value = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : fallback;
};

const truthy = (text: string | undefined): boolean => text !== undefined && /^(true|1|yes)$/i.test(text);

/** Runs `body` for each dtype's list; `held` are the locals of the previous round, released when reassigned. */
function eachList(groups: readonly Tensor[], body: (list: Tensor[], release: () => void) => Tensor[]): void {
  let held: Tensor[] = [];
  const release = (): void => {
    releaseAll(held);
    held = [];
  };
  for (const list of byDtype(groups)) {
    const made = body(list, release);
    release();
    held = made;
  }
  release();
}

/** Adam-like: two moments per parameter; `step` lives on the GPU when fused or capturable. */
const adam =
  (kind: "foreach" | "fused" | "for-loop"): OptimizerFactory =>
  (_, groups, args) => {
    const seen = new Set<Tensor>();
    const amsgrad = truthy(args["amsgrad"]);
    return {
      step(torch) {
        for (const group of groups) {
          const parameters = withGradient(group);
          for (const parameter of parameters) {
            if (seen.has(parameter)) continue;
            seen.add(parameter);
            if (kind === "fused") state(torch, "zeros", [], "float32");
            for (let k = 0; k < (amsgrad ? 3 : 2); k++) stateLike(torch, parameter);
          }
          if (kind === "foreach") eachList(parameters, (list) => foreach(torch, "_foreach_sqrt", list));
          if (kind === "for-loop") {
            // `denom` of one parameter lives until the next one's replaces it.
            let denominator: Tensor | null = null;
            for (const parameter of parameters) {
              const root = torch.empty("sqrt", parameter.sizes, parameter.dtype);
              const next = torch.empty("div", parameter.sizes, parameter.dtype);
              root.release();
              denominator?.release();
              denominator = next;
            }
            denominator?.release();
          }
        }
      },
    };
  };

const sgd: OptimizerFactory = (_, groups, args) => {
  const momentum = numberOf(args["momentum"], 0);
  const decay = numberOf(args["weight_decay"], 0);
  const seen = new Set<Tensor>();
  return {
    step(torch) {
      for (const group of groups)
        eachList(withGradient(group), (list) => {
          const grads = decay === 0 ? [] : foreach(torch, "_foreach_add", list);
          if (momentum !== 0)
            for (const parameter of list) {
              if (seen.has(parameter)) continue;
              seen.add(parameter);
              stateLike(torch, parameter, parameter.dtype, "clone");
            }
          return grads;
        });
    },
  };
};

const rmsprop: OptimizerFactory = (_, groups, args) => {
  const momentum = numberOf(args["momentum"], 0);
  const centered = truthy(args["centered"]);
  const decay = numberOf(args["weight_decay"], 0);
  const seen = new Set<Tensor>();
  return {
    step(torch) {
      for (const group of groups) {
        const parameters = withGradient(group);
        for (const parameter of parameters) {
          if (seen.has(parameter)) continue;
          seen.add(parameter);
          for (let k = 0; k < 1 + (momentum > 0 ? 1 : 0) + (centered ? 1 : 0); k++) stateLike(torch, parameter);
        }
        eachList(parameters, (list) => {
          const grads = decay === 0 ? [] : foreach(torch, "_foreach_add", list);
          return [...grads, ...foreach(torch, centered ? "_foreach_addcmul" : "_foreach_sqrt", list)];
        });
      }
    },
  };
};

/** Adagrad makes its states in the constructor. */
const adagrad: OptimizerFactory = (torch, groups, args) => {
  const decay = numberOf(args["weight_decay"], 0);
  for (const group of groups) for (const parameter of group) stateLike(torch, parameter, parameter.dtype, "full_like");
  return {
    step(torch) {
      for (const group of groups)
        eachList(withGradient(group), (list) => {
          const grads = decay === 0 ? [] : foreach(torch, "_foreach_add", list);
          const std = foreach(torch, "_foreach_sqrt", list);
          const numerator = decay === 0 ? foreach(torch, "_foreach_mul", list) : [];
          return [...grads, ...std, ...numerator];
        });
    },
  };
};

const TABLE: Readonly<Record<string, OptimizerFactory>> = {
  adamw_torch: adam("foreach"),
  adamw_hf: adam("foreach"),
  adamw_torch_fused: adam("fused"),
  adamw_for_loop: adam("for-loop"),
  sgd,
  rmsprop,
  adagrad,
};

/** Factories by the name `optim` uses. */
export const TORCH_OPTIMIZERS = TABLE;
