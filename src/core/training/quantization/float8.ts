/**
 * torchao's float8 training (`convert_to_float8_training`): the layer keeps its input and its weight as they are for
 * backward, and makes 8-bit copies for each product only. Autocast reaches the input, not the weight, so that no copy of a
 * float32 weight in half precision is cached. Compiled code makes an 8-bit copy and its scale in one kernel each, without the
 * tensors between. Sources: torchao/float8/float8_linear.py (Float8Linear.forward,
 * matmul_with_hp_or_float8_args), float8_scaling_utils.py, float8_utils.py (tensor_to_scale, to_fp8_saturated),
 * float8_training_tensor.py (_ToFloat8ConstrFunc), float8_ops.py (preprocess_addmm, addmm_float8_unwrapped).
 */
import type { DType } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter/options";
import { add } from "../../engine/ops/arithmetic";
import { transpose } from "../../engine/ops/layout";
import { contiguousStrides, numel, type Sizes } from "../../engine/shape";
import { alias, hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { Locals } from "../optimizers/locals";
import type { Float8Recipe } from "../run";

/** How one operand of a product is scaled: as a whole, by its rows or columns, or not at all (it stays as it is). */
type Scaling = "tensor" | "axis" | "none";

/** How 8-bit copies are made. */
interface Casting {
  /** Scales are rounded to powers of two. */
  readonly powers: boolean;
  readonly compiled: boolean;
  /** Weights come in 8 bits from where they are sharded. */
  readonly gathered: boolean;
}

interface Recipe {
  readonly forward: Scaling;
  /** Products for the input's gradient: of the output's gradient, and of the weight. */
  readonly gradient: Scaling;
  readonly weightForInput: Scaling;
  readonly forWeight: Scaling;
  readonly powers: boolean;
}

/** Float8LinearConfig.from_recipe_name. */
const RECIPES: Readonly<Record<Float8Recipe, Recipe>> = {
  tensorwise: { forward: "tensor", gradient: "tensor", weightForInput: "tensor", forWeight: "tensor", powers: false },
  rowwise: { forward: "axis", gradient: "axis", weightForInput: "axis", forWeight: "axis", powers: true },
  rowwise_with_gw_hp: {
    forward: "axis",
    gradient: "axis",
    weightForInput: "tensor",
    forWeight: "none",
    powers: true,
  },
};

/** An operand in 8 bits with its scales, both owned. */
interface Scaled {
  readonly data: Tensor;
  readonly scale: Tensor;
  readonly scaling: Scaling;
}

/** Does `body` with tensors that go, in their order, when it is over. */
function over<T>(tensors: readonly Tensor[], result: T): T {
  for (const tensor of tensors) tensor.release();
  return result;
}

/** Scales of a tensor: its largest magnitude (one, or `lines` of them) in double precision, divided and rounded. */
function scales(torch: Torch, x: Tensor, lines: number | null, { powers, compiled }: Casting): Tensor {
  const sizes = lines === null ? [] : [lines];
  torch.launchOn([x]);
  if (compiled) return torch.empty("exp2", sizes, "float32");
  const magnitudes = torch.empty("abs", x.sizes, x.dtype);
  const largest = torch.empty("amax", sizes, x.dtype);
  magnitudes.release();
  const double = torch.empty("_to_copy", sizes, "float64");
  const clamped = torch.empty("clamp", sizes, "float64");
  const inverse = torch.empty("reciprocal", sizes, "float64");
  const scaled = torch.empty("mul", sizes, "float64");
  inverse.release();
  clamped.release();
  let scale = torch.empty("_to_copy", sizes, "float32");
  scaled.release();
  if (powers) {
    const logarithm = torch.empty("log2", sizes, "float32");
    const floor = torch.empty("floor", sizes, "float32");
    logarithm.release();
    const rounded = torch.empty("exp2", sizes, "float32");
    floor.release();
    scale.release();
    scale = rounded;
  }
  return over([double, largest], scale);
}

/** Casts to 8 bits; the scaled values are made in float32 first. */
function scaled(torch: Torch, x: Tensor, scaling: Scaling, lines: number, casting: Casting): Scaled {
  const scale = scales(torch, x, scaling === "axis" ? lines : null, casting);
  torch.launchOn([x]);
  if (casting.compiled) return { data: torch.empty("_to_copy", x.sizes, "float8"), scale, scaling };
  const raised = x.dtype === "float32" ? null : torch.empty("_to_copy", x.sizes, "float32");
  const multiplied = torch.empty("mul", x.sizes, "float32");
  raised?.release();
  const clamped = torch.empty("clamp", x.sizes, "float32");
  const data = torch.empty("_to_copy", x.sizes, "float8");
  clamped.release();
  multiplied.release();
  return { data, scale, scaling };
}

/** A weight that came in 8 bits over the network, with its scale. */
function arrived(torch: Torch, weight: Tensor, scaling: Scaling): Scaled {
  const data = hostTensor(torch.ledger, weight.sizes, "float8");
  return { data, scale: hostTensor(torch.ledger, [], "float32"), scaling };
}

interface ProductSizes {
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  readonly dtype: DType;
  /** The kernel takes the left operand by rows and the right one by columns; others are copied. */
  readonly copies: readonly ("left" | "right")[];
  /** Scales by row and column are applied by the kernel; only the forward's product asks for that. */
  readonly fastAccumulation: boolean;
}

/** `torch._scaled_mm` with what is made around it. */
function scaledProduct(torch: Torch, left: Scaled, right: Scaled, sizes: ProductSizes): Tensor {
  const { rows, columns, dtype, fastAccumulation } = sizes;
  const later = sizes.copies.map((side) => {
    const { data } = side === "left" ? left : right;
    return torch.empty("contiguous", data.sizes, "float8");
  });
  // One scale beside many is repeated for every row or column.
  const byLine = left.scaling === "axis" || right.scaling === "axis";
  if (byLine && left.scaling === "tensor") later.push(torch.empty("repeat", [rows], "float32"));
  if (byLine && right.scaling === "tensor") later.push(torch.empty("repeat", [columns], "float32"));
  const inverse = [rows, columns].map((lines) => torch.empty("reciprocal", byLine ? [lines] : [], "float32"));
  let factors = inverse;
  let outer: Tensor | null = null;
  if (byLine && !fastAccumulation) {
    outer = torch.empty("mul", [rows, columns], "float32");
    factors = inverse.map((tensor) => {
      const ones = torch.empty("new_ones", [], "float32");
      tensor.release();
      return ones;
    });
  }
  const narrow = byLine && (dtype === "float32" || dtype === "float16");
  torch.multiply([rows, columns], { count: 1, rows, columns, inner: sizes.inner, dtype: "float8" });
  let out = torch.empty("_scaled_mm", [rows, columns], narrow ? "bfloat16" : dtype);
  if (narrow) {
    const cast = torch.empty("_to_copy", [rows, columns], dtype);
    out.release();
    out = cast;
  }
  for (const tensor of factors) tensor.release();
  outer?.release();
  return over(later, out);
}

function letGo({ data, scale }: Scaled): void {
  data.release();
  scale.release();
}

/** Forward of `Float8Linear`. */
export function float8Linear(
  weight: Tensor,
  bias: Tensor | null,
  recipeName: Float8Recipe,
  compiled: boolean,
  gathered = false,
): ModuleForward {
  const recipe = { ...RECIPES[recipeName], compiled, gathered };
  return (torch, input) => {
    const dtype = torch.autocasting ? torch.autocastDtype! : input.dtype;
    const x = input.dtype === dtype ? input.retain() : torch.toCopy(input, dtype);
    const turned = transpose(torch, weight, 0, 1);
    const out = multiply(torch, x, turned, recipe);
    turned.release();
    if (bias === null) return over([x], out);
    const ownBias = bias.dtype === out.dtype ? bias.retain() : torch.toCopy(bias, out.dtype);
    return over([ownBias, out, x], add(torch, out, ownBias));
  };
}

/** `matmul_with_hp_or_float8_args`. */
function multiply(torch: Torch, x: Tensor, weight: Tensor, recipe: Recipe & Casting): Tensor {
  const [inputs, outputs] = weight.sizes as [number, number];
  const rows = numel(x.sizes) / inputs;
  const node = torch.record("matmul_with_hp_or_float8_argsBackward", [x, weight], (torch, [gradient], saved) => {
    if (!gradient) return [null, null];
    return gradients(torch, gradient, saved as readonly [Tensor, Tensor], recipe);
  });
  if (node !== null) {
    torch.save(node, x);
    torch.save(node, weight);
  }
  const input8 = scaled(torch, x, recipe.forward, rows, recipe);
  const weight8 = recipe.gathered
    ? arrived(torch, weight, recipe.forward)
    : scaled(torch, weight, recipe.forward, outputs, recipe);
  const product = scaledProduct(torch, input8, weight8, {
    rows,
    columns: outputs,
    inner: inputs,
    dtype: x.dtype,
    copies: [],
    fastAccumulation: true,
  });
  letGo(weight8);
  letGo(input8);
  return torch.attach(node, shaped(product, [...x.sizes.slice(0, -1), outputs]));
}

/** A product seen in the sizes of the tensor it belongs to. */
function shaped(product: Tensor, sizes: Sizes): Tensor {
  return over([product], alias(product, sizes, contiguousStrides(sizes)));
}

/** Both gradients are made whether they are needed or not. */
function gradients(
  torch: Torch,
  gradient: Tensor,
  [x, weight]: readonly [Tensor, Tensor],
  recipe: Recipe & Casting,
): [Tensor, Tensor] {
  const [inputs, outputs] = weight.sizes as [number, number];
  const rows = numel(x.sizes) / inputs;
  const locals = new Locals();
  const keep = (name: string, one: Scaled): Scaled => {
    locals.bindAll(name, [one.data, one.scale]);
    return one;
  };
  const first = keep("grad_output_dim0", scaled(torch, gradient, recipe.gradient, rows, recipe));
  const weight8 = keep(
    "weight_dim0",
    recipe.gathered
      ? arrived(torch, weight, recipe.weightForInput)
      : scaled(torch, weight, recipe.weightForInput, inputs, recipe),
  );
  const left = scaledProduct(torch, first, weight8, {
    rows,
    columns: inputs,
    inner: outputs,
    dtype: gradient.dtype,
    copies: ["right"],
    fastAccumulation: false,
  });
  let right: Tensor;
  if (recipe.forWeight === "none") {
    torch.multiply([outputs, inputs], { count: 1, rows: outputs, columns: inputs, inner: rows, dtype: gradient.dtype });
    right = torch.empty("mm", [outputs, inputs], gradient.dtype);
  } else {
    const second = keep("grad_output_dim1", scaled(torch, gradient, recipe.forWeight, outputs, recipe));
    const input8 = keep("input_dim1", scaled(torch, x, recipe.forWeight, inputs, recipe));
    right = scaledProduct(torch, second, input8, {
      rows: outputs,
      columns: inputs,
      inner: rows,
      dtype: gradient.dtype,
      copies: ["left", "right"],
      fastAccumulation: false,
    });
  }
  const turned = alias(right, [inputs, outputs], [1, inputs]);
  right.release();
  locals.release();
  return [shaped(left, x.sizes), turned];
}
