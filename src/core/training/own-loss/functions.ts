/**
 * Functions of torch that losses of scripts call, by how they are made of the engine's operators. Sources: torch/nn/functional.py
 * (kl_div, normalize), aten/src/ATen/native/Loss.cpp (kl_div), torch/nn/modules/loss.py.
 */

import { floatNamed } from "../../../terms/dtypes";
import { table } from "../../../terms/table";
import { say } from "../../../words/message";
import { type DType, isDType } from "../../engine/dtype";
import { RefusedSizes } from "../../engine/not-modelled";
import { elementwise, isTensor, mean, mul, product, sub, sum } from "../../engine/ops/arithmetic";
import { klDivergence } from "../../engine/ops/log-probs";
import { absoluteLoss, crossEntropy, elementwiseLoss, nllLoss } from "../../engine/ops/losses";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { argument, dropout, type Given, maxOfRow, operator, reduced, reductionOf, type TorchFunction } from "./calling";
import { cosineSimilarity, tripletMargin } from "./distances";
import { Named, NotFollowed, numberOf, tensorOf, type Value } from "./values";

/** Dimensions that a reduction asks about; none: all. */
function dimensions(given: Given): number[] {
  const dim = argument(given, 1, "dim") ?? given.keywords.get("axis");
  if (dim === undefined || dim === null) return [];
  return Array.isArray(dim) ? dim.map((one) => numberOf(one as Value)) : [numberOf(dim)];
}

const reduction =
  (name: "sum" | "mean"): TorchFunction =>
  (torch, given) => {
    const keeps = argument(given, 2, "keepdim") === true;
    return (name === "sum" ? sum : mean)(torch, tensorOf(given.args[0]), dimensions(given), keeps);
  };

const along =
  (name: string): TorchFunction =>
  (torch, given) =>
    operator(torch, name, [tensorOf(argument(given, 0, "input")), argument(given, 1, "dim") ?? -1, dtypeOf(given)]);

/** A function of one tensor. */
const plain =
  (name: string): TorchFunction =>
  (torch, { args }) =>
    operator(torch, name, [tensorOf(args[0])]);

const cast =
  (dtype: DType): TorchFunction =>
  (torch, { args }) =>
    operator(torch, "to", [tensorOf(args[0]), dtype]);

/** A function whose arguments stand as the operator takes them. */
const passed =
  (name: string, ...names: readonly string[]): TorchFunction =>
  (torch, given) => {
    const all = names.map((one, place) => argument(given, place, one));
    const end = all.findLastIndex((one) => one !== undefined);
    return operator(torch, name, all.length === 0 ? given.args : all.slice(0, end + 1).map((one) => one ?? null));
  };

/** Sizes, one by one or in a list. */
function sizesOf({ args, keywords }: Given): number[] {
  const [, first, ...rest] = args;
  const sizes = Array.isArray(first) ? first : [first ?? keywords.get("shape"), ...rest];
  return sizes.map((one) => numberOf(one as Value));
}

const shaped =
  (name: string): TorchFunction =>
  (torch, given) =>
    operator(torch, name, [tensorOf(given.args[0]), sizesOf(given)]);

/** A tensor of given sizes, in one list or beside each other; `full` has what fills it behind them. */
const filled =
  (name: "full" | "zeros" | "ones"): TorchFunction =>
  (torch, given) => {
    const first = argument(given, 0, "size");
    const sizes = Array.isArray(first) || name === "full" ? [first].flat() : given.args;
    const dtype = given.keywords.has("dtype") ? dtypeOf({ args: [], keywords: given.keywords }) : "float32";
    if (!isDType(dtype)) throw new NotFollowed();
    const known = sizes.map((one) => numberOf(one as Value));
    // torch/csrc/utils/python_arg_parser.cpp: sizes are integers; c10/core/TensorImpl: none is negative.
    if (!known.every((one) => Number.isSafeInteger(one) && one >= 0))
      throw new RefusedSizes(say("engine.layer-size", { name: `torch.${name}`, size: known.join(" × ") }));
    return torch.empty(name, known, dtype);
  };

