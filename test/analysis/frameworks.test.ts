/** Frameworks with code of their own: the run is the one their keys describe, and the substitution is said. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, uri } from "./memory-runtime";

const PINS = 'runs:\n  - match: "*"\n    sequence_length: 64\n    device: { name: H100 }\n';

async function runOf(name: string, text: string, pins = PINS): Promise<ReportRun> {
  const runtime = memoryRuntime({ [name]: text, ".vramlens.yaml": pins });
  const [run] = (await createAnalyzer(runtime).analyse(uri(name), {})).runs;
  assert.ok(run);
  return run;
}

const peak = (run: ReportRun): number => {
  assert.ok(run.perDevice, JSON.stringify(run.findings));
  return run.perDevice.allocatedPeakBytes;
};
const value = (run: ReportRun, name: string): unknown => run.settings.find((setting) => setting.name === name)?.value;

/** The run as the Hugging Face Trainer would carry it out. */
const trainer = (lines: string): string =>
  `output_dir: out\nper_device_train_batch_size: 2\nmax_grad_norm: 0\nuse_cache: false\n${lines}`;

describe("analysis: frameworks with code of their own", () => {
  it("reads a torchtune recipe as the same model in pure bfloat16, on torchtune's own code", async () => {
    const recipe = [
      "model:",
      "  _component_: torchtune.models.qwen2_5.qwen2_5_0_5b",
      "batch_size: 2",
      "optimizer:",
      "  _component_: torch.optim.AdamW",
      "  fused: True",
      "loss:",
      "  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss",
      "dtype: bf16",
      "clip_grad_norm: null",
      "enable_activation_checkpointing: True",
      "",
    ].join("\n");
    const own = await runOf("recipe.yaml", recipe);
    const same = await runOf(
      "train.yaml",
      trainer(
        "model_name_or_path: Qwen/Qwen2.5-0.5B\ndtype: bfloat16\noptim: adamw_torch_fused\ngradient_checkpointing: true\n",
      ),
    );
    assert.equal(own.model?.name, "Qwen/Qwen2.5-0.5B");
    assert.equal(own.model?.parameters, same.model?.parameters);
    assert.equal(own.model?.family, "qwen2");
    // A rotary table of 32768 positions, and the float32 of its own norms.
    assert.ok(Math.abs(peak(own) - peak(same)) < 2 ** 25, `${peak(own)} and ${peak(same)}`);
    assert.ok(!own.assumptions.some(({ id }) => id === "assume.own-code"));
  });

  it("puts torchtune's adapters where its switches say", async () => {
    const recipe = (mlp: string) =>
      `model:\n  _component_: torchtune.models.qwen2_5.lora_qwen2_5_0_5b\n  lora_attn_modules: ['q_proj', 'output_proj']\n  apply_lora_to_mlp: ${mlp}\n  lora_rank: 4\nbatch_size: 1\ndtype: bf16\n`;
    const [hidden, inner, layers, rank] = [896, 4864, 24, 4];
    const attention = 2 * layers * rank * 2 * hidden;
    assert.equal((await runOf("a.yaml", recipe("False"))).model?.trainableParameters, attention);
    const mlp = 3 * layers * rank * (hidden + inner);
    assert.equal((await runOf("b.yaml", recipe("True"))).model?.trainableParameters, attention + mlp);
  });

  it("has no estimate for torchtune's recipes with models beside the trained one", async () => {
    const recipe = (more: string) =>
      `model:\n  _component_: torchtune.models.qwen2_5.qwen2_5_0_5b\nbatch_size: 1\noptimizer:\n  _component_: torch.optim.AdamW\ndtype: bf16\n${more}`;
    const stops = async (more: string) => {
      const { perDevice, findings } = await runOf("recipe.yaml", recipe(more));
      return perDevice === null && findings.some(({ code }) => code === "not-modelled");
    };
    for (const loss of ["rlhf.loss.DPOLoss", "rlhf.loss.SimPOLoss", "dev.grpo.loss.GRPOWithChunkedOutputLoss"])
      assert.ok(await stops(`loss:\n  _component_: torchtune.${loss}\n`), loss);
    assert.ok(await stops("teacher_model:\n  _component_: torchtune.models.qwen2_5.qwen2_5_1_5b_instruct\n"));
    assert.ok(!(await stops("loss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\n")));
  });

  it("holds gpt-neox's config to DeepSpeed's rules, whose keys stand in it", async () => {
    const config = (more: string) =>
      `{ "num_layers": 2, "hidden_size": 128, "num_attention_heads": 4, "seq_length": 64, "max_position_embeddings": 64, ${more} "pipe_parallel_size": 1, "model_parallel_size": 1, "train_micro_batch_size_per_gpu": 1, "zero_optimization": { "stage": 1 } }`;
    const codes = async (more: string) => (await runOf("a.yml", config(more))).findings.map(({ code }) => code);
    assert.ok(!(await codes("")).some((code) => /^ds-/.test(code)));
    const found = await codes('"amp": { "enabled": true }, "hybrid_engine": { "enabled": true },');
    assert.ok(found.includes("ds-amp-zero") && found.includes("ds-not-modelled"), found.join());
  });

  it("shards a torchtune run on several GPUs as its distributed recipes do", async () => {
    const recipe =
      "model:\n  _component_: torchtune.models.qwen2_5.qwen2_5_0_5b\nbatch_size: 1\noptimizer:\n  _component_: torch.optim.AdamW\ndtype: bf16\n";
    const one = await runOf("recipe.yaml", recipe);
    const four = await runOf("recipe.yaml", recipe, PINS.replace("name: H100", "name: H100, count: 4"));
    assert.equal(value(four, "fsdp"), "full_shard");
    assert.ok(peak(four) < peak(one));
  });

  it("takes torchtitan's default precision: float32 weights, bfloat16 computation", async () => {
    const toml =
      '[model]\nname = "qwen3"\nflavor = "0.6B"\n[training]\nlocal_batch_size = 1\nseq_len = 64\nmax_norm = 0\n[activation_checkpoint]\nmode = "none"\n';
    const run = await runOf("job.toml", toml);
    const same = await runOf(
      "train.yaml",
      trainer("model_name_or_path: Qwen/Qwen3-0.6B\ndtype: float32\nbf16: true\noptim: adamw_torch_fused\n").replace(
        "batch_size: 2",
        "batch_size: 1",
      ),
    );
    assert.equal(value(run, "compute_dtype"), "bf16");
    // torchtitan's own code keeps a table of positions; the Trainer, the labels of a few tokens.
    assert.ok(Math.abs(peak(run) - peak(same)) <= 2 ** 16, `${peak(run)} and ${peak(same)}`);
  });

  it("reads litgpt's model folder, parts with adapters and double quantization", async () => {
    const config = (quantize: string) =>
      `checkpoint_dir: checkpoints/EleutherAI/pythia-160m\nout_dir: out\nprecision: bf16-true\nquantize: ${quantize}\nlora_r: 8\nlora_query: true\nlora_value: true\nlora_projection: false\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 4\n  max_seq_length: 64\n`;
    const single = await runOf("a.yaml", config("bnb.nf4"));
    const double = await runOf("b.yaml", config("bnb.nf4-dq"));
    assert.equal(single.model?.name, "EleutherAI/pythia-160m");
    assert.ok(peak(double) < peak(single));
    assert.equal(value(single, "gradient_accumulation_steps"), 4);
  });

  it("builds the model that a nanotron config spells out, with its gradient buffer and sharded copy", async () => {
    const config = (stage: number) =>
      `general:\n  run: tiny\nparallelism:\n  dp: 4\n  tp: 1\n  pp: 1\ntokens:\n  micro_batch_size: 1\n  sequence_length: 64\n  batch_accumulation_per_replica: 1\nmodel:\n  dtype: bfloat16\n  model_config:\n    is_llama_config: true\n    hidden_size: 256\n    intermediate_size: 512\n    num_hidden_layers: 4\n    num_attention_heads: 4\n    num_key_value_heads: 2\n    vocab_size: 1024\n    tie_word_embeddings: true\noptimizer:\n  accumulate_grad_in_fp32: true\n  clip_grad: null\n  zero_stage: ${stage}\n  optimizer_factory:\n    name: adamW\n    torch_adam_is_fused: true\n`;
    const [whole, sharded] = [await runOf("a.yaml", config(0)), await runOf("b.yaml", config(1))];
    const layer = 2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512 + 2 * 256;
    assert.equal(whole.model?.parameters, 1024 * 256 + 4 * layer + 256);
    const bytes = (run: ReportRun, kind: string) =>
      run.perDevice?.components.find((component) => component.kind === kind)?.bytes ?? 0;
    assert.ok(Math.abs(bytes(whole, "gradients") / (4 * (whole.model?.parameters ?? 1)) - 1) < 0.02);
    assert.ok(Math.abs(bytes(sharded, "optimizer") / bytes(whole, "optimizer") - 0.25) < 0.02);
  });

  it("builds gpt-neox's model, gated or not, and asks for the vocabulary", async () => {
    const config = (more: string) =>
      `{\n  "pipe_parallel_size": 1,\n  "model_parallel_size": 2,\n  "num_layers": 2,\n  "hidden_size": 128,\n  "num_attention_heads": 4,\n  "seq_length": 64,\n  "max_position_embeddings": 64,\n  "train_micro_batch_size_per_gpu": 1,\n  "fp16": { "enabled": true },\n  "num_gpus": 2,\n${more}  "no_weight_tying": true\n}\n`;
    const plain = await runOf("a.yml", config(""));
    assert.equal(plain.model?.family, "gpt_neox");
    assert.ok(plain.assumptions.some(({ what }) => what.includes("50,432")));
    const gated = await runOf(
      "b.yml",
      config('  "activation": "swiglu",\n  "norm": "rmsnorm",\n  "mlp_multiple_of": 64,\n'),
    );
    assert.equal(gated.model?.family, "llama");
    // 4 × 128 × 2/3 = 341, half of it rounded up to 64: 192.
    const layer = 4 * 128 * 128 + 3 * 128 * 192 + 2 * 128;
    assert.equal(gated.model?.parameters, 2 * 50_432 * 128 + 2 * layer + 128);
  });

  it("reads Megatron-LM's arguments as a tensor-parallel run with main parameters", async () => {
    const script = (more: string) =>
      `torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 4 --hidden-size 256 --num-attention-heads 4 --ffn-hidden-size 512 --swiglu --normalization RMSNorm --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 2 --vocab-size 1024 --bf16 --train-iters 10 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 ${more}\n`;
    const plain = await runOf("a.sh", script(""));
    const split = await runOf("b.sh", script("--sequence-parallel --use-distributed-optimizer"));
    assert.equal(plain.model?.family, "llama");
    assert.equal(value(plain, "tensor_parallel"), 2);
    assert.ok(peak(split) < peak(plain));
    assert.equal(plain.findings.filter(({ severity }) => severity === "error").length, 0);
  });

  it("plans in the files' own words, and nothing that a library would stop at", async () => {
    const plansOf = async (name: string, text: string) => {
      const pins = 'runs:\n  - match: "*"\n    device: "8GB"\n';
      const runtime = memoryRuntime({ [name]: text, ".vramlens.yaml": pins });
      const [run] = (await createAnalyzer(runtime).analyse(uri(name), { plans: true })).runs;
      return (run?.plans ?? []).map(({ edits }) => edits.map(({ newText }) => newText.trim()));
    };
    const megatron =
      "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 --ffn-hidden-size 3072 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 8 --global-batch-size 16 --vocab-size 50304 --bf16 --train-iters 10 --tensor-model-parallel-size 1\n";
    // The global batch stays: Megatron counts the micro-batches itself.
    assert.ok((await plansOf("a.sh", megatron)).some((edits) => edits.join() === "1"));
    const whole = await createAnalyzer(memoryRuntime({ "a.sh": megatron })).analyse(uri("a.sh"), {});
    const written = whole.whatIfEdits(whole.runs[0]?.id ?? "", { gradient_checkpointing: "true" });
    assert.deepEqual(written !== null && "edits" in written && written.edits.map(({ newText }) => newText.trim()), [
      "--recompute-granularity full",
      "--recompute-method uniform",
      "--recompute-num-layers 1",
    ]);
    const titan =
      '[model]\nname = "qwen3"\nflavor = "0.6B"\n[training]\nlocal_batch_size = 4\nseq_len = 512\ndtype = "bfloat16"\n[activation_checkpoint]\nmode = "full"\n';
    const ofTitan = await plansOf("b.toml", titan);
    assert.ok(
      ofTitan.some((edits) => edits.includes("global_batch_size = 4")),
      JSON.stringify(ofTitan),
    );
    const run = await runOf("c.toml", titan.replace("seq_len", "global_batch_size = 16\nseq_len"));
    assert.equal(value(run, "gradient_accumulation_steps"), 4);
    const tune =
      "model:\n  _component_: torchtune.models.qwen2_5.qwen2_5_0_5b\nbatch_size: 4\noptimizer:\n  _component_: torch.optim.AdamW\ndtype: bf16\nenable_activation_checkpointing: False\ntokenizer:\n  max_seq_len: 1024\n";
    for (const edits of await plansOf("d.yaml", tune))
      assert.ok(!edits.includes("enable_activation_offloading: true") || edits.includes("True"), JSON.stringify(edits));
  });

  it("says of an Accelerate config that it is a part of a run", async () => {
    const run = await runOf(
      "accelerate.yaml",
      "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 2\n",
    );
    assert.ok(run.findings.some(({ code, message }) => code === "not-modelled" && /part of a run/.test(message)));
  });
});
