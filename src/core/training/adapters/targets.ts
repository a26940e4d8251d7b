/** Which modules peft puts an adapter on. Source: peft/tuners/tuners_utils.py (check_target_module_exists). */

import { matchesPattern } from "../../../terms/pattern";
import type { AdapterSpec } from "../run";

type Modules = readonly string[] | string;

/** Modules peft dispatches to its linear layer: `nn.Linear` with its subclasses (the last is that of `nn.MultiheadAttention`), and transformers' `Conv1D`. */
const LINEAR_KINDS = new Set(["Linear", "Conv1D", "FalconLinear", "NonDynamicallyQuantizableLinear"]);

/** Whether a path is a name or has it for its last part. */
function endsWith(path: string, name: string): boolean {
  const before = path.length - name.length - 1;
  return path.endsWith(name) && (before < 0 || path[before] === ".");
}

/** Whether a list of name ends, or a regular expression over the whole path, names a module. */
export function named(modules: Modules, path: string): boolean {
  if (typeof modules === "string") return matchesPattern(modules, path, "full");
  return modules.some((target) => endsWith(path, target));
}

/** Whether peft takes a module of this class for a linear layer. */
export function isLinear(module: string): boolean {
  return LINEAR_KINDS.has(module);
}

/** Whether a module of this class is a convolution that LoRA takes (peft/tuners/lora/layer.py, dispatch_default). */
export function isConvolution(module: string): boolean {
  return /^Conv[123]d$/.test(module);
}

/** Types of adapters that are put on convolutions, by class (peft/tuners/oft/model.py takes those of two dimensions only). */
const ON_CONVOLUTIONS: Readonly<Partial<Record<AdapterSpec["type"], RegExp>>> = {
  lora: /^Conv[123]d$/,
  dora: /^Conv[123]d$/,
  oft: /^Conv2d$/,
};

/** Index of the layer a path lies in: the number after the first module list. */
function layerOf(path: string): number | null {
  const [, index] = /\.(\d+)\./.exec(path) ?? [];
  return index === undefined ? null : Number(index);
}

/** Whether peft puts an adapter on the module at `path`; LoRA takes embeddings too, some convolutions. */
export function isAdapted(adapter: AdapterSpec, path: string, module: string, head: string | null): boolean {
  const others = adapter.targetModules !== "all-linear";
  const embeds = adapter.type === "lora" && module === "Embedding";
  const takes = isLinear(module) || (others && (embeds || ON_CONVOLUTIONS[adapter.type]?.test(module) === true));
  if (!takes) return false;
  if (adapter.excludeModules !== undefined && named(adapter.excludeModules, path)) return false;
  if (adapter.targetModules === "all-linear") return path !== head;
  if (!named(adapter.targetModules, path)) return false;
  if (adapter.layersToTransform === undefined) return true;
  const layer = layerOf(path);
  return layer !== null && adapter.layersToTransform.includes(layer);
}