function dtypeOf({ args, keywords }: Given): Value {
  const all = [...args.slice(1), keywords.get("dtype")];
  const named = all.find((one) => one instanceof Named && DTYPE.test(one.path));
  if (!(named instanceof Named)) return null;
  const name = named.path.slice("torch.".length);
  return floatNamed(name) ?? INTEGERS[name] ?? name;
}

const DTYPE = /^torch\.(?:float(?:16|32|64)?|half|bfloat16|double|long|int(?:64|32)?|bool)$/;
const INTEGERS: Readonly<Record<string, string>> = table({ long: "int64", int: "int32" });

/** Pieces of one tensor that a loss may ask for. */
const MOST_PIECES = 64;

/** `xlogy(target, target) - target * input` (aten/src/ATen/native/Loss.cpp). */
function ofProbabilities(torch: Torch, input: Tensor, target: Tensor): Tensor {
  const weighed = product(torch, target, target);
  const terms = mul(torch, target, input);
  const out = sub(torch, weighed, terms);
  weighed.release();
  terms.release();
  return out;
}

const klDiv: TorchFunction = (torch, given) => {
  const input = tensorOf(argument(given, 0, "input"));
  const target = tensorOf(argument(given, 1, "target"));
  const logs = given.keywords.get("log_target") === true;
  const elements = logs ? klDivergence(torch, input, target) : ofProbabilities(torch, input, target);
  return reduced(torch, elements, reductionOf(given), input.size(0));
};

function pair(given: Given): readonly [Tensor, Tensor] {
  return [tensorOf(argument(given, 0, "input")), tensorOf(argument(given, 1, "target"))];
}

/** Elementwise losses whose result is reduced, or not. */
const elementLoss =
  (name: string): TorchFunction =>
  (torch, given) => {
    const [input, target] = pair(given);
    const how = reductionOf(given);
    if (how === "batchmean") throw new NotFollowed();
    return elementwiseLoss(torch, name, input, target, how !== "none");
  };

function classLoss(given: Given): "none" | "mean" | "sum" {
  const how = reductionOf(given);
  if (how === "batchmean") throw new NotFollowed();
  return how;
}

/** Planes made larger or smaller (torch/nn/functional.py, `interpolate`). */
const interpolate: TorchFunction = (torch, given) => {
  const input = tensorOf(argument(given, 0, "input"));
  const mode = argument(given, 3, "mode") ?? "nearest";
  const factor = argument(given, 2, "scale_factor") ?? null;
  const asked = argument(given, 1, "size") ?? null;
  const name = input.rank === 4 ? PLANES[String(mode)] : undefined;
  if (name === undefined) throw new NotFollowed();
  const pair = (value: Value): Value => (typeof value === "number" ? [value, value] : value);
  const [size, scales] = [pair(asked), pair(factor)];
  return operator(torch, name, mode === "nearest" ? [input, size, scales] : [input, size, false, scales]);
};

const PLANES: Readonly<Record<string, string>> = table({
  nearest: "upsample_nearest2d",
  bilinear: "upsample_bilinear2d",
  bicubic: "upsample_bicubic2d",
});

/** The largest along one dimension, or of two tensors' elements. */
const largest =
  (name: string): TorchFunction =>
  (torch, given) => {
    const dim = argument(given, 1, "dim");
    const keeps = argument(given, 2, "keepdim") === true;
    return operator(torch, name, dim === undefined ? given.args : [tensorOf(given.args[0]), dim, keeps]);
  };

/** Windows along a row go as far as they are long unless a stride is said (torch/nn/functional.py, `max_pool1d`, `avg_pool1d`). */
const pooled =
  (name: string): TorchFunction =>
  (torch, given) => {
    const size = argument(given, 1, "kernel_size");
    const list = (value: Value | undefined): Value => (typeof value === "number" ? [value] : (value ?? []));
    const [stride, padding] = [argument(given, 2, "stride"), argument(given, 3, "padding")];
    return operator(torch, name, [tensorOf(given.args[0]), list(size), list(stride ?? size), list(padding ?? 0)]);
  };

