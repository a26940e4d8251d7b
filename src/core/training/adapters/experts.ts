/**
 * LoRA on experts whose matrices are stored together (transformers 5). peft turns the names of the single matrices, and
 * `all-linear`, into targets that are parameters, and makes the adapted stack of a layer's experts anew in every forward:
 * as large as the experts themselves, kept for backward, with a gradient of the same size. Sources:
 * peft/utils/transformers_weight_conversion.py (`_convert_peft_config_moe`), peft/tuners/lora/layer.py (`ParamWrapper`).
 * The engine does not run them; what they add is in the band.
 */
import { ELEMENT_BYTES } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { AdapterSpec, TrainingRun } from "../run";

/** Names of experts' matrices, as configs written for the separate ones spell them, and of the stacks. */
const MATRICES = ["gate_proj", "up_proj", "down_proj", "gate_up_proj", "w1", "w2", "w3"];
/** The first matrix of a gated feed-forward is two in one: its rank doubles with them. */
const FUSED = /gate_up_proj$|w1$/;

/** Bytes that adapters on fused experts add at most; 0 where the run has none. */
export function adaptedExpertBytes(run: TrainingRun, parameters: readonly Tensor[]): number {
  const { adapter } = run;
  if (adapter === null || !/^(?:lora|dora)$/.test(adapter.type) || !reachesExperts(adapter)) return 0;
  const stacks = parameters.filter(({ name, rank }) => rank === 3 && /(?:^|\.)experts\./.test(name ?? ""));
  if (stacks.length === 0) return 0;
  const bytes = (tensors: readonly Tensor[]): number =>
    tensors.reduce((sum, tensor) => sum + tensor.elements * ELEMENT_BYTES[tensor.dtype], 0);
  const layers = Math.max(1, new Set(stacks.map(({ layer }) => layer)).size);
  const layer = bytes(stacks) / layers;
  const kept = run.checkpointing === null ? bytes(stacks) : layer;
  // Factors in float32 with their gradients and two moments.
  const factors = stacks.reduce((sum, stack) => {
    const [experts = 0, rows = 0, columns = 0] = stack.sizes;
    return sum + adapter.rank * (FUSED.test(stack.name ?? "") ? 2 : 1) * experts * (rows + columns);
  }, 0);
  return kept + layer + 16 * factors;
}

function reachesExperts({ targetModules }: AdapterSpec): boolean {
  if (typeof targetModules !== "string")
    return targetModules.some((name) => MATRICES.includes(name.slice(name.lastIndexOf(".") + 1)));
  return targetModules === "all-linear" || MATRICES.some((name) => targetModules.includes(name));
}
