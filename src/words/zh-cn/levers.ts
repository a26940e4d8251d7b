/** What plans are called and why they help. */
import type { LEVERS as EN } from "../en/levers";

export const LEVERS: Readonly<Record<keyof typeof EN, { readonly title: string; readonly why: string }>> = {
  "micro-batch": {
    title: "微批大小 {value} × 累积 {accumulation}",
    why: "同时驻留显存的样本更少；以累积补足时全局批大小不变，否则随之变小。",
  },
  "gradient-checkpointing": { title: "梯度检查点", why: "每层只保留输入，反向时重计算其余部分，大约多一次前向。" },
  "checkpointing-kind": { title: "{value} 检查点", why: "两种实现保留的输入和释放时机不同；结果相同。" },
  "fused-loss": { title: "融合交叉熵（Liger）", why: "不再整体存储 logits：输出层与损失逐块计算。" },
  attention: { title: "SDPA 注意力", why: "不存储注意力分数矩阵，内核也更快。" },
  "flash-attention": { title: "FlashAttention-2", why: "注意力显存随长度线性增长，而非平方增长。" },
  "mixed-precision": { title: "{value} 混合精度", why: "激活以 16 位保存，矩阵乘法使用张量核心。" },
  fp8: { title: "8 位矩阵乘法（fp8）", why: "线性层的输入以 8 位保存和相乘；权重和其余部分不变。" },
  packing: {
    title: "打包，微批大小 {value}",
    why: "样本首尾相接而不再填充：同样多的样本占更少的行，也不再为填充花时间。",
  },
  "half-weights": { title: "以 {value} 加载权重", why: "权重、梯度和优化器状态减半；很小的更新更容易被舍入掉。" },
  "fused-optimizer": { title: "融合 AdamW", why: "优化器步骤不再需要参数的临时副本。" },
  "8-bit-optimizer": { title: "8 位 AdamW", why: "两个动量各占 1 字节，而不是 4 字节。" },
  "paged-8-bit-optimizer": { title: "分页 8 位 AdamW", why: "8 位动量在显存不足时移到主机内存；发生时步骤会变慢。" },
  adafactor: { title: "Adafactor", why: "只保存行、列均值，而不是每个参数的二阶动量。" },
  "lion-8bit": { title: "8 位 Lion", why: "每个参数只有一个 1 字节动量；需要调整学习率。" },
  muon: { title: "Muon 优化器", why: "每个权重矩阵只有一个动量，而不是两个；需要调整学习率。" },
  "4-bit-optimizer": { title: "4 位 AdamW（torchao）", why: "两个动量各占半字节。" },
  galore: { title: "低秩 GaLore AdamW", why: "梯度投影到低秩空间，动量只保存在其中；所有参数仍然训练。" },
  apollo: { title: "低秩 APOLLO AdamW", why: "用梯度的随机低秩投影决定学习率，动量所剩无几。" },
  "zero-stage": { title: "ZeRO 阶段 {value}", why: "每张 GPU 只保留自己的一份，其余在需要时获取。" },
  fsdp: { title: "FSDP 分片（{value}）", why: "参数、梯度和优化器状态分布到所有 GPU。" },
  "more-gpus": { title: "{value} 张 GPU", why: "分片状态随 GPU 数量减少；全局批大小不变，每张 GPU 需要的样本更少。" },
  "tensor-parallel": {
    title: "张量并行度 {value}",
    why: "每张 GPU 只负责每层的一部分注意力头和中间宽度；每层有两次跨 GPU 求和。",
  },
  "sequence-parallel": {
    title: "序列并行",
    why: "被切分的矩阵之间，归一化和 dropout 保留的激活按 token 切分；通信量不变。",
  },
  "context-parallel": {
    title: "上下文并行度 {value}",
    why: "每张 GPU 只处理每个样本的一部分 token；键和值在 GPU 间传递。",
  },
  "pipeline-parallel": { title: "流水线并行度 {value}", why: "每张 GPU 只负责一部分层；微批依次流过各阶段。" },
  "expert-parallel": {
    title: "专家并行度 {value}",
    why: "每张 GPU 只保存一部分专家；token 被送到负责它的专家所在的 GPU。",
  },
  "offload-nvme": {
    title: "卸载的状态放到 NVMe",
    why: "卸载的状态放在硬盘而不占主机内存；每步都要等待硬盘读写。",
  },
  "expandable-segments": { title: "可扩展内存段", why: "分配器扩展已有内存段而不是新开，减少显存碎片。" },
  "offload-fsdp": {
    title: "FSDP 分片卸载到主机内存",
    why: "分片、梯度和优化器状态放在主机内存；每层经 PCIe 传入，优化器步骤在 CPU 上执行。",
  },
  "offload-optimizer": {
    title: "优化器状态卸载到主机内存",
    why: "动量和主权重离开显存；优化器步骤在 CPU 上执行并经过 PCIe。",
  },
  "offload-parameters": { title: "参数卸载到主机内存", why: "权重逐层经 PCIe 传入，前向一次、反向一次。" },
  "checkpoint-every-layer": { title: "每层都用检查点", why: "每一层都只保留输入，反向时全部重计算。" },
  "offload-activations": { title: "激活卸载到主机内存", why: "反向所需的激活放在锁页主机内存中，用时经 PCIe 取回。" },
  "offload-checkpoints": {
    title: "检查点输入卸载到主机内存",
    why: "检查点保留的层输入放在锁页主机内存中，拷贝被计算掩盖。",
  },
  lora: { title: "LoRA，秩 {value}", why: "只训练很小的适配器：几乎没有梯度和优化器状态。" },
  dora: { title: "DoRA，秩 {value}", why: "带可训练幅值的适配器：比 LoRA 更接近全参数训练，但激活和时间更多。" },
  "plain-lora": { title: "用 LoRA 代替 DoRA", why: "没有幅值就不必计算和保存合并权重的范数。" },
  "lora-targets": { title: "仅在 {value} 上加适配器", why: "带适配器的层更少，需要保留的输入也更少。" },
  "8-bit-base": { title: "8 位基座上的 LoRA", why: "冻结的基座每个参数 1 字节，离群值保留 16 位。" },
  qlora: { title: "QLoRA（4 位基座，{value}）", why: "冻结的基座每个参数约占半字节，逐层反量化。" },
  "lora-rank": { title: "LoRA 秩 {value}", why: "适配器及其激活随秩减小。" },
  "shorter-sequence": { title: "序列长度 {value}", why: "激活和 logits 随长度减小；更长的样本会被截断。" },
};
