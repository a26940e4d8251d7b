/**
 * GaLore and APOLLO: chosen matrices have their gradients projected to a low rank, where the moments live; the rest is
 * stepped by a plain per-parameter AdamW or Adafactor. Layer-wise forms step each parameter in backward and free its
 * gradient. Sources: galore-torch 1.0 (adamw.py, adafactor.py, adamw8bit.py), apollo-torch 1.0 (apollo.py),
 * transformers/trainer_optimizer.py (_setup_low_rank_optimizer), bitsandbytes/optim/optimizer.py (init_state).
 */

import type { Ways } from "../../../terms/optimizers";
import { matchesPattern } from "../../../terms/pattern";
import { numel } from "../../engine/shape";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { AdafactorStates, adafactorUpdate } from "./adafactor";
import { Locals } from "./locals";
import { Projector } from "./projector";
import { type OptimizerArguments, type OptimizerFactory, replaceStates, state, withGradient } from "./types";

type Sizes = readonly number[];

type Variant = Ways["low-rank"];

const DEFAULT_RANK = 128;
const BLOCK = 256;
const SMALLEST_QUANTIZED = 4096;
/** Entries of a quantization map. */
const MAP_ENTRIES = 256;

/** Whether `optim_target_modules` names the parameter's module. */
function isTarget(parameter: Tensor, targets: string | undefined): boolean {
  if (parameter.moduleKind !== "Linear" || parameter.rank !== 2) return false;
  const path = (parameter.name ?? "").replace(/\.weight$/, "");
  if (targets === undefined || targets.replace("_", "-") === "all-linear") return true;
  return targets.split(",").some((target) => path.includes(target.trim()) || matchesPattern(target, path, "full"));
}

/** What an optimizer keeps. */
class LowRankStates {
  readonly adafactor = new AdafactorStates(false);
  private readonly moments = new Set<Tensor>();
  private readonly norms = new Map<Tensor, Tensor>();
  private mapped = false;

  constructor(readonly variant: Variant) {}

  makeMoments(torch: Torch, parameter: Tensor, sizes: Sizes): void {
    if (this.moments.has(parameter)) return;
    this.moments.add(parameter);
    const { dtype } = parameter;
    if (this.variant.inner !== "adamw8bit") {
      for (let moment = 0; moment < 2; moment++) state(torch, "zeros_like", sizes, dtype);
      return;
    }
    const elements = numel(sizes);
    if (elements < SMALLEST_QUANTIZED) {
      for (let moment = 0; moment < 2; moment++) state(torch, "zeros_like", sizes, "float32");
      return;
    }
    if (!this.mapped) for (let k = 0; k < 2; k++) state(torch, "_to_copy", [MAP_ENTRIES], "float32");
    this.mapped = true;
    for (let moment = 0; moment < 2; moment++) state(torch, "zeros_like", sizes, "uint8");
    for (let moment = 0; moment < 2; moment++) state(torch, "zeros", [Math.ceil(elements / BLOCK)], "float32");
  }

  /** APOLLO's last norm of a gradient. */
  norm(parameter: Tensor): Tensor | undefined {
    return this.norms.get(parameter);
  }

  setNorm(torch: Torch, parameter: Tensor, norm: Tensor): void {
    const old = this.norms.get(parameter);
    for (const stays of replaceStates(torch, old === undefined ? [] : [old], [norm])) {
      this.norms.set(parameter, stays);
      torch.ledger.relabel(stays.storage.id, "optimizer");
    }
  }
}

