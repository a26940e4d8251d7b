/** Losses that are made of distances. */
import { mul, sub, sum } from "../../engine/ops/arithmetic";
import { argument, operator, reduced, reductionOf, type TorchFunction } from "./calling";
import { NotFollowed, numberOf, tensorOf } from "./values";

/** Both are made as large as each other and divided by their norms (aten/src/ATen/native/Distance.cpp, `cosine_similarity`). */
export const cosineSimilarity: TorchFunction = (torch, given) => {
  const both = [tensorOf(argument(given, 0, "x1")), tensorOf(argument(given, 1, "x2"))];
  const rank = Math.max(...both.map((one) => one.rank));
  const sizes = Array.from({ length: rank }, (_, k) => Math.max(...both.map((one) => one.sizes.at(k - rank) ?? 1)));
  const asked = numberOf(argument(given, 2, "dim") ?? 1);
  const dim = asked < 0 ? rank + asked : asked;
  const scaled = both.map((one) => {
    const wide = tensorOf(operator(torch, "expand", [one, sizes]));
    const norm = tensorOf(operator(torch, "linalg_vector_norm", [wide, 2, dim, true]));
    const out = tensorOf(operator(torch, "div", [wide, norm]));
    for (const tensor of [wide, norm]) tensor.release();
    return out;
  });
  const terms = mul(torch, scaled[0]!, scaled[1]!);
  for (const one of scaled) one.release();
  const out = sum(torch, terms, [dim]);
  terms.release();
  return out;
};

/** Distances of rows, less one from the other (aten/src/ATen/native/Loss.cpp, `triplet_margin_loss`; Distance.cpp, `pairwise_distance`). */
export const tripletMargin: TorchFunction = (torch, given) => {
  const [anchor, ...both] = ["anchor", "positive", "negative"].map((name, k) => tensorOf(argument(given, k, name)));
  const how = reductionOf(given);
  if (how === "batchmean" || given.keywords.get("swap") === true) throw new NotFollowed();
  const power = numberOf(given.keywords.get("p") ?? 2);
  const distances = both.map((other) => {
    const apart = sub(torch, anchor!, other);
    const moved = tensorOf(operator(torch, "add", [apart, 1e-6]));
    const norm = tensorOf(operator(torch, "linalg_vector_norm", [moved, power, -1, false]));
    for (const tensor of [apart, moved]) tensor.release();
    return norm;
  });
  const [near, far] = distances;
  const wide = tensorOf(operator(torch, "add", [near!, numberOf(given.keywords.get("margin") ?? 1)]));
  const less = sub(torch, wide, far!);
  const elements = tensorOf(operator(torch, "clamp", [less, 0, null]));
  for (const tensor of [...distances, wide, less]) tensor.release();
  return reduced(torch, elements, how, elements.size(0));
};