const FUNCTIONS: Readonly<Record<string, TorchFunction>> = table({
  interpolate,
  log_softmax: along("log_softmax"),
  softmax: along("softmax"),
  logsumexp: (torch, given) =>
    operator(torch, "logsumexp", [
      tensorOf(given.args[0]),
      argument(given, 1, "dim") ?? -1,
      argument(given, 2, "keepdim") ?? false,
    ]),
  kl_div: klDiv,
  cross_entropy: (torch, given) => {
    const [input, target] = pair(given);
    if (target.dtype !== "int64") throw new NotFollowed();
    const smoothing = given.keywords.get("label_smoothing") ?? 0;
    return crossEntropy(torch, input, target, classLoss(given), numberOf(smoothing));
  },
  nll_loss: (torch, given) => nllLoss(torch, ...pair(given), classLoss(given)),
  mse_loss: elementLoss("mse_loss"),
  smooth_l1_loss: elementLoss("smooth_l1_loss"),
  huber_loss: elementLoss("huber_loss"),
  binary_cross_entropy_with_logits: elementLoss("binary_cross_entropy_with_logits"),
  l1_loss: (torch, given) => absoluteLoss(torch, ...pair(given), classLoss(given) !== "none"),
  normalize: (torch, given) => {
    const input = tensorOf(given.args[0]);
    const asked = numberOf(argument(given, 2, "dim") ?? 1);
    const dim = asked < 0 ? input.rank + asked : asked;
    const norm = tensorOf(operator(torch, "linalg_vector_norm", [input, 2, dim, true]));
    const least = tensorOf(operator(torch, "clamp_min", [norm, 0]));
    norm.release();
    const wide = tensorOf(operator(torch, "expand_as", [least, input]));
    least.release();
    const out = operator(torch, "div", [input, wide]);
    wide.release();
    return out;
  },
  cosine_similarity: cosineSimilarity,
  triplet_margin_loss: tripletMargin,
  logsigmoid: (torch, { args }) => operator(torch, "log_sigmoid", [tensorOf(args[0])]),
  one_hot: passed("one_hot", "tensor", "num_classes"),
  sum: reduction("sum"),
  mean: reduction("mean"),
  cat: passed("cat", "tensors", "dim"),
  stack: passed("stack", "tensors", "dim"),
  topk: (torch, given) =>
    operator(torch, "topk", [tensorOf(given.args[0]), argument(given, 1, "k") ?? 1, argument(given, 2, "dim") ?? -1]),
  gather: passed("gather", "input", "dim", "index"),
  matmul: passed("matmul"),
  mm: passed("mm"),
  bmm: passed("bmm"),
  where: passed("where"),
  mul: passed("mul"),
  add: passed("add"),
  sub: passed("sub"),
  div: passed("div"),
  pow: passed("pow"),
  maximum: passed("maximum"),
  minimum: passed("minimum"),
  clamp: (torch, given) =>
    operator(torch, "clamp", [
      tensorOf(given.args[0]),
      argument(given, 1, "min") ?? null,
      argument(given, 2, "max") ?? null,
    ]),
  max: largest("max"),
  min: largest("min"),
  amax: passed("amax", "input", "dim", "keepdim"),
  max_pool1d: pooled("max_pool1d"),
  avg_pool1d: pooled("avg_pool1d"),
  adaptive_max_pool1d: (torch, given) => {
    const input = tensorOf(given.args[0]);
    if (argument(given, 1, "output_size") !== 1) throw new NotFollowed();
    return maxOfRow(torch, input);
  },
  adaptive_avg_pool1d: passed("adaptive_avg_pool1d", "input", "output_size"),
  dropout: (torch, given) =>
    dropout(torch, tensorOf(given.args[0]), given.keywords.get("training") !== false && torch.training),
  arange: passed("arange"),
  randperm: (torch, { args }) => torch.empty("randperm", [numberOf(args[0])], "int64"),
  tensor: (torch, { args: [items] }) =>
    torch.empty("tensor", Array.isArray(items) ? [items.length] : [], Array.isArray(items) ? "float32" : "int64"),
  eye: passed("eye"),
  full: filled("full"),
  zeros: filled("zeros"),
  ones: filled("ones"),
  ones_like: plain("ones_like"),
  zeros_like: plain("zeros_like"),
  argmax: (torch, given) => operator(torch, "argmax", [tensorOf(given.args[0]), argument(given, 1, "dim") ?? []]),
  ...Object.fromEntries(
    "exp log sqrt abs sigmoid tanh relu leaky_relu gelu silu softplus log1p neg isnan square"
      .split(" ")
      .map((name) => [name, plain(name)]),
  ),
  // Methods.
  view: shaped("view"),
  reshape: shaped("reshape"),
  expand: shaped("expand"),
  repeat: shaped("repeat"),
  permute: shaped("permute"),
  view_as: passed("view_as"),
  expand_as: passed("expand_as"),
  contiguous: plain("contiguous"),
  cuda: (_, { args }) => tensorOf(args[0]).retain(),
  detach: plain("detach"),
  clone: plain("clone"),
  t: plain("t"),
  float: plain("float"),
  long: cast("int64"),
  half: cast("float16"),
  bfloat16: cast("bfloat16"),
  to: (torch, given) => {
    const other = given.args.slice(1).find(isTensor);
    return operator(torch, "to", [tensorOf(given.args[0]), other?.dtype ?? dtypeOf(given)]);
  },
  unsqueeze: passed("unsqueeze", "input", "dim"),
  squeeze: passed("squeeze"),
  transpose: passed("transpose"),
  flatten: passed("flatten"),
  chunk: (torch, given) => {
    const pieces = numberOf(argument(given, 1, "chunks"));
    if (!(pieces > 0 && pieces <= MOST_PIECES)) throw new NotFollowed();
    return operator(torch, "chunk", [tensorOf(given.args[0]), pieces, argument(given, 2, "dim") ?? 0]);
  },
  masked_fill: passed("masked_fill"),
  eq: passed("eq"),
  ne: passed("ne"),
  gt: passed("gt"),
  type_as: passed("type_as"),
});

