/**
 * Frameworks that train with model code and a loop of their own. Their runs are estimated on the captured code of the
 * same dimensions, which is said and widens the band; what their loops do differently is told by these few marks.
 */
import type { FsdpSpec } from "../core/training/run";
import type { SchemaId } from "../formats/types";
import type { Settings } from "./settings";

/** Formats whose runs the Hugging Face Trainer carries out: its defaults fill what they leave open. */
export const TRAINER_FORMATS: ReadonlySet<string> = new Set([
  "hf-training-arguments",
  "trl",
  "axolotl",
  "llama-factory",
  "ms-swift",
]);

export interface Framework {
  /** Name to show. */
  readonly name: string;
  /** How it shards on several GPUs when nothing says otherwise. */
  readonly shards?: FsdpSpec["sharding"];
  /** Its tensor parallelism always splits the residual stream along the sequence. */
  readonly sequenceParallel?: true;
  /** DeepSpeed's engine carries every run out, whatever the ZeRO stage. */
  readonly deepspeed?: true;
  /** Half-precision parameters with a float32 copy and one gradient buffer; sharded from ZeRO stage 1 on. */
  readonly mainParameters?: true;
  /** Its data are cut into sequences of full length. */
  readonly fillsSequences?: true;
  /** Whether a run trains transformers' own model code, and nothing stands in. */
  readonly trainsTransformers?: (settings: Settings) => boolean;
}

const FRAMEWORKS: Readonly<Partial<Record<SchemaId, Framework>>> = {
  // `fully_shard` in the distributed recipes (torchtune/training/_distributed.py)
  torchtune: { name: "torchtune", shards: "full_shard" },
  // `data_parallel_shard_degree` is -1 by default (torchtitan/config/job_config.py)
  // and its tensor-parallel plans shard the norms' inputs (torchtitan/models/llama3/parallelize.py)
  torchtitan: { name: "torchtitan", shards: "full_shard", sequenceParallel: true, fillsSequences: true },
  lightning: { name: "Lightning", trainsTransformers: (settings) => settings.boolean("own_loop") === true },
  megatron: { name: "Megatron-LM", mainParameters: true, fillsSequences: true },
  nemo: { name: "NeMo", mainParameters: true },
  nanotron: { name: "nanotron", mainParameters: true, fillsSequences: true },
  "gpt-neox": { name: "gpt-neox", deepspeed: true, fillsSequences: true },
  // transformers' models, wrapped by FSDP (verl/workers/engine/fsdp/transformer_impl.py)
  verl: { name: "verl", shards: "full_shard", trainsTransformers: () => true },
  "llm-foundry": {
    name: "llm-foundry",
    trainsTransformers: (settings) => settings.string("model_class") !== "mpt_causal_lm",
  },
};

export function frameworkOf(format: SchemaId): Framework | undefined {
  return FRAMEWORKS[format];
}

/** The framework whose own code a run trains, when it is not transformers'. */
export function standsFor(format: SchemaId, settings: Settings): string | undefined {
  const framework = FRAMEWORKS[format];
  return framework === undefined || framework.trainsTransformers?.(settings) === true ? undefined : framework.name;
}
