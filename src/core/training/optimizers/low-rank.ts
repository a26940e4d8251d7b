/**
 * GaLore and APOLLO: chosen matrices have their gradients projected to a low rank, where the moments live; the rest is
 * stepped by a plain per-parameter AdamW or Adafactor. Layer-wise forms step each parameter in backward and free its
 * gradient. Sources: galore-torch 1.0 (adamw.py, adafactor.py, adamw8bit.py, galore_projector.py), apollo-torch 1.0
 * (apollo.py, random_projector.py), transformers/trainer_optimizer.py (_setup_low_rank_optimizer).
 */
import type { DType } from "../../engine/dtype";
import { numel } from "../../engine/shape";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "./locals";
import { type OptimizerFactory, state, withGradient } from "./types";

type Sizes = readonly number[];

interface Variant {
  readonly method: "galore" | "apollo";
  readonly inner: "adamw" | "adafactor" | "adamw8bit";
  readonly layerwise?: true;
}

const DEFAULT_RANK = 128;
const BLOCK = 256;
const SMALLEST_QUANTIZED = 4096;

/** How one matrix is projected: onto its right side when it is tall, its left side when it is wide (`proj_type` std). */
interface Projection {
  /** Sizes of the projected gradient. */
  readonly low: Sizes;
  readonly tall: boolean;
  readonly rank: number;
  readonly rows: number;
  readonly columns: number;
}

function projectionOf(sizes: Sizes, rank: number): Projection {
  const [rows, columns] = sizes as [number, number];
  const tall = rows >= columns;
  const kept = Math.min(rank, rows, columns);
  return { low: tall ? [rows, kept] : [kept, columns], tall, rank: kept, rows, columns };
}

/** Whether `optim_target_modules` names the parameter's module. */
function isTarget(parameter: Tensor, targets: string | undefined): boolean {
  if (parameter.moduleKind !== "Linear" || parameter.rank !== 2) return false;
  const path = (parameter.name ?? "").replace(/\.weight$/, "");
  if (targets === undefined || targets.replace("_", "-") === "all-linear") return true;
  return targets.split(",").some((target) => path.includes(target.trim()) || matches(target, path));
}

