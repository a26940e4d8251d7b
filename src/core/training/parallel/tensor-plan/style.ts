/**
 * How a module is split over GPUs: by columns or rows of its matrix, or by rows of the vocabulary. Of stacks of experts' matrices,
 * two that lie in one are split by columns each, or the GPUs share out whole experts.
 */
export type Style =
  | "columns"
  | "rows"
  | "gathered-columns"
  | "split-rows"
  | "vocabulary"
  | "packed-columns"
  | "experts";
