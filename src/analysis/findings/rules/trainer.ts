/** Rules about TrainingArguments: precision, checkpointing, optimizers, batches, sharding. */

import { LEVERS } from "../../../core/advise/levers";
import { modelParallelSize } from "../../../core/training/parallel/degrees";
import { renaming } from "../../../formats/fix";
import type { LocatedSetting } from "../../../formats/types";
import { isRemoved } from "../../defaults";
import { TRAINER_FORMATS } from "../../frameworks";
import { size } from "../../messages/units";
import { type Facts, type Hit, hit, type Rule, removal, replacement, set } from "../rule";

/** Optimizers that update inside backward and so cannot accumulate. */
const LAYERWISE = /_layerwise$|^(?:ada)?lomo$/;
const EIGHT_BIT = /(?:_8bit|_4bit)$/;

/** Whether Liger's fused loss exists for a run is the planner's knowledge. */
const LIGER = LEVERS.find((lever) => lever.id === "fused-loss");

/** A statement whose key a library version removed. */
interface Removed {
  readonly setting: LocatedSetting;
  readonly key: string;
  readonly removedIn: string;
  readonly replacedBy: string | undefined;
  /** The new key takes the same value. */
  readonly renamed: boolean;
}

function removedKeys(facts: Facts): Removed[] {
  const { keys } = facts.inputs.format;
  const changed = keys.filter(({ removedIn, oldNames }) => removedIn !== undefined || oldNames !== undefined);
  const gone = (removedIn: string) => isRemoved(removedIn, facts.resolution.libraries);
  return facts.inputs.main.read.settings.flatMap((setting): Removed[] => {
    const name = setting.key.replace(/^.*\./, "");
    const of = (key: string) => setting.key === key || setting.key.endsWith(`.${key}`);
    for (const spec of changed) {
      const { removedIn, replacedBy } = spec;
      if (removedIn !== undefined && of(spec.key) && gone(removedIn)) {
        const next = keys.find(({ key }) => key === replacedBy);
        return [{ setting, key: spec.key, removedIn, replacedBy, renamed: next?.type === spec.type }];
      }
      const old = spec.oldNames?.[name];
      if (old !== undefined && gone(old))
        return [{ setting, key: name, removedIn: old, replacedBy: spec.key, renamed: true }];
    }
    return [];
  });
}

const REMOVED_OTHERS: Readonly<Record<string, string>> = {
  warmup_ratio: "warmup_steps (a share below 1 is taken)",
  evaluation_strategy: "eval_strategy",
  overwrite_output_dir: "",
  logging_dir: "the TENSORBOARD_LOGGING_DIR variable",
  save_safetensors: "",
  half_precision_backend: "",
  fp16_opt_level: "",
  fp16_backend: "",
  use_mps_device: "",
  jit_mode_eval: "",
  use_ipex: "",
  tpu_num_cores: "",
  past_index: "",
  ray_scope: "",
  push_to_hub_model_id: "hub_model_id",
  push_to_hub_organization: "hub_model_id",
  push_to_hub_token: "hub_token",
  include_inputs_for_metrics: "include_for_metrics",
};

