/** Large runs as the documents a person would have: their config, how they are started, and on what. */
import { script, trainingArguments } from "../published/documents";

export interface ClusterRun {
  readonly title: string;
  /** What is asked of the run, in a sentence. */
  readonly story: string;
  /** The run's own document first. */
  readonly documents: Readonly<Record<string, string>>;
  /** How the weights come to the cards: through one process's memory, mapped files, each rank's own part; absent: not worked out. */
  readonly loading?: "one" | "mapped" | "own";
}

const H100 = "NVIDIA H100 80GB HBM3";
const FULL = {
  per_device_train_batch_size: 1,
  gradient_accumulation_steps: 8,
  bf16: true,
  gradient_checkpointing: true,
  gradient_checkpointing_kwargs: { use_reentrant: false },
  optim: "adamw_torch_fused",
};

/** A run of the Hugging Face Trainer with a config of DeepSpeed's. */
function zero3(
  model: string,
  zero: object,
  pins: Record<string, string | number | object>,
  more: Record<string, string> = {},
) {
  const engine = {
    bf16: { enabled: "auto" },
    train_micro_batch_size_per_gpu: "auto",
    gradient_accumulation_steps: "auto",
    gradient_clipping: "auto",
    zero_optimization: { stage: 3, ...zero },
  };
  return {
    ...trainingArguments({ ...FULL, deepspeed: "ds.json" }, {
      model,
      task: "causal-lm",
      dtype: "bfloat16",
      ...pins,
    } as never),
    "ds.json": JSON.stringify(engine),
    ...more,
  };
}

function fsdp(model: string, pins: Record<string, string | number | object>, settings: Record<string, unknown> = {}) {
  return trainingArguments(
    {
      ...FULL,
      gradient_accumulation_steps: 1,
      fsdp: "full_shard auto_wrap",
      fsdp_config: { version: 2, cpu_ram_efficient_loading: true },
      ...settings,
    } as never,
    { model, task: "causal-lm", dtype: "bfloat16", ...pins } as never,
  );
}

/** Megatron's own layers, as ms-swift starts them. */
function megatron(model: string, flags: string, device: { readonly name: string; readonly count: number }) {
  return script(
    `megatron sft --model ${model} --dataset data.jsonl --tuner_type full --micro_batch_size 1 ` +
      `--sequence_parallel true --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 ${flags}`,
    { device },
  );
}

const GPT3 = JSON.stringify({
  model_type: "gpt2",
  n_embd: 12288,
  n_layer: 96,
  n_head: 96,
  n_positions: 2048,
  vocab_size: 50257,
  torch_dtype: "bfloat16",
});

export const CLUSTER_RUNS: readonly ClusterRun[] = [
  {
    title: "Llama-3-70B, every weight, 8 × 80 GB, FSDP2",
    story:
      "Sixteen bytes of every parameter over eight cards are 131 GiB each: it does not fit, whatever the batch. Accumulation would add the whole model's gradients.",
    documents: fsdp("meta-llama/Meta-Llama-3-70B", { sequence_length: 4096, device: { name: H100, count: 8 } }),
    loading: "one",
  },
  {
    title: "Llama-3-70B, every weight, 8 × 80 GB, ZeRO-3 with optimizer and parameters on the host",
    story: "The cards hold what a layer needs; the machine's memory holds the rest.",
    documents: zero3(
      "meta-llama/Meta-Llama-3-70B",
      {
        offload_optimizer: { device: "cpu", pin_memory: true },
        offload_param: { device: "cpu", pin_memory: true },
      },
      { sequence_length: 4096, device: { name: H100, count: 8 } },
    ),
    loading: "mapped",
  },
  {
    title: "QLoRA of Llama-3-70B, 2 × 24 GB, FSDP1 with shards on the host",
    story: "4-bit weights are 35 GiB: half of them would nearly fill a card, so they wait in host memory.",
    documents: trainingArguments(
      {
        ...FULL,
        fsdp: "full_shard auto_wrap offload",
        fsdp_config: { version: 1, cpu_ram_efficient_loading: true, use_orig_params: false },
      } as never,
      {
        model: "meta-llama/Meta-Llama-3-70B",
        task: "causal-lm",
        dtype: "bfloat16",
        sequence_length: 512,
        adapter: { type: "lora", r: 16, alpha: 16, dropout: 0, target_modules: "all-linear" },
        quantization: { type: "nf4", double: true, compute_dtype: "bfloat16", storage: "bfloat16" },
        device: { name: "RTX 4090", count: 2 },
      } as never,
    ),
  },
  {
    title: "Mixtral-8x7B, every weight, 16 × 80 GB, FSDP2",
    story:
      "FSDP2 cuts a parameter along its first dimension, which is the eight experts: eight cards hold one each, the other eight none. " +
      "So it does not fit, though a sixteenth of the states would.",
    documents: fsdp("mistralai/Mixtral-8x7B-v0.1", { sequence_length: 4096, device: { name: H100, count: 16 } }),
    loading: "one",
  },
  {
    title: "GPT-3 175B, 384 × 80 GB, ZeRO-3",
    story: "Data parallelism alone, the states spread over all cards.",
    documents: zero3(
      "./model",
      {},
      { sequence_length: 2048, device: { name: "A100 80GB", count: 384 } },
      { "model/config.json": GPT3 },
    ),
    loading: "mapped",
  },
  {
    title: "GPT-3 175B, 384 × 80 GB, Megatron-LM with TP 8 × PP 12 × DP 4",
    story: "Layers are split within a machine, stages over machines.",
    documents: script(
      "pretrain_gpt.py --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 " +
        "--max-position-embeddings 2048 --vocab-size 50257 --micro-batch-size 1 --global-batch-size 192 --train-iters 10 --bf16 " +
        "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 12 --sequence-parallel --use-distributed-optimizer " +
        "--use-flash-attn --recompute-activations",
      { device: { name: "A100 80GB", count: 384 } },
    ),
    loading: "own",
  },
  {
    title: "DeepSeek-V3, 2,048 × 80 GB, PP 16 × EP 64",
    story: "Four layers a stage, four experts a card and layer.",
    documents: megatron(
      "deepseek-ai/DeepSeek-V3",
      "--max_length 4096 --global_batch_size 2048 --pipeline_model_parallel_size 16 --expert_model_parallel_size 64",
      { name: "H800", count: 2048 },
    ),
    loading: "own",
  },
  {
    title: "Llama-3.1-405B at 131,072 tokens, 16,384 × 80 GB, TP 8 × CP 16 × PP 16 × DP 8",
    story: "Four dimensions: a sequence is cut over sixteen cards, layers over eight, the depth over sixteen.",
    documents: megatron(
      "meta-llama/Llama-3.1-405B",
      "--max_length 131072 --global_batch_size 128 --tensor_model_parallel_size 8 --context_parallel_size 16 " +
        "--pipeline_model_parallel_size 16",
      { name: H100, count: 16384 },
    ),
    loading: "own",
  },
];
