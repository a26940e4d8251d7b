import { SCHEMAS } from "../../formats";
import { litgptCode } from "../../formats/lightning/litgpt";
import { exampleDeepspeed } from "../../formats/llama-factory/examples";
import { mptCode } from "../../formats/llm-foundry/mpt";
import { networkName } from "../../formats/timm/names";
import { recomputedAll, torchtitanCode } from "../../formats/torchtitan/models";
import { torchtuneCode } from "../../formats/torchtune/models";
import type { Format } from "../../formats/types";
import { table } from "../../terms/table";
import type { Flavour, Flavours, Framework, OwnFsdp } from "./framework";
import type { Settings } from "./settings";
import { holds, type Versions } from "./versions";

const OF_TRL: Flavours = table({
  dpo: { kind: "dpo" },
  kto: { kind: "kto" },
  orpo: { kind: "orpo" },
  cpo: { kind: "cpo" },
  reward: { kind: "reward" },
  grpo: { kind: "grpo" },
  rloo: { kind: "rloo" },
  gkd: { kind: "gkd" },
});

const SIMPO: Flavour = { kind: "cpo", loss: "simpo" };

const UNFOLLOWED = "not-modelled.format" as const;

/** A schema without a row is recognised, and its runs are not followed. */
const ROWS: Readonly<Partial<Record<keyof typeof SCHEMAS, Framework>>> = {
  deepspeed: { name: "DeepSpeed", part: "engine" },
  accelerate: { name: "Accelerate", part: "launcher", readOnly: "not-modelled.part" },
  "hf-training-arguments": {
    name: "transformers",
    trainer: "plain",
    scripts: true,
    // transformers/trainer.py (_prepare_context_parallel_inputs), accelerate/utils/dataclasses.py (TorchContextParallelConfig)
    contextRotation: "allgather",
    packs: () => "by-kernel",
    // sentence_transformers/sentence_transformer/losses
    flavours: table({ embedding: { kind: "embedding" } as const }),
    recorded: { file: "sentence-transformers", release: "6.2" },
  },
  trl: {
    name: "TRL",
    trainer: "named",
    scripts: true,
    contextRotation: "allgather",
    packs: () => "by-kernel",
    offloadsAll: "once",
    losses: "same",
    trlDefaults: true,
    flavours: table({
      ...OF_TRL,
      // SimPO's own trainer (princeton-nlp/SimPO, scripts/simpo_config.py: `sft_weight` 0)
      simpo: { ...SIMPO, unlikely: true },
      ppo: { kind: "ppo" },
      "online-dpo": { kind: "online-dpo" },
      xpo: { kind: "xpo" },
      "nash-md": { kind: "nash-md" },
    }),
  },
  axolotl: {
    name: "axolotl",
    trainer: "within",
    // axolotl/core/builders/causal.py (ddp_find_unused_parameters)
    findsUnused: "never",
    package: "axolotl",
    dropsUnknown: true,
    // axolotl/core/builders/base.py: a validation set alone makes it evaluate every epoch
    evaluatesValidation: true,
    // axolotl/utils/collators/batching.py
    padsTo: 64,
    // SDPA is masked by sample (`check_sample_packing_without_attention` in axolotl/utils/schemas/validation.py)
    packs: (settings) => (settings.string("attention") === "sdpa" ? "apart" : "by-kernel"),
    // axolotl/utils/config/__init__.py, `cfg.is_multimodal`
    namesProcessor: true,
    autoIsBfloat16: true,
    offloadsAll: "once",
    namesQlora: true,
    // axolotl/monkeypatch/moe_quant.py, integrations/kernels/libs/scattermoe_lora/layers.py
    parametrizesExperts: true,
    // axolotl/loaders/model.py (`_set_device_map_config`)
    loadsOnDevice: true,
    // axolotl/core/builders/rl.py (0.19)
    losses: "same",
    trlDefaults: true,
    flavours: table({ ...OF_TRL, ipo: { kind: "dpo", loss: "ipo" }, simpo: SIMPO, gdpo: { kind: "grpo" } }),
    // axolotl/core/trainers/grpo/__init__.py
    vllmShareNeedsMode: true,
  },
  "llama-factory": {
    name: "LLaMA-Factory",
    exampleDeepspeed,
    trainer: "within",
    // with Megatron's degrees its layers and optimizer, else the Trainer (llamafactory/train/mca)
    ownCode: true,
    trainsTransformers: (settings) => !runs(settings, "mcore"),
    mainParameters: (settings) => runs(settings, "mcore"),
    // llamafactory/hparams/parser.py (get_train_args)
    findsUnused: "without-adapters",
    package: "llamafactory",
    samples: true,
    // llamafactory/extras/misc (fp8_backend), train/fp8_utils.py
    float8: { backend: "torchao", keeps: "head", cachesWeights: false },
    // llamafactory/hparams/parser.py (`device_map`)
    loadsOnDevice: true,
    splitsNames: true,
    // llamafactory/train/tuner.py (0.9.5)
    recorded: { file: "llama-factory", release: "0.24" },
    prefLoss: true,
    flavours: table({ dpo: { kind: "dpo" }, kto: { kind: "kto" }, rm: { kind: "rm" } }),
    // llamafactory/model/model_utils/liger_kernel.py
    ligerFamilies: new Set(
      (
        "gemma gemma2 gemma3 gemma3_text glm4 glm4v gpt_oss granite llama llava mistral mixtral mllama olmo2 paligemma " +
        "phi3 qwen2 qwen2_vl qwen2_5_vl qwen3 qwen3_moe qwen3_next qwen3_5 qwen3_5_moe"
      ).split(" "),
    ),
    // `llamafactory-cli export`, `chat`/`api` and `eval` (llamafactory/hparams: ModelArguments, EvaluationArguments)
    exports: /^[ \t]*(?:export_dir|infer_backend|n_shot)[ \t]*:/m,
    unlike: table({ ppo: "not-modelled.trainer.one-model-ppo" }),
  },
  "ms-swift": {
    name: "ms-swift",
    trainer: "within",
    package: "ms-swift",
    // The keys of `megatron sft` are Megatron's own, whose attention always takes the samples' lengths.
    packs: (settings) =>
      settings.all("tensor_parallel").length > 0 || runs(settings, "mcore") ? "apart" : "by-kernel",
    // `megatron sft` builds Megatron's layers, optimizer and pipeline (swift/megatron/trainers); `swift sft` is the Trainer.
    ownCode: true,
    trainsTransformers: (settings) => !runs(settings, "mcore"),
    mainParameters: (settings) => runs(settings, "mcore"),
    float8: { backend: "transformer-engine", keeps: "head", cachesWeights: true },
    // swift/utils/torch_utils.py (get_default_device_map)
    loadsOnDevice: true,
    // swift/rlhf_trainers/rollout_mixin.py (split_batches)
    sendsBatches: true,
    splitsNames: true,
    // swift/arguments/rlhf_args.py (4.6)
    losses: "alike",
    flavours: table({ ...OF_TRL, simpo: SIMPO, rm: { kind: "reward" } }),
  },
  torchtune: {
    name: "torchtune",
    // recipes/eleuther_eval.py, recipes/generate.py
    exports: /^(?:tasks|prompt)[ \t]*:/m,
    ownCode: true,
    codeOf: (config, settings) => torchtuneCode(config, settings.string("model_component") ?? ""),
    // `fully_shard` in the distributed recipes (torchtune/training/_distributed.py, shard_model: every layer and the model),
    // and every micro-batch's gradients are reduced
    shards: "full_shard",
    fsdp: { version: 2, groups: "layers", reducesEach: true },
    // torchtune/training/_distributed.py (get_context_parallel_manager)
    contextRotation: "allgather",
    // torchtune/training/quantization.py (convert_to_float8_training)
    float8: { backend: "torchao", keeps: "head", cachesWeights: false },
    countsLayersFromOne: true,
    offloadsAll: "each",
    // torchtune/training/_compile.py
    compilesLayers: true,
  },
  torchtitan: {
    name: "torchtitan",
    ownCode: true,
    codeOf: (config) => torchtitanCode(config),
    // `data_parallel_shard_degree` is -1 by default (torchtitan/config/job_config.py)
    shards: "full_shard",
    // embedding, last norm and head are groups as accelerate has them; `always` means the last two, too (torchtitan/distributed/fsdp.py,
    // before torchtitan/models/llama3/infra/parallelize.py: apply_fsdp)
    fsdpOf: (settings) => ({
      version: 2,
      reducesEach: true,
      ...(settings.boolean("fsdp_reshard_after_forward") === true && { tailResharded: true }),
    }),
    // its tensor-parallel plans shard the norms' inputs (torchtitan/models/llama3/parallelize.py)
    sequenceParallel: true,
    sequencePlan: { columns: ["wq", "wk", "wv", "w1", "w3", "output"], rows: ["wo", "w2", "tok_embeddings"] },
    // `disable_loss_parallel` is off by default (torchtitan/config/job_config.py; torchtitan/distributed/utils.py, get_train_context)
    splitsLogits: true,
    // torchtitan/distributed/utils.py (create_context_parallel_ctx)
    contextRotation: "allgather",
    fillsSequences: true,
    // torchtitan/components/quantization/float8.py
    float8: { backend: "torchao", keeps: "none", cachesWeights: false },
    countsLayersFromOne: true,
    // torchtitan/config/job_config.py
    checkpointsSelectively: recomputedAll,
    compilesLayers: true,
  },
  megatron: {
    name: "Megatron-LM",
    ownCode: true,
    mainParameters: () => true,
    fillsSequences: true,
    float8: { backend: "transformer-engine", keeps: "head", cachesWeights: true },
    recomputesByMethod: true,
  },
  "gpt-neox": {
    name: "gpt-neox",
    ownCode: true,
    deepspeed: true,
    fillsSequences: true,
    float8: { backend: "transformer-engine", keeps: "head", cachesWeights: false },
  },
  "llm-foundry": {
    name: "llm-foundry",
    ownCode: true,
    codeOf: (config, settings) => mptCode(config, settings),
    // composer/distributed/dist_strategy.py: prepare_fsdp_module; `ddp_sync_context` leaves micro-batches to FSDP, which reduces each
    fsdp: { version: 1, reducesEach: true },
    trainsTransformers: (settings) => settings.string("model_class") !== "mpt_causal_lm",
    // composer/trainer/mosaic_fsdp_utils.py (get_cpu_offload)
    refuses: [{ setting: "offload_param", value: "cpu", why: "not-modelled.composer-offload" }],
    float8: { backend: "transformer-engine", keeps: "none", cachesWeights: false },
  },
  nanotron: { name: "nanotron", ownCode: true, mainParameters: () => true, fillsSequences: true },
  lightning: {
    name: "Lightning",
    ownCode: true,
    codeOf: (config, settings) => (runs(settings, "litgpt") ? litgptCode(config) : undefined),
    // litgpt/model.py, LLaMAMoE; lightning/fabric/plugins/precision/bitsandbytes.py (_convert_layers: every `torch.nn.Linear`)
    layersOfExperts: (settings) => runs(settings, "litgpt"),
    // finetune/lora.py, get_batch (lit-gpt 0.1: "force the longest sample at the beginning")
    longestFirst: "litgpt<0.2",
    // lightning/pytorch/loops/fit_loop.py of 2.1, reset: `self.trainer.model.train()`
    setsTraining: "lightning<2.2",
    fsdpOf: (settings, libraries) => lightningFsdp(settings, libraries),
    hydra: true,
    trainsTransformers: (settings) => settings.on("own_loop"),
    float8: { backend: "transformer-engine", keeps: "none", cachesWeights: false },
  },
  verl: {
    name: "verl",
    ownCode: true,
    hydra: true,
    // transformers' models, wrapped by FSDP (verl/workers/engine/fsdp/transformer_impl.py) in flat parameters that the
    // optimizer steps on, unless its strategy is `fsdp2`
    shards: "full_shard",
    fsdp: { version: 1, reduceDtype: "float32", reducesEach: true, flatOptimizer: true, keepsBuffers: true },
    trainsTransformers: (settings) => !runs(settings, "mcore"),
    mainParameters: (settings) => runs(settings, "mcore"),
    recorded: { file: "verl", release: "0.9.1", kernels: "verl" },
    reinforces: "verl",
    strategies: ["fsdp", "fsdp2", "megatron"],
    // Every estimator without a critic runs the same update.
    flavours: table({ verl: { kind: "grpo" } }),
  },
  openrlhf: {
    name: "OpenRLHF",
    ownCode: true,
    // transformers' models in a DeepSpeed engine whose config is made of the options (openrlhf/utils/deepspeed)
    trainsTransformers: () => true,
    deepspeed: true,
    recorded: { file: "openrlhf", release: "0.11", fromSource: true },
    flavours: table({ nll: { kind: "sft" }, dpo: { kind: "dpo" }, rm: { kind: "reward" } }),
    unlike: table({ ppo: "not-modelled.openrlhf" }),
  },
  nemo: {
    name: "NeMo",
    ownCode: true,
    hydra: true,
    mainParameters: () => true,
    float8: { backend: "transformer-engine", keeps: "head", cachesWeights: true },
  },
  diffusers: { name: "diffusers", denoises: true },
  "sd-scripts": { name: "sd-scripts", denoises: true, ownCode: true },
  "ai-toolkit": { name: "ai-toolkit", denoises: true, ownCode: true },
  nnunet: { name: "nnU-Net", plans: true, readOnly: UNFOLLOWED },
  timm: {
    name: "timm",
    ownCode: true,
    // its own networks, which are captured from it (models/graphs/timm.*.json)
    trainsTransformers: () => true,
    modelNamed: (written) => `timm/${networkName(written)}`,
  },
  mmengine: { name: "MMEngine", readOnly: UNFOLLOWED },
  detectron2: { name: "Detectron2", readOnly: UNFOLLOWED },
};