function matches(pattern: string, path: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})$`).test(path);
  } catch {
    return false;
  }
}

/**
 * The projection matrix. GaLore takes it from a singular value decomposition; in float32 it is a view and keeps the whole
 * factor alive, in half precision it is cast. APOLLO draws it.
 */
function makeProjector(torch: Torch, { method }: Variant, p: Projection, dtype: DType, transient: boolean): void {
  const small = Math.min(p.rows, p.columns);
  const cut: Sizes = p.tall ? [p.rank, p.columns] : [p.rows, p.rank];
  const float = dtype === "float32";
  const raised = float || !transient ? null : torch.empty("_to_copy", [p.rows, p.columns], "float32");
  if (method === "apollo") {
    const drawn = float || !transient ? null : torch.empty("randn", cut, "float32");
    state(torch, float ? "randn" : "_to_copy", cut, dtype);
    drawn?.release();
  } else {
    const whole: Sizes = p.tall ? [small, p.columns] : [p.rows, small];
    const other: Sizes = p.tall ? [p.rows, small] : [small, p.columns];
    const kept = float ? state(torch, "linalg_svd", whole, "float32") : null;
    const factors = transient
      ? [
          torch.empty("linalg_svd", other, "float32"),
          torch.empty("linalg_svd", [small], "float32"),
          ...(kept === null ? [torch.empty("linalg_svd", whole, "float32")] : []),
        ]
      : [];
    if (transient) {
      // The product with the singular values is computed and thrown away.
      const diagonal = torch.empty("diag_embed", [p.rank, p.rank], "float32");
      torch.empty("mm", p.tall ? [p.rows, p.rank] : [p.rank, p.columns], "float32").release();
      diagonal.release();
    }
    if (!float) state(torch, "_to_copy", cut, dtype);
    for (const factor of factors) factor.release();
  }
  raised?.release();
}

function makeMoments(torch: Torch, { inner }: Variant, sizes: Sizes, dtype: DType): void {
  const elements = numel(sizes);
  if (inner === "adafactor") {
    if (sizes.length < 2) state(torch, "zeros_like", sizes, "float32");
    else for (const mean of [sizes.slice(0, -1), sizes.slice(1)]) state(torch, "_to_copy", mean, "float32");
  } else if (inner === "adamw8bit") {
    for (let moment = 0; moment < 2; moment++) {
      if (elements < SMALLEST_QUANTIZED) state(torch, "zeros_like", sizes, "float32");
      else {
        state(torch, "zeros_like", sizes, "uint8");
        state(torch, "zeros", [Math.ceil(elements / BLOCK)], "float32");
      }
    }
  } else for (let moment = 0; moment < 2; moment++) state(torch, "zeros_like", sizes, dtype);
}

/** One parameter's update; `grad` and what is computed from it are names of the loop's locals. */
function update(torch: Torch, variant: Variant, parameter: Tensor, p: Projection | null, locals: Locals): void {
  const { sizes } = parameter;
  const gradient = parameter.grad!;
  const { inner } = variant;
  const factored = inner === "adafactor";
  const dtype: DType = factored ? "float32" : gradient.dtype;
  const make = (operator: string, of: Sizes): Tensor => torch.empty(operator, of, dtype);
  locals.bind(
    "grad",
    factored && gradient.dtype !== "float32" ? torch.empty("_to_copy", sizes, "float32") : gradient.retain(),
  );
  if (p !== null) locals.bind("grad", make("mm", p.low));
  const low = p?.low ?? sizes;
  if (inner === "adamw8bit") {
    if (p !== null) {
      // The parameter's data is set aside while its low-rank stand-in is stepped.
      const saved = torch.empty("clone", sizes, parameter.dtype);
      const stand = torch.empty("clone", p.low, parameter.dtype);
      back(p, make, sizes).release();
      saved.release();
      stand.release();
    }
    return;
  }
  if (factored) {
    if (parameter.dtype !== "float32") locals.bind("p_data_fp32", torch.empty("_to_copy", sizes, "float32"));
    const squared = make("pow", low);
    locals.bind("update", make("add", low));
    squared.release();
    locals.bind("update", make(low.length > 1 ? "mul" : "rsqrt", low));
    if (p !== null) locals.bind("update", back(p, make, sizes));
    make("neg", sizes).release();
    return;
  }
  locals.bind("denom", make("sqrt", low));
  locals.bind("norm_grad", make("div", low));
  if (p === null) return;
  if (variant.method === "galore") locals.bind("norm_grad", back(p, make, sizes));
  else {
    locals.bind("scaled_grad", make("mul", sizes));
    // The norm-growth limiter divides out of place.
    const limited = locals.bind("scaled_grad", make("div", sizes));
    locals.bind("norm_grad", limited.retain());
  }
}

/** `project_back(...) * scale`. */
function back(p: Projection, make: (operator: string, of: Sizes) => Tensor, sizes: Sizes): Tensor {
  const full = make("mm", [p.rows, p.columns]);
  const scaled = make("mul", sizes);
  full.release();
  return scaled;
}

const lowRank =
  (variant: Variant): OptimizerFactory =>
  (torch, groups, args) => {
    const rank = Number(args["rank"] ?? DEFAULT_RANK) || DEFAULT_RANK;
    const targets = args["optim_target_modules"];
    const projections = new Map<Tensor, Projection | null>();
    const prepare = (torch: Torch, parameter: Tensor, transient: boolean): Projection | null => {
      let projection = projections.get(parameter);
      if (projection !== undefined) return projection;
      projection = isTarget(parameter, targets) ? projectionOf(parameter.sizes, rank) : null;
      projections.set(parameter, projection);
      const dtype = variant.inner === "adafactor" ? "float32" : parameter.dtype;
      if (projection !== null) makeProjector(torch, variant, projection, dtype, transient);
      makeMoments(torch, variant, projection?.low ?? parameter.sizes, dtype);
      return projection;
    };
    if (variant.layerwise) {
      // States appear in the first backward; they are made before it, so that every pass does the same.
      for (const parameter of groups.flat()) prepare(torch, parameter, false);
      return {
        step() {
          // Everything was updated in backward.
        },
        afterAccumulate(leaf, torch) {
          const locals = new Locals();
          update(torch, variant, leaf, prepare(torch, leaf, false), locals);
          locals.release();
          leaf.grad?.release();
          leaf.grad = null;
        },
      };
    }
    return {
      step(torch) {
        const locals = new Locals();
        for (const parameter of groups.flatMap(withGradient))
          update(torch, variant, parameter, prepare(torch, parameter, true), locals);
        locals.release();
      },
    };
  };

/** Factories by the name `optim` uses. */
export const LOW_RANK_OPTIMIZERS: Readonly<Record<string, OptimizerFactory>> = {
  galore_adamw: lowRank({ method: "galore", inner: "adamw" }),
  galore_adamw_8bit: lowRank({ method: "galore", inner: "adamw8bit" }),
  galore_adafactor: lowRank({ method: "galore", inner: "adafactor" }),
  galore_adamw_layerwise: lowRank({ method: "galore", inner: "adamw", layerwise: true }),
  galore_adamw_8bit_layerwise: lowRank({ method: "galore", inner: "adamw8bit", layerwise: true }),
  galore_adafactor_layerwise: lowRank({ method: "galore", inner: "adafactor", layerwise: true }),
  apollo_adamw: lowRank({ method: "apollo", inner: "adamw" }),
  apollo_adamw_layerwise: lowRank({ method: "apollo", inner: "adamw", layerwise: true }),
};
