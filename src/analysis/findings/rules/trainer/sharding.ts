/** GPUs: how many there are, and what shards the model over them. */

import { modelParallelSize } from "../../../../core/training/parallel/degrees";
import { optimizerRow } from "../../../../terms/optimizers";
import { hit, type Rule, removal, replacement } from "../../rule";

export const TRAINER_SHARDING_RULES: readonly Rule[] = [
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
    en: "{optimizer} keeps block-wise states that FSDP cannot shard or save: use `adamw_torch_fused`.",
    zh: "{optimizer} 的分块状态无法被 FSDP 分片或保存：请使用 `adamw_torch_fused`。",
    example: { train: "fsdp: full_shard\noptim: adamw_bnb_8bit" },
    check: (facts) => {
      const at = facts.own("optimizer");
      return hit(at, optimizerRow(String(at?.value))?.bits === 8 && facts.run?.parallel.fsdp != null, {
        args: { optimizer: String(at?.value) },
        fixes: replacement(at, "adamw_torch_fused", false),
      });
    },
  },
  {
    code: "fsdp-accumulation",
    severity: "information",
    title: "Accumulation under FSDP keeps whole gradients",
    why: "The Trainer accumulates inside `no_sync`: gradients are not reduced before a step's last micro-batch, so that every GPU holds those of the whole model until then (`accelerate/accelerator.py`, `no_sync`; FSDP2: `set_requires_gradient_sync(False)`).",
    mend: "Take a larger `per_device_train_batch_size` with fewer steps of accumulation where memory allows, or ZeRO-2 and up, which reduce every micro-batch.",
    en: "With {steps} steps of accumulation FSDP keeps the whole model's gradients on every GPU.",
    zh: "累积 {steps} 步时，FSDP 会在每张 GPU 上保留整个模型的梯度。",
    example: { train: "fsdp: full_shard\ngradient_accumulation_steps: 4", pins: "device: { name: 24GB, count: 8 }" },
    check: (facts) => {
      const at = facts.own("gradient_accumulation_steps");
      const parallel = facts.run?.parallel;
      const keeps = parallel?.fsdp != null && parallel.fsdp.reducesEach !== true && parallel.worldSize > 1;
      const isWhole = facts.run?.adapter === null && Number(at?.value) > 1;
      return hit(at, facts.framework.trainer !== undefined && keeps && isWhole, { args: { steps: Number(at?.value) } });
    },
  },
  {
    code: "data-parallel",
    severity: "hint",
    title: "Several GPUs need a launcher",
    why: "Started with plain `python`, the Trainer wraps the model in `torch.nn.DataParallel`: one process, batch per forward = per-device batch × GPUs, replicas gathered on GPU 0. The estimate is for one process per GPU.",
    mend: "Start with `torchrun --nproc_per_node {n} …` or `accelerate launch`.",
    en: "{world} GPUs and no launcher: plain `python` uses DataParallel, which needs more on GPU 0.",
    zh: "{world} 张 GPU 但没有启动器：直接用 `python` 启动会使用 DataParallel，GPU 0 占用更多。",
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
];
