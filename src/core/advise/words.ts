/** What plans are called and why they help, in English and Simplified Chinese. */
import type { LeverId, Plan } from "./types";

export type Language = "en" | "zh-cn";

export interface Phrase {
  readonly title: string;
  /** One sentence: where the memory comes from, and what it costs. */
  readonly why: string;
}

/** `{value}` is the lever's position, `{accumulation}` the run's accumulation steps after the plan. */
const WORDS: Readonly<Record<LeverId, Readonly<Record<Language, Phrase>>>> = {
  "micro-batch": {
    en: {
      title: "micro-batch {value} × accumulation {accumulation}",
      why: "Fewer samples are in memory at a time; where accumulation makes up for it the global batch stays, else it shrinks with them.",
    },
    "zh-cn": {
      title: "微批次 {value} × 累积 {accumulation}",
      why: "同时驻留显存的样本更少；以累积补足时全局批次不变，否则随之变小。",
    },
  },
  "gradient-checkpointing": {
    en: {
      title: "gradient checkpointing",
      why: "Only each layer's input is kept; backward computes the rest again, about one more forward.",
    },
    "zh-cn": { title: "梯度检查点", why: "每层只保留输入，反向时重新计算其余部分，大约多一次前向。" },
  },
  "checkpointing-kind": {
    en: {
      title: "{value} checkpointing",
      why: "The two kinds keep different inputs and free them at different moments; results are the same.",
    },
    "zh-cn": { title: "{value} 检查点", why: "两种实现保留的输入和释放时机不同；结果相同。" },
  },
  "fused-loss": {
    en: {
      title: "fused cross-entropy (Liger)",
      why: "The logits are never stored whole: the head and the loss are computed chunk by chunk.",
    },
    "zh-cn": { title: "融合交叉熵（Liger）", why: "不再整体存储 logits：输出层与损失逐块计算。" },
  },
  attention: {
    en: { title: "SDPA attention", why: "The attention scores are not stored; the kernel is also faster." },
    "zh-cn": { title: "SDPA 注意力", why: "不存储注意力分数矩阵，核函数也更快。" },
  },
  "flash-attention": {
    en: { title: "FlashAttention-2", why: "Attention memory grows with the length instead of its square." },
    "zh-cn": { title: "FlashAttention-2", why: "注意力显存随长度线性增长，而非平方增长。" },
  },
  "mixed-precision": {
    en: {
      title: "{value} mixed precision",
      why: "Activations are kept in 16 bits and matrix products run on tensor cores.",
    },
    "zh-cn": { title: "{value} 混合精度", why: "激活以 16 位保存，矩阵乘法使用张量核心。" },
  },
  fp8: {
    en: {
      title: "matrix products in 8 bits",
      why: "Inputs of linear layers are kept and multiplied in 8 bits; weights and the rest stay as they are.",
    },
    "zh-cn": { title: "8 位矩阵乘法（fp8）", why: "线性层的输入以 8 位保存和相乘；权重和其余部分不变。" },
  },
  packing: {
    en: {
      title: "packing, micro-batch {value}",
      why: "Samples lie end to end instead of padded, so the same samples fill fewer rows and no time goes into padding.",
    },
    "zh-cn": {
      title: "打包，微批次 {value}",
      why: "样本首尾相接而不再填充：同样多的样本占更少的行，也不再为填充花时间。",
    },
  },
  "half-weights": {
    en: {
      title: "weights in {value}",
      why: "Weights, gradients and optimizer states halve; small updates are rounded away more easily.",
    },
    "zh-cn": { title: "以 {value} 加载权重", why: "权重、梯度和优化器状态减半；很小的更新更容易被舍入掉。" },
  },
  "fused-optimizer": {
    en: { title: "fused AdamW", why: "The step needs no temporary copies of the parameters." },
    "zh-cn": { title: "融合 AdamW", why: "优化器步骤不再需要参数的临时副本。" },
  },
  "8-bit-optimizer": {
    en: { title: "8-bit AdamW", why: "Both moments take one byte a parameter instead of four." },
    "zh-cn": { title: "8 位 AdamW", why: "两个动量各占 1 字节，而不是 4 字节。" },
  },
  "paged-8-bit-optimizer": {
    en: {
      title: "paged 8-bit AdamW",
      why: "8-bit moments that move to host memory when the card is full; steps slow down when they do.",
    },
    "zh-cn": { title: "分页 8 位 AdamW", why: "8 位动量在显存不足时移到主机内存；发生时步骤会变慢。" },
  },
  adafactor: {
    en: { title: "Adafactor", why: "Keeps row and column averages instead of a second moment per parameter." },
    "zh-cn": { title: "Adafactor", why: "只保存行、列均值，而不是每个参数的二阶动量。" },
  },
  "lion-8bit": {
    en: { title: "8-bit Lion", why: "One moment of one byte a parameter; another learning rate suits it." },
    "zh-cn": { title: "8 位 Lion", why: "每个参数只有一个 1 字节动量；需要调整学习率。" },
  },
  muon: {
    en: {
      title: "Muon",
      why: "One momentum per weight matrix instead of two moments; another learning rate suits it.",
    },
    "zh-cn": { title: "Muon 优化器", why: "每个权重矩阵只有一个动量，而不是两个；需要调整学习率。" },
  },
  "4-bit-optimizer": {
    en: { title: "4-bit AdamW (torchao)", why: "Both moments take half a byte a parameter." },
    "zh-cn": { title: "4 位 AdamW（torchao）", why: "两个动量各占半字节。" },
  },
  galore: {
    en: {
      title: "GaLore AdamW",
      why: "Gradients are projected to a low rank, where the moments live; every parameter is still trained.",
    },
    "zh-cn": { title: "低秩 GaLore AdamW", why: "梯度投影到低秩空间，动量只保存在其中；所有参数仍然训练。" },
  },
  apollo: {
    en: {
      title: "APOLLO AdamW",
      why: "A random low-rank projection of the gradients sets the learning rates; little is left of the moments.",
    },
    "zh-cn": { title: "低秩 APOLLO AdamW", why: "用梯度的随机低秩投影决定学习率，动量所剩无几。" },
  },
  "zero-stage": {
    en: { title: "ZeRO stage {value}", why: "Each GPU keeps only its share and fetches the rest when it is needed." },
    "zh-cn": { title: "ZeRO 阶段 {value}", why: "每块 GPU 只保留自己的一份，其余在需要时获取。" },
  },
  fsdp: {
    en: { title: "FSDP ({value})", why: "Parameters, gradients and optimizer states are spread over the GPUs." },
    "zh-cn": { title: "FSDP 分片（{value}）", why: "参数、梯度和优化器状态分布到所有 GPU。" },
  },
  "more-gpus": {
    en: {
      title: "{value} GPUs",
      why: "Sharded states shrink with every GPU, and each of them needs fewer samples for the same global batch.",
    },
    "zh-cn": { title: "{value} 块 GPU", why: "分片状态随 GPU 数量减少；全局批次不变，每块 GPU 需要的样本更少。" },
  },
  "tensor-parallel": {
    en: {
      title: "tensor parallel degree {value}",
      why: "Each GPU has its share of the heads and of the inner width of every layer; two sums a layer cross the links.",
    },
    "zh-cn": {
      title: "张量并行度 {value}",
      why: "每块 GPU 只负责每层的一部分注意力头和中间宽度；每层有两次跨卡求和。",
    },
  },
  "sequence-parallel": {
    en: {
      title: "sequence parallelism",
      why: "What norms and dropout keep between the split matrices is split along the tokens; the same bytes cross the links.",
    },
    "zh-cn": { title: "序列并行", why: "被切分的矩阵之间，归一化和 dropout 保留的激活按词元切分；通信量不变。" },
  },
  "context-parallel": {
    en: {
      title: "context parallel degree {value}",
      why: "Each GPU has its share of the tokens of every sample; keys and values travel between them.",
    },
    "zh-cn": { title: "上下文并行度 {value}", why: "每块 GPU 只处理每个样本的一部分词元；键和值在卡间传递。" },
  },
  "pipeline-parallel": {
    en: {
      title: "pipeline parallel degree {value}",
      why: "Each GPU has its share of the layers; micro-batches run through the stages one behind the other.",
    },
    "zh-cn": { title: "流水线并行度 {value}", why: "每块 GPU 只负责一部分层；微批次依次流过各阶段。" },
  },
  "expert-parallel": {
    en: {
      title: "expert parallel degree {value}",
      why: "Each GPU has its share of the experts; tokens travel to the experts that they are routed to.",
    },
    "zh-cn": { title: "专家并行度 {value}", why: "每块 GPU 只保存一部分专家；词元被送到负责它的专家所在的 GPU。" },
  },
  "offload-nvme": {
    en: {
      title: "offloaded states on an NVMe drive",
      why: "What is offloaded waits on a drive instead of in RAM; the step waits for the drive.",
    },
    "zh-cn": {
      title: "卸载的状态放到 NVMe",
      why: "卸载的状态放在硬盘而不占主机内存；每步都要等待硬盘读写。",
    },
  },
  "expandable-segments": {
    en: {
      title: "expandable segments",
      why: "The allocator grows its segments instead of opening new ones, so less of the card is lost to gaps.",
    },
    "zh-cn": { title: "可扩展内存段", why: "分配器扩展已有内存段而不是新开，减少显存碎片。" },
  },
  "offload-fsdp": {
    en: {
      title: "FSDP shards in host memory",
      why: "Shards, gradients and optimizer states wait in host memory; every layer crosses PCIe and the step runs on the CPU.",
    },
    "zh-cn": {
      title: "FSDP 分片卸载到主机内存",
      why: "分片、梯度和优化器状态放在主机内存；每层经 PCIe 传入，优化器步骤在 CPU 上执行。",
    },
  },
  "offload-optimizer": {
    en: {
      title: "optimizer states in host memory",
      why: "Moments and master weights leave the card; the step runs on the CPU and crosses PCIe.",
    },
    "zh-cn": { title: "优化器状态卸载到主机内存", why: "动量和主权重离开显存；优化器步骤在 CPU 上执行并经过 PCIe。" },
  },
  "offload-parameters": {
    en: {
      title: "parameters in host memory",
      why: "Weights come over PCIe layer by layer, in forward and again in backward.",
    },
    "zh-cn": { title: "参数卸载到主机内存", why: "权重逐层经 PCIe 传入，前向一次、反向一次。" },
  },
  "checkpoint-every-layer": {
    en: {
      title: "checkpointing of every layer",
      why: "No layer keeps more than its input; all of them are computed again.",
    },
    "zh-cn": { title: "每层都用检查点", why: "每一层都只保留输入，反向时全部重新计算。" },
  },
  "offload-activations": {
    en: {
      title: "activations in host memory",
      why: "What backward needs waits in pinned host memory and comes back over PCIe just in time.",
    },
    "zh-cn": { title: "激活卸载到主机内存", why: "反向所需的激活放在锁页主机内存中，用时经 PCIe 取回。" },
  },
  "offload-checkpoints": {
    en: {
      title: "checkpointed inputs in host memory",
      why: "The inputs that checkpointing keeps wait in pinned host memory; the copies hide behind the computation.",
    },
    "zh-cn": { title: "检查点输入卸载到主机内存", why: "检查点保留的层输入放在锁页主机内存中，拷贝被计算掩盖。" },
  },
  lora: {
    en: {
      title: "LoRA, rank {value}",
      why: "Only small adapters are trained: almost no gradients and optimizer states are left.",
    },
    "zh-cn": { title: "LoRA，秩 {value}", why: "只训练很小的适配器：几乎没有梯度和优化器状态。" },
  },
  dora: {
    en: {
      title: "DoRA, rank {value}",
      why: "Adapters with a trained magnitude: closer to full fine-tuning than LoRA, for more activations and time.",
    },
    "zh-cn": { title: "DoRA，秩 {value}", why: "带可训练幅值的适配器：比 LoRA 更接近全量微调，但激活和时间更多。" },
  },
  "plain-lora": {
    en: { title: "LoRA instead of DoRA", why: "Without magnitudes no norm of the merged weights is computed or kept." },
    "zh-cn": { title: "用 LoRA 代替 DoRA", why: "没有幅值就不必计算和保存合并权重的范数。" },
  },
  "lora-targets": {
    en: { title: "adapters on {value}", why: "Fewer layers have adapters, so fewer inputs are kept for them." },
    "zh-cn": { title: "仅在 {value} 上加适配器", why: "带适配器的层更少，需要保留的输入也更少。" },
  },
  "8-bit-base": {
    en: {
      title: "LoRA on an 8-bit base",
      why: "The frozen base takes one byte a parameter and keeps its outliers in 16 bits.",
    },
    "zh-cn": { title: "8 位基座上的 LoRA", why: "冻结的基座每个参数 1 字节，离群值保留 16 位。" },
  },
  qlora: {
    en: {
      title: "QLoRA (4-bit base, {value})",
      why: "The frozen base takes about half a byte a parameter and is unpacked layer by layer.",
    },
    "zh-cn": { title: "QLoRA（4 位基座，{value}）", why: "冻结的基座每个参数约占半字节，逐层解包。" },
  },
  "lora-rank": {
    en: { title: "LoRA rank {value}", why: "Adapters and their activations shrink with the rank." },
    "zh-cn": { title: "LoRA 秩 {value}", why: "适配器及其激活随秩减小。" },
  },
  "shorter-sequence": {
    en: {
      title: "sequences of {value} tokens",
      why: "Activations and logits shrink with the length; longer samples are cut.",
    },
    "zh-cn": { title: "序列长度 {value}", why: "激活和 logits 随长度减小；更长的样本会被截断。" },
  },
};

function fill(text: string, plan: Pick<Plan, "run">, value: string | number): string {
  return text
    .replaceAll("{value}", String(value))
    .replaceAll("{accumulation}", String(plan.run.gradientAccumulationSteps));
}

function phraseOf(id: LeverId, language: string): Phrase {
  return WORDS[id][language.toLowerCase().startsWith("zh") ? "zh-cn" : "en"];
}

/** Title and reason of a lever before it has a position: `{value}` and `{accumulation}` stand where they will be. */
export function leverPhrase(id: LeverId, language: string): Readonly<Phrase> {
  return phraseOf(id, language);
}

/** "Gradient checkpointing + 8-bit AdamW". Any language but Chinese is English. */
export function planTitle(plan: Pick<Plan, "steps" | "run">, language: string): string {
  const parts = plan.steps.map(({ lever, value }) => fill(phraseOf(lever, language).title, plan, value));
  const title = parts.join(" + ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/** One sentence per lever. */
export function planWhy(plan: Pick<Plan, "steps" | "run">, language: string): string {
  return plan.steps
    .map(({ lever, value }) => fill(phraseOf(lever, language).why, plan, value))
    .join(language.toLowerCase().startsWith("zh") ? "" : " ");
}
