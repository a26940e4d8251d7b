/** What stages of ZeRO share, gather and keep. */
import { DIMENSIONS } from "../../../../core/graph/dimensions";
import { size } from "../../../messages/units";
import { holds } from "../../../versions";
import { hit, type Rule, replacement, set } from "../../rule";

/** Settings of a model's config that count experts. */
const EXPERTS: readonly string[] = [...DIMENSIONS.experts, "moe_num_experts"];

export const DEEPSPEED_ZERO_RULES: readonly Rule[] = [
  {
    code: "zero3-experts",
    severity: "warning",
    title: "ZeRO-3 with experts that are called by choice",
    why: "Stage 3 gathers a module when it is called and expects every rank to call the same ones in the same order. Before transformers 5 each expert is a module of its own, called only when a token chose it: ranks then wait for each other for ever, and the recorded order is thrown away in every step. `set_z3_leaf_modules` gathers all experts of a layer at once (`deepspeed/utils/z3_leaf_module.py`), which also raises the peak by their weights.",
    mend: "Name the layer's class in `zero_optimization.leaf_module`, in accelerate's `deepspeed_moe_layer_cls_names`, or call `set_z3_leaf_modules`; or use stage 2.",
    en: "{experts} experts under ZeRO-3: ranks that route differently deadlock. Make the expert layer a leaf module.",
    zh: "ZeRO-3 下有 {experts} 个专家：路由不同的进程会死锁。请把专家层设为叶子模块。",
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
    code: "zero3-frozen-reentrant",
    severity: "warning",
    title: "Frozen weights stay gathered under ZeRO-3",
    why: "From DeepSpeed 0.19.3 on, frozen parameters that are gathered to recompute a layer belong to the module whose backward asked for it (`deepspeed/runtime/zero/partitioned_param_coordinator.py`, `update_recompute_parameters`). With reentrant checkpointing that is one outside of the layers, whose backward ends last: layer after layer stays gathered, until the whole frozen model is on every GPU.",
    mend: "Set `use_reentrant: false`, or pin a DeepSpeed before 0.19.3.",
    en: "Reentrant checkpointing under ZeRO-3: the frozen weights of every layer stay gathered until backward ends.",
    zh: "ZeRO-3 下的可重入检查点：每一层的冻结权重在反向传播结束前都保持聚合状态。",
    example: {
      trl: "use_peft: true\ngradient_checkpointing: true\ngradient_checkpointing_kwargs: { use_reentrant: true }\ndeepspeed: ds.json",
      deepspeed: '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
    },
    check: (facts) => {
      const at = facts.own("use_reentrant");
      const { run } = facts;
      const isSpread = facts.stage === 3 && run?.parallel.deepspeed?.releasesRecomputed !== true;
      return hit(
        at ?? facts.own("gradient_checkpointing"),
        isSpread && run?.adapter != null && run.checkpointing?.useReentrant === true,
        { fixes: replacement(at, "false", true) },
      );
    },
  },
  {
    code: "ds-bucket-cost",
    severity: "information",
    title: "Gradient buckets are large",
    why: "Bucket sizes are counted in elements. Stages 1 and 2 allocate `reduce_bucket_size` elements of the gradient dtype, twice with `overlap_comm`; stage 3 keeps one such buffer for good.",
    mend: 'Write `"auto"` under the Hugging Face Trainer, or 5e7.',
    en: "Gradient buckets take {bytes} on each GPU ({elements|,} elements{twice}).",
    zh: "梯度桶在每张 GPU 上占用 {bytes}（{elements|,} 个元素{twice}）。",
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
          twice: twice ? " × 2 `overlap_comm`" : "",
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
    code: "ds-persistence-large",
    severity: "information",
    title: "Large parameters stay gathered",
    why: "Parameters with at most `stage3_param_persistence_threshold` elements are never partitioned away: every GPU keeps them whole.",
    mend: "Lower the threshold; the default is 100 000.",
    en: "Parameters up to {elements|,} elements stay whole on every GPU.",
    zh: "不超过 {elements|,} 个元素的参数会完整保留在每张 GPU 上。",
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
    code: "ds-one-gpu",
    severity: "hint",
    title: "ZeRO on one GPU",
    why: "ZeRO divides states by the number of GPUs. On one GPU stages 1 to 3 save nothing by themselves, and stage 3 adds gathering; only offload helps.",
    mend: "Add GPUs, offload the optimizer, or drop DeepSpeed.",
    en: "On one GPU ZeRO stage {stage} has nothing to share: only offload saves memory.",
    zh: "单张 GPU 上 ZeRO 阶段 {stage} 无法分片：只有卸载才能节省显存。",
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
    zh: "ZeRO 阶段 0 不做任何分片：阶段 1 或 2 可将优化器状态分摊到 {world} 张 GPU。",
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
    zh: "流水线引擎仅支持 ZeRO 阶段 0 与 1；当前为 {stage}。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2}, "pipeline": {"stages": 4}}' },
    check: (facts) => {
      const at = facts.deepspeed("pipeline_block");
      return hit(at, (facts.stage ?? 0) > 1, { args: { stage: facts.stage ?? 0 } });
    },
  },
];
