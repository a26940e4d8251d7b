/**
 * What all adapters on a module share: the layer below, new parameters and their dtype, casts of inputs.
 * Source: peft/tuners/tuners_utils.py (_move_adapter_to_device_of_base_layer, cast_adapter_dtype, _cast_input_dtype).
 */

import { checkpoint } from "../../engine/checkpoint";
import type { DType } from "../../engine/dtype";
import type { ModuleForward } from "../../engine/interpreter/options";
import type { ModuleHooks } from "../../engine/module-hooks";
import { view } from "../../engine/ops/layout";
import { addmmOperator, linear, productThenBias } from "../../engine/ops/linear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { dequantize, type PackedWeight } from "../quantization/bitsandbytes";
import type { AdapterSpec } from "../run";

/** The module an adapter is put on, with what loading knows of it. */
export interface AdaptedModule {
  readonly path: string;
  /** The class: `Linear`, `Conv1D`, `FalconLinear` or `Embedding`. */
  readonly module: string;
  readonly byName: ReadonlyMap<string, Tensor>;
  readonly modules: Map<string, ModuleForward>;
  readonly packed: ReadonlyMap<string, PackedWeight>;
}

/** The layer under the adapter. */
export interface BaseLayer {
  readonly path: string;
  readonly inputs: number;
  readonly outputs: number;
  readonly forward: ModuleForward;
  /** The weight in full precision, owned (unpacked when it is stored in fewer bits). */
  readonly weight: (torch: Torch) => Tensor;
  readonly bias: Tensor | null;
  /** transformers' Conv1D: the inputs come first. */
  readonly transposed: boolean;
  /** How the weight is stored, or null when it is not quantized. */
  readonly format: PackedWeight["format"] | null;
  /** Dtype of new parameters. */
  readonly dtype: DType;
}

/** An adapter on one linear layer: its parameters in the order `parameters()` gives them, and the forward it makes. */
export interface AdapterLayer {
  readonly parameters: readonly Tensor[];
  readonly forward: ModuleForward;
}

/** Releases the operands of a finished expression and gives its value. */
export function done(value: Tensor, ...operands: (Tensor | null)[]): Tensor {
  for (const tensor of operands) tensor?.release();
  return value;
}

/** What an adapter computes with, owned: peft casts it to the factors' dtype, other libraries leave that to autocast. */
export function inputOf(torch: Torch, { keepsInput }: AdapterSpec, input: Tensor, dtype: DType): Tensor {
  return keepsInput === true && torch.autocasting ? input.retain() : castInput(torch, input, dtype);
}

/** A new tensor that stays, booked as the adapter's. */
export function buffer(torch: Torch, sizes: readonly number[], dtype: DType): Tensor {
  const tensor = torch.empty("empty", sizes, dtype);
  torch.ledger.relabel(tensor.storage.id, "adapters");
  return tensor;
}

/** A new trained parameter. */
export function parameter(torch: Torch, name: string, sizes: readonly number[], dtype: DType): Tensor {
  const tensor = buffer(torch, sizes, dtype);
  tensor.requiresGradFlag = true;
  tensor.name = name;
  return tensor;
}

/** Replaces a tensor of an adapter in half precision by its copy in float32 (peft/tuners/tuners_utils.py, cast_adapter_dtype). */
export function raised(torch: Torch, tensor: Tensor): void {
  if (tensor.dtype !== "float16" && tensor.dtype !== "bfloat16") return;
  buffer(torch, tensor.sizes, "float32");
  tensor.release();
}

/** Half-precision adapters are raised to float32 (`autocast_adapter_dtype`), unless the trainer casts them anyway. */
export function adapterDtype(adapter: AdapterSpec, base: DType): DType {
  if (adapter.castTo !== undefined) return adapter.castTo;
  const dtype = base === "uint8" || base === "int8" ? "float32" : base;
  return adapter.autocastAdapterDtype && (dtype === "float16" || dtype === "bfloat16") ? "float32" : dtype;
}

/** What a module of an adapter's does: of its input, and of what it is given beside that. */
type Inner = (input: Tensor, beside: Tensor | null) => Tensor;

/** How a module of an adapter's is called. */
interface Called {
  /** Its path below the module that calls it, where that is another than the one it is part of. */
  readonly called?: string;
  /** A tensor that it is given by name: no hook sees it, and a checkpoint keeps it. */
  readonly beside?: Tensor | null;
}

/** Runs the forward of a module inside an adapter's, between the hooks it has. */
export function inModule(
  torch: Torch,
  path: string,
  input: Tensor,
  forward: Inner,
  { called = path, beside = null }: Called = {},
): Tensor {
  torch.trail?.enter(called, input.requiresGrad);
  const { scope, modules } = torch;
  if (torch.trail !== null) torch.scope = called;
  const out =
    modules?.has(path) === true ? hooked(torch, modules, path, [input, beside], forward) : forward(input, beside);
  torch.scope = scope;
  torch.trail?.leave(called);
  return out;
}

function hooked(
  torch: Torch,
  hooks: ModuleHooks,
  path: string,
  [input, beside]: readonly [Tensor, Tensor | null],
  forward: Inner,
): Tensor {
  const [given] = hooks.before(torch, path, [input.retain()]);
  const x = given ?? input;
  const [out] =
    hooks.checkpointsAdapters === true
      ? checkpoint(torch, ([again, held]) => [forward(again!, held ?? null)], [x, beside], [0], { useReentrant: false })
      : [forward(x, beside)];
  given?.release();
  return torch.halted ? out! : (hooks.after(torch, path, [out!])[0] ?? out!);
}

/** `x.to(dtype)`, owned. */
export function castInput(torch: Torch, input: Tensor, dtype: DType): Tensor {
  return input.dtype === dtype ? input.retain() : torch.toCopy(input, dtype);
}

/** transformers' Conv1D without its adapter. */
function conv1d(torch: Torch, input: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const flat = view(torch, input, [-1, input.size(-1)]);
  const product = done(addmmOperator(torch, bias!, flat, weight), flat);
  return done(view(torch, product, [...input.sizes.slice(0, -1), weight.size(1)]), product);
}

/** The linear layer at a path, or null where nothing was loaded. */
export function baseLayer(adapter: AdapterSpec, target: AdaptedModule): BaseLayer | null {
  const { path, byName, modules } = target;
  const weight = byName.get(`${path}.weight`);
  if (weight === undefined) return null;
  const packed = target.packed.get(path);
  const bias = byName.get(`${path}.bias`) ?? null;
  // A Conv1D that is packed has become a linear layer (replace_with_bnb_linear).
  const transposed = target.module === "Conv1D" && packed === undefined;
  const sizes = packed === undefined ? weight.sizes : [packed.outputs, packed.inputs];
  const [inputs, outputs] = transposed ? [sizes[0]!, sizes[1]!] : [sizes[1]!, sizes[0]!];
  const own = modules.get(path);
  const plain = transposed ? conv1d : target.module === "FalconLinear" ? productThenBias : linear;
  return {
    path,
    inputs,
    outputs,
    forward: (t, x, rest) => inModule(t, `${path}.base_layer`, x, () => own?.(t, x, rest) ?? plain(t, x, weight, bias)),
    weight: packed === undefined ? () => weight.retain() : (t) => dequantize(t, packed),
    bias,
    transposed,
    format: packed?.format ?? null,
    dtype: adapterDtype(adapter, packed?.computeDtype ?? weight.dtype),
  };
}
