/**
 * How GaLore and APOLLO project a gradient to a low rank. GaLore's matrices come from a singular value decomposition (in
 * float32 they are views that keep whole factors alive, in half precision casts); APOLLO draws them. A new matrix is made
 * every `update_proj_gap` steps: every step is run as such a one, the largest there are.
 * Sources: galore-torch 1.0 (galore_projector.py), apollo-torch 1.0 (random_projector.py, svd_projector.py).
 */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { GradientProjection } from "./adafactor";
import { replaceStates, state } from "./types";

type Sizes = readonly number[];

/** `proj_type`, with the two that depend on the shape decided. */
type Side = "right" | "left" | "full";

export interface ProjectorOptions {
  readonly rank: number;
  /** `proj_type`. */
  readonly type: string;
  /** Drawn (APOLLO) instead of decomposed. */
  readonly random: boolean;
}

function sideOf(type: string, rows: number, columns: number): Side {
  if (type === "right" || type === "left" || type === "full") return type;
  return rows >= columns === (type !== "reverse_std") ? "right" : "left";
}

/** Projects one matrix's gradients; keeps its matrices between steps. */
export class Projector implements GradientProjection {
  readonly sizes: Sizes;
  private readonly side: Side;
  private readonly small: number;
  private readonly rank: number;
  private matrices: readonly Tensor[] = [];

  constructor(
    private readonly options: ProjectorOptions,
    private readonly rows: number,
    private readonly columns: number,
    private readonly dtype: DType,
  ) {
    this.side = sideOf(options.type, rows, columns);
    this.small = Math.min(rows, columns);
    this.rank = options.random ? options.rank : Math.min(options.rank, this.small);
    const lows: Readonly<Record<Side, Sizes>> = {
      right: [rows, this.rank],
      left: [this.rank, columns],
      full: [this.rank, this.rank],
    };
    this.sizes = lows[this.side];
  }

  project(torch: Torch): Tensor {
    const made = this.options.random ? this.draw(torch) : this.decompose(torch);
    this.matrices = replaceStates(torch, this.matrices, made);
    if (this.side !== "full") {
      const [rows, columns] = this.sizes as [number, number];
      const inner = this.side === "right" ? this.columns : this.rows;
      torch.multiply(this.sizes, { count: 1, rows, columns, inner, dtype: this.dtype });
      return torch.empty("mm", this.sizes, this.dtype);
    }
    const half = torch.empty("mm", [this.rank, this.columns], this.dtype);
    const low = torch.empty("mm", this.sizes, this.dtype);
    half.release();
    return low;
  }

  /** `project_back(...)`: the full matrix, and its scaled copy. */
  back(torch: Torch): Tensor {
    const half = this.side === "full" ? torch.empty("mm", [this.rows, this.rank], this.dtype) : null;
    const { rows, columns, rank, dtype } = this;
    torch.multiply([rows, columns], { count: 1, rows, columns, inner: rank, dtype });
    const full = torch.empty("mm", [rows, columns], dtype);
    half?.release();
    const scaled = torch.empty("mul", [this.rows, this.columns], this.dtype);
    full.release();
    return scaled;
  }

  /** `get_orthogonal_matrix` by singular values; the product with them is computed and not used. */
  private decompose(torch: Torch): readonly Tensor[] {
    const { rows, columns, small, rank, side } = this;
    const float = this.dtype === "float32";
    const make = (kept: boolean, sizes: Sizes): Tensor =>
      kept && float ? state(torch, "linalg_svd", sizes, "float32") : torch.empty("linalg_svd", sizes, "float32");
    const raised = float ? null : torch.empty("_to_copy", [rows, columns], "float32");
    const u = make(side !== "right", [rows, small]);
    const singular = torch.empty("linalg_svd", [small], "float32");
    const vh = make(side !== "left", [small, columns]);
    let product: Tensor | null = null;
    if (side !== "full") {
      const diagonal = torch.empty("diag_embed", [rank, rank], "float32");
      product = torch.empty("mm", side === "right" ? [rows, rank] : [rank, columns], "float32");
      diagonal.release();
    }
    const factors = side === "right" ? [vh] : side === "left" ? [u] : [u, vh];
    const kept = float
      ? factors.map((factor) => factor.retain())
      : factors.map((factor) => state(torch, "_to_copy", factor === u ? [rows, rank] : [rank, columns], this.dtype));
    for (const tensor of [raised, u, singular, vh, product]) tensor?.release();
    return kept;
  }

  /** A matrix of normal numbers, divided by the root of the rank. */
  private draw(torch: Torch): readonly Tensor[] {
    const cut = this.side === "right" ? [this.rank, this.columns] : [this.rows, this.rank];
    const float = this.dtype === "float32";
    const raised = float ? null : torch.empty("_to_copy", [this.rows, this.columns], "float32");
    const drawn = torch.empty("randn", cut, "float32");
    const scaled = float ? state(torch, "div", cut, "float32") : torch.empty("div", cut, "float32");
    drawn.release();
    if (float) return [scaled];
    const kept = state(torch, "_to_copy", cut, this.dtype);
    scaled.release();
    raised?.release();
    return [kept];
  }
}
