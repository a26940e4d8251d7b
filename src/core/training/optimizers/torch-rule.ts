/**
 * What a rule of torch.optim is: the states of one parameter, and the tensors one update makes in its foreach and its
 * for-loop form. Temporaries live as long as the Python name that holds them. Sources: torch/optim/optimizer.py
 * (_default_to_fused_or_foreach, _group_tensors_by_device_and_dtype) and the file each rule names.
 */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { Locals } from "./locals";
import { foreach, type OptimizerArguments, state, stateLike } from "./types";

/** Options of a torch.optim class that decide memory; the rules read only those their class has. */
export interface TorchOptions {
  readonly foreach: boolean;
  readonly fused: boolean;
  /** Step counts live on the device, and what is computed from them. */
  readonly capturable: boolean;
  readonly amsgrad: boolean;
  /** Adam's foreach form adds epsilon to a list of its own, as torch 2.0 did (pytorch/pytorch#104898 made it one list, in 2.1). */
  readonly denominatorApart: boolean;
  readonly nesterov: boolean;
  readonly centered: boolean;
  readonly decoupled: boolean;
  readonly momentum: number;
  readonly decay: number;
}

const truthy = (text: string | undefined): boolean => text !== undefined && /^(?:true|1|yes)$/i.test(text);

const falsy = (text: string | undefined): boolean => text !== undefined && /^(?:false|0|no)$/i.test(text);

const numberOf = (text: string | undefined, fallback: number): number => {
  const value = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : fallback;
};

/** Options as `optim_args` writes them; foreach unless it is switched off or fused is on. */
export function optionsOf(args: OptimizerArguments, standard: Partial<TorchOptions>): TorchOptions {
  const fused = args["fused"] === undefined ? (standard.fused ?? false) : truthy(args["fused"]);
  return {
    fused,
    foreach: !fused && !falsy(args["foreach"]) && (standard.foreach ?? true),
    capturable: truthy(args["capturable"]),
    amsgrad: truthy(args["amsgrad"]),
    denominatorApart: truthy(args["denominator_apart"]),
    nesterov: args["nesterov"] === undefined ? (standard.nesterov ?? false) : truthy(args["nesterov"]),
    centered: truthy(args["centered"]),
    decoupled: standard.decoupled ?? truthy(args["decoupled_weight_decay"]),
    momentum: numberOf(args["momentum"], 0),
    decay: numberOf(args["weight_decay"], standard.decay ?? 0),
  };
}

/** Makes tensors of one update. */
export class Update {
  constructor(
    readonly torch: Torch,
    readonly names: Locals,
    readonly options: TorchOptions,
  ) {}

  /** One temporary like each tensor of a list, under a name. */
  list(name: string, operator: string, tensors: readonly Tensor[]): void {
    this.names.bindAll(name, foreach(this.torch, operator, tensors));
  }

  /** One device scalar per tensor of a list, under a name. */
  scalars(name: string, operator: string, tensors: readonly Tensor[], dtype: DType = "float32"): void {
    this.names.bindAll(
      name,
      tensors.map(() => this.torch.empty(operator, [], dtype)),
    );
  }

  /** A temporary like the parameter, under a name. */
  like(name: string, operator: string, parameter: Tensor): void {
    this.names.bind(name, this.make(operator, parameter));
  }

  /** A temporary like the parameter that its caller releases. */
  make(operator: string, parameter: Tensor, dtype: DType = parameter.dtype): Tensor {
    return this.torch.empty(operator, parameter.sizes, dtype, parameter.strides);
  }

  /** A temporary like the parameter that nothing holds. */
  passing(operator: string, parameter: Tensor, dtype: DType = parameter.dtype): void {
    this.make(operator, parameter, dtype).release();
  }

  /** Device scalars computed from one another, each letting the one before go; the last is bound to the name. */
  scalar(name: string | null, ...operators: readonly string[]): void {
    let last: Tensor | null = null;
    for (const operator of operators) {
      const next: Tensor = this.torch.empty(operator, [], "float32");
      last?.release();
      last = next;
    }
    if (last === null) return;
    if (name === null) last.release();
    else this.names.bind(name, last);
  }

  /** L2 decay: `grad.add(param, alpha=weight_decay)`, under a name. */
  decayed(name: string, parameter: Tensor): void {
    if (this.options.decay !== 0 && !this.options.decoupled) this.like(name, "add", parameter);
  }

  /** L2 decay of a list. */
  decayedList(name: string, list: readonly Tensor[]): void {
    if (this.options.decay !== 0 && !this.options.decoupled) this.list(name, "_foreach_add", list);
  }
}

export interface TorchRule {
  /** What differs from the options of the base class when nothing is written. */
  readonly standard?: Partial<TorchOptions>;
  /** States made by the constructor instead of the first step. */
  readonly eager?: true;
  /** Makes the states of one parameter. */
  states(torch: Torch, parameter: Tensor, options: TorchOptions): void;
  /** What one parameter's first step makes besides, after the states of all. */
  foreach(update: Update, list: readonly Tensor[], first: ReadonlySet<Tensor>): void;
  single(update: Update, parameter: Tensor, first: boolean): void;
}

/** The step count of a parameter: on the device when something there reads it. */
export function stepState(torch: Torch, options: TorchOptions): void {
  if (options.capturable || options.fused) state(torch, "zeros", [], "float32");
}

/** States like the parameter, one after the other. */
export function statesLike(torch: Torch, parameter: Tensor, count: number): void {
  for (let k = 0; k < count; k++) stateLike(torch, parameter);
}
