/**
 * Optimizers of torch.optim as they run on CUDA: per group, the states of new parameters, then the update of each dtype's
 * list at once (foreach), of one parameter after the other (for-loop), or in one kernel that keeps nothing (fused).
 */
import type { TorchRuleName, Ways } from "../../../terms/optimizers";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "./locals";
import { ADAPTIVE_RULES } from "./torch-adaptive";
import { GRADIENT_RULES } from "./torch-gradient";
import { optionsOf, type TorchOptions, type TorchRule, Update } from "./torch-rule";
import { byDtype, type OptimizerArguments, type OptimizerFactory, withGradient } from "./types";

const RULES: Readonly<Record<TorchRuleName | "muon", TorchRule>> = { ...ADAPTIVE_RULES, ...GRADIENT_RULES };

function factoryOf(rule: TorchRule, standard: Partial<TorchOptions> = {}): OptimizerFactory {
  return (torch, groups, args) => {
    const options = optionsOf(args, { ...rule.standard, ...standard });
    const seen = new Set<Tensor>();
    if (rule.eager) for (const parameter of groups.flat()) rule.states(torch, parameter, options);
    return {
      step(torch) {
        for (const group of groups) stepGroup(torch, rule, options, withGradient(group), seen);
      },
    };
  };
}

function stepGroup(
  torch: Torch,
  rule: TorchRule,
  options: TorchOptions,
  parameters: readonly Tensor[],
  seen: Set<Tensor>,
): void {
  const first = new Set<Tensor>();
  for (const parameter of parameters) {
    if (seen.has(parameter)) continue;
    seen.add(parameter);
    first.add(parameter);
  }
  if (!rule.eager) for (const parameter of first) rule.states(torch, parameter, options);
  const update = new Update(torch, new Locals(), options);
  if (options.foreach) for (const list of byDtype(parameters)) rule.foreach(update, list, first);
  else if (!options.fused)
    for (const parameter of parameters) {
      // The loop's own names are rebound to the parameter's gradient and state.
      for (const name of ["grad", "exp_avg"]) update.names.drop(name);
      rule.single(update, parameter, first.has(parameter));
    }
  else if (options.momentum !== 0 && rule === RULES.sgd) rule.foreach(update, parameters, first);
  update.names.release();
}

/** Muon over the matrices of the repeated layers, AdamW over the rest, as torch's documentation asks for. */
export const muonWithAdam: OptimizerFactory = (torch, groups, args) => {
  const hidden = (parameter: Tensor): boolean => parameter.rank === 2 && parameter.layer !== null;
  const parameters = groups.flat();
  const parts = [
    factoryOf(RULES.muon)(torch, [parameters.filter(hidden)], args),
    factoryOf(RULES.adamw)(torch, [parameters.filter((parameter) => !hidden(parameter))], {}),
  ];
  return {
    step(torch) {
      for (const part of parts) part.step(torch);
    },
  };
};

/** What `bare` classes are told all the same: what the analysis knows of the release. */
const OF_RELEASES: ReadonlySet<string> = new Set(["foreach", "amsgrad", "denominator_apart"]);

function known(args: OptimizerArguments): OptimizerArguments {
  return Object.fromEntries(Object.entries(args).filter(([key]) => OF_RELEASES.has(key)));
}

/** A class of torch.optim; the Trainer gives AdamW no `optim_args`. */
export function torchOptimizer({ rule, bare, ...standard }: Ways["torch"]): OptimizerFactory {
  const factory = factoryOf(RULES[rule], standard);
  return bare ? (torch, groups, args) => factory(torch, groups, known(args)) : factory;
}
