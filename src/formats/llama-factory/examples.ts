/**
 * The DeepSpeed configs that LLaMA-Factory's own repository has and its examples name (examples/deepspeed, 0.9.5): a config that stands
 * without them means these.
 */
import { table } from "../../terms/table";

type Json = { readonly [key: string]: string | number | boolean | Json };

const OFFLOADS: Json = { device: "cpu", pin_memory: true };
const UP_TO_2: Json = {
  allgather_partitions: true,
  allgather_bucket_size: 5e8,
  overlap_comm: false,
  reduce_scatter: true,
  reduce_bucket_size: 5e8,
  contiguous_gradients: true,
  round_robin_gradients: true,
};
const STAGE_3: Json = {
  stage: 3,
  overlap_comm: false,
  contiguous_gradients: true,
  sub_group_size: 1e9,
  reduce_bucket_size: "auto",
  stage3_prefetch_bucket_size: "auto",
  stage3_param_persistence_threshold: "auto",
  stage3_max_live_parameters: 1e9,
  stage3_max_reuse_distance: 1e9,
  stage3_gather_16bit_weights_on_model_save: true,
};

const ZERO: Readonly<Record<string, Json>> = table({
  ds_z0_config: { stage: 0, ...UP_TO_2 },
  ds_z2_config: { stage: 2, ...UP_TO_2 },
  ds_z2_offload_config: { stage: 2, offload_optimizer: OFFLOADS, ...UP_TO_2 },
  ds_z3_config: STAGE_3,
  ds_z3_offload_config: { ...STAGE_3, offload_optimizer: OFFLOADS, offload_param: OFFLOADS },
});

/** The text of the example that a path ends with; undefined for other files. */
export function exampleDeepspeed(path: string): string | undefined {
  const name = /(?:^|\/)deepspeed\/(ds_z\w{1,20})\.json$/.exec(path)?.[1];
  const zero = name === undefined ? undefined : ZERO[name];
  if (zero === undefined) return undefined;
  return JSON.stringify({
    train_batch_size: "auto",
    train_micro_batch_size_per_gpu: "auto",
    gradient_accumulation_steps: "auto",
    gradient_clipping: "auto",
    zero_allow_untested_optimizer: true,
    fp16: { enabled: "auto" },
    bf16: { enabled: "auto" },
    zero_optimization: zero,
  });
}
