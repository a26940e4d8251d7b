/**
 * Frameworks that train with model code and a loop of their own. Their runs are estimated on the captured code of the
 * same dimensions, which is said and widens the band; what their loops do differently is told by these few marks.
 */
import type { FsdpSpec } from "../core/training/run";
import { networkName } from "../formats/timm/names";
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
  /** What its own FSDP does otherwise than the Trainer's. */
  readonly fsdp?: Partial<Pick<FsdpSpec, "version" | "groups" | "reduceDtype" | "reducesEach" | "flatOptimizer">>;
  /** Its tensor parallelism always splits the residual stream along the sequence. */
  readonly sequenceParallel?: true;
  /** DeepSpeed's engine carries every run out, whatever the ZeRO stage. */
  readonly deepspeed?: true;
  /** Half-precision parameters with a float32 copy and one gradient buffer; sharded from ZeRO stage 1 on. */
  readonly mainParameters?: true;
  /** Its data are cut into sequences of full length. */
  readonly fillsSequences?: true;
  /** Whether the captured graph is of the very code that trains (transformers', or the library's own), and nothing stands in. */
  readonly trainsTransformers?: (settings: Settings) => boolean;
  /** The catalogue's name of a model that its files name, where the library has networks of its own. */
  readonly modelNamed?: (written: string) => string;
}

const FRAMEWORKS: Readonly<Partial<Record<SchemaId, Framework>>> = {
  // `fully_shard` in the distributed recipes (torchtune/training/_distributed.py)
  // (shard_model: every layer and the model), and every micro-batch's gradients are reduced
  torchtune: { name: "torchtune", shards: "full_shard", fsdp: { version: 2, groups: "layers", reducesEach: true } },
  // `data_parallel_shard_degree` is -1 by default (torchtitan/config/job_config.py)
  // and its tensor-parallel plans shard the norms' inputs (torchtitan/models/llama3/parallelize.py)
  // (`mixed_precision_reduce` is float32; embedding, last norm and head are groups as accelerate has them)
  torchtitan: {
    name: "torchtitan",
    shards: "full_shard",
    fsdp: { version: 2, reduceDtype: "float32", reducesEach: true },
    sequenceParallel: true,
    fillsSequences: true,
  },
  // lightning/fabric/strategies/fsdp.py
  lightning: {
    name: "Lightning",
    fsdp: { version: 1 },
    trainsTransformers: (settings) => settings.boolean("own_loop") === true,
  },
  megatron: { name: "Megatron-LM", mainParameters: true, fillsSequences: true },
  nemo: { name: "NeMo", mainParameters: true },
  nanotron: { name: "nanotron", mainParameters: true, fillsSequences: true },
  "gpt-neox": { name: "gpt-neox", deepspeed: true, fillsSequences: true },
  // transformers' models, wrapped by FSDP (verl/workers/engine/fsdp/transformer_impl.py)
  // in flat parameters that the optimizer steps on, unless its strategy is `fsdp2`
  verl: {
    name: "verl",
    shards: "full_shard",
    fsdp: { version: 1, reduceDtype: "float32", reducesEach: true, flatOptimizer: true },
    trainsTransformers: () => true,
  },
  // its own networks, which are captured from it (models/graphs/timm.*.json)
  timm: { name: "timm", trainsTransformers: () => true, modelNamed: (written) => `timm/${networkName(written)}` },
  "llm-foundry": {
    name: "llm-foundry",
    // composer/distributed/dist_strategy.py (prepare_fsdp_module)
    fsdp: { version: 1 },
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