export const TRAINER_RULES: readonly Rule[] = [
  {
    code: "fp32-load",
    severity: "warning",
    title: "Weights load as float32",
    why: "`bf16: true` and `fp16: true` only switch autocast on. Weights, gradients and optimizer states keep the dtype the model was loaded in: float32 is 16 bytes per parameter with Adam, bfloat16 is 8.",
    mend: "Load in bfloat16 (`dtype: bfloat16`) if pure bfloat16 training is what you want; it changes the numerics.",
    en: "Weights load as float32 by default: with {optimizer} that is {bytes} per parameter. `{precision}` only switches autocast on.",
    zh: "权重默认以 float32 加载：使用 {optimizer} 时每个参数 {bytes}。`{precision}` 只开启 autocast。",
    example: { trl: "bf16: true\noptim: adamw_torch" },
    check: (facts) => {
      const load = facts.resolution.resolved.get("load_dtype");
      const at = facts.own("bf16")?.value === true ? facts.own("bf16") : facts.own("fp16");
      const byDefault = load?.value === "float32" && (load.from === "default" || load.from === "assumed");
      const adam = /^adamw_(?:torch|torch_fused|anyprecision)$/.test(facts.run?.optimizer.name ?? "");
      const full = facts.run !== null && facts.run.adapter === null && facts.inputs.deepspeed === undefined;
      return hit(at, at?.value === true && byDefault && adam && full, {
        args: { optimizer: facts.run?.optimizer.name ?? "", bytes: "16 B", precision: at?.key ?? "bf16" },
        fixes: [set("fix.load-bf16", {}, false, [{ name: "load_dtype", value: "bfloat16" }])],
      });
    },
  },
  {
    code: "fp16-weights",
    severity: "error",
    title: "float16 weights under fp16 autocast",
    why: 'The gradient scaler of `fp16: true` needs float32 weights; with float16 ones the first step fails with "Attempting to unscale FP16 gradients".',
    mend: "Load in float32, or use `bf16` with bfloat16 weights.",
    en: 'float16 weights under `fp16: true` fail with "Attempting to unscale FP16 gradients": load float32, or use bf16.',
    zh: "`fp16: true` 下的 float16 权重会报错“Attempting to unscale FP16 gradients”：请以 float32 加载，或改用 bf16。",
    example: { train: "fp16: true", pins: "dtype: float16" },
    check: (facts) => {
      const at = facts.own("fp16");
      const trainable = facts.run !== null && facts.run.adapter === null && facts.run.quantization === null;
      return hit(
        at,
        at?.value === true &&
          facts.run?.loadDtype === "float16" &&
          trainable &&
          // Those step on a float32 copy.
          facts.inputs.deepspeed === undefined &&
          facts.run.parallel.mainParameters === undefined,
      );
    },
  },
  {
    code: "half-states",
    severity: "hint",
    title: "Optimizer states follow the weights",
    why: "PyTorch's optimizers keep their states in the dtype of the parameters: with bfloat16 weights Adam takes 4 bytes per parameter, and there is no float32 master copy. Small updates may be lost.",
    mend: "Nothing to do for memory. For full precision load in float32 with `bf16: true`.",
    en: "Adam's states follow the bfloat16 weights: 8 bytes per parameter in all, not 16; there is no float32 master copy.",
    zh: "Adam 状态与 bfloat16 权重同精度：每个参数共 8 字节而非 16 字节；没有 float32 主副本。",
    example: { train: "optim: adamw_torch\nbf16: true", pins: "dtype: bfloat16" },
    check: (facts) => {
      const at = facts.own("optimizer");
      const adam = /^adamw_torch/.test(String(at?.value)) && !EIGHT_BIT.test(String(at?.value));
      const full =
        facts.run?.adapter === null && facts.run.loadDtype === "bfloat16" && facts.run.parallel.deepspeed === null;
      return hit(at, adam && full);
    },
  },
  {
    code: "removed-key",
    severity: "information",
    title: "A key the library no longer has",
    why: "The key was removed from this release of the library; it is rejected, or ignored where extra keys are allowed. The finding is an error when the version is pinned, information when it is only assumed.",
    mend: "Write the key that replaced it, or remove it.",
    en: "`{key}` was removed in {library}{next}.",
    zh: "`{key}` 已在 {library} 中移除{next}。",
    example: { train: "per_gpu_train_batch_size: 4\nwarmup_ratio: 0.1", pins: 'libraries: { transformers: "5.17" }' },
    check: (facts) => {
      const { uri } = facts.inputs.main;
      return removedKeys(facts).map(({ setting, key, removedIn, replacedBy, renamed }): Hit => {
        const [library = ""] = removedIn.split(" ");
        const { keySpan, valueSpan } = setting;
        return {
          at: {
            name: setting.name ?? "",
            value: null,
            from: "document",
            key: setting.key,
            place: { uri, keySpan, valueSpan },
          },
          // axolotl drops what it does not know; the others stop.
          ...(facts.pinned(library) === undefined
            ? {}
            : { severity: library === "axolotl" ? ("warning" as const) : ("error" as const) }),
          args: { key, library: removedIn, next: replacedBy === undefined ? "" : `: ${replacedBy}` },
          fixes: renamed && replacedBy !== undefined ? [{ ...renaming(keySpan, replacedBy), safe: true }] : [],
        };
      });
    },
  },
  {
    code: "batch-upper-bound",
    severity: "information",
    title: "The batch size is only an upper bound",
    why: "`auto_find_batch_size` starts over with a smaller batch after running out of memory. The estimate is for the batch as written.",
    mend: "Set the batch that fits and switch it off: restarts cost time and leave fragments.",
    en: "`auto_find_batch_size` lowers the batch after running out of memory: {batch} is only where it starts.",
    zh: "`auto_find_batch_size` 会在显存不足后降低批大小：{batch} 只是起点。",
    example: { train: "auto_find_batch_size: true" },
    check: (facts) => {
      const at = facts.own("auto_find_batch_size");
      const zero3 = facts.stage === 3;
      return hit(at, at?.value === true, {
        args: { batch: facts.run?.microBatchSize ?? "?" },
        ...(zero3 ? { severity: "warning" as const } : {}),
      });
    },
  },
  {
    code: "evaluation-batch",
    severity: "information",
    title: "Evaluation runs with a larger batch",
    why: "Evaluation has its own batch size, 8 unless stated, and keeps the logits of every batch unless `prediction_loss_only` is set. It can need more than training.",
    mend: "Set `per_device_eval_batch_size` to the training batch, or `prediction_loss_only: true`.",
    en: "Evaluation runs with batch {batch}, training with {train}: its logits may need more than the training step.",
    zh: "评估批大小为 {batch}，训练为 {train}：评估的 logits 可能比训练步更占显存。",
    example: { train: "eval_strategy: steps\nper_device_eval_batch_size: 32" },
    check: (facts) => {
      const at = facts.own("eval_strategy");
      const batch = facts.settings.number("eval_batch_size") ?? 8;
      const train = facts.run?.microBatchSize ?? Number.POSITIVE_INFINITY;
      const on = at !== undefined && at.value !== "no" && at.value !== false;
      return hit(facts.own("eval_batch_size") ?? at, on && batch > train && !facts.isTrue("prediction_loss_only"), {
        args: { batch, train },
      });
    },
  },
  {
    code: "evaluation-keeps-predictions",
    severity: "hint",
    title: "Predictions stay on the GPU until evaluation ends",
    why: "With `eval_accumulation_steps` unset the Trainer keeps the predictions of the whole evaluation set on the GPU when metrics are computed.",
    mend: "Set `eval_accumulation_steps` (16, for example), or `prediction_loss_only: true`.",
    en: "Predictions stay on the GPU until evaluation ends: set `eval_accumulation_steps`, or `prediction_loss_only: true`.",
    zh: "预测结果会一直保留在 GPU 上直到评估结束：请设置 `eval_accumulation_steps` 或 `prediction_loss_only: true`。",
    example: { train: "eval_strategy: epoch" },
    check: (facts) => {
      const at = facts.own("eval_strategy");
      const on = at !== undefined && at.value !== "no" && at.value !== false;
      return hit(
        at,
        on && !facts.trl && facts.own("eval_accumulation_steps") === undefined && !facts.isTrue("prediction_loss_only"),
      );
    },
  },
  {
    code: "checkpoint-twice",
    severity: "error",
    title: "Checkpointing by the Trainer and by FSDP",
    why: 'TrainingArguments raises "The activation_checkpointing in FSDP config and the gradient_checkpointing in training arg can\'t be set to True simultaneously".',
    mend: "Keep FSDP's `activation_checkpointing` and remove `gradient_checkpointing`.",
    en: "`gradient_checkpointing` and FSDP's `activation_checkpointing` are both on: TrainingArguments stops. Keep one.",
    zh: "`gradient_checkpointing` 与 FSDP 的 `activation_checkpointing` 同时开启：TrainingArguments 会报错，请只保留一个。",
    example: {
      train: "gradient_checkpointing: true\nfsdp: full_shard\nfsdp_config: { activation_checkpointing: true }",
    },
    check: (facts) => {
      const at = facts.own("gradient_checkpointing");
      const other = facts.own("fsdp_activation_checkpointing");
      // Other trainers hand FSDP's options to accelerate by the environment: TrainingArguments never sees both.
      return hit(at, facts.trainer && at?.value === true && other?.value === true && at.key !== other.key, {
        related: [other],
        fixes: replacement(at, "false", true),
      });
    },
  },
  {
    code: "fsdp-offload-alone",
    severity: "error",
    title: "FSDP offload without a sharding strategy",
    why: '`fsdp: offload` alone raises "`--fsdp offload` can\'t work on its own".',
    mend: "Write `full_shard offload`.",
    en: "`offload` needs a sharding word such as `full_shard`.",
    zh: "`offload` 需要与 `full_shard` 等分片方式一起使用。",
    example: { train: "fsdp: offload" },
    check: (facts) => {
      const at = facts.own("fsdp_options");
      return hit(at, typeof at?.value === "string" && at.value.trim() === "offload", {
        fixes: replacement(at, '"full_shard offload"', false),
      });
    },
  },
  {
    code: "deepspeed-and-fsdp",
    severity: "error",
    title: "DeepSpeed and FSDP together",
    why: "Both shard the model; Accelerate can run only one of them.",
    mend: "Remove one of the two keys.",
    en: "`deepspeed` and `fsdp` are both set: only one of them can shard the model.",
    zh: "`deepspeed` 与 `fsdp` 同时设置：只能由其中之一分片模型。",
    example: { train: "deepspeed: ds.json\nfsdp: full_shard", deepspeed: '{"zero_optimization": {"stage": 2}}' },
    check: (facts) => {
      const at = facts.own("fsdp_options");
      const on = typeof at?.value === "string" ? at.value !== "" : at?.value === true;
      return hit(at, on && facts.own("deepspeed") !== undefined, {
        related: [facts.own("deepspeed")],
        fixes: removal(at),
      });
    },
  },
  {
    code: "fsdp-8bit-optimizer",
    severity: "warning",
    title: "8-bit optimizer with FSDP",
    why: "bitsandbytes keeps its 8-bit states per tensor and block; FSDP shards parameters through them, so that saving and resharding these states fails.",
    mend: "Use `adamw_torch_fused` with FSDP: its states are sharded anyway.",
    en: "{optimizer} keeps block-wise states that FSDP cannot shard or save: use adamw_torch_fused.",
    zh: "{optimizer} 的分块状态无法被 FSDP 分片或保存：请使用 adamw_torch_fused。",
    example: { train: "fsdp: full_shard\noptim: adamw_bnb_8bit" },
    check: (facts) => {
      const at = facts.own("optimizer");
      return hit(at, /8bit$/.test(String(at?.value)) && facts.run?.parallel.fsdp != null, {
        args: { optimizer: String(at?.value) },
        fixes: replacement(at, "adamw_torch_fused", false),
      });
    },
  },
  {
    code: "layerwise-accumulation",
    severity: "error",
    title: "Layer-wise optimizer with gradient accumulation",
    why: "Layer-wise GaLore and APOLLO and LOMO apply each gradient inside backward and free it; there is nothing to accumulate. transformers raises for the layer-wise optimizers.",
    mend: "Set `gradient_accumulation_steps` to 1, or use the optimizer that is not layer-wise.",
    en: "{optimizer} updates inside backward and cannot accumulate: gradient_accumulation_steps must be 1, it is {steps}.",
    zh: "{optimizer} 在反向过程中更新，无法累积：gradient_accumulation_steps 必须为 1，当前为 {steps}。",
    example: {
      train: "optim: galore_adamw_layerwise\noptim_target_modules: all-linear\ngradient_accumulation_steps: 4",
    },
    check: (facts) => {
      const at = facts.own("gradient_accumulation_steps");
      const optimizer = String(facts.own("optimizer")?.value ?? "");
      return hit(at, LAYERWISE.test(optimizer) && typeof at?.value === "number" && at.value > 1, {
        args: { optimizer, steps: Number(at?.value ?? 1) },
        related: [facts.own("optimizer")],
        fixes: replacement(at, "1", false),
      });
    },
  },
  {
    code: "layerwise-ranks",
    severity: "error",
    title: "Layer-wise optimizer on several GPUs",
    why: 'Layer-wise GaLore and APOLLO raise "Layer-wise … does not support DDP at this time".',
    mend: "Use the variant that is not layer-wise, or one GPU.",
    en: "{optimizer} does not support several GPUs ({world} here).",
    zh: "{optimizer} 不支持多张 GPU（当前 {world} 张）。",
    example: {
      train: "optim: galore_adamw_layerwise\noptim_target_modules: all-linear",
      pins: "device: { name: 24GB, count: 2 }",
    },
    check: (facts) => {
      const at = facts.own("optimizer");
      return hit(at, /_layerwise$/.test(String(at?.value)) && (facts.world ?? 1) > 1, {
        args: { optimizer: String(at?.value), world: facts.world ?? 1 },
      });
    },
  },
  {
    code: "optimizer-target-modules",
    severity: "error",
    title: "GaLore or APOLLO without target modules",
    why: "These optimizers project the gradients of chosen modules and raise without `optim_target_modules`.",
    mend: "Add `optim_target_modules: all-linear`, or a list of names.",
    en: "{optimizer} needs `optim_target_modules` and stops without it.",
    zh: "{optimizer} 需要 `optim_target_modules`，否则会报错。",
    example: { train: "optim: galore_adamw" },
    check: (facts) => {
      const at = facts.own("optimizer");
      return hit(at, /^(?:galore|apollo)/.test(String(at?.value)) && facts.own("optim_target_modules") === undefined, {
        args: { optimizer: String(at?.value) },
        fixes: [set("fix.target-modules", {}, false, [{ name: "optim_target_modules", value: "all-linear" }])],
      });
    },
  },
  {
    code: "checkpointing-use-cache",
    severity: "warning",
    title: "Key-value cache with checkpointing",
    why: 'Transformers switches the cache off while checkpointing ("`use_cache=True` is incompatible with gradient checkpointing").',
    mend: "Set `use_cache: false`.",
    en: "`use_cache` is switched off while checkpointing: set it to false.",
    zh: "启用检查点时 `use_cache` 会被关闭：请设为 false。",
    example: { train: "gradient_checkpointing: true\nuse_cache: true" },
    check: (facts) => {
      const at = facts.own("use_cache");
      return hit(at, at?.value === true && facts.isTrue("gradient_checkpointing"), {
        fixes: replacement(at, "false", true),
      });
    },
  },
  {
    code: "split-batches",
    severity: "warning",
    title: "The per-device batch is the global batch",
    why: "`accelerator_config.split_batches` divides every batch of the loader over the GPUs: `per_device_train_batch_size` is then the batch of all GPUs together.",
    mend: "Remove `split_batches`, or multiply the batch size by the number of GPUs.",
    en: "With `split_batches` the per-device batch is shared by all GPUs: each takes a part of {batch}.",
    zh: "启用 `split_batches` 时 per-device 批由所有 GPU 共享：每张 GPU 只处理 {batch} 的一部分。",
    example: { train: "accelerator_config: { split_batches: true }" },
    check: (facts) => {
      const at = facts.own("split_batches");
      return hit(at, at?.value === true, { args: { batch: facts.run?.microBatchSize ?? "?" } });
    },
  },
  {
    code: "data-parallel",
    severity: "hint",
    title: "Several GPUs need a launcher",
    why: "Started with plain `python`, the Trainer wraps the model in `torch.nn.DataParallel`: one process, batch per forward = per-device batch × GPUs, replicas gathered on GPU 0. The estimate is for one process per GPU.",
    mend: "Start with `torchrun --nproc_per_node {n} …` or `accelerate launch`.",
    en: "{world} GPUs without a launcher next to this file: started with plain `python` the Trainer uses DataParallel, which needs more on GPU 0.",
    zh: "此文件旁没有启动器，却有 {world} 张 GPU：若直接用 `python` 启动，Trainer 会使用 DataParallel,GPU 0 占用更多。",
    example: { train: "", pins: "device: { name: 24GB, count: 4 }" },
    check: (facts) => {
      const at = facts.pin("world_size");
      const launched = facts.settings.all("world_size").some((setting) => setting.from === "linked");
      const sharded = facts.inputs.deepspeed !== undefined || facts.run?.parallel.fsdp != null;
      return hit(at, facts.trainer && !launched && !sharded && typeof at?.value === "number" && at.value > 1, {
        args: { world: Number(at?.value ?? 1) },
      });
    },
  },
  {
    code: "gpu-count-differs",
    severity: "warning",
    title: "Pin and launcher name different numbers of GPUs",
    why: "The pin says how many GPUs the estimate is for; the launch script next to the config starts another number of processes.",
    mend: "Correct the pin or the script.",
    en: "{pinned} {pinned|GPU is|GPUs are} pinned, but {key} in the launch script starts {launched}.",
    zh: "固定为 {pinned} 张 GPU，而启动脚本中的 {key} 启动 {launched} 个进程。",
    example: {
      train: "deepspeed: ds.json",
      deepspeed: '{"zero_optimization": {"stage": 2}}',
      pins: "device: { name: 24GB, count: 4 }",
      launch: "torchrun --nproc_per_node 8 train.py train.yaml\n",
    },
    check: (facts) => {
      const at = facts.pin("world_size");
      const launched = facts.settings.all("world_size").find((setting) => setting.from === "linked");
      return hit(at, launched !== undefined && at !== undefined && launched.value !== at.value, {
        args: { pinned: String(at?.value), launched: String(launched?.value), key: launched?.key ?? "" },
        related: [launched],
      });
    },
  },
  {
    code: "pin-differs",
    severity: "information",
    title: "A pin overrides the config",
    why: "A pin states another value than the training config; the estimate follows the pin, the training run follows the config.",
    mend: "Remove the pin, or change the config.",
    en: "The pin says {pinned}, the config {stated}: the estimate follows the pin, the training does not.",
    zh: "固定值为 {pinned}，配置为 {stated}：估算采用固定值，训练则不会。",
    example: { trl: "max_length: 512\ndtype: float32", pins: "dtype: bfloat16" },
    check: (facts) =>
      ["load_dtype", "attention", "model", "lora_rank"].flatMap((name) => {
        const at = facts.pin(name);
        const stated = facts.own(name);
        const differs =
          stated !== undefined &&
          stated.value !== null &&
          String(stated.value).replace("torch.", "") !== String(at?.value);
        return hit(at, differs, {
          args: { pinned: String(at?.value), stated: String(stated?.value) },
          related: [stated],
        });
      }),
  },
  {
    code: "torch-compile",
    severity: "information",
    title: "The compiled step is counted as one graph",
    why: "Inductor fuses operations, and its partitioner computes some of them again in backward: the estimate follows both. Wherever tracing breaks off, code runs eagerly and keeps more; the band reaches up to the uncompiled step.",
    mend: "Look for graph breaks (`TORCH_LOGS=graph_breaks`), or measure.",
    en: "`torch_compile` is counted as one graph; graph breaks keep more, up to what the uncompiled step does.",
    zh: "`torch_compile` 按单个计算图估算；图断裂处占用更多，最多与未编译的训练步相同。",
    example: { train: "torch_compile: true" },
    check: (facts) => {
      const at = facts.own("torch_compile") ?? facts.own("torch_compile_backend");
      return hit(at, at?.value !== false && at?.value !== null);
    },
  },
  {
    code: "logits-large",
    severity: "information",
    title: "Logits and their loss take a large share",
    why: "The loss holds logits of batch × tokens × vocabulary, in float32, with its gradient beside it. A fused loss computes them piece by piece.",
    mend: "Set `use_liger_kernel: true`.",
    en: "Logits and loss take {bytes} of the peak: {tokens} tokens × {vocabulary} words. A fused loss (`use_liger_kernel`) removes most of it.",
    zh: "logits 与损失占峰值中的 {bytes}：{tokens} 个 token × {vocabulary} 词表。融合损失(`use_liger_kernel`)可去除大部分。",
    example: {
      train: "bf16: true\nper_device_train_batch_size: 16",
      pins: "sequence_length: 4096",
      model: { vocab_size: 128256 },
    },
    check: (facts) => {
      // A run that does not fit says so at the same key, and offers the fused loss as a plan.
      if (facts.usable !== null && (facts.estimate?.usedPeakBytes ?? 0) > facts.usable) return [];
      const bytes = facts.estimate?.components.find((component) => component.kind === "logits-and-loss")?.bytes ?? 0;
      const at = facts.own("fused_loss") ?? facts.own("micro_batch_size");
      const share = bytes / (facts.estimate?.allocatedPeakBytes ?? 1);
      // Liger replaces the loss of some families only; where it fits anyway it is no more than a hint.
      const offered = facts.run !== null && LIGER?.options(facts.run).length !== 0;
      const room = facts.usable !== null && (facts.estimate?.band.highBytes ?? 0) <= facts.usable;
      return hit(at, facts.trainer && offered && share > 0.25 && bytes > 2 ** 29, {
        ...(room ? { severity: "hint" as const } : {}),
        args: {
          bytes: size(bytes),
          tokens: (facts.run?.microBatchSize ?? 0) * (facts.run?.sequenceLength ?? 0),
          vocabulary: Number(facts.run?.model.config["vocab_size"] ?? 0),
        },
        fixes: [set("fix.liger", {}, true, [{ name: "fused_loss", value: true }])],
      });
    },
  },
  {
    code: "sequence-too-long",
    severity: "warning",
    title: "Sequences longer than the model's positions",
    why: "The model was made for at most `max_position_embeddings` tokens. Models with learned positions (GPT-2, BERT, OPT) fail beyond them; rotary models lose quality.",
    mend: "Shorten the sequences, or choose a model for longer contexts.",
    en: "{length} tokens per sequence, but the model has {limit} positions.",
    zh: "每条序列 {length} 个 token，而模型只有 {limit} 个位置。",
    example: { trl: "max_length: 8192" },
    check: (facts) => {
      const at = facts.stated("sequence_length");
      const limit = Number(
        facts.run?.model.config["max_position_embeddings"] ?? facts.run?.model.config["n_positions"],
      );
      const length = facts.run?.sequenceLength ?? 0;
      return hit(at, Number.isFinite(limit) && limit > 0 && length > limit, { args: { length, limit } });
    },
  },
  {
    code: "flash-attention-gpu",
    severity: "error",
    title: "Flash attention on an older card",
    why: 'FlashAttention 2 runs on Ampere and later cards only ("FlashAttention only supports Ampere GPUs or newer"); version 3 on Hopper.',
    mend: "Use `sdpa`, which picks the best kernel the card has.",
    en: "{attention} does not run on {device}: use sdpa.",
    zh: "{attention} 无法在 {device} 上运行：请使用 sdpa。",
    example: { trl: "attn_implementation: flash_attention_2", pins: "device: Tesla T4" },
    check: (facts) => {
      const at = facts.stated("attention");
      const architecture = facts.run?.device?.architecture ?? "";
      const old = ["turing", "volta", "pascal", "maxwell"].includes(architecture);
      return hit(at, /^flash_attention/.test(String(at?.value)) && old, {
        args: { attention: String(at?.value), device: facts.run?.device?.name ?? "" },
        fixes: [set("fix.sdpa", {}, true, [{ name: "attention", value: "sdpa" }])],
      });
    },
  },
  {
    code: "flash-attention-fp32",
    severity: "error",
    title: "Flash attention in float32",
    why: "FlashAttention takes float16 and bfloat16 only; with float32 weights and no autocast its kernel raises.",
    mend: "Set `bf16: true`, or use `sdpa`.",
    en: "{attention} needs 16-bit inputs: set `bf16: true`, or use sdpa.",
    zh: "{attention} 需要 16 位输入：请设置 `bf16: true`，或使用 sdpa。",
    example: { train: "bf16: false", pins: "attention: flash_attention_2\ndtype: float32" },
    check: (facts) => {
      const at = facts.stated("attention");
      const float =
        facts.run?.loadDtype === "float32" && facts.run.autocast === null && facts.run.parallel.deepspeed === null;
      // Other frameworks choose another kernel then (Transformer Engine), or set their precision themselves.
      const stops = TRAINER_FORMATS.has(facts.inputs.format.id);
      return hit(at, stops && /^flash_attention/.test(String(at?.value)) && float, {
        args: { attention: String(at?.value) },
        fixes: [set("fix.bf16", {}, false, [{ name: "compute_dtype", value: "bf16" }])],
      });
    },
  },
  {
    code: "eager-attention",
    severity: "hint",
    title: "Eager attention materialises the scores",
    why: "Eager attention keeps batch × heads × tokens × tokens scores per layer; `sdpa` computes the same without them.",
    mend: "Use `sdpa` unless the model needs eager (soft-capping, attention outputs).",
    en: "Eager attention keeps scores of tokens × tokens for every head: `sdpa` computes the same without them.",
    zh: "eager 注意力会为每个头保留 token × token 的分数：`sdpa` 结果相同且无需保留。",
    example: { trl: "attn_implementation: eager" },
    check: (facts) => {
      const at = facts.stated("attention");
      const needed = /^gemma2/.test(facts.run?.model.family ?? "");
      return hit(at, at?.value === "eager" && !needed, {
        fixes: [set("fix.sdpa", {}, true, [{ name: "attention", value: "sdpa" }])],
      });
    },
  },
  {
    code: "bf16-gpu",
    severity: "warning",
    title: "bfloat16 on a card without bfloat16 units",
    why: "Cards before Ampere compute bfloat16 through float32: slower than float16, and TrainingArguments may refuse it.",
    mend: "Use `fp16: true` with float32 weights on this card.",
    en: "{device} has no bfloat16 units: `bf16` is emulated there, or refused. Use `fp16`.",
    zh: "{device} 没有 bfloat16 单元：`bf16` 只能模拟或被拒绝，请使用 `fp16`。",
    example: { train: "bf16: true", pins: "device: Tesla T4" },
    check: (facts) => {
      const at = facts.own("bf16");
      const old = ["turing", "volta", "pascal", "maxwell"].includes(facts.run?.device?.architecture ?? "");
      return hit(at, at?.value === true && old, {
        args: { device: facts.run?.device?.name ?? "" },
        fixes: [set("fix.fp16", {}, false, [{ name: "compute_dtype", value: "fp16" }])],
      });
    },
  },
  {
    code: "parallel-degrees",
    // Published scripts leave the number of nodes at 1 for their user to change.
    severity: "warning",
    title: "Parallel degrees do not divide the GPUs",
    why: "The product of tensor, pipeline and context parallel degrees must divide the number of GPUs; what is left is data parallel.",
    mend: "Change a degree, or the number of GPUs.",
    en: "Parallel degrees multiply to {product}, which does not divide {world} {world|GPU|GPUs}.",
    zh: "并行度乘积为 {product}，无法整除 {world} 张 GPU。",
    example: { train: "parallelism_config: { tp_size: 3 }", pins: "device: { name: 24GB, count: 8 }" },
    check: (facts) => {
      const at =
        facts.stated("tensor_parallel") ?? facts.stated("context_parallel") ?? facts.stated("pipeline_parallel");
      const parallel = facts.run?.parallel;
      if (parallel === undefined || facts.world === undefined) return [];
      const product = modelParallelSize(parallel);
      return hit(at, product > 1 && facts.world % product !== 0, { args: { product, world: facts.world } });
    },
  },
  {
    code: "remote-code",
    severity: "information",
    title: "The model runs its own code",
    why: "With `trust_remote_code` the checkpoint's own Python may replace the architecture; the estimate is for the library's implementation of this model type.",
    mend: "Trace the model with the capture tool for an exact graph.",
    en: "`trust_remote_code` lets the checkpoint replace the architecture: the estimate is for the library's own.",
    zh: "`trust_remote_code` 允许检查点替换架构：估算基于库自带的实现。",
    example: { trl: "trust_remote_code: true" },
    check: (facts) => {
      const at = facts.own("trust_remote_code");
      return hit(at, at?.value === true);
    },
  },
  {
    code: "label-smoothing",
    severity: "hint",
    title: "Label smoothing doubles the logits",
    why: "A non-zero `label_smoothing_factor` computes log-probabilities of the whole vocabulary: a second buffer as large as the logits.",
    mend: "Set it to 0 when memory is short.",
    en: "Label smoothing keeps a second buffer as large as the logits.",
    zh: "标签平滑会多保留一份与 logits 同样大小的缓冲。",
    example: { train: "label_smoothing_factor: 0.1" },
    check: (facts) => {
      const at = facts.own("label_smoothing");
      return hit(at, typeof at?.value === "number" && at.value > 0);
    },
  },
  {
    code: "weights-exceed-device",
    severity: "information",
    title: "The weights alone do not fit",
    why: "Weights of this size and dtype leave no room on one card whatever the batch: they must be sharded (ZeRO-3, FSDP), quantized, or held on a larger card.",
    mend: "Use ZeRO stage 3 or FSDP over several GPUs, a quantized base with adapters, or a larger card.",
    en: "The weights alone take {bytes} of {usable}: no batch size helps; shard them, quantize them, or use a larger card.",
    zh: "仅权重就占用 {bytes}（可用 {usable}）：调整批大小无济于事，请分片、量化或换用更大的显卡。",
    example: {
      train: "",
      pins: "device: 1GB\nsequence_length: 16\ndtype: float32",
      model: { hidden_size: 2048, vocab_size: 128256, num_attention_heads: 16, num_key_value_heads: 16 },
    },
    check: (facts) => {
      const bytes = facts.estimate?.components.find((component) => component.kind === "weights")?.bytes ?? 0;
      const at = facts.stated("model");
      return hit(at, facts.usable !== null && bytes > 0.95 * facts.usable, {
        args: { bytes: size(bytes), usable: size(facts.usable ?? 0) },
      });
    },
  },
  {
    code: "removed-key-other",
    severity: "information",
    title: "An argument without memory effect was removed",
    why: "transformers 5 removed this argument. With the version pinned this stops `TrainingArguments`; otherwise it depends on the installed version.",
    mend: "Remove it, or write the key that replaced it.",
    en: "`{key}` was removed in transformers 5{next}.",
    zh: "`{key}` 已在 transformers 5 中移除{next}。",
    example: { train: "warmup_ratio: 0.1", pins: 'libraries: { transformers: "5.17" }' },
    check: (facts) => {
      if (
        !facts.trainer ||
        facts.pinned("transformers") === undefined ||
        Number.parseInt(facts.resolution.libraries.transformers, 10) < 5
      )
        return [];
      const { root } = facts.inputs.main.config?.parsed ?? { root: null };
      if (root?.kind !== "map") return [];
      return root.entries.flatMap((entry) => {
        const next = REMOVED_OTHERS[entry.key];
        if (next === undefined) return [];
        const place = { uri: facts.inputs.main.uri, keySpan: entry.keySpan, valueSpan: entry.value };
        const at = { name: entry.key, key: entry.key, value: null, from: "document" as const, place };
        return [
          { at, args: { key: entry.key, next: next === "" ? "" : `: ${next}` }, fixes: next === "" ? removal(at) : [] },
        ];
      });
    },
  },
];
