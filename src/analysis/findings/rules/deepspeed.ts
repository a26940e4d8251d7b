/** Rules about DeepSpeed's settings. Source: DeepSpeed 0.19 as `docs/` and the code named in each rule describe it. */
import { renaming } from "../../../formats/fix";
import { size } from "../../messages/units";
import { holds } from "../../versions";
import { hit, type Rule, removal, replacement, set } from "../rule";

const ONE_BIT = /^(?:onebitadam|zerooneadam|onebitlamb)$/i;
const TESTED =
  /^(?:adam|adamw|fusedadam|deepspeedcpuadam|lamb|lion|adagrad|muon|onebitadam|zerooneadam|onebitlamb|muadam|muadamw|musgd)$/i;
const SPECIAL = [
  "mics_shard_size",
  "zeropp_loco_param",
  "zenflow",
  "curriculum_learning",
  "compression_training",
  "hybrid_engine_enabled",
  "super_offload",
  "deepcompile",
];

/** Settings of a model's config that count experts. */
const EXPERTS = ["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"];

const ALLOW_UNTESTED = "zero_allow_untested_optimizer";

export const DEEPSPEED_RULES: readonly Rule[] = [
  {
    code: "zero3-experts",
    severity: "warning",
    title: "ZeRO-3 with experts that are called by choice",
    why: "Stage 3 gathers a module when it is called and expects every rank to call the same ones in the same order. Before transformers 5 each expert is a module of its own, called only when a token chose it: ranks then wait for each other for ever, and the recorded order is thrown away in every step. `set_z3_leaf_modules` gathers all experts of a layer at once (`deepspeed/utils/z3_leaf_module.py`), which also raises the peak by their weights.",
    mend: "Name the layer's class in `zero_optimization.leaf_module`, in accelerate's `deepspeed_moe_layer_cls_names`, or call `set_z3_leaf_modules`; or use stage 2.",
    en: "{experts} experts under ZeRO-3: without leaf modules ranks that choose other experts wait for each other. Name the layer's class as a leaf module.",
    zh: "ZeRO-3 下有 {experts} 个专家：若不设叶子模块，选择不同专家的进程会互相等待。请把该层的类名设为叶子模块。",
    example: {
      train: "deepspeed: ds.json",
      deepspeed: '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
      requirements: "transformers==4.57.1",
      model: { model_type: "mixtral", num_local_experts: 8 },
    },
    check: (facts) => {
      const { model } = facts.inputs;
      const stage = facts.deepspeed("zero_stage");
      const config: Readonly<Record<string, unknown>> = model?.kind === "found" ? model.config : {};
      const experts = EXPERTS.map((name) => Number(config[name] ?? 0)).find((count) => count > 1);
      const leaf = facts.stated("leaf_module") ?? facts.stated("moe_layer_classes");
      const modular = holds("transformers<5", facts.resolution.libraries);
      return hit(stage, facts.stage === 3 && experts !== undefined && leaf === undefined && modular, {
        args: { experts: experts ?? 0 },
      });
    },
  },
  {
    code: "ds-fp16-and-bf16",
    severity: "error",
    title: "fp16 and bf16 are both on",
    why: "DeepSpeed asserts that at most one of its two 16-bit engines is enabled and stops at initialisation.",
    mend: "Keep `bf16` on Ampere and later cards, `fp16` on older ones, and switch the other off.",
    en: "`fp16` and `bf16` are both on: DeepSpeed stops with an assertion. Keep one.",
    zh: "`fp16` 与 `bf16` 同时开启：DeepSpeed 会因断言而停止，请只保留一个。",
    example: { deepspeed: '{"zero_optimization": {"stage": 1}, "fp16": {"enabled": true}, "bf16": {"enabled": true}}' },
    check: (facts) => {
      const fp16 = facts.deepspeed("fp16");
      const bf16 = facts.deepspeed("bf16");
      return hit(fp16, fp16?.value === true && bf16?.value === true, {
        related: [bf16],
        fixes: replacement(fp16, "false", false),
      });
    },
  },
  {
    code: "ds-batch-triple",
    severity: "error",
    title: "Batch sizes do not multiply",
    why: "DeepSpeed checks `train_batch_size == train_micro_batch_size_per_gpu × gradient_accumulation_steps × GPUs` and stops when it does not hold (`_batch_assertion` in `runtime/config.py`).",
    mend: 'Correct one of the three, or leave two of them out. Under the Hugging Face Trainer write `"auto"` for all three.',
    en: 'train_batch_size {total} is not micro {micro} × accumulation {steps} × {world} {world|GPU|GPUs} = {product}: DeepSpeed stops ("Check batch related parameters").',
    zh: "train_batch_size {total} 不等于 微批 {micro} × 累积 {steps} × {world} 张 GPU = {product}：DeepSpeed 会停止(“Check batch related parameters”)。",
    example: {
      deepspeed:
        '{"train_batch_size": 30, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 1}}',
      pins: "device: { name: 24GB, count: 4 }",
    },
    check: (facts) => {
      const total = facts.deepspeed("global_batch_size");
      const micro = facts.deepspeed("micro_batch_size");
      const steps = facts.deepspeed("gradient_accumulation_steps");
      const world = facts.world;
      if (typeof total?.value !== "number" || typeof micro?.value !== "number" || typeof steps?.value !== "number")
        return [];
      const share = micro.value * steps.value;
      if (world === undefined) {
        const remainder = total.value % share !== 0;
        return hit(total, remainder, {
          args: { total: total.value, micro: micro.value, steps: steps.value, world: "?", product: `${share} × ?` },
        });
      }
      return hit(total, total.value !== share * world, {
        args: { total: total.value, micro: micro.value, steps: steps.value, world, product: share * world },
        related: [micro, steps],
        fixes: replacement(total, facts.trainer ? '"auto"' : String(share * world), true),
      });
    },
  },
  {
    code: "ds-hf-mismatch",
    severity: "error",
    title: "DeepSpeed and TrainingArguments disagree",
    why: 'The Hugging Face Trainer compares the numbers of the DeepSpeed file with its own arguments and stops with "Please correct the following DeepSpeed config values that mismatch TrainingArguments values" (`transformers/integrations/deepspeed.py`).',
    mend: 'Write `"auto"` in the DeepSpeed file: the Trainer then fills in its own value.',
    en: '`{key}` is {theirs} here but {ours} in TrainingArguments: the Hugging Face Trainer stops ("mismatch TrainingArguments values").',
    zh: "此处 `{key}` 为 {theirs}，而 TrainingArguments 为 {ours}：Hugging Face Trainer 会停止(“mismatch TrainingArguments values”)。",
    example: {
      train: "deepspeed: ds.json",
      deepspeed: '{"train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}',
    },
    check: (facts) => {
      if (!facts.trainer || facts.inputs.deepspeed === undefined) return [];
      const pairs: readonly [string, unknown][] = [
        ["micro_batch_size", facts.run?.microBatchSize],
        ["gradient_accumulation_steps", facts.run?.gradientAccumulationSteps],
        ["max_grad_norm", facts.run?.maxGradNorm],
        ["bf16", facts.run === null ? undefined : facts.resolution.resolved.get("compute_dtype")?.value === "bf16"],
        ["fp16", facts.run === null ? undefined : facts.resolution.resolved.get("compute_dtype")?.value === "fp16"],
      ];
      return pairs.flatMap(([name, ours]) => {
        const theirs = facts.deepspeed(name);
        const pinned = facts.pin(name) !== undefined;
        if (
          theirs === undefined ||
          theirs.auto ||
          theirs.unknown ||
          theirs.value === null ||
          ours === undefined ||
          pinned
        )
          return [];
        if (theirs.value === ours || (facts.own(name) !== undefined && facts.own(name)?.value === theirs.value))
          return [];
        return [
          {
            at: theirs,
            args: { key: theirs.key, theirs: String(theirs.value), ours: String(ours) },
            related: [facts.own(name)],
            fixes: replacement(theirs, '"auto"', true),
          },
        ];
      });
    },
  },
  {
    code: "ds-offload-param-stage",
    severity: "warning",
    title: "Parameter offload below stage 3",
    why: "`offload_param` is read only by ZeRO stage 3, where parameters are partitioned. In other stages it has no effect.",
    mend: "Set `stage` to 3, or remove the block.",
    en: "`offload_param` is read only in stage 3; in stage {stage} it saves nothing.",
    zh: "`offload_param` 仅在 stage 3 中生效；在 stage {stage} 下没有任何节省。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}' },
    check: (facts) => {
      const at = facts.deepspeed("offload_param");
      const on = at?.value === "cpu" || at?.value === "nvme";
      return hit(at, on && facts.stage !== 3, {
        args: { stage: facts.stage ?? 0 },
        fixes: [set("fix.zero-stage", { stage: 3 }, true, [{ name: "zero_stage", value: 3 }])],
      });
    },
  },
  {
    code: "ds-offload-optimizer-stage",
    severity: "warning",
    title: "Optimizer offload without ZeRO",
    why: "With stage 0 no ZeRO optimizer exists whose states could live in host memory; the block is ignored.",
    mend: "Set `stage` to 1, 2 or 3, or remove the block.",
    en: "`offload_optimizer` needs ZeRO stage 1 or higher; in stage 0 it saves nothing.",
    zh: "`offload_optimizer` 需要 ZeRO stage 1 以上；stage 0 下没有任何节省。",
    example: { deepspeed: '{"zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}}' },
    check: (facts) => {
      const at = facts.deepspeed("offload_optimizer");
      const on = at?.value === "cpu" || at?.value === "nvme";
      return hit(at, on && facts.stage === 0, {
        fixes: [set("fix.zero-stage", { stage: 2 }, true, [{ name: "zero_stage", value: 2 }])],
      });
    },
  },
  {
    code: "ds-nvme-path",
    severity: "error",
    title: "NVMe offload without a path",
    why: "Offload to NVMe writes to the directory `nvme_path`; without it DeepSpeed fails when the swapper starts.",
    mend: "Add `nvme_path`, a directory on a local NVMe drive.",
    en: "NVMe offload needs `nvme_path`, a directory on a local drive.",
    zh: "NVMe 卸载需要 `nvme_path`（本地磁盘上的目录）。",
    example: { deepspeed: '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme"}}, "aio": {}}' },
    check: (facts) =>
      ["offload_optimizer", "offload_param"].flatMap((name) => {
        const at = facts.deepspeed(name);
        return hit(at, at?.value === "nvme" && facts.deepspeed(`${name}_nvme_path`) === undefined);
      }),
  },
  {
    code: "ds-nvme-aio",
    severity: "information",
    title: "NVMe offload with default I/O settings",
    why: "The `aio` block sets queue depth and block size of the asynchronous reads and writes; the defaults rarely reach the speed of the drive.",
    mend: 'Add an `aio` block, for example `{"block_size": 1048576, "queue_depth": 32}`.',
    en: "NVMe offload without an `aio` block runs with default queue depth and block size.",
    zh: "NVMe 卸载未配置 `aio`，将使用默认的队列深度与块大小。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/nvme"}}}',
    },
    check: (facts) => {
      const at = [facts.deepspeed("offload_optimizer"), facts.deepspeed("offload_param")].find(
        (setting) => setting?.value === "nvme",
      );
      return hit(at, facts.deepspeed("aio") === undefined);
    },
  },
  {
    code: "ds-nvme-stage",
    severity: "warning",
    title: "NVMe offload below stage 3",
    why: "Swapping optimizer states to NVMe exists only in stage 3; stages 1 and 2 offload to CPU memory.",
    mend: "Set `stage` to 3, or the device to `cpu`.",
    en: "NVMe offload works only in stage 3; stage {stage} can offload to `cpu`.",
    zh: "NVMe 卸载仅支持 stage 3;stage {stage} 只能卸载到 `cpu`。",
    example: {
      deepspeed:
        '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}, "aio": {}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("offload_optimizer");
      return hit(at, at?.value === "nvme" && (facts.stage === 1 || facts.stage === 2), {
        args: { stage: facts.stage ?? 0 },
        fixes: replacement(at, '"cpu"', false),
      });
    },
  },
  {
    code: "ds-bucket-cost",
    severity: "information",
    title: "Gradient buckets are large",
    why: "Bucket sizes are counted in elements. Stages 1 and 2 allocate `reduce_bucket_size` elements of the gradient dtype, twice with `overlap_comm`; stage 3 keeps one such buffer for good.",
    mend: 'Write `"auto"` under the Hugging Face Trainer, or 5e7.',
    en: "Gradient buckets take {bytes} on each GPU ({elements} elements{twice}).",
    zh: "梯度桶在每张 GPU 上占用 {bytes}（{elements} 个元素{twice}）。",
    example: {
      deepspeed:
        '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": 5e8}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("reduce_bucket_size");
      if (typeof at?.value !== "number" || facts.stage === undefined || facts.stage === 0) return [];
      const half = facts.isTrue("bf16") || facts.isTrue("fp16");
      const twice = facts.stage < 3 && facts.isTrue("overlap_comm");
      const bytes = at.value * (half ? 2 : 4) * (twice ? 2 : 1);
      if (bytes < 512 * 2 ** 20) return [];
      const heavy = facts.usable !== null && bytes > 0.05 * facts.usable;
      return hit(at, true, {
        ...(heavy ? { severity: "warning" as const } : {}),
        args: {
          bytes: size(bytes),
          elements: at.value.toExponential().replace("e+", "e"),
          twice: twice ? ", × 2 overlap_comm" : "",
        },
        fixes: replacement(at, facts.trainer ? '"auto"' : "50000000", true),
      });
    },
  },
  {
    code: "ds-no-gather-on-save",
    severity: "information",
    title: "Stage 3 saves sharded weights only",
    why: "Without `stage3_gather_16bit_weights_on_model_save` a stage 3 run writes partitions; the full weights must be put together afterwards with `zero_to_fp32.py`. With it, every save gathers the model in the host memory of rank 0.",
    mend: "Set it to `true` when the host has room for the whole model.",
    en: "Only sharded checkpoints will be saved: `stage3_gather_16bit_weights_on_model_save` is off.",
    zh: "只会保存分片检查点：`stage3_gather_16bit_weights_on_model_save` 未开启。",
    example: { deepspeed: '{"zero_optimization": {"stage": 3}}' },
    check: (facts) => {
      const at = facts.deepspeed("zero_stage");
      const name = "stage3_gather_16bit_weights_on_model_save";
      return hit(at, at?.value === 3 && !facts.isTrue(name), {
        fixes: [set("fix.replace", { key: name, value: "true" }, true, [{ name, value: true }])],
      });
    },
  },
  {
    code: "ds-activation-checkpointing-ignored",
    severity: "warning",
    title: "DeepSpeed's activation checkpointing with a Hugging Face model",
    why: "The block configures `deepspeed.checkpointing`, which only models that call it use (Megatron-DeepSpeed, gpt-neox). Hugging Face models checkpoint through TrainingArguments.",
    mend: "Remove the block and set `gradient_checkpointing: true` in the trainer's config.",
    en: "This block acts only on models that call deepspeed.checkpointing; with Hugging Face models use `gradient_checkpointing`.",
    zh: "该配置块只对调用 deepspeed.checkpointing 的模型有效；Hugging Face 模型请使用 `gradient_checkpointing`。",
    example: {
      train: "deepspeed: ds.json",
      deepspeed: '{"zero_optimization": {"stage": 2}, "activation_checkpointing": {"partition_activations": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_activation_checkpointing");
      // With the trainer's own checkpointing on, the block does no harm.
      return hit(at, facts.trainer && !facts.isTrue("gradient_checkpointing"), {
        fixes: [set("fix.checkpointing", {}, true, [{ name: "gradient_checkpointing", value: true }]), ...removal(at)],
      });
    },
  },
  {
    code: "ds-persistence-large",
    severity: "information",
    title: "Large parameters stay gathered",
    why: "Parameters with at most `stage3_param_persistence_threshold` elements are never partitioned away: every GPU keeps them whole.",
    mend: "Lower the threshold; the default is 100 000.",
    en: "Parameters up to {elements} elements stay whole on every GPU.",
    zh: "不超过 {elements} 个元素的参数会完整保留在每张 GPU 上。",
    example: { deepspeed: '{"zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 1e7}}' },
    check: (facts) => {
      const at = facts.deepspeed("stage3_param_persistence_threshold");
      return hit(at, facts.stage === 3 && typeof at?.value === "number" && at.value >= 1e6, {
        args: {
          elements: Number(at?.value ?? 0)
            .toExponential()
            .replace("e+", "e"),
        },
      });
    },
  },
  {
    code: "ds-hpz",
    severity: "information",
    title: "ZeRO++ keeps a second copy",
    why: "`zero_hpz_partition_size` keeps a second 16-bit partition of the weights inside the node, so that backward gathers need no network: 2 bytes per parameter divided by the partition size on each GPU.",
    mend: "Use it on several nodes only; 1 switches it off.",
    en: "A secondary partition keeps another copy of the weights, sharded over {ranks} GPUs.",
    zh: "二级分区会额外保留一份权重副本（在 {ranks} 张 GPU 间分片）。",
    example: { deepspeed: '{"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8}}' },
    check: (facts) => {
      const at = facts.deepspeed("hpz_partition_size");
      return hit(at, typeof at?.value === "number" && at.value > 1, { args: { ranks: Number(at?.value ?? 1) } });
    },
  },
  {
    code: "ds-deprecated-offload",
    severity: "warning",
    title: "Old offload switches",
    why: "`cpu_offload` and `cpu_offload_param` are the old forms of the `offload_optimizer` and `offload_param` blocks. Both forms together stop DeepSpeed.",
    mend: 'Write `"offload_optimizer": {"device": "cpu"}`.',
    en: "`{key}` is deprecated: use `{next}`.",
    zh: "`{key}` 已弃用，请改用 `{next}`。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2, "cpu_offload": true}}' },
    check: (facts) =>
      (
        [
          ["deprecated_cpu_offload", "offload_optimizer", "offload_optimizer_block"],
          ["deprecated_cpu_offload_param", "offload_param", "offload_param_block"],
        ] as const
      ).flatMap(([old, next, block]) => {
        const at = facts.deepspeed(old);
        const both = facts.deepspeed(block) !== undefined;
        return hit(at, true, {
          args: { key: at?.key.replace(/^.*\./, "") ?? old, next: `"${next}": {"device": "cpu"}` },
          ...(both ? { severity: "error" as const } : {}),
          fixes: both
            ? removal(at)
            : removal(at).map((fix) => ({
                ...fix,
                title: { id: "fix.replace", args: { key: next, value: "cpu" } },
                changes: [{ name: next, value: "cpu" }],
              })),
        });
      }),
  },
  {
    code: "ds-legacy-stage1",
    severity: "error",
    title: "legacy_stage1 was removed",
    why: "The old implementation of stage 1 is gone since 0.5.9; the key stops DeepSpeed.",
    mend: "Remove it.",
    en: "`legacy_stage1` was removed in DeepSpeed 0.5.9 and stops it.",
    zh: "`legacy_stage1` 已在 DeepSpeed 0.5.9 中移除，会导致停止。",
    example: { deepspeed: '{"zero_optimization": {"stage": 1, "legacy_stage1": true}}' },
    check: (facts) => {
      const at = facts.deepspeed("legacy_stage1");
      return hit(at, at?.value === true, { fixes: removal(at) });
    },
  },
  {
    code: "ds-optimizer-max-grad-norm",
    severity: "error",
    title: "max_grad_norm inside the optimizer",
    why: "DeepSpeed rejects `max_grad_norm` among the optimizer's parameters (\"'max_grad_norm' is not supported as an optimizer parameter\"). A script that hands DeepSpeed an optimizer of its own never reads the section; for a file no run names, it is a warning.",
    mend: "Use the top-level key `gradient_clipping`.",
    en: "`max_grad_norm` is no optimizer parameter: DeepSpeed stops. Use `gradient_clipping`.",
    zh: "`max_grad_norm` 不是优化器参数，DeepSpeed 会停止；请使用 `gradient_clipping`。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 1}, "optimizer": {"type": "Adam", "params": {"max_grad_norm": 1.0}}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_optimizer_max_grad_norm");
      const alone = facts.inputs.format.id === "deepspeed";
      return hit(at, typeof at?.value === "number" && at.value > 0, {
        fixes: removal(at),
        ...(alone ? { severity: "warning" as const } : {}),
      });
    },
  },
  {
    code: "ds-onebit-zero",
    severity: "error",
    title: "1-bit optimizers with ZeRO",
    why: "The 1-bit optimizers keep and compress their own gradients and are not compatible with ZeRO.",
    mend: "Use `AdamW`, or stage 0.",
    en: "{optimizer} does not work with ZeRO: use AdamW, or stage 0.",
    zh: "{optimizer} 与 ZeRO 不兼容：请使用 AdamW，或设为 stage 0。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-4}}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_optimizer");
      return hit(at, ONE_BIT.test(String(at?.value)) && (facts.stage ?? 0) > 0, {
        args: { optimizer: String(at?.value) },
      });
    },
  },
  {
    code: "ds-untested-optimizer",
    severity: "warning",
    title: "ZeRO does not know this optimizer",
    why: "ZeRO accepts a short list of optimizers; any other needs `zero_allow_untested_optimizer: true`, otherwise DeepSpeed asserts.",
    mend: "Set `zero_allow_untested_optimizer` to `true`, or use AdamW.",
    en: "ZeRO does not list {optimizer}: DeepSpeed stops without `zero_allow_untested_optimizer: true`.",
    zh: "ZeRO 未列出 {optimizer}：没有 `zero_allow_untested_optimizer: true` 时 DeepSpeed 会停止。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "SGD", "params": {"lr": 1e-4}}}' },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_optimizer");
      const known = TESTED.test(String(at?.value)) || at?.auto || at?.unknown;
      return hit(at, !known && (facts.stage ?? 0) > 0 && !facts.isTrue(ALLOW_UNTESTED), {
        args: { optimizer: String(at?.value) },
        fixes: [
          set("fix.replace", { key: ALLOW_UNTESTED, value: "true" }, true, [{ name: ALLOW_UNTESTED, value: true }]),
        ],
      });
    },
  },
  {
    code: "ds-amp-zero",
    severity: "error",
    title: "Apex AMP with ZeRO",
    why: "The `amp` block (NVIDIA apex) cannot be combined with ZeRO.",
    mend: "Use `bf16` or `fp16` instead.",
    en: "`amp` does not work with ZeRO: use `bf16` or `fp16`.",
    zh: "`amp` 不能与 ZeRO 同时使用：请改用 `bf16` 或 `fp16`。",
    example: { deepspeed: '{"zero_optimization": {"stage": 1}, "amp": {"enabled": true}}' },
    check: (facts) => {
      const at = facts.deepspeed("amp");
      return hit(at, at?.value === true && (facts.stage ?? 0) > 0, { fixes: removal(facts.deepspeed("amp_block")) });
    },
  },
  {
    code: "ds-torch-adam-offload",
    severity: "warning",
    title: "torch_adam with optimizer offload",
    why: "Optimizer states in host memory need DeepSpeed's CPU Adam; `torch_adam: true` asks for PyTorch's, which is many times slower on the CPU.",
    mend: "Remove `torch_adam`.",
    en: "`torch_adam` with optimizer offload runs PyTorch's Adam on the CPU: remove it to get DeepSpeedCPUAdam.",
    zh: "优化器卸载时 `torch_adam` 会在 CPU 上运行 PyTorch 的 Adam：移除后将使用 DeepSpeedCPUAdam。",
    example: {
      deepspeed:
        '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, "optimizer": {"type": "Adam", "params": {"torch_adam": true}}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_torch_adam");
      return hit(at, at?.value === true && facts.deepspeed("offload_optimizer")?.value === "cpu", {
        fixes: removal(at),
      });
    },
  },
  {
    code: "ds-bf16-optimizer-states",
    severity: "error",
    title: "bfloat16 optimizer states without bfloat16 master weights",
    why: "`bf16_optimizer_states` needs `bf16_master_weights_and_grads` and ZeRO 1, 2 or 3.",
    mend: "Set both to `true`.",
    en: "`bf16_optimizer_states` needs `bf16_master_weights_and_grads: true` and ZeRO.",
    zh: "`bf16_optimizer_states` 需要 `bf16_master_weights_and_grads: true` 以及 ZeRO。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true, "bf16_optimizer_states": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("bf16_optimizer_states");
      return hit(at, at?.value === true && (!facts.isTrue("bf16_master_weights_and_grads") || facts.stage === 0));
    },
  },
  {
    code: "ds-fp16-master-weights",
    severity: "error",
    title: "float16 master weights without CPU Adam",
    why: "`fp16_master_weights_and_grads` is implemented by ZeRO with optimizer offload (DeepSpeedCPUAdam) only.",
    mend: "Offload the optimizer, or remove the key.",
    en: "`fp16_master_weights_and_grads` needs ZeRO with `offload_optimizer`.",
    zh: "`fp16_master_weights_and_grads` 需要 ZeRO 与 `offload_optimizer`。",
    example: {
      deepspeed:
        '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true, "fp16_master_weights_and_grads": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("fp16_master_weights_and_grads");
      return hit(
        at,
        at?.value === true && (facts.stage === 0 || facts.deepspeed("offload_optimizer")?.value !== "cpu"),
        { fixes: removal(at) },
      );
    },
  },
  {
    code: "ds-elastic-batch",
    severity: "warning",
    title: "Batch sizes next to elasticity",
    why: "With `elasticity.enabled` DeepSpeed chooses the batch sizes itself and rejects stated ones unless `ignore_non_elastic_batch_info` is set.",
    mend: "Remove the batch keys.",
    en: "`{key}` is rejected while elasticity is on (unless `ignore_non_elastic_batch_info`).",
    zh: "elasticity 开启时 `{key}` 会被拒绝(除非设置 `ignore_non_elastic_batch_info`)。",
    example: {
      deepspeed: '{"train_batch_size": 32, "zero_optimization": {"stage": 1}, "elasticity": {"enabled": true}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("global_batch_size") ?? facts.deepspeed("micro_batch_size");
      return hit(at, facts.deepspeed("elasticity_enabled")?.value === true, { args: { key: at?.key ?? "" } });
    },
  },
  {
    code: "ds-one-gpu",
    severity: "hint",
    title: "ZeRO on one GPU",
    why: "ZeRO divides states by the number of GPUs. On one GPU stages 1 to 3 save nothing by themselves, and stage 3 adds gathering; only offload helps.",
    mend: "Add GPUs, offload the optimizer, or drop DeepSpeed.",
    en: "On one GPU ZeRO stage {stage} has nothing to share: only offload saves memory.",
    zh: "单张 GPU 上 ZeRO stage {stage} 无法分片：只有卸载才能节省显存。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2}}', pins: "device: { name: 24GB, count: 1 }" },
    check: (facts) => {
      const at = facts.deepspeed("zero_stage");
      const offloads = [facts.deepspeed("offload_optimizer")?.value, facts.deepspeed("offload_param")?.value].some(
        (value) => value === "cpu" || value === "nvme",
      );
      return hit(at, facts.world === 1 && (facts.stage ?? 0) > 0 && !offloads, { args: { stage: facts.stage ?? 0 } });
    },
  },
  {
    code: "ds-stage-zero",
    severity: "hint",
    title: "DeepSpeed with stage 0",
    why: "Stage 0 shards nothing: every GPU keeps all parameters, gradients and optimizer states, and a float32 master copy when 16-bit precision is on.",
    mend: "Set `stage` to 1 or 2; both keep the mathematics.",
    en: "Stage 0 shards nothing: stage 1 or 2 would divide optimizer states over {world} GPUs.",
    zh: "stage 0 不做任何分片：stage 1 或 2 可将优化器状态分摊到 {world} 张 GPU。",
    example: {
      deepspeed: '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 0}}',
      pins: "device: { name: 24GB, count: 4 }",
    },
    check: (facts) => {
      const at = facts.deepspeed("zero_stage");
      return hit(at, at?.value === 0 && (facts.world ?? 1) > 1, {
        args: { world: facts.world ?? 1 },
        fixes: [set("fix.zero-stage", { stage: 2 }, true, [{ name: "zero_stage", value: 2 }])],
      });
    },
  },
  {
    code: "ds-offload-ratio-stage",
    severity: "warning",
    title: "Partial offload below stage 3",
    why: "`ratio` below 1 (part of the update on the CPU) exists in stage 3 only.",
    mend: "Set `stage` to 3, or remove `ratio`.",
    en: "`ratio` is read only in stage 3.",
    zh: "`ratio` 仅在 stage 3 中生效。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}}' },
    check: (facts) => {
      const at = facts.deepspeed("offload_optimizer_ratio");
      return hit(at, typeof at?.value === "number" && at.value < 1 && facts.stage !== 3, { fixes: removal(at) });
    },
  },
  {
    code: "ds-prefetch-above-live",
    severity: "hint",
    title: "Prefetch larger than the live limit",
    why: "Prefetching stops at `stage3_max_live_parameters`; a larger `stage3_prefetch_bucket_size` is never filled.",
    mend: "Lower the bucket or raise the limit.",
    en: "`stage3_prefetch_bucket_size` is above `stage3_max_live_parameters` and never filled.",
    zh: "`stage3_prefetch_bucket_size` 大于 `stage3_max_live_parameters`，永远不会被填满。",
    example: {
      deepspeed:
        '{"zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 1e9, "stage3_max_live_parameters": 1e8}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("stage3_prefetch_bucket_size");
      const live = facts.deepspeed("stage3_max_live_parameters");
      return hit(
        at,
        facts.stage === 3 && typeof at?.value === "number" && typeof live?.value === "number" && at.value > live.value,
        { related: [live] },
      );
    },
  },
  {
    code: "ds-pipeline-zero",
    severity: "error",
    title: "Pipeline parallelism with ZeRO-2 or 3",
    why: "DeepSpeed's pipeline engine asserts that ZeRO is at stage 0 or 1.",
    mend: "Use stage 1 with pipeline parallelism.",
    en: "The pipeline engine works with ZeRO stage 0 and 1 only; this is stage {stage}.",
    zh: "流水线引擎仅支持 ZeRO stage 0 与 1；当前为 stage {stage}。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2}, "pipeline": {"stages": 4}}' },
    check: (facts) => {
      const at = facts.deepspeed("pipeline_block");
      return hit(at, (facts.stage ?? 0) > 1, { args: { stage: facts.stage ?? 0 } });
    },
  },
  {
    code: "ds-not-modelled",
    severity: "information",
    title: "A DeepSpeed feature the estimate leaves out",
    why: "This feature changes memory in a way the estimate does not follow yet; the number is for the run without it.",
    mend: "Measure the run, or compare with the feature off.",
    en: "`{key}` is not part of the estimate.",
    zh: "估算未包含 `{key}`。",
    example: { deepspeed: '{"zero_optimization": {"stage": 3, "mics_shard_size": 8}}' },
    check: (facts) =>
      SPECIAL.flatMap((name) => {
        const at = facts.deepspeed(name);
        const off = at?.value === false || at?.value === -1;
        return hit(at, !off, { args: { key: at?.key ?? name } });
      }),
  },
  {
    code: "ds-grad-accum-fp32",
    severity: "information",
    title: "Gradients accumulated in float32",
    why: "`data_types.grad_accum_dtype: fp32` keeps the accumulated gradients in 4 bytes per parameter instead of 2.",
    mend: "Leave it out to accumulate in the model's dtype.",
    en: "Gradients accumulate in float32: 4 bytes per parameter instead of 2.",
    zh: "梯度以 float32 累积：每个参数 4 字节而不是 2 字节。",
    example: {
      deepspeed:
        '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 1}, "data_types": {"grad_accum_dtype": "fp32"}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("grad_accum_dtype");
      return hit(
        at,
        (at?.value === "fp32" || at?.value === "float32") && (facts.isTrue("bf16") || facts.isTrue("fp16")),
      );
    },
  },
  {
    code: "ds-communication-fp32",
    severity: "information",
    title: "Reductions in float32",
    why: "With `communication_data_type: fp32` every bucket is cast before it is reduced: a transient of 4 bytes per element of the bucket.",
    mend: "Leave it out unless the network needs it (ROCm with bf16).",
    en: "Reductions in float32 cast each bucket: up to {bytes} more for a moment.",
    zh: "以 float32 通信会转换每个桶：瞬时最多增加 {bytes}。",
    example: {
      deepspeed: '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}, "communication_data_type": "fp32"}',
    },
    check: (facts) => {
      const at = facts.deepspeed("communication_data_type");
      const bucket = facts.settings.number("reduce_bucket_size") ?? 5e8;
      return hit(
        at,
        (at?.value === "fp32" || at?.value === "float32") && (facts.isTrue("bf16") || facts.isTrue("fp16")),
        { args: { bytes: size(bucket * 4) } },
      );
    },
  },
  {
    code: "ds-old-name",
    severity: "hint",
    title: "An older name of a DeepSpeed key",
    why: "The key was renamed; the old spelling still works.",
    mend: "Write the present name.",
    en: "`{key}` is the old name of `{next}`.",
    zh: "`{key}` 是 `{next}` 的旧名称。",
    example: { deepspeed: '{"zero_optimization": {"stage": 1}, "bfloat16": {"enabled": true}}' },
    check: (facts) =>
      (
        [
          ["bf16_block", /(?:^|\.)bfloat16$/, "bf16"],
          [
            "stage3_gather_16bit_weights_on_model_save",
            /gather_fp16_weights_on_model_save$/,
            "stage3_gather_16bit_weights_on_model_save",
          ],
        ] as const
      ).flatMap(([name, pattern, next]) => {
        const at = facts.deepspeed(name);
        return hit(at, at !== undefined && pattern.test(at.key), {
          args: { key: at?.key.replace(/^.*\./, "") ?? "", next },
          // Both names mean the same to DeepSpeed.
          fixes: at?.place == null ? [] : [{ ...renaming(at.place.keySpan, next), safe: true }],
        });
      }),
  },
  {
    code: "unresolved-auto",
    severity: "hint",
    title: "auto is filled by a trainer",
    why: '`"auto"` at the top level is filled in by the Hugging Face Trainer or Accelerate. A script that calls `deepspeed.initialize` with this file fails on it.',
    mend: "Open the training config that uses this file to see what the values become, or write numbers.",
    en: "`{key}` is `auto`: the Hugging Face Trainer or Accelerate fills it; a plain DeepSpeed script fails here.",
    zh: "`{key}` 为 `auto`：由 Hugging Face Trainer 或 Accelerate 填充；纯 DeepSpeed 脚本会在此失败。",
    example: { deepspeed: '{"train_batch_size": "auto", "zero_optimization": {"stage": 2}}' },
    check: (facts) => {
      const at = facts.deepspeed("global_batch_size") ?? facts.deepspeed("micro_batch_size");
      return hit(at, !facts.trainer && at?.auto === true && facts.inputs.used !== true, {
        args: { key: at?.key ?? "" },
      });
    },
  },
  {
    code: "ds-host-memory",
    severity: "information",
    title: "Offload needs host memory",
    why: "Offloaded states live in the RAM of the machine, page-locked by default: for Adam about 16 to 18 bytes per parameter over all ranks of a node.",
    mend: "Check the RAM of each node, and the `memlock` limit or the container's shared memory.",
    en: "Offload keeps {bytes} in the host memory of this rank{pinned}.",
    zh: "卸载会在该 rank 的主机内存中占用 {bytes}{pinned}。",
    example: {
      train: "deepspeed: ds.json\nbf16: true",
      deepspeed:
        '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}',
      pins: "sequence_length: 128\ndevice: { name: 24GB, count: 2 }",
    },
    check: (facts) => {
      const at = facts.deepspeed("offload_optimizer") ?? facts.deepspeed("offload_param");
      const on = at?.value === "cpu" || at?.value === "nvme";
      const kept = (facts.estimate?.host.pinnedBytes ?? 0) + (facts.estimate?.host.pageableBytes ?? 0);
      // Master, gradient and two Adam moments in float32, and a 16-bit gradient buffer: 18 bytes over the ranks.
      const bytes =
        kept > 0 ? kept : (18 * (facts.estimate?.trainableParameters ?? 0)) / (facts.run?.parallel.worldSize ?? 1);
      return hit(at, on && bytes > 0, {
        args: { bytes: size(bytes), pinned: (facts.estimate?.host.pinnedBytes ?? 0) > 0 ? " (page-locked)" : "" },
      });
    },
  },
];
