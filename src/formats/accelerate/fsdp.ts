/** Options of FSDP in an `fsdp_config` block that trainers hand on to accelerate: they are the same with its prefix and without. */
import { memory } from "../effects";
import type { KeySpec } from "../types";

/** What the blocks of the Trainer and of axolotl have in common (accelerate/utils/dataclasses.py, FullyShardedDataParallelPlugin). */
export const FSDP_BLOCK: readonly KeySpec[] = [
  memory("fsdp_config.transformer_layer_cls_to_wrap", "fsdp_wrap_class"),
  memory("fsdp_config.backward_prefetch", "fsdp_backward_prefetch", "any", "fsdp_backward_prefetch"),
  memory("fsdp_config.use_orig_params", "fsdp_use_orig_params", "fsdp_use_orig_params"),
  memory("fsdp_config.state_dict_type", "fsdp_state_dict_type", "fsdp_state_dict_type"),
].map((row) => ({ ...row, aliases: [row.key.replace(".", ".fsdp_")] }));
