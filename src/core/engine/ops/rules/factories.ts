/** New tensors, and tensors in another dtype. */

import { table } from "../../../../terms/table";
import { type DType, isFloating, resultType } from "../../dtype";
import { contiguousStrides } from "../../shape";
import type { Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import { type Arguments, DTYPES, type Rule } from "../arguments";
import { isTensor } from "../arithmetic";
import { likeFirst } from "./like";

/** New tensor of given sizes; nothing to differentiate. */
const factory =
  (operator: string, dtypeOf: (args: Arguments) => DType): Rule =>
  (torch, args) =>
    torch.empty(operator, args.numbers(0), args.dtype(-1) ?? dtypeOf(args));

const newFactory =
  (operator: string): Rule =>
  (torch, args) =>
    torch.empty(operator, args.numbers(1), args.dtype(-1) ?? args.tensor(0).dtype);

function eye(torch: Torch, args: Arguments): Tensor {
  const rows = args.number(0, 0);
  return torch.empty("eye", [rows, args.number(1, rows)], args.dtype(-1) ?? "float32");
}

/** `randint(high, size)` and `randint(low, high, size)`: whole numbers (native_functions.yaml). */
function randint(torch: Torch, args: Arguments): Tensor {
  const sizes = Array.isArray(args.get(1)) ? args.numbers(1) : args.numbers(2);
  return torch.empty("randint", sizes, args.dtype(-1) ?? "int64");
}

function arange(torch: Torch, args: Arguments): Tensor {
  const [a, b, step] = [args.number(0, 0), args.get(1), args.number(2, 1)];
  const [start, end] = typeof b === "number" ? [a, b] : [0, a];
  const values = [start, end, step];
  const dtype = args.dtype(-1) ?? (values.every(Number.isInteger) ? "int64" : "float32");
  return torch.empty("arange", [Math.max(0, Math.ceil((end - start) / step))], dtype);
}

/** `linspace` and `logspace`: so many values, written at once (aten/src/ATen/native/cuda/RangeFactories.cu). */
function spaced(operator: string): Rule {
  return (torch, args) => torch.empty(operator, [args.number(2, 0, "steps")], args.dtype(-1) ?? "float32");
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

/**
 * A conversion to autocast's dtype: by hand where autocast is on (`torch.amp.autocast_mode._cast`), which is a plain copy, or
 * (`cached`) as `cached_cast` converts an operator's operand.
 */
function autocastTo(torch: Torch, self: Tensor, cached: boolean): Tensor {
  if (cached && torch.autocasting) return torch.autocast(self, torch.autocastDtype ?? self.dtype);
  const wanted = torch.autocasting && isFloating(self.dtype) && self.dtype !== "float64" ? torch.autocastDtype : null;
  return wanted === null || wanted === self.dtype ? self.retain() : torch.toCopy(self, wanted);
}

export const FACTORIES: Readonly<Record<string, Rule>> = table({
  to,
  _to_copy: to,
  autocast_to: (t, a) => autocastTo(t, a.tensor(0), a.flag(-1, "cached")),
  type_as: (t, a) =>
    a.tensor(0).dtype === a.tensor(1).dtype ? a.tensor(0).retain() : t.toCopy(a.tensor(0), a.tensor(1).dtype),
  float: (t, a) => (a.tensor(0).dtype === "float32" ? a.tensor(0).retain() : t.toCopy(a.tensor(0), "float32")),
  arange,
  linspace: spaced("linspace"),
  logspace: spaced("logspace"),
  eye,
  ones: factory("ones", () => "float32"),
  zeros: factory("zeros", () => "float32"),
  empty: factory("empty", () => "float32"),
  rand: factory("rand", () => "float32"),
  randn: factory("randn", () => "float32"),
  randint,
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
  randn_like: likeFirst("randn_like"),
  triu: likeFirst("triu"),
  tril: likeFirst("tril"),
});
