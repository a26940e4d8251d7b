/** What Unsloth's loaders do by themselves, and which modules its adapters are put on. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { resolveRun } from "../../src/analysis/resolve";
import { simulate } from "../../src/core/simulate";
import { graphsOf } from "../core/receipts/case";
import { causalRun } from "../core/runs";
import { graphsWithTrainers } from "../core/trainers/receipts";
import { memoryRuntime, uri } from "./memory-runtime";
import { gatherFiles, resolveFiles } from "./resolve-run";

function script(load: string, adapt: string, loader = "FastLanguageModel"): string {
  return `from unsloth import ${loader}
from trl import SFTConfig, SFTTrainer
model, tokenizer = ${loader}.from_pretrained("Qwen/Qwen3-0.6B"${load})
model = ${loader}.get_peft_model(model, r=8${adapt})
SFTTrainer(model=model, args=SFTConfig(output_dir="o", max_length=512)).train()
`;
}

async function resolved(load: string, adapt: string, loader?: string) {
  const { run, suppositions } = await resolveFiles({ "train.py": script(load, adapt, loader) }, "train.py");
  assert.ok(run);
  return { run, said: JSON.stringify(suppositions) };
}

describe("analysis: Unsloth", () => {
  it("loads in four bits, doubly quantized, unless told otherwise, and keeps its adapters in float32", async () => {
    const { run } = await resolved("", "");
    assert.equal(run.quantization?.type, "nf4");
    assert.equal(run.quantization?.double, true);
    assert.equal(run.quantization?.packsExperts, true);
    assert.equal(run.adapter?.autocastAdapterDtype, true);
    assert.equal(run.adapter?.castTo, undefined);
    for (const other of [", load_in_4bit=False", ", load_in_16bit=True", ", full_finetuning=True"])
      assert.equal((await resolved(other, "")).run.quantization, null, other);
  });

  it("puts no adapter on a model that it trains whole", async () => {
    const { run } = await resolved(", full_finetuning=True", "");
    assert.equal(run.adapter, null);
  });

  it("checkpoints every list of layers, those of a tower that transformers does not, too", async () => {
    const vision = script("", "", "FastVisionModel").replace(
      "Qwen/Qwen3-0.6B",
      "unsloth/Llama-3.2-11B-Vision-Instruct",
    );
    const { run } = await resolveFiles({ "train.py": vision }, "train.py");
    assert.ok(run);
    assert.equal(run.checkpointing?.rewritten, true);
    const family = graphsOf(run.model.family);
    const peak = (rewritten: boolean): number => {
      const result = simulate({ ...run, checkpointing: { useReentrant: rewritten, rewritten } }, family);
      assert.ok(result.ok, JSON.stringify(result));
      return result.simulation.ledger.peak;
    };
    // What layers share is differentiated twice under the reentrant kind, where they are called by names.
    assert.throws(() => simulate({ ...run, checkpointing: { useReentrant: true } }, family), /backward-twice/);
    assert.ok(peak(true) < 0.6 * peak(false));
  });

  it("cuts its loss into pieces of four GiB of float32 logits", async () => {
    const { run } = await resolved("", "");
    assert.deepEqual([run.fusedLoss, run.fusedPieceBytes], [true, 4 * 2 ** 30]);
  });

  it("trains tables that stand among the adapters' modules whole", async () => {
    const { run } = await resolved("", ', target_modules=["q_proj", "embed_tokens", "lm_head"]');
    assert.deepEqual(run.adapter?.targetModules, ["q_proj"]);
    assert.deepEqual(run.adapter?.modulesToSave, ["embed_tokens", "lm_head"]);
    // Families that it has no code of its own for have adapters on them.
    const other = script("", ', target_modules=["q_proj", "lm_head"]').replace("Qwen/Qwen3-0.6B", "LiquidAI/LFM2-1.2B");
    const { run: plain } = await resolveFiles({ "train.py": other }, "train.py");
    assert.deepEqual([plain?.adapter?.targetModules, plain?.adapter?.modulesToSave], [["q_proj", "lm_head"], []]);
  });

  it("puts adapters on the chosen parts of a model of several kinds", async () => {
    const { run, said } = await resolved("", ", finetune_vision_layers=False, finetune_mlp_modules=False", "FastModel");
    const pattern = run.adapter?.targetModules;
    assert.ok(typeof pattern === "string");
    const matches = (path: string): boolean => new RegExp(`^(?:${pattern})$`).test(path);
    assert.ok(matches("model.language_model.layers.0.self_attn.q_proj") && matches("model.layers.3.self_attn.q_proj"));
    assert.ok(!matches("model.language_model.layers.0.mlp.up_proj"));
    assert.ok(!matches("model.vision_tower.encoder.layers.0.self_attn.q_proj"));
    assert.doesNotMatch(said, /picture/);
    const named = await resolved("", ', target_modules=["q_proj"], finetune_vision_layers=False', "FastModel");
    assert.match(String(named.run.adapter?.targetModules), /\(\?:q_proj\)/);
  });

  it("counts what its switches choose", async () => {
    const all = ["vision_layers", "language_layers", "attention_modules", "mlp_modules"];
    const { said } = await resolved("", all.map((name) => `, finetune_${name}=True`).join(""), "FastVisionModel");
    assert.doesNotMatch(said, /uncounted|finetune_/);
  });

  it("generates with an engine whose weights are the model's own, which may stand by while it trains", async () => {
    const grpo = (load: string, before = "") => `${before}from unsloth import FastLanguageModel
from trl import GRPOConfig, GRPOTrainer
model, tokenizer = FastLanguageModel.from_pretrained("Qwen/Qwen3-0.6B", load_in_4bit=False, fast_inference=True${load})
model = FastLanguageModel.get_peft_model(model, r=8)
args = GRPOConfig(output_dir="o", max_prompt_length=64, max_completion_length=64)
GRPOTrainer(model=model, reward_funcs=[score], args=args, train_dataset=data).train()
`;
    const pin = "runs:\n  - match: '*'\n    device: { name: RTX 4090 }\n";
    const read = async (text: string) => {
      const { run } = await resolveFiles({ "train.py": text, ".vramlens.yaml": pin }, "train.py");
      assert.ok(run);
      return run;
    };
    const run = await read(grpo(", gpu_memory_utilization=0.6"));
    const rollout = run.trainer?.rollout;
    assert.ok(rollout && run.trainer);
    assert.equal(rollout.sharesWeights, true);
    assert.equal(rollout.sync, undefined);
    const family = graphsWithTrainers(run.model.family);
    const { sharesWeights: _, ...apart } = rollout;
    const twice = { ...run, trainer: { ...run.trainer, rollout: apart } };
    const [once, both] = [run, twice].map((each) => {
      const result = simulate(each, family);
      assert.ok(result.ok, JSON.stringify(result));
      return result.simulation.ledger.peak;
    });
    // Qwen3-0.6B's 596,049,920 parameters in bfloat16.
    assert.ok(Math.abs((both! - once!) / (2 * 596_049_920) - 1) < 0.001, `${both! - once!}`);
    const standing = grpo(", gpu_memory_utilization=0.6", 'import os\nos.environ["UNSLOTH_VLLM_STANDBY"] = "1"\n');
    const standby = await read(standing);
    const card = rollout.generatingBytes / 0.6;
    const taken = standby.trainer?.rollout;
    const files = memoryRuntime({ "train.py": standing, ".vramlens.yaml": pin });
    const found = await createAnalyzer(files).analyse(uri("train.py"), {});
    const reserved = found.runs[0]?.findings.find(({ code }) => code === "vllm-reservation");
    assert.match(reserved?.message ?? "", /78 %/);
    assert.equal(taken?.sleepingBytes, 0);
    assert.ok(Math.abs((taken?.generatingBytes ?? 0) / card - 0.825 * 0.95) < 1e-6);
    const awake = await read(grpo("", 'import os\nos.environ["UNSLOTH_VLLM_STANDBY"] = "0"\n'));
    assert.equal(awake.trainer?.rollout?.sleepingBytes, awake.trainer?.rollout?.generatingBytes);
  });

  it("embeds texts in pairs with sentence-transformers' trainer, on modules of its own, in 16 bits", async () => {
    const text = `from unsloth import FastSentenceTransformer
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
model = FastSentenceTransformer.from_pretrained("BAAI/bge-m3", max_seq_length=128)
model = FastSentenceTransformer.get_peft_model(model, r=32)
args = SentenceTransformerTrainingArguments("o", per_device_train_batch_size=64)
SentenceTransformerTrainer(model=model, args=args, loss=loss).train()
`;
    const { run, suppositions } = await resolveFiles({ "train.py": text }, "train.py");
    assert.deepEqual([run?.task, run?.microBatchSize, run?.quantization], ["seq-cls", 64, null]);
    assert.deepEqual(run?.adapter?.targetModules, ["query", "key", "value", "dense"]);
    assert.equal(run?.checkpointing, null);
    assert.deepEqual([run?.trainer?.kind, run?.trainer?.candidates], ["embedding", 1]);
    assert.match(JSON.stringify(suppositions), /assume.texts/);
  });

  it("leaves modules of its list in half precision, by its release and transformers'", async () => {
    const left = async (pins: string, load = "") => {
      const files = { "train.py": script(load, "", "FastModel"), "requirements.txt": pins };
      return (await resolveFiles(files, "train.py")).run?.quantization?.skipParts ?? [];
    };
    const newest = await left("");
    for (const name of ["lm_head", "merger", "mamba", "mlp.gate", "vision_tower", "visual", "score"])
      assert.ok(newest.includes(name), name);
    assert.ok(!newest.includes("gate") && !newest.includes("out_proj"));
    const old = await left("unsloth==2025.6.1\ntransformers==4.52.4\n");
    assert.deepEqual(old, ["lm_head", "multi_modal_projector", "merger", "modality_projection", "router", "gate"]);
    assert.ok(!(await left("transformers==4.57.1\n")).includes("mlp.gate"));
    assert.deepEqual(await left("", ", load_in_4bit=False"), []);
  });

  it("runs a mixer's kernels where its last weight is none of the packed ones", async () => {
    const kernels = async (pins: string) => {
      const own = script("", "").replace("Qwen/Qwen3-0.6B", "tiiuae/Falcon-H1-0.5B-Instruct");
      const inputs = await gatherFiles({ "train.py": own, "requirements.txt": pins }, "train.py", graphsOf);
      return resolveRun(inputs, {}).run?.stateSpaceKernels;
    };
    assert.equal(await kernels(""), true);
    assert.equal(await kernels("unsloth==2025.6.1\n"), undefined);
  });

  it("packs stacked experts, whose layers see them as they are", () => {
    const moe = {
      name: "moe",
      family: "qwen3_moe",
      source: "config.json" as const,
      config: {
        model_type: "qwen3_moe",
        hidden_size: 64,
        intermediate_size: 128,
        moe_intermediate_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 16,
        num_experts: 8,
        num_experts_per_tok: 2,
        vocab_size: 100,
      },
    };
    const weights = (packsExperts: boolean): number => {
      const quantization = {
        type: "nf4" as const,
        double: true,
        prepareForKbit: false,
        computeDtype: "bfloat16" as const,
        ...(packsExperts ? { packsExperts } : {}),
      };
      const result = simulate(causalRun({ model: moe, loadDtype: "bfloat16", quantization }), graphsOf("qwen3_moe"));
      assert.ok(result.ok, JSON.stringify(result));
      return result.simulation.ledger.live;
    };
    const experts = 2 * 8 * 3 * 64 * 32;
    const saved = weights(false) - weights(true);
    assert.ok(saved > 1.3 * experts && saved < 1.5 * experts, `${saved} of ${2 * experts}`);
  });
});
