/**
 * The dispatcher: operators of captured graphs by their ATen name. An entry takes resolved operands and gives owned
 * tensors; operands are borrowed.
 */
import { type DType, isFloating, resultType } from "../dtype";
import { broadcast, contiguousStrides, numel } from "../shape";
import { alias, hostTensor, sameView, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import * as arithmetic from "./arithmetic";
import { isTensor, UNARY_OPERATORS, unary } from "./arithmetic";
import { chunkedCrossEntropy } from "./chunked-loss";
import * as complex from "./complex";
import { addInPlace, copyInto, leakyReluInPlace, putAtPositions, putByMask, scalePart } from "./inplace";
import * as layout from "./layout";
import * as liger from "./liger";
import * as linear from "./linear";
import { entropyFromLogits, klDivergence, logSumExp, selectiveLogSoftmax } from "./log-probs";
import * as masks from "./masks";
import * as model from "./model";
import * as nonlinear from "./nonlinear";
import { clampHalf } from "./overflow";
import * as pictures from "./pictures";
import * as pooling from "./pooling";
import * as sound from "./sound";
import { std } from "./spread";
import * as trl from "./trl";

export type Argument = Tensor | number | boolean | string | null | readonly Argument[];

/** Operands of one instruction: positional, then keyword ones by name. */
export class Arguments {
  constructor(
    readonly positional: readonly Argument[],
    readonly keywords: Readonly<Record<string, Argument>>,
  ) {}

  /** Positional operand `k`, or the keyword `name`. */
  get(k: number, name?: string): Argument | undefined {
    return k >= 0 && k < this.positional.length
      ? this.positional[k]
      : name === undefined
        ? undefined
        : this.keywords[name];
  }

  tensor(k: number): Tensor {
    return this.positional[k] as Tensor;
  }

  maybeTensor(k: number, name?: string): Tensor | null {
    const value = this.get(k, name);
    return isTensor(value) ? value : null;
  }

  operand(k: number): Tensor | number | boolean {
    const value = this.positional[k];
    return isTensor(value) || typeof value === "boolean" ? value : Number(value ?? 0);
  }

  number(k: number, fallback: number, name?: string): number {
    const value = this.get(k, name);
    return typeof value === "number" ? value : typeof value === "boolean" ? Number(value) : fallback;
  }

  flag(k: number, name?: string): boolean {
    const value = this.get(k, name);
    return value === true || (typeof value === "number" && value !== 0);
  }

  numbers(k: number, name?: string): number[] {
    const value = this.get(k, name);
    if (Array.isArray(value)) return value.map(Number);
    return typeof value === "number" ? [value] : [];
  }

  tensors(k: number): Tensor[] {
    const value = this.positional[k];
    return Array.isArray(value) ? (value.filter(isTensor) as Tensor[]) : [];
  }

  /** A dtype that the code asks for, autocast or not; `self` is that of the first operand. */
  dtype(k: number, name = "dtype"): DType | null {
    const value = this.get(k, name);
    if (value === "self") return this.tensor(0).dtype;
    return typeof value === "string" && value in DTYPES ? (value as DType) : null;
  }
}

const DTYPES: Readonly<Record<DType, true>> = {
  complex64: true,
  float64: true,
  float32: true,
  float16: true,
  bfloat16: true,
  float8: true,
  int64: true,
  int32: true,
  int16: true,
  uint8: true,
  int8: true,
  bool: true,
};

type Rule = (torch: Torch, args: Arguments) => Tensor | Tensor[];

/** Same result as another operator that only reads its first operand's shape. */
const likeFirst =
  (operator: string): Rule =>
  (torch, args) =>
    arithmetic.elementwise(torch, operator, [args.tensor(0)], args.dtype(-1) ?? args.tensor(0).dtype);

/** The same elements in other places (`roll`, `flip`): the gradient is put back by the same operator. */
const rearranged =
  (operator: string): Rule =>
  (torch, args) => {
    const self = args.tensor(0);
    const node = torch.record("RearrangeBackward0", [self], (torch, [gradient]) => [
      gradient ? arithmetic.elementwise(torch, operator, [gradient]) : null,
    ]);
    return torch.attach(node, arithmetic.elementwise(torch, operator, [self]));
  };

const comparison =
  (operator: string): Rule =>
  (torch, args) =>
    arithmetic.compare(torch, operator, args.operand(0), args.positional.length > 1 ? args.operand(1) : 0);

/** New tensor of given sizes; nothing to differentiate. */
const factory =
  (operator: string, dtypeOf: (args: Arguments) => DType): Rule =>
  (torch, args) =>
    torch.empty(operator, args.numbers(0), args.dtype(-1) ?? dtypeOf(args));

const interpolation =
  (operator: string): Rule =>
  (torch, args) =>
    pictures.interpolate(torch, args.tensor(0), args.numbers(1), operator);

const concatenated: Rule = (torch, args) => layout.cat(torch, args.tensors(0), args.number(1, 0, "dim"));

function eye(torch: Torch, args: Arguments): Tensor {
  const rows = args.number(0, 0);
  return torch.empty("eye", [rows, args.number(1, rows)], args.dtype(-1) ?? "float32");
}

const newFactory =
  (operator: string): Rule =>
  (torch, args) =>
    torch.empty(operator, args.numbers(1), args.dtype(-1) ?? args.tensor(0).dtype);

function arange(torch: Torch, args: Arguments): Tensor {
  const [a, b, step] = [args.number(0, 0), args.get(1), args.number(2, 1)];
  const [start, end] = typeof b === "number" ? [a, b] : [0, a];
  const values = [start, end, step];
  const dtype = args.dtype(-1) ?? (values.every(Number.isInteger) ? "int64" : "float32");
  return torch.empty("arange", [Math.max(0, Math.ceil((end - start) / step))], dtype);
}

/** `to`: a copy where the dtype differs (or `copy=True`), else the same tensor. */
function to(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  let dtype: DType | null = null;
  for (const value of [...args.positional.slice(1), args.keywords["dtype"], args.keywords["other"]]) {
    if (typeof value === "string" && value in DTYPES) dtype = value as DType;
    else if (isTensor(value)) dtype = value.dtype;
  }
  if (dtype === null || dtype === self.dtype) return self.retain();
  // `memory_format=torch.contiguous_format`; else the copy keeps the order of dimensions.
  return torch.toCopy(self, dtype, args.flag(-1, "contiguous") ? contiguousStrides(self.sizes) : undefined);
}

/** What a model casts by itself where autocast is on (`torch.amp.autocast_mode._cast`): a plain copy, not a cached one. */
/** A conversion to autocast's dtype: by hand, or (`cached`) as `cached_cast` converts an operator's operand. */
function autocastTo(torch: Torch, self: Tensor, cached: boolean): Tensor {
  if (cached && torch.autocasting) return torch.autocast(self, torch.autocastDtype ?? self.dtype);
  const wanted = torch.autocasting && isFloating(self.dtype) && self.dtype !== "float64" ? torch.autocastDtype : null;
  return wanted === null || wanted === self.dtype ? self.retain() : torch.toCopy(self, wanted);
}

function chunk(torch: Torch, args: Arguments): Tensor[] {
  const self = args.tensor(0);
  const dim = args.number(2, 0, "dim");
  const size = self.size(dim);
  const each = Math.ceil(size / args.number(1, 1));
  const lengths: number[] = [];
  for (let left = size; left > 0; left -= each) lengths.push(Math.min(each, left));
  return layout.split(torch, self, lengths, dim);
}

function split(torch: Torch, args: Arguments): Tensor[] {
  const self = args.tensor(0);
  const dim = args.number(2, 0, "dim");
  const given = args.get(1);
  if (Array.isArray(given)) return layout.split(torch, self, given.map(Number), dim);
  const each = Number(given);
  const lengths: number[] = [];
  for (let left = self.size(dim); left > 0; left -= each) lengths.push(Math.min(each, left));
  return layout.split(torch, self, lengths, dim);
}

function sdpa(torch: Torch, args: Arguments): Tensor {
  return model.attention(torch, {
    query: args.tensor(0),
    key: args.tensor(1),
    value: args.tensor(2),
    mask: args.maybeTensor(3, "attn_mask"),
    dropout: args.number(4, 0, "dropout_p"),
    causal: args.flag(5, "is_causal"),
    groupedQuery: args.flag(7, "enable_gqa"),
  });
}

const REDUCTIONS = ["none", "mean", "sum"] as const;

function crossEntropy(torch: Torch, args: Arguments): Tensor {
  const reduction = REDUCTIONS[args.number(3, 1, "reduction")] ?? "mean";
  return model.crossEntropy(torch, args.tensor(0), args.tensor(1), reduction, args.number(5, 0, "label_smoothing"));
}

/** Advanced indexing: indexed dimensions are replaced by the broadcast shape of the indices. */
function index(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  // An index that stays on the host is given by its sizes; the device never holds it.
  const given = ((args.positional[1] as readonly Argument[]) ?? []).map((value) =>
    Array.isArray(value) ? hostTensor(torch.ledger, value.map(Number), "int64") : value,
  );
  const indices = given.filter(isTensor);
  const rows = args.keywords["rows"];
  if (typeof rows === "number" && indices[0] !== undefined) return masks.indexByMask(torch, self, indices[0], rows);
  return model.gatherLike(torch, "index", self, indices, indexedSizes(self, given));
}

/**
 * Indexed dimensions are replaced by the broadcast shape of the indices: where they stood if they stood together, in front else
 * (aten/src/ATen/native/TensorAdvancedIndexingUtils.h, make_info).
 */
function indexedSizes(self: Tensor, given: readonly Argument[]): number[] {
  const indices = given.filter(isTensor);
  const first = given.findIndex((value) => isTensor(value));
  const shape = indices.reduce<readonly number[]>((sizes, tensor) => broadcast(sizes, tensor.sizes), []);
  if (given.slice(first, first + indices.length).every((value) => isTensor(value)))
    return [...self.sizes.slice(0, first), ...shape, ...self.sizes.slice(first + indices.length)];
  return [...shape, ...self.sizes.filter((_, k) => !isTensor(given[k]))];
}

/** Writing in place: rows or a number where a mask is true, or rows with numbers. */
function indexPut(torch: Torch, args: Arguments): Tensor {
  const rows = args.keywords["rows"];
  const mask = (args.positional[1] as readonly Argument[]).find(isTensor);
  if (typeof rows === "number" && mask !== undefined)
    return masks.putRowsByMask(torch, args.tensor(0), mask, args.tensor(2), rows);
  if (mask?.dtype === "bool") return putByMask(torch, args.tensor(0), mask);
  const given = (args.positional[1] as readonly Argument[]) ?? [];
  const picked = indexedSizes(args.tensor(0), given);
  return putAtPositions(torch, args.tensor(0), {
    indices: given.filter(isTensor),
    values: args.maybeTensor(2),
    picked,
  });
}

function indexSelect(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const dim = args.number(1, 0);
  const k = dim < 0 ? dim + self.rank : dim;
  const sizes = self.sizes.map((size, d) => (d === k ? args.tensor(2).elements : size));
  return model.gatherLike(torch, "index_select", self, [args.tensor(2)], sizes);
}

/** Sizes of `any` and `all`: one value, or one along each dimension that is not asked about. */
function tested(args: Arguments): number[] {
  if (args.get(1, "dim") === undefined) return [];
  return arithmetic.reducedSizes(args.tensor(0).sizes, args.numbers(1), args.flag(2, "keepdim"));
}

/**
 * A norm of its own for every head: the heads are split, normed and put together again (transformers/models/stablelm/
 * modeling_stablelm.py, StableLmLayerNormPerHead). Nothing happens where the model has none.
 */
function normByHead(torch: Torch, states: Tensor, weights: readonly Tensor[]): Tensor {
  if (weights.length === 0) return states.retain();
  const heads = layout.split(
    torch,
    states,
    weights.map(() => 1),
    1,
  );
  const normed = weights.map((weight, k) => nonlinear.layerNorm(torch, heads[k]!, weight.sizes, weight, null));
  const out = layout.cat(torch, normed, 1);
  for (const tensor of [...normed, ...heads]) tensor.release();
  return out;
}

function inplace(operand: number | null): Rule {
  return (torch, args) => arithmetic.inplace(torch, args.tensor(0), operand === null ? null : args.operand(operand));
}

const RULES: Readonly<Record<string, Rule>> = {
  add: (t, a) => arithmetic.add(t, a.operand(0), a.operand(1)),
  sub: (t, a) => arithmetic.sub(t, a.operand(0), a.operand(1)),
  rsub: (t, a) => arithmetic.sub(t, a.operand(1), a.operand(0), "rsub"),
  mul: (t, a) => arithmetic.mul(t, a.operand(0), a.operand(1)),
  multiply: (t, a) => arithmetic.mul(t, a.operand(0), a.operand(1)),
  div: (t, a) => arithmetic.div(t, a.operand(0), a.operand(1)),
  true_divide: (t, a) => arithmetic.div(t, a.operand(0), a.operand(1)),
  pow: (t, a) =>
    isTensor(a.positional[1])
      ? arithmetic.powers(t, a.operand(0), a.tensor(1))
      : arithmetic.pow(t, a.tensor(0), a.number(1, 2)),
  square: (t, a) => arithmetic.pow(t, a.tensor(0), 2),
  where: (t, a) => arithmetic.where(t, a.tensor(0), a.operand(1), a.operand(2), a.dtype(-1)),
  masked_fill: (t, a) => arithmetic.maskedFill(t, a.tensor(0), a.tensor(1)),
  maximum: (t, a) => arithmetic.extremum(t, "maximum", a.operand(0), a.operand(1)),
  min: (t, a) => largest(t, "min", "minimum", a),
  minimum: (t, a) => arithmetic.extremum(t, "minimum", a.operand(0), a.operand(1)),
  max: (t, a) => largest(t, "max", "maximum", a),
  clamp: (t, a) => arithmetic.clamp(t, a.tensor(0), limits(a)),
  clip: (t, a) => arithmetic.clamp(t, a.tensor(0), limits(a)),
  clamp_half: (t, a) => clampHalf(t, a.tensor(0), a.flag(1)),
  clamp_min: (t, a) => arithmetic.clamp(t, a.tensor(0), 1),
  amax: (t, a) => extreme(t, "amax", a),
  amin: (t, a) => extreme(t, "amin", a),
  cumsum: (t, a) => arithmetic.cumsum(t, a.tensor(0), a.dtype(2)),
  sum: (t, a) => arithmetic.sum(t, a.tensor(0), a.numbers(1, "dim"), a.flag(2, "keepdim"), a.dtype(3)),
  std: (t, a) => std(t, a.tensor(0), a.numbers(1, "dim"), a.flag(3, "keepdim")),
  mean: (t, a) => arithmetic.mean(t, a.tensor(0), a.numbers(1, "dim"), a.flag(2, "keepdim"), a.dtype(3)),
  linear: (t, a) => linear.linear(t, a.tensor(0), a.tensor(1), a.maybeTensor(2, "bias")),
  matmul: (t, a) => linear.matmul(t, a.tensor(0), a.tensor(1)),
  mm: (t, a) => linear.mmOperator(t, a.tensor(0), a.tensor(1)),
  bmm: (t, a) => linear.bmmOperator(t, a.tensor(0), a.tensor(1)),
  addmm: (t, a) => linear.addmmOperator(t, a.tensor(0), a.tensor(1), a.tensor(2)),
  baddbmm: (t, a) => linear.baddbmmOperator(t, a.tensor(0), a.tensor(1), a.tensor(2)),
  _grouped_mm: (t, a) => linear.groupedMm(t, a.tensor(0), a.tensor(1), a.maybeTensor(2, "offs")),
  linalg_solve_triangular: (t, a) => linear.solveTriangular(t, a.tensor(0), a.tensor(1)),
  liger_rms_norm: (t, a) => liger.ligerRmsNorm(t, a.tensor(0), a.tensor(1)),
  liger_gated_product: (t, a) => liger.ligerGatedProduct(t, a.tensor(0), a.tensor(1)),
  liger_fused_linear_cross_entropy: (t, a) => liger.fusedLinearCrossEntropy(t, a.tensor(0), a.tensor(1)),
  chunked_cross_entropy: (t, a) =>
    chunkedCrossEntropy(t, a.tensor(0), a.tensor(1), a.tensor(2), {
      chunks: a.number(3, 1),
      compiled: a.flag(4),
      keepsLogits: a.flag(5),
    }),
  trl_chunked_log_probs: (t, a) =>
    trl.chunkedLogProbs(
      t,
      a.tensor(0),
      a.tensor(1),
      a.maybeTensor(2),
      a.tensor(3),
      a.number(4, 0),
      String(a.get(5)).split(","),
    ),
  trl_advantages: (t, a) => trl.advantages(t, a.tensor(0)),
  trl_logprob_entropy: (t, a) => trl.logProbEntropy(t, a.tensor(0), a.tensor(1)),
  logsumexp: (t, a) => logSumExp(t, a.tensor(0), a.numbers(1)[0]),
  kl_div: (t, a) => klDivergence(t, a.tensor(0), a.tensor(1)),
  flash_log_probs: (t, a) => trl.flashLogProbs(t, a.tensor(0), a.tensor(1), a.flag(2, "inplace_backward")),
  compiled_entropy: (t, a) => trl.compiledEntropy(t, a.tensor(0)),
  trl_selective_log_softmax: (t, a) => selectiveLogSoftmax(t, a.tensor(0), a.tensor(1)),
  trl_entropy_from_logits: (t, a) => entropyFromLogits(t, a.tensor(0)),
  masked_scatter: (t, a) => masks.maskedScatter(t, a.tensor(0), a.tensor(1), a.tensor(2)),
  nonzero: (t, a) => masks.positions(t, a.tensor(0), a.number(-1, 0, "rows")),
  autocast_enter: trl.enterAutocast,
  autocast_exit: trl.leaveAutocast,
  nansum: (t, a) => trl.withoutNaN(t, a.tensor(0), false, a.numbers(1, "dim")),
  nanmean: (t, a) => trl.withoutNaN(t, a.tensor(0), true),
  embedding: (t, a) => model.embedding(t, a.tensor(0), a.tensor(1)),
  scaled_dot_product_attention: sdpa,
  cross_entropy_loss: crossEntropy,
  nll_loss_nd: (t, a) => model.nllLoss(t, a.tensor(0), a.tensor(1), "mean"),
  nll_loss: (t, a) => model.nllLoss(t, a.tensor(0), a.tensor(1), "mean"),
  l1_loss: (t, a) => model.absoluteLoss(t, a.tensor(0), a.tensor(1), a.number(2, 1) !== 0),
  broadcast_tensors: (t, a) => {
    const given = a.tensors(0);
    const sizes = given.reduce<readonly number[]>((all, tensor) => broadcast(all, tensor.sizes), []);
    return given.map((tensor) => layout.expand(t, tensor, sizes));
  },
  mse_loss: (t, a) => model.elementwiseLoss(t, "mse_loss", a.tensor(0), a.tensor(1)),
  binary_cross_entropy_with_logits: (t, a) =>
    model.elementwiseLoss(t, "binary_cross_entropy_with_logits", a.tensor(0), a.tensor(1), a.number(4, 1) !== 0),
  softmax: (t, a) => nonlinear.softmax(t, a.tensor(0), a.dtype(2)),
  log_softmax: (t, a) => nonlinear.softmax(t, a.tensor(0), a.dtype(2), true),
  dropout: (t, a) => nonlinear.dropout(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false),
  native_dropout: (t, a) => nonlinear.dropout(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false),
  layer_norm: (t, a) =>
    nonlinear.layerNorm(t, a.tensor(0), a.numbers(1), a.maybeTensor(2, "weight"), a.maybeTensor(3, "bias")),
  layer_norm_by_head: (t, a) => normByHead(t, a.tensor(0), a.tensors(1)),
  rms_norm: (t, a) => nonlinear.rmsNorm(t, a.tensor(0), a.numbers(1), a.maybeTensor(2, "weight")),
  glu: (t, a) => nonlinear.gatedLinearUnit(t, a.tensor(0), a.number(1, -1, "dim")),
  group_norm: (t, a) =>
    nonlinear.groupNorm(t, a.tensor(0), a.number(1, 1), a.maybeTensor(2, "weight"), a.maybeTensor(3, "bias")),
  instance_norm: (t, a) => nonlinear.instanceNorm(t, a.tensor(0), a.maybeTensor(1, "weight"), a.maybeTensor(2, "bias")),
  batch_norm: (t, a) => nonlinear.batchNorm(t, a.tensor(0), a.maybeTensor(1, "weight"), a.maybeTensor(2, "bias")),
  _weight_norm: (t, a) => sound.weightNorm(t, a.tensor(0), a.tensor(1)),
  ctc_loss: (t, a) => sound.ctcLoss(t, a.tensor(0), a.tensor(1), a.get(2) === "mean" ? "mean" : "sum"),
  unbind_cat: (t, a) => pictures.unbindCat(t, a.tensor(0)),
  picture_part: (t, a) => pictures.picturePart(t, a.tensor(0), a.number(1, 1), a.number(2, 0)),
  split_cat: (t, a) => pictures.splitCat(t, a.tensor(0), a.number(1, 1)),
  attention_by_parts: (t, a) =>
    pictures.attentionByParts(t, {
      query: a.tensor(0),
      key: a.tensor(1),
      value: a.tensor(2),
      pictures: a.number(4, 1),
      window: a.number(5, 0),
      merge: a.number(6, 1),
    }),
  upsample_bilinear2d: interpolation("upsample_bilinear2d"),
  _upsample_bilinear2d_aa: interpolation("_upsample_bilinear2d_aa"),
  upsample_bicubic2d: interpolation("upsample_bicubic2d"),
  upsample_linear1d: interpolation("upsample_linear1d"),
  // aten/src/ATen/native/Onehot.cpp: zeros, and a one put where each number says
  one_hot: (t, a) => t.empty("zeros", [...a.tensor(0).sizes, a.number(1, 1)], "int64"),
  grid_sampler: (t, a) => pictures.sampleAtPlaces(t, a.tensor(0), a.tensor(1)),
  max_pool2d: (t, a) =>
    pooling.maxPool(t, a.tensor(0), { ...windowOf(a), dilation: a.numbers(4), ceiling: a.flag(5, "ceil_mode") }),
  avg_pool1d: (t, a) => averagePool(t, a, pooling.averagePoolOfRows),
  avg_pool2d: averagePool,
  avg_pool3d: averagePool,
  im2col: (t, a) => {
    const [kernel, dilation, padding, stride] = [a.numbers(1), a.numbers(2), a.numbers(3), a.numbers(4)];
    return pooling.windowsInColumns(t, a.tensor(0), { kernel, dilation, padding, stride, ceiling: false });
  },
  col2im: (t, a) => pooling.columnsToPicture(t, a.tensor(0), a.numbers(1), a.numbers(2)),
  adaptive_avg_pool1d: (t, a) => pooling.adaptiveAveragePool(t, a.tensor(0), a.numbers(1)),
  adaptive_avg_pool2d: (t, a) => pooling.adaptiveAveragePool(t, a.tensor(0), a.numbers(1)),
  relu_: (t, a) => pooling.reluInPlace(t, a.tensor(0)),
  leaky_relu_: (t, a) => leakyReluInPlace(t, a.tensor(0)),
  feature_dropout: (t, a) =>
    pooling.dropoutOfChannels(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false),
  dropout_: (t, a) => pooling.dropoutInPlace(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false),
  linalg_vector_norm: (t, a) => pooling.vectorNorm(t, a.tensor(0), a.numbers(2, "dim"), a.flag(3, "keepdim")),
  conv1d: convolution,
  conv2d: convolution,
  conv3d: convolution,
  conv_transpose2d: transposedConvolution,
  conv_transpose3d: transposedConvolution,
  index,
  index_select: indexSelect,
  take_along_dim: (t, a) => model.takeAlongDim(t, a.tensor(0), a.tensor(1)),
  gather: (t, a) => model.gatherLike(t, "gather", a.tensor(0), [a.tensor(2)], a.tensor(2).sizes),
  view: (t, a) => layout.view(t, a.tensor(0), a.numbers(1)),
  _unsafe_view: (t, a) => layout.unsafeView(t, a.tensor(0), a.numbers(1)),
  reshape: (t, a) => layout.reshape(t, a.tensor(0), a.numbers(1)),
  view_as: (t, a) => layout.view(t, a.tensor(0), a.tensor(1).sizes),
  flatten,
  unflatten,
  permute: (t, a) => layout.permute(t, a.tensor(0), a.numbers(1)),
  transpose: (t, a) => layout.transpose(t, a.tensor(0), a.number(1, 0), a.number(2, 1)),
  swapaxes: (t, a) => layout.transpose(t, a.tensor(0), a.number(1, 0), a.number(2, 1)),
  t: (t, a) => layout.transpose(t, a.tensor(0), 0, 1),
  as_strided: (t, a) => layout.asStrided(t, a.tensor(0), a.numbers(1), a.numbers(2)),
  mT: (t, a) => layout.transpose(t, a.tensor(0), -1, -2),
  numpy_T: (t, a) =>
    layout.permute(
      t,
      a.tensor(0),
      a.tensor(0).sizes.map((_, k) => a.tensor(0).rank - 1 - k),
    ),
  expand: (t, a) => layout.expand(t, a.tensor(0), a.numbers(1)),
  broadcast_to: (t, a) => layout.expand(t, a.tensor(0), a.numbers(1)),
  expand_as: (t, a) => layout.expand(t, a.tensor(0), a.tensor(1).sizes),
  unsqueeze: (t, a) => layout.unsqueeze(t, a.tensor(0), a.number(1, 0)),
  squeeze: (t, a) => layout.squeeze(t, a.tensor(0), a.positional.length > 1 ? a.numbers(1) : null),
  slice: (t, a) =>
    layout.slice(t, a.tensor(0), a.number(1, 0), maybeNumber(a.get(2)), maybeNumber(a.get(3)), a.number(4, 1)),
  narrow: (t, a) => layout.slice(t, a.tensor(0), a.number(1, 0), a.number(2, 0), a.number(2, 0) + a.number(3, 0)),
  select: (t, a) => layout.select(t, a.tensor(0), a.number(1, 0)),
  chunk,
  split,
  split_with_sizes: split,
  tensor_split: chunk,
  unbind: (t, a) => layout.unbind(t, a.tensor(0), a.number(1, 0, "dim")),
  cat: concatenated,
  concatenate: concatenated,
  concat: (t, a) => layout.cat(t, a.tensors(0), a.number(1, 0, "dim")),
  stack: (t, a) => layout.stack(t, a.tensors(0), a.number(1, 0, "dim")),
  pad: (t, a) => layout.pad(t, a.tensor(0), a.numbers(1)),
  constant_pad_nd: (t, a) => layout.pad(t, a.tensor(0), a.numbers(1)),
  contiguous: (t, a) => layout.contiguous(t, a.tensor(0)),
  clone: (t, a) => layout.clone(t, a.tensor(0)),
  detach: (_, a) => layout.detach(a.tensor(0)),
  alias: (t, a) => layout.aliased(t, a.tensor(0)),
  lift_fresh: (_, a) => a.tensor(0).retain(),
  to,
  _to_copy: to,
  autocast_to: (t, a) => autocastTo(t, a.tensor(0), a.flag(-1, "cached")),
  type_as: (t, a) =>
    a.tensor(0).dtype === a.tensor(1).dtype ? a.tensor(0).retain() : t.toCopy(a.tensor(0), a.tensor(1).dtype),
  float: (t, a) => (a.tensor(0).dtype === "float32" ? a.tensor(0).retain() : t.toCopy(a.tensor(0), "float32")),
  arange,
  eye,
  ones: factory("ones", () => "float32"),
  zeros: factory("zeros", () => "float32"),
  empty: factory("empty", () => "float32"),
  rand: factory("rand", () => "float32"),
  randn: factory("randn", () => "float32"),
  full: factory("full", (args) => resultType([args.operand(1)])),
  scalar_tensor: (t, a) => t.empty("scalar_tensor", [], a.dtype(-1) ?? resultType([a.operand(0)])),
  new_zeros: newFactory("new_zeros"),
  new_ones: newFactory("new_ones"),
  new_empty: newFactory("new_empty"),
  new_full: newFactory("new_full"),
  ones_like: likeFirst("ones_like"),
  zeros_like: likeFirst("zeros_like"),
  empty_like: likeFirst("empty_like"),
  full_like: likeFirst("full_like"),
  rand_like: likeFirst("rand_like"),
  triu: likeFirst("triu"),
  tril: likeFirst("tril"),
  flip: rearranged("flip"),
  roll: rearranged("roll"),
  pixel_shuffle: (t, a) => pooling.pixelShuffle(t, a.tensor(0), a.number(1, 1, "upscale_factor")),
  sign: likeFirst("sign"),
  ceil: likeFirst("ceil"),
  bitwise_not: likeFirst("bitwise_not"),
  floor_divide: (t, a) => arithmetic.elementwise(t, "floor_divide", [a.operand(0), a.operand(1)]),
  remainder: (t, a) => arithmetic.elementwise(t, "remainder", [a.operand(0), a.operand(1)]),
  bitwise_and: (t, a) => arithmetic.elementwise(t, "bitwise_and", [a.operand(0), a.operand(1)]),
  bitwise_or: (t, a) => arithmetic.elementwise(t, "bitwise_or", [a.operand(0), a.operand(1)]),
  __and__: (t, a) => arithmetic.elementwise(t, "bitwise_and", [a.operand(0), a.operand(1)]),
  __or__: (t, a) => arithmetic.elementwise(t, "bitwise_or", [a.operand(0), a.operand(1)]),
  eq: comparison("eq"),
  ne: comparison("ne"),
  lt: comparison("lt"),
  le: comparison("le"),
  gt: comparison("gt"),
  ge: comparison("ge"),
  logical_and: comparison("logical_and"),
  logical_or: comparison("logical_or"),
  logical_not: comparison("logical_not"),
  isnan: comparison("isnan"),
  isinf: comparison("isinf"),
  prod: (t, a) =>
    t.empty("prod", arithmetic.reducedSizes(a.tensor(0).sizes, a.numbers(1), a.flag(2, "keepdim")), "int64"),
  any: (t, a) => t.empty("any", tested(a), a.tensor(0).dtype === "uint8" ? "uint8" : "bool"),
  all: (t, a) => t.empty("all", tested(a), "bool"),
  bucketize: (t, a) => t.empty("bucketize", a.tensor(0).sizes, "int64"),
  argmax: (t, a) => t.empty("argmax", a.numbers(1).length > 0 ? a.tensor(0).sizes.slice(0, -1) : [], "int64"),
  repeat: (t, a) => layout.repeat(t, a.tensor(0), a.numbers(1)),
  repeat_interleave: repeatInterleave,
  topk,
  sort,
  histc: (t, a) => t.empty("histc", [a.number(1, 100)], a.tensor(0).dtype),
  unfold,
  polar: (t, a) => complex.polar(t, a.tensor(0), a.tensor(1)),
  view_as_complex: (t, a) => complex.viewAsComplex(t, a.tensor(0)),
  view_as_real: (t, a) => complex.viewAsReal(t, a.tensor(0)),
  add_: (t, a) => addInPlace(t, a.tensor(0), a.operand(1)),
  sub_: inplace(1),
  mul_: (t, a) => scalePart(t, "mul", a.tensor(0), a.operand(1)),
  div_: (t, a) => scalePart(t, "div", a.tensor(0), a.operand(1)),
  masked_fill_: (t, a) => arithmetic.maskedFillInto(t, a.tensor(0), a.tensor(1)),
  keep: (t, a) => {
    if (!t.halted) t.kept.keep(`${t.scope}.${String(a.get(-1, "of"))}`, a.tensor(0));
    return [];
  },
  forget: (t, a) => {
    if (!t.halted) t.kept.forget(`${t.scope}.${String(a.get(-1, "of"))}`);
    return [];
  },
  sqrt_bound_derivative: (t, a) => model.sqrtBoundDerivative(t, a.tensor(0)),
  phimoe_multiplier: (t, a) => model.phimoeMultiplier(t, a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3)),
  copy_: (t, a) => copyInto(t, a.tensor(0), a.operand(1)),
  fill_: inplace(null),
  exponential_: inplace(null),
  uniform_: inplace(null),
  normal_: inplace(null),
  zero_: inplace(null),
  clamp_: inplace(null),
  index_add_: inplace(3),
  scatter: scatterValue,
  scatter_: scatterInto,
  index_put_: indexPut,
  __ior__: inplace(1),
};