/** Whether a command runs a library's own code of models in the place of transformers'. */
const runs = (settings: Settings, code: "litgpt" | "mcore"): boolean => settings.string("model_code") === code;

/** Whose models a command trains, where it is not those of the framework that reads the file. */
const CODE_NAMES: Readonly<Record<string, string>> = table({ litgpt: "litgpt", mcore: "Megatron-core" });

/** Whose own code of models a run trains, to show. */
export function codeName({ name }: Framework, settings: Settings): string {
  return CODE_NAMES[settings.string("model_code") ?? ""] ?? name;
}

/**
 * litgpt's LoRA has `fully_shard` (litgpt/finetune/lora.py, parallelize_fn; lightning/fabric/plugins/precision/amp.py), flat parameters
 * before 0.5.11, and before 0.5.8 adapters in those of their layers (`auto_wrap_policy={Block}`; then `{torch.nn.Linear}`). Everything
 * else is wrapped by layers; lightning/fabric/strategies/fsdp.py leaves `backward_prefetch` to torch
 * (torch/distributed/fsdp/fully_sharded_data_parallel.py). Lightning's own strategy has the whole module in one unit, where no policy
 * says what is wrapped (lightning/pytorch/strategies/fsdp.py, _setup_model), and wraps nothing of FSDP2's.
 */
