/**
 * LoRA and DoRA on linear layers, as peft runs them. Sources: peft/tuners/lora/{layer.py,dora.py,variants.py},
 * peft/tuners/tuners_utils.py (target matching, cast_adapter_dtype, _cast_input_dtype).
 */

import type { DType } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter";
import { add, div, mul, sub } from "../../engine/ops/arithmetic";
import { clone, permute, view } from "../../engine/ops/layout";
import { addmmOperator, linear } from "../../engine/ops/linear";
import { dropout } from "../../engine/ops/nonlinear";
import { alias, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { dequantize, type PackedWeight } from "../quantization/bitsandbytes";
import type { AdapterSpec } from "../run";

/** Modules peft dispatches to its linear layer: `nn.Linear` with its subclasses, and transformers' `Conv1D`. */
const LINEAR_KINDS = new Set(["Linear", "Conv1D", "FalconLinear"]);

/** Whether peft puts an adapter on the module at `path`. */
export function isAdapted(adapter: AdapterSpec, path: string, module: string, head: string | null): boolean {
  if (!LINEAR_KINDS.has(module)) return false;
  const targets = adapter.targetModules;
  if (typeof targets === "string") {
    if (targets === "all-linear") return path !== head;
    try {
      return new RegExp(`^(?:${targets})$`).test(path);
    } catch {
      return false;
    }
  }
  return targets.some((target) => path === target || path.endsWith(`.${target}`));
}

interface Lora {
  readonly a: Tensor;
  readonly b: Tensor;
  readonly magnitude: Tensor | null;
}

function done(value: Tensor, ...operands: (Tensor | null)[]): Tensor {
  for (const tensor of operands) tensor?.release();
  return value;
}

function parameter(torch: Torch, name: string, sizes: readonly number[], dtype: DType): Tensor {
  const tensor = torch.empty("empty", sizes, dtype);
  if (tensor.storage.id >= 0) torch.ledger.kinds[tensor.storage.id] = "adapters";
  tensor.requiresGradFlag = true;
  tensor.name = name;
  return tensor;
}

/** Half-precision adapters are raised to float32 (`autocast_adapter_dtype`). */
function adapterDtype(adapter: AdapterSpec, base: DType): DType {
  const dtype = base === "uint8" || base === "int8" ? "float32" : base;
  return adapter.autocastAdapterDtype && (dtype === "float16" || dtype === "bfloat16") ? "float32" : dtype;
}

/** The base layer without its adapter; `weight` may be a quantized one with its own forward. */
function baseForward(torch: Torch, input: Tensor, weight: Tensor, bias: Tensor | null, transposed: boolean): Tensor {
  if (!transposed) return linear(torch, input, weight, bias);
  const flat = view(torch, input, [-1, input.size(-1)]);
  const product = done(addmmOperator(torch, bias!, flat, weight), flat);
  return done(view(torch, product, [...input.sizes.slice(0, -1), weight.size(1)]), product);
}

/** The module an adapter is put on, with what loading knows of it. */
export interface AdaptedModule {
  readonly path: string;
  /** `Linear` or `Conv1D`. */
  readonly module: string;
  readonly byName: ReadonlyMap<string, Tensor>;
  readonly modules: Map<string, ModuleForward>;
  readonly packed: ReadonlyMap<string, PackedWeight>;
}

/** The layer under the adapter. */
interface BaseLayer {
  readonly forward: ModuleForward;
  /** The weight in full precision, owned (unpacked when it is stored in 4 bits). */
  readonly weight: (torch: Torch) => Tensor;
  readonly bias: Tensor | null;
  readonly transposed: boolean;
  /** How the weight is stored, or null when it is not quantized. */
  readonly format: PackedWeight["format"] | null;
}

/**
 * Puts an adapter on one linear layer: makes its parameters and the forward that replaces the module's.
 *
 * @returns the new parameters, in the order `parameters()` gives them
 */
export function applyLora(torch: Torch, adapter: AdapterSpec, target: AdaptedModule): Tensor[] {
  const { path, byName, modules } = target;
  const weight = byName.get(`${path}.weight`);
  if (weight === undefined) return [];
  const packed = target.packed.get(path);
  const bias = byName.get(`${path}.bias`) ?? null;
  const transposed = target.module === "Conv1D";
  const sizes = packed === undefined ? weight.sizes : [packed.outputs, packed.inputs];
  const [inputs, outputs] = transposed ? [sizes[0]!, sizes[1]!] : [sizes[1]!, sizes[0]!];
  const dtype = adapterDtype(adapter, weight.dtype);
  const a = parameter(torch, `${path}.lora_A`, [adapter.rank, inputs], dtype);
  const b = parameter(torch, `${path}.lora_B`, [outputs, adapter.rank], dtype);
  const magnitude =
    adapter.type === "dora" ? parameter(torch, `${path}.lora_magnitude_vector`, [outputs], dtype) : null;
  const base: BaseLayer = {
    forward: modules.get(path) ?? ((t, x) => baseForward(t, x, weight, bias, transposed)),
    weight: packed === undefined ? () => weight.retain() : (t) => dequantize(t, packed),
    bias,
    transposed,
    format: packed?.format ?? null,
  };
  modules.set(path, (base.format === null ? plainLora : quantizedLora)(adapter, { a, b, magnitude }, base));
  return magnitude === null ? [a, b] : [a, b, magnitude];
}

function castInput(torch: Torch, input: Tensor, dtype: DType): Tensor {
  return input.dtype === dtype ? input.retain() : torch.toCopy(input, dtype);
}

function delta(torch: Torch, adapter: AdapterSpec, lora: Lora, x: Tensor, result: Tensor, base: BaseLayer): Tensor {
  return lora.magnitude === null
    ? lowRank(torch, adapter, lora, x, result, null)
    : weightDecomposed(torch, adapter, lora, x, result, base);
}

/** peft/tuners/lora/layer.py (Linear.forward). */
function plainLora(adapter: AdapterSpec, lora: Lora, base: BaseLayer): ModuleForward {
  return (torch, input) => {
    const result = base.forward(torch, input);
    const x = castInput(torch, input, lora.a.dtype);
    const sum = delta(torch, adapter, lora, x, result, base);
    const { dtype } = result;
    result.release();
    const out = done(castInput(torch, sum, dtype), sum);
    x.release();
    return out;
  };
}

/** peft/tuners/lora/{bnb,gptq,awq,hqq}.py: bitsandbytes' 4-bit result is cloned, casts happen outside autocast only. */
function quantizedLora(adapter: AdapterSpec, lora: Lora, base: BaseLayer): ModuleForward {
  return (torch, input) => {
    const made = base.forward(torch, input);
    const result = base.format === "bnb-4bit" ? done(clone(torch, made), made) : made;
    const convert = !torch.autocasting;
    const x = convert ? castInput(torch, input, lora.a.dtype) : input.retain();
    const { dtype } = result;
    let out: Tensor;
    if (lora.magnitude === null) out = lowRank(torch, adapter, lora, x, result, convert ? dtype : null);
    else {
      const sum = weightDecomposed(torch, adapter, lora, x, result, base);
      out = convert ? done(castInput(torch, sum, dtype), sum) : sum;
    }
    result.release();
    x.release();
    return out;
  };
}

/** `result + lora_B(lora_A(dropout(x))) * scaling`; `dtype`: what the product is cast to before it is added. */
function lowRank(
  torch: Torch,
  adapter: AdapterSpec,
  { a, b }: Lora,
  x: Tensor,
  result: Tensor,
  dtype: DType | null,
): Tensor {
  const dropped = dropout(torch, x, adapter.dropout, true);
  const down = done(linear(torch, dropped, a, null), dropped);
  const up = done(linear(torch, down, b, null), down);
  const scaled = done(mul(torch, up, 0.5), up);
  const output = dtype === null ? scaled : done(castInput(torch, scaled, dtype), scaled);
  return done(add(torch, result, output), output);
}

/** DoRA: the weight's norm is recomputed from an identity pushed through the adapter at every forward. */
function weightDecomposed(
  torch: Torch,
  adapter: AdapterSpec,
  { a, b, magnitude }: Lora,
  input: Tensor,
  result: Tensor,
  { weight, bias, transposed }: BaseLayer,
): Tensor {
  const dropping = adapter.dropout > 0 && torch.training;
  const x = dropout(torch, input, adapter.dropout, true);
  const features = a.size(1);
  // get_lora_weight: x_eye stays a local until the function returns
  const eye = torch.empty("eye", [features, features], a.dtype);
  const down = linear(torch, eye, a, null);
  const up = done(linear(torch, down, b, null), down);
  const turned = done(permute(torch, up, [1, 0]), up);
  eye.release();
  const loraWeight = done(castInput(torch, turned, x.dtype), turned);
  const stored = weight(torch);
  const baseWeight = done(castInput(torch, stored, x.dtype), stored);
  // get_weight_norm
  const oriented = transposed ? permute(torch, baseWeight, [1, 0]) : baseWeight.retain();
  const detached = alias(loraWeight, loraWeight.sizes, loraWeight.strides);
  const scaledLora = mul(torch, detached, 0.5);
  const combined = done(add(torch, oriented, scaledLora), scaledLora, oriented);
  const norm = norm2(torch, combined);
  combined.release();
  detached.release();
  const factor = div(torch, magnitude!, norm);
  const scale = done(view(torch, factor, [1, -1]), factor);
  const low = linear(torch, x, a, null);
  const loraResult = done(linear(torch, low, b, null), low);
  let baseResult: Tensor;
  if (dropping) {
    const turned = transposed ? permute(torch, baseWeight, [1, 0]) : baseWeight.retain();
    baseResult = done(linear(torch, x, turned, null), turned);
  } else if (bias !== null) baseResult = sub(torch, result, bias);
  else baseResult = result.retain();
  // (mag_norm_scale - 1) * base_result + mag_norm_scale * lora_result * scaling
  const less = sub(torch, scale, 1);
  const first = done(mul(torch, less, baseResult), less);
  const second = mul(torch, scale, loraResult);
  const third = done(mul(torch, second, 0.5), second);
  const decomposed = done(add(torch, first, third), first, third);
  for (const tensor of [loraWeight, baseWeight, norm, scale, loraResult, baseResult]) tensor.release();
  const out = done(add(torch, result, decomposed), decomposed);
  x.release();
  return out;
}

/** `torch.linalg.norm(weight, dim=1).to(weight.dtype)`, detached afterwards. */
function norm2(torch: Torch, weight: Tensor): Tensor {
  const { gradEnabled } = torch;
  torch.gradEnabled = false;
  const norm = torch.empty("linalg_vector_norm", [weight.size(0)], torch.autocasting ? "float32" : weight.dtype);
  torch.gradEnabled = gradEnabled;
  const out = castInput(torch, norm, weight.dtype);
  norm.release();
  return out;
}