/** What both kinds of pooling begin with. */
function windowOf(args: Arguments): Pick<pooling.Window, "kernel" | "stride" | "padding"> {
  return { kernel: args.numbers(1), stride: args.numbers(2), padding: args.numbers(3) };
}

function limits(args: Arguments): 1 | 2 {
  const given = (k: number, name: string): boolean => typeof args.get(k, name) === "number";
  return given(1, "min") && given(2, "max") ? 2 : 1;
}

function convolution(torch: Torch, args: Arguments): Tensor {
  const padding = args.get(4, "padding");
  const weight = args.tensor(1);
  const same = padding === "same" ? weight.sizes.slice(2).map((k) => (k - 1) / 2) : args.numbers(4, "padding");
  return model.convolution(
    torch,
    args.tensor(0),
    weight,
    args.maybeTensor(2, "bias"),
    args.numbers(3, "stride"),
    same,
    args.numbers(5, "dilation"),
  );
}

function transposedConvolution(torch: Torch, args: Arguments): Tensor {
  const bias = args.maybeTensor(2, "bias");
  return model.transposedConvolution(torch, args.tensor(0), args.tensor(1), bias, args.numbers(3, "stride"));
}

function averagePool(torch: Torch, args: Arguments, pool = pooling.averagePool): Tensor {
  return pool(torch, args.tensor(0), {
    ...windowOf(args),
    dilation: [],
    ceiling: args.flag(4, "ceil_mode"),
  });
}

