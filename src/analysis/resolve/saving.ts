/**
 * Whether the Trainer's checkpoints put together what the ranks hold. Sources: transformers/trainer.py (`save_model`,
 * `_save_optimizer_and_scheduler`), accelerate/utils/fsdp_utils.py (`save_fsdp_model`), accelerate/utils/dataclasses.py
 * (`set_state_dict_type`: full under FSDP1, by shards under FSDP2 where nothing is said).
 */
import type { ParallelSpec, SavingSpec } from "../../core/training/run";
import type { ResolveContext } from "./context";

/** @returns null: nothing is put together on a device, or no checkpoint is written */
export function savingOf(c: ResolveContext, { deepspeed, fsdp }: ParallelSpec): SavingSpec | null {
  const { settings } = c;
  if (c.framework.trainer === undefined || !c.trains || c.ownLoop) return null;
  const strategy = settings.find("save_strategy")?.value;
  if (strategy === "no" || strategy === false) return null;
  if (deepspeed !== null) {
    const gathers = settings.on("stage3_gather_16bit_weights_on_model_save");
    return deepspeed.zeroStage === 3 && gathers ? { optimizer: false } : null;
  }
  if (fsdp === null) return null;
  const stated = settings.string("fsdp_state_dict_type")?.toUpperCase();
  const kind = stated ?? (fsdp.version === 1 ? "FULL_STATE_DICT" : "SHARDED_STATE_DICT");
  // FSDP1 gathers its units for shards of parameters, too (torch/distributed/fsdp/_state_dict_utils.py, `_sharded_pre_state_dict_hook`).
  if (kind === "LOCAL_STATE_DICT" || (kind === "SHARDED_STATE_DICT" && fsdp.version === 2)) return null;
  return { optimizer: kind === "FULL_STATE_DICT" && settings.boolean("save_only_model") !== true };
}
