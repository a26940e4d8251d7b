/** Indices of a script's own loss. */
import type { LossExpression, LossIndex } from "../../../terms/own-loss";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { operator } from "./calling";
import { isNew } from "./expressions";
import { letGo, numberOf, tensorOf, type Value } from "./values";

const END = Number.MAX_SAFE_INTEGER;

/** `x[..., :-1, :]`: one operator for each index that changes something. */
export function sliced(
  torch: Torch,
  tensor: Tensor,
  at: readonly LossIndex[],
  asked: (expression: LossExpression) => Value,
): Tensor {
  const counted = at.filter((one) => one !== "..." && !isNew(one)).length;
  let current = tensor.retain();
  let dim = 0;
  for (const index of at) {
    const before = current;
    if (index === "...") dim += tensor.rank - counted;
    else if ("index" in index) {
      const value = asked(index.index);
      if (value === null) current = tensorOf(operator(torch, "unsqueeze", [before, dim++]));
      else if (typeof value === "number") current = tensorOf(operator(torch, "select", [before, dim, value]));
      else {
        const places: Value[] = [...Array.from({ length: dim }, () => null), tensorOf(value)];
        current = tensorOf(operator(torch, "index", [before, places]));
        letGo(value);
      }
    } else {
      const [from, to] = [index.from, index.to].map((one) => (one === null ? null : numberOf(asked(one))));
      if (from !== null || to !== null)
        current = tensorOf(operator(torch, "slice", [before, dim, from ?? 0, to ?? END]));
      dim++;
    }
    if (current !== before) before.release();
  }
  return current;
}