/** AdamW of galore-torch and apollo-torch. */
function adamUpdate(
  torch: Torch,
  states: LowRankStates,
  parameter: Tensor,
  projector: Projector | null,
  locals: Locals,
  args: OptimizerArguments,
): void {
  const { sizes } = parameter;
  const gradient = parameter.grad!;
  const make = (operator: string, of: Sizes): Tensor => torch.empty(operator, of, gradient.dtype);
  locals.bind("grad", gradient.retain());
  if (projector !== null) locals.bind("grad", projector.project(torch));
  const low = projector?.sizes ?? sizes;
  states.makeMoments(torch, parameter, low);
  locals.bind("denom", make("sqrt", low));
  locals.bind("norm_grad", make("div", low));
  if (projector === null) return;
  if (states.variant.method === "galore") {
    locals.bind("norm_grad", projector.back(torch));
    return;
  }
  const channels = args["scale_type"] === "tensor" ? [] : [Math.max(sizes[0]!, sizes[1]!)];
  const above = make("linalg_vector_norm", channels);
  const below = make("linalg_vector_norm", channels);
  const divisor = make("add", channels);
  below.release();
  locals.bind("grad_scaling_factor", make("div", channels));
  for (const tensor of [above, divisor]) tensor.release();
  let scaled = locals.bind("scaled_grad", make("mul", sizes));
  const last = states.norm(parameter);
  if (last === undefined) states.setNorm(torch, parameter, make("linalg_vector_norm", []));
  else {
    const norm = locals.bind("scaled_grad_norm", make("linalg_vector_norm", []));
    const sum = make("add", []);
    const ratio = make("div", []);
    sum.release();
    // A norm that does not grow is divided by the number one, out of place.
    ratio.release();
    scaled = locals.bind("scaled_grad", make("div", sizes));
    states.setNorm(torch, parameter, make("div", norm.sizes));
  }
  locals.bind("norm_grad", scaled.retain());
}

/** AdamW8bit of galore-torch: the parameter's data is set aside while a low-rank stand-in is stepped. */
function update8bit(
  torch: Torch,
  states: LowRankStates,
  parameter: Tensor,
  projector: Projector | null,
  locals: Locals,
): void {
  if (projector === null) {
    states.makeMoments(torch, parameter, parameter.sizes);
    return;
  }
  const low = locals.bind("grad", projector.project(torch));
  const saved = torch.empty("clone", parameter.sizes, parameter.dtype);
  const stand = torch.empty("clone", projector.sizes, parameter.dtype);
  // The copy becomes the parameter: one of two of the same size goes. The low-rank gradient takes the gradient's place.
  saved.release();
  parameter.grad?.release();
  parameter.grad = low.retain();
  states.makeMoments(torch, parameter, projector.sizes);
  projector.back(torch).release();
  stand.release();
}

export const lowRank =
  (variant: Variant): OptimizerFactory =>
  (_, groups, args) => {
    const options = {
      rank: Number(args["rank"] ?? DEFAULT_RANK) || DEFAULT_RANK,
      type: args["proj_type"] ?? "std",
      random: variant.method === "apollo" && args["proj"] !== "svd",
    };
    const targets = args["optim_target_modules"];
    const projectors = new Map<Tensor, Projector | null>();
    const projectorOf = (parameter: Tensor): Projector | null => {
      let projector = projectors.get(parameter);
      if (projector === undefined) {
        const [rows = 0, columns = 0] = parameter.sizes;
        const dtype = variant.inner === "adafactor" ? "float32" : parameter.dtype;
        projector = isTarget(parameter, targets) ? new Projector(options, rows, columns, dtype) : null;
        projectors.set(parameter, projector);
      }
      return projector;
    };
    const update = (torch: Torch, states: LowRankStates, parameter: Tensor, locals: Locals): void => {
      const projector = projectorOf(parameter);
      if (variant.inner === "adafactor") adafactorUpdate(torch, parameter, locals, states.adafactor, projector);
      else if (variant.inner === "adamw8bit") update8bit(torch, states, parameter, projector, locals);
      else adamUpdate(torch, states, parameter, projector, locals, args);
    };
    const states = new LowRankStates(variant);
    const parameters = ordered(groups, targets);
    return {
      step(torch) {
        const locals = new Locals();
        for (const parameter of withGradient(parameters)) update(torch, states, parameter, locals);
        locals.release();
      },
    };
  };

/** Parameters as the Trainer groups them: those that are not projected first, each in the model's order. */
function ordered(groups: readonly (readonly Tensor[])[], targets: string | undefined): readonly Tensor[] {
  const all = groups.flat();
  return [...all.filter((p) => !isTarget(p, targets)), ...all.filter((p) => isTarget(p, targets))];
}
