/**
 * Experts that run one by one, on rows that their library counts on the host (`for expert_idx in expert_hit` of
 * transformers/models/switch_transformers/modeling_switch_transformers.py). Rows are shared out evenly, as routers are trained to
 * do.
 */
import { repeated } from "../pieces";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { slice, split, unbind } from "./layout";
import { nextPart } from "./pictures";

/**
 * Rows of one expert: the first experts have one more where they do not divide evenly. Where routing is not balanced at all, the
 * last expert has them all.
 */
function share(torch: Torch, rows: number, experts: number, expert: number): number {
  torch.noticed.add("shared-rows");
  if (torch.routing === "one") return expert === experts - 1 ? rows : 0;
  return Math.max(0, Math.ceil((rows - expert) / experts));
}

function shares(torch: Torch, rows: number, experts: number): number[] {
  return repeated(torch, experts, (expert) => share(torch, rows, experts, expert));
}

/** `torch.where(mask)` of one expert's part of a mask with a place for each choice of each token: one row of numbers per dimension. */
export function expertRows(torch: Torch, mask: Tensor, experts: number, expert: number): Tensor[] {
  const places = torch.empty("nonzero", [share(torch, mask.elements, experts, expert), mask.rank], "int64");
  const found = unbind(torch, places, 1);
  places.release();
  return found;
}

/** Rows of one expert among those that stand behind each other. */
export function expertSlice(torch: Torch, self: Tensor, experts: number, expert: number): Tensor {
  const before = shares(torch, self.size(0), experts).slice(0, expert);
  const first = before.reduce((sum, rows) => sum + rows, 0);
  return slice(torch, self, 0, first, first + share(torch, self.size(0), experts, expert));
}

/** The same as one of the views of a split. */
export function expertPart(torch: Torch, self: Tensor, experts: number, expert: number): Tensor {
  return nextPart(torch, self, expert, experts, () => split(torch, self, shares(torch, self.size(0), experts), 0));
}