function lightningFsdp(settings: Settings, libraries: Versions): OwnFsdp {
  const adapts = runs(settings, "litgpt") && settings.string("adapter") === "lora";
  if (adapts && holds("litgpt>=0.5.11", libraries))
    return { version: 2, groups: "layers", rootStays: true, autocastsAround: true };
  const mixes = adapts && holds("litgpt<0.5.8", libraries);
  const wrapped = settings.find("fsdp_wrap_class") ?? settings.open("fsdp_wrap_class");
  const whole = !runs(settings, "litgpt") && settings.number("fsdp_version") !== 2 && wrapped === undefined;
  return {
    version: 1,
    backwardPrefetch: "before",
    ...(mixes && { mixesAdapters: true }),
    ...(whole && { unsplit: true }),
  };
}

const FRAMEWORKS: Readonly<Record<string, Framework>> = table(
  Object.fromEntries(
    Object.entries(SCHEMAS).map(([id, { title }]) => [
      id,
      ROWS[id as keyof typeof SCHEMAS] ?? { name: title, readOnly: UNFOLLOWED },
    ]),
  ),
);

/** The row of the framework that a format is of: the same one for every way its settings are written. */
export function frameworkOf({ id }: Pick<Format, "id">): Framework {
  return FRAMEWORKS[id]!;
}

/** Whether a document is settings of an engine that no run's own file stands beside. */
export function isPartAlone({ format, model }: { readonly format: Format; readonly model?: unknown }): boolean {
  return frameworkOf(format).part === "engine" && model === undefined;
}

/** Whether the framework's own optimizer steps on float32 copies of half-precision parameters (Megatron's, nanotron's). */
export function hasMainParameters({ mainParameters }: Framework, settings: Settings): boolean {
  return mainParameters?.(settings) === true;
}

/** Whether a run trains the framework's own model code, not transformers'. */
export function runsOwnCode({ ownCode, trainsTransformers }: Framework, settings: Settings): boolean {
  return ownCode === true && trainsTransformers?.(settings) !== true;
}