function maybeNumber(value: Argument | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function flatten(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const wrap = (dim: number): number => (dim < 0 ? dim + self.rank : dim);
  const from = wrap(args.number(1, 0, "start_dim"));
  const to = wrap(args.number(2, -1, "end_dim"));
  if (from === to) return self.retain();
  const sizes = [...self.sizes.slice(0, from), numel(self.sizes.slice(from, to + 1)), ...self.sizes.slice(to + 1)];
  return layout.reshape(torch, self, sizes);
}

function unflatten(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const dim = args.number(1, 0);
  const k = dim < 0 ? dim + self.rank : dim;
  const inner = args.numbers(2);
  const known = inner.filter((size) => size !== -1).reduce((a, b) => a * b, 1);
  const sizes = inner.map((size) => (size === -1 ? self.sizes[k]! / known : size));
  return layout.view(torch, self, [...self.sizes.slice(0, k), ...sizes, ...self.sizes.slice(k + 1)]);
}

function repeatInterleave(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const times = args.number(1, 1);
  const dim = args.number(2, 0, "dim");
  const k = dim < 0 ? dim + self.rank : dim;
  const sizes = self.sizes.map((size, d) => (d === k ? size * times : size));
  const node = torch.record("RepeatInterleaveBackward0", [self], (torch, [gradient]) => [
    gradient ? torch.empty("sum", self.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(node, torch.empty("clone", sizes, self.dtype));
}

/**
 * Gradient of what chooses values: written into zeros, out of place as for the reference's tensor subclasses
 * (aten/src/ATen/native/ReduceOps.cpp, value_selecting_reduction_backward_symint).
 */
function selectedGradient(torch: Torch, gradient: Tensor, sizes: readonly number[]): Tensor {
  const zeros = torch.empty("zeros", sizes, gradient.dtype);
  const out = torch.empty("scatter", sizes, gradient.dtype);
  zeros.release();
  return out;
}

function topk(torch: Torch, args: Arguments): Tensor[] {
  const self = args.tensor(0);
  const dim = args.number(2, -1, "dim");
  const k = dim < 0 ? dim + self.rank : dim;
  const sizes = self.sizes.map((size, d) => (d === k ? args.number(1, 1) : size));
  const node = torch.record("TopkBackward0", [self], (torch, [gradient]) => [
    gradient ? selectedGradient(torch, gradient, self.sizes) : null,
  ]);
  const values = torch.attach(node, torch.empty("topk", sizes, self.dtype));
  const indices = torch.empty("topk", sizes, "int64");
  if (node !== null) torch.saveOutput(node, indices);
  return [values, indices];
}

/** `sort`: values and where they came from. */
function sort(torch: Torch, args: Arguments): Tensor[] {
  const self = args.tensor(0);
  const node = torch.record("SortBackward0", [self], (torch, [gradient]) => [
    gradient ? selectedGradient(torch, gradient, self.sizes) : null,
  ]);
  const values = torch.attach(node, arithmetic.elementwise(torch, "sort", [self]));
  const indices = torch.empty("sort", self.sizes, "int64");
  if (node !== null) torch.saveOutput(node, indices);
  return [values, indices];
}

/** `max`/`min` of all elements: those that are it share the gradient (FunctionsManual.cpp, `evenly_distribute_backward`). */
function largestOfAll(torch: Torch, operator: string, self: Tensor): Tensor {
  const node = torch.record("MaxBackward1", [self], (torch, [gradient]) => {
    if (!gradient) return [null];
    const booleans = ["isnan", "isnan", "logical_and", "eq"].map((name, k) =>
      torch.empty(name, k === 1 ? [] : self.sizes, "bool"),
    );
    const mask = torch.empty("logical_or", self.sizes, "bool");
    for (const temporary of booleans) temporary.release();
    const count = torch.empty("sum", [], "int64");
    const share = torch.empty("div", [], gradient.dtype);
    const out = torch.empty("mul", self.sizes, gradient.dtype);
    for (const temporary of [mask, count, share]) temporary.release();
    return [out];
  });
  const out = torch.attach(node, torch.empty(operator, [], self.dtype));
  if (node !== null) {
    torch.save(node, self);
    torch.saveOutput(node, out);
  }
  return out;
}

/** `max`/`min`: of two tensors, of all elements, or along a dimension with the places. */
function largest(torch: Torch, operator: string, pairwise: "maximum" | "minimum", args: Arguments): Tensor | Tensor[] {
  const self = args.tensor(0);
  if (isTensor(args.get(1))) return arithmetic.extremum(torch, pairwise, self, args.operand(1));
  const dim = args.get(1, "dim");
  if (typeof dim !== "number") return largestOfAll(torch, operator, self);
  const k = dim < 0 ? dim + self.rank : dim;
  const kept = args.flag(2, "keepdim");
  const sizes = self.sizes.flatMap((size, d) => (d === k ? (kept ? [1] : []) : [size]));
  const node = torch.record("MaxBackward0", [self], (torch, [gradient]) => [
    gradient ? selectedGradient(torch, gradient, self.sizes) : null,
  ]);
  const values = torch.attach(node, torch.empty(operator, sizes, self.dtype));
  const indices = torch.empty(operator, sizes, "int64");
  if (node !== null) torch.saveOutput(node, indices);
  return [values, indices];
}

/** `amax`/`amin`: elements that tie share the gradient (torch/csrc/autograd/FunctionsManual.cpp, `scale_grad_by_count`). */
function extreme(torch: Torch, operator: string, args: Arguments): Tensor {
  const self = args.tensor(0);
  const sizes = arithmetic.reducedSizes(self.sizes, args.numbers(1, "dim"), args.flag(2, "keepdim"));
  const node = torch.record("AmaxBackward0", [self], (torch, [gradient]) => {
    if (!gradient) return [null];
    const mask = torch.empty("eq", self.sizes, "bool");
    const shares = torch.empty("mul", self.sizes, gradient.dtype);
    const count = torch.empty("sum", sizes, "int64");
    const out = torch.empty("div", self.sizes, gradient.dtype);
    for (const temporary of [mask, shares, count]) temporary.release();
    return [out];
  });
  const out = torch.attach(node, torch.empty(operator, sizes, self.dtype));
  if (node !== null) {
    torch.save(node, self);
    torch.saveOutput(node, out);
  }
  return out;
}

/** `scatter` with a number: a copy whose gradient has holes. */
function scatterValue(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const index = args.tensor(2);
  const node = torch.record("ScatterBackward1", [self], (torch, [gradient]) => [
    gradient ? torch.empty("scatter", self.sizes, gradient.dtype) : null,
  ]);
  if (node !== null) torch.save(node, index);
  return torch.attach(node, arithmetic.elementwise(torch, "scatter", [self]));
}

/** `scatter_`: what is written gathers its gradient from where it went; a number has none. */
function scatterInto(torch: Torch, args: Arguments): Tensor {
  const [self, index, source] = [args.tensor(0), args.tensor(2), args.maybeTensor(3)];
  const node = torch.record("ScatterBackward0", [self, source], (torch, [gradient], _, node) =>
    [self, index].map((of, k) =>
      gradient && node.edges[k] ? torch.empty(k === 0 ? "scatter" : "gather", of.sizes, gradient.dtype) : null,
    ),
  );
  if (node === null) return self.retain();
  torch.save(node, index);
  return torch.attach(node, sameView(self));
}

function unfold(torch: Torch, args: Arguments): Tensor {
  return slidingWindows(torch, args.tensor(0), args.number(1, 0), [args.number(2, 1), args.number(3, 1)]);
}

/** `unfold(dim, size, step)`: an overlapping view. */
export function slidingWindows(
  torch: Torch,
  self: Tensor,
  dim: number,
  [size, step]: readonly [size: number, step: number],
): Tensor {
  const k = dim < 0 ? dim + self.rank : dim;
  const sizes = [...self.sizes.map((n, d) => (d === k ? Math.floor((n - size) / step) + 1 : n)), size];
  const strides = [...self.strides.map((n, d) => (d === k ? n * step : n)), self.strides[k]!];
  const node = torch.record("UnfoldBackward0", [self], (torch, [gradient]) => [
    gradient ? torch.empty("unfold_backward", self.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(node, alias(self, sizes, strides));
}

/** Whether the engine knows an operator (with or without its overload). */
export function knows(operator: string): boolean {
  const name = operator.split(".")[0]!;
  return name in RULES || UNARY_OPERATORS.includes(name);
}

/** Rules by the operator as graphs name it, with its overload. */
const byOperator = new Map<string, Rule | null>();

function ruleOf(operator: string): Rule | null {
  let rule = byOperator.get(operator);
  if (rule === undefined) {
    const name = operator.split(".")[0]!;
    const simple: Rule = (torch, args) => unary(torch, name, args.tensor(0));
    rule = RULES[name] ?? (UNARY_OPERATORS.includes(name) ? simple : null);
    byOperator.set(operator, rule);
  }
  return rule;
}

/** Runs one operator. An unknown one gives no tensors; the caller reports it. */
export function dispatch(torch: Torch, operator: string, args: Arguments): Tensor | Tensor[] | null {
  const rule = ruleOf(operator);
  torch.launchOn(args.positional);
  return rule === null ? null : rule(torch, args);
}