/** Classes of losses by the function that they call. */
export const LOSS_MODULES: Readonly<Record<string, string>> = table({
  CrossEntropyLoss: "cross_entropy",
  KLDivLoss: "kl_div",
  NLLLoss: "nll_loss",
  MSELoss: "mse_loss",
  SmoothL1Loss: "smooth_l1_loss",
  HuberLoss: "huber_loss",
  L1Loss: "l1_loss",
  TripletMarginLoss: "triplet_margin_loss",
  BCEWithLogitsLoss: "binary_cross_entropy_with_logits",
  Softmax: "softmax",
  LogSoftmax: "log_softmax",
});

/** A function by its last name; undefined: none that is followed. */
export function functionNamed(name: string): TorchFunction | undefined {
  return Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
}

/** Python's operators on numbers and tensors. */
const OPERATORS: Readonly<Record<string, string>> = table({
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "**": "pow",
  "@": "matmul",
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
  "&": "bitwise_and",
  "|": "bitwise_or",
});

const ON_NUMBERS: Readonly<Record<string, (a: number, b: number) => number | boolean>> = table({
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "**": (a, b) => a ** b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
});

export function binary(torch: Torch, sign: string, left: Value, right: Value): Value {
  if (typeof left === "number" && typeof right === "number") {
    const result = ON_NUMBERS[sign]?.(left, right);
    if (result === undefined) throw new NotFollowed();
    return result;
  }
  const name = OPERATORS[sign];
  if (name === undefined || (!isTensor(left) && !isTensor(right))) throw new NotFollowed();
  // A number before the sign: `1 - x`, `0.5 * x`, `1 / x`.
  if (name === "sub" && !isTensor(left)) return operator(torch, "rsub", [right, left]);
  if ((name === "mul" || name === "add") && !isTensor(left)) return operator(torch, name, [right, left]);
  return operator(torch, name, [left, right]);
}

export function signed(torch: Torch, sign: string, operand: Value): Value {
  if (sign === "not") return !operand;
  if (typeof operand === "number") return sign === "-" ? -operand : operand;
  if (sign === "+") return tensorOf(operand).retain();
  if (sign === "~") return elementwise(torch, "bitwise_not", [tensorOf(operand)]);
  return operator(torch, "neg", [tensorOf(operand)]);
}
