/** Weights that are packed: which ones are, how they arrive, and what forwards they are given. */

import { quantizerOf } from "../../terms/quantizers";
import { type DType, ELEMENT_BYTES } from "../engine/dtype";
import { hostTensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import { factsOf } from "../graph/facts";
import { type Loading, recast } from "./loaded-model";
import type { PlacedTensor } from "./placed";
import { linear4bit, type PackedWeight, packWeight } from "./quantization/bitsandbytes";
import { float8Linear } from "./quantization/float8";
import { linearGrouped, packGrouped } from "./quantization/grouped";
import { linear8bit, packInt8 } from "./quantization/int8";
import { isSkipped, staysWhole } from "./quantization/skipped";
import { engineLinear, engineWorkspace } from "./quantization/transformer-engine";
import type { Float8Spec, QuantizationSpec } from "./run";

/** Formats of bitsandbytes: they take transformers' Conv1D for a linear layer. */
const BITSANDBYTES: ReadonlySet<QuantizationSpec["type"]> = new Set(["nf4", "fp4", "int8"]);

/** A Conv1D that is packed becomes a linear layer, its weight transposed (replace_with_bnb_linear). */
export function asLinear(loading: Loading, item: PlacedTensor): PlacedTensor {
  return item.module === "Conv1D" && isPacked(loading, item)
    ? { ...item, module: "Linear", sizes: [...item.sizes].reverse() }
    : item;
}

/** Whether a format packs modules of a class: the very `nn.Linear`, its subclass before transformers 5, Conv1D. */
function packs({ type, packsSubclasses }: QuantizationSpec, module: string): boolean {
  if (module === "Conv1D") return BITSANDBYTES.has(type);
  return module === "Linear" || (module === "FalconLinear" && packsSubclasses === true);
}

/**
 * Whether a weight is stored packed: every linear layer but, as transformers has it, the head, and what the config leaves out
 * (transformers/integrations/bitsandbytes.py).
 */
export function isPacked({ options }: Loading, item: PlacedTensor): boolean {
  const { quantization, head } = options;
  if (isPackedExperts(quantization, item)) return true;
  if (
    quantization === null ||
    quantization.packsOnlyExperts === true ||
    !item.name.endsWith(".weight") ||
    !packs(quantization, item.module)
  )
    return false;
  const path = item.name.slice(0, -".weight".length);
  if ((path === head && quantization.packsHead !== true) || staysWhole(quantization, path)) return false;
  return !(factsOf(options.family).keptInFloat32 ?? []).some((pattern) => isSkipped(path, pattern));
}

/** Weights of stacked experts, where they are packed (unsloth_zoo/temporary_patches/{gpt_oss,moe_utils_bnb4bit}.py). */
export function isPackedExperts(quantization: QuantizationSpec | null, { name, sizes }: PlacedTensor): boolean {
  return quantization?.packsExperts === true && sizes.length === 3 && /\.experts\./.test(name);
}

/** A linear layer of a packed model in float16 whose class keeps it in float32. */
export function asKept({ options }: Loading, item: PlacedTensor): PlacedTensor {
  if (options.quantization === null || item.dtype !== "float16" || item.module !== "Linear") return item;
  return (factsOf(options.family).keptInFloat32 ?? []).some((pattern) =>
    isSkipped(item.name.replace(/\.[^.]+$/, ""), pattern),
  )
    ? { ...item, dtype: "float32" }
    : item;
}

export function pack(torch: Torch, spec: QuantizationSpec, { sizes, dtype }: PlacedTensor): PackedWeight {
  const { type, double } = spec;
  const [outputs, inputs] = sizes as [number, number];
  switch (type) {
    case "int8":
      return packInt8(torch, outputs, inputs, dtype);
    case "nf4":
    case "fp4":
      return { ...packWeight(torch, outputs, inputs, dtype, double), computeDtype: spec.computeDtype };
    default:
      return packGrouped(torch, type, outputs, inputs, dtype, spec);
  }
}

/**
 * Packed weights are sharded like others when they are stored as the dtype of the rest (`bnb_4bit_quant_storage`), which
 * sharding asks for: several in one element. Their constants are no parameters and stay whole on every rank
 * (bitsandbytes/nn/modules.py, Params4bit; transformers/integrations/fsdp.py).
 */
export function storedForSharding(torch: Torch, whole: PackedWeight, storage: DType): PackedWeight {
  const bytes = whole.packed.elements * ELEMENT_BYTES[whole.packed.dtype];
  whole.packed.release();
  return { ...whole, packed: hostTensor(torch.ledger, [Math.ceil(bytes / ELEMENT_BYTES[storage])], storage) };
}

/** Formats that `prepare_model_for_kbit_training` only freezes (peft/utils/other.py). */
export const KEEPS_HALF_PRECISION: ReadonlySet<QuantizationSpec["type"]> = new Set([
  "gptq",
  "hqq",
  "aqlm",
  "eetq",
  "torchao",
]);

/**
 * Puts the quantized forwards in place. The first 4-bit one leaves the bias in the compute dtype for good
 * (bitsandbytes/nn/modules.py, Linear4bit.forward), which is done here, before the first step.
 */
export function quantizedForwards(loading: Loading, placed: readonly PlacedTensor[]): void {
  const { byName, modules, packed, options } = loading;
  if (options.quantization === null) return;
  const { computeDtype, type, keepsInputs = false } = options.quantization;
  const bits = quantizerOf(type)?.bits;
  if (bits !== 4) {
    const forward = bits === 8 ? linear8bit : linearGrouped;
    for (const [path, weight] of packed) modules.set(path, forward(weight, byName.get(`${path}.bias`) ?? null));
    return;
  }
  for (const item of placed) {
    if (!item.name.endsWith(".bias") || !packed.has(item.name.slice(0, -".bias".length))) continue;
    if (byName.get(item.name)!.dtype !== computeDtype) recast(loading, item, computeDtype);
  }
  for (const [path, weight] of packed)
    modules.set(path, linear4bit(weight, byName.get(`${path}.bias`) ?? null, computeDtype, keepsInputs));
}

/** What 8-bit products take sizes in multiples of (accelerate/utils/ao.py, transformer_engine.py). */
const FLOAT8_ALIGNMENT = 16;

/** Linear layers that multiply in 8 bits, by path; parameters come in the order of `named_modules`, a tied head last. */
function float8Paths({ byName, options }: Loading, placed: readonly PlacedTensor[], { keeps }: Float8Spec): string[] {
  const { head } = options;
  const own = placed
    .filter(({ name, module }) => module === "Linear" && name.endsWith(".weight"))
    .map(({ name }) => name.slice(0, -".weight".length));
  const linear = head === null || own.includes(head) ? own : [...own, head];
  const left = new Set(keeps === "first-and-last" ? [linear[0], linear.at(-1)] : keeps === "head" ? [head] : []);
  return linear.filter((path) => {
    const { sizes = [] } = byName.get(`${path}.weight`) ?? {};
    return !left.has(path) && sizes.length === 2 && sizes.every((size) => size % FLOAT8_ALIGNMENT === 0);
  });
}

/** Puts layers that multiply in 8 bits in place (convert_model_to_fp8_ao, convert_model of accelerate). */
export function float8Forwards(loading: Loading, placed: readonly PlacedTensor[], spec: Float8Spec): void {
  const { torch, byName, modules, options } = loading;
  const { architecture = "unknown" } = options;
  if (spec.backend === "transformer-engine") engineWorkspace(torch, architecture);
  for (const path of float8Paths(loading, placed, spec)) {
    const weight = byName.get(`${path}.weight`);
    if (weight === undefined || modules.has(path)) continue;
    const bias = byName.get(`${path}.bias`) ?? null;
    const forward =
      spec.backend === "torchao"
        ? float8Linear(weight, bias, spec.recipe, options.compiled === true, spec.gathers === true && options.sharded)
        : engineLinear(torch, weight, bias, {
            transposes: architecture !== "blackwell",
            cachesWeights: spec.cachesWeights,
          });
    modules.set(path, forward);
  }
}
