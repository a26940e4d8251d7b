/** What plans are called and why they help. `{value}` is the lever's position, `{accumulation}` the run's steps after the plan. */
export const LEVERS = {
  "micro-batch": {
    title: "micro-batch {value} × accumulation {accumulation}",
    why: "Fewer samples at a time; accumulation keeps the global batch where the loop has it, else that shrinks too.",
  },
  "gradient-checkpointing": {
    title: "gradient checkpointing",
    why: "Only each layer's input is kept; backward computes the rest again, about one more forward.",
  },
  "checkpointing-kind": {
    title: "{value} checkpointing",
    why: "The two kinds keep different inputs and free them at different moments; results are the same.",
  },
  "checkpoint-every-layer": {
    title: "checkpointing of every layer",
    why: "No layer keeps more than its input; all of them are computed again.",
  },
  "fused-loss": {
    title: "fused cross-entropy (Liger)",
    why: "The logits are never stored whole: the head and the loss are computed chunk by chunk.",
  },
  attention: { title: "SDPA attention", why: "The attention scores are not stored; the kernel is also faster." },
  "flash-attention": {
    title: "FlashAttention-2",
    why: "Attention memory grows with the length instead of its square.",
  },
  "mixed-precision": {
    title: "{value} mixed precision",
    why: "Activations are kept in 16 bits and matrix products run on tensor cores.",
  },
  fp8: {
    title: "matrix products in 8 bits",
    why: "Inputs of linear layers are kept and multiplied in 8 bits; weights and the rest stay as they are.",
  },
  packing: {
    title: "packing, micro-batch {value}",
    why: "Samples lie end to end instead of padded, so the same samples fill fewer rows and no time goes into padding.",
  },
  "half-weights": {
    title: "weights in {value}",
    why: "Weights, gradients and optimizer states halve; small updates are rounded away more easily.",
  },
  "fused-optimizer": { title: "fused AdamW", why: "The step needs no temporary copies of the parameters." },
  "8-bit-optimizer": { title: "8-bit AdamW", why: "Both moments take one byte a parameter instead of four." },
  "paged-8-bit-optimizer": {
    title: "paged 8-bit AdamW",
    why: "8-bit moments that move to host memory when the card is full; steps slow down when they do.",
  },
  adafactor: { title: "Adafactor", why: "Keeps row and column averages instead of a second moment per parameter." },
  "lion-8bit": { title: "8-bit Lion", why: "One moment of one byte a parameter; another learning rate suits it." },
  muon: {
    title: "Muon",
    why: "One momentum per weight matrix instead of two moments; another learning rate suits it.",
  },
  "4-bit-optimizer": { title: "4-bit AdamW (torchao)", why: "Both moments take half a byte a parameter." },
  galore: {
    title: "GaLore AdamW",
    why: "Gradients are projected to a low rank, where the moments live; every parameter is still trained.",
  },
  apollo: {
    title: "APOLLO AdamW",
    why: "A random low-rank projection of the gradients sets the learning rates; little is left of the moments.",
  },
  "zero-stage": {
    title: "ZeRO stage {value}",
    why: "Each GPU keeps only its share and fetches the rest when it is needed.",
  },
  fsdp: { title: "FSDP ({value})", why: "Parameters, gradients and optimizer states are spread over the GPUs." },
  "more-gpus": {
    title: "{value} GPUs",
    why: "Sharded states shrink with every GPU, and each of them needs fewer samples for the same global batch.",
  },
  "tensor-parallel": {
    title: "tensor parallel degree {value}",
    why: "Each GPU has its share of the heads and of the inner width of every layer; two sums a layer cross the links.",
  },
  "sequence-parallel": {
    title: "sequence parallelism",
    why: "What norms and dropout keep between the split matrices is split along the tokens; the same bytes cross the links.",
  },
  "context-parallel": {
    title: "context parallel degree {value}",
    why: "Each GPU has its share of the tokens of every sample; keys and values travel between them.",
  },
  "pipeline-parallel": {
    title: "pipeline parallel degree {value}",
    why: "Each GPU has its share of the layers; micro-batches run through the stages one behind the other.",
  },
  "expert-parallel": {
    title: "expert parallel degree {value}",
    why: "Each GPU has its share of the experts; tokens travel to the experts that they are routed to.",
  },
  "offload-nvme": {
    title: "offloaded states on an NVMe drive",
    why: "What is offloaded waits on a drive instead of in RAM; the step waits for the drive.",
  },
  "offload-fsdp": {
    title: "FSDP shards in host memory",
    why: "Shards, gradients and optimizer states wait in host memory; every layer crosses PCIe and the step runs on the CPU.",
  },
  "offload-optimizer": {
    title: "optimizer states in host memory",
    why: "Moments and master weights leave the card; the step runs on the CPU and crosses PCIe.",
  },
  "offload-parameters": {
    title: "parameters in host memory",
    why: "Weights come over PCIe layer by layer, in forward and again in backward.",
  },
  "offload-activations": {
    title: "activations in host memory",
    why: "What backward needs waits in pinned host memory and comes back over PCIe just in time.",
  },
  "offload-checkpoints": {
    title: "checkpointed inputs in host memory",
    why: "The inputs that checkpointing keeps wait in pinned host memory; the copies hide behind the computation.",
  },
  "expandable-segments": {
    title: "expandable segments",
    why: "The allocator grows its segments instead of opening new ones, so less of the card is lost to gaps.",
  },
  lora: {
    title: "LoRA, rank {value}",
    why: "Only small adapters are trained: almost no gradients and optimizer states are left.",
  },
  dora: {
    title: "DoRA, rank {value}",
    why: "Adapters with a trained magnitude: closer to full fine-tuning than LoRA, for more activations and time.",
  },
  "plain-lora": {
    title: "LoRA instead of DoRA",
    why: "Without magnitudes no norm of the merged weights is computed or kept.",
  },
  "lora-targets": {
    title: "adapters on {value}",
    why: "Fewer layers have adapters, so fewer inputs are kept for them.",
  },
  "8-bit-base": {
    title: "LoRA on an 8-bit base",
    why: "The frozen base takes one byte a parameter and keeps its outliers in 16 bits.",
  },
  qlora: {
    title: "QLoRA (4-bit base, {value})",
    why: "The frozen base takes about half a byte a parameter and is dequantized layer by layer.",
  },
  "lora-rank": { title: "LoRA rank {value}", why: "Adapters and their activations shrink with the rank." },
  "shorter-sequence": {
    title: "sequences of {value} tokens",
    why: "Activations and logits shrink with the length; longer samples are cut.",
  },
} as const;
