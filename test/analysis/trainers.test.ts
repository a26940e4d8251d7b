/** TRL's trainers from configs: which trainer a document means, which models it keeps, what is said. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const DPO = `model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct
dataset_name: pairs
per_device_train_batch_size: 2
output_dir: out
dtype: bfloat16
beta: 0.1
`;

async function runsOf(text: string, name = "dpo.yaml", requirements = "") {
  const files = { [name]: text, "requirements.txt": requirements };
  const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(name), {});
  return analysis.runs;
}

async function peakOf(text: string, name?: string): Promise<number> {
  const [run] = await runsOf(text, name);
  assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
  return run.perDevice.allocatedPeakBytes;
}

/** Weights of Qwen2.5-0.5B in bfloat16, in bytes. */
const WEIGHTS = 494_032_768 * 2;

describe("analysis: trainers of TRL", () => {
  it("DPO keeps a reference model, unless adapters are trained or it is precomputed", async () => {
    const full = await peakOf(DPO);
    const precomputed = await peakOf(`${DPO}precompute_ref_log_probs: true\n`);
    assert.ok(Math.abs(full - precomputed - WEIGHTS) < 0.01 * WEIGHTS, `${full - precomputed}`);
    const adapted = `${DPO}use_peft: true\n`;
    const [own, without] = [await peakOf(adapted), await peakOf(`${adapted}precompute_ref_log_probs: true\n`)];
    assert.ok(own - without < 0.01 * WEIGHTS, `${own - without}`);
  });

  it("is told by the class in Python and by the command in a script", async () => {
    const python = `from trl import DPOConfig, DPOTrainer
args = DPOConfig(output_dir="out", per_device_train_batch_size=2, model_init_kwargs={"dtype": "bfloat16"})
trainer = DPOTrainer(model="Qwen/Qwen2.5-0.5B-Instruct", args=args)
`;
    const shell =
      "trl dpo --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --dtype bfloat16 --dataset_name pairs --per_device_train_batch_size 2 --output_dir out\n";
    const wanted = await peakOf(DPO);
    assert.equal(await peakOf(python, "train.py"), wanted);
    assert.equal(await peakOf(shell, "run.sh"), wanted);
  });

  it("says that everything after the first token counts as scored, and what settles it", async () => {
    const [run] = await runsOf(DPO);
    assert.ok(run?.assumptions.some(({ settleWith }) => settleWith === "max_prompt_length"));
    const [shorter] = await runsOf(`${DPO}max_prompt_length: 900\n`);
    assert.ok(!shorter?.assumptions.some(({ settleWith }) => settleWith === "max_prompt_length"));
  });

  it("gives no number for versions whose loss holds all logits", async () => {
    const [run] = await runsOf(DPO, "dpo.yaml", "trl==0.24.0\n");
    assert.equal(run?.perDevice, null);
    assert.ok(run.findings.some(({ message }) => message.includes("1.15")));
  });

  it("says why axolotl's own trainers get no number", async () => {
    const axolotl =
      "base_model: Qwen/Qwen2.5-0.5B-Instruct\nrl: dpo\nmicro_batch_size: 1\nsequence_len: 512\ndatasets: []\n";
    const [run] = await runsOf(axolotl, "axolotl.yaml");
    assert.equal(run?.perDevice, null);
    assert.ok(run.findings.some(({ message }) => /axolotl trains DPO/.test(message)));
  });

  const GRPO = `model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct
dataset_name: prompts
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
num_generations: 4
max_completion_length: 128
max_prompt_length: 64
output_dir: out
dtype: bfloat16
`;

  it("GRPO generates all completions of its accumulation at once, and says with what cache", async () => {
    const [run] = await runsOf(GRPO);
    const phases = run?.perDevice?.phases.map(({ phase }) => phase) ?? [];
    assert.ok(phases.includes("generation"), phases.join());
    // 8 sequences of 191 tokens, 24 layers of 2 heads of 64 keys and 64 values, 2 bytes each
    assert.equal(run?.perDevice?.keyValueCacheBytes, 8 * 191 * 24 * 2 * (64 + 64) * 2);
  });

  it("GRPO keeps a reference model when beta is not 0", async () => {
    const difference = (await peakOf(`${GRPO}beta: 0.04\n`)) - (await peakOf(GRPO));
    assert.ok(Math.abs(difference - WEIGHTS) < 0.01 * WEIGHTS, `${difference}`);
  });

  it("colocated vLLM takes its share of the card, and only while generating when it sleeps", async () => {
    const pins = "device: { name: 24GB, count: 1 }\n";
    const peak = async (more: string): Promise<number> => {
      const files = { "grpo.yaml": `${GRPO}use_vllm: true\n${more}`, ".vramlens.yaml": `runs:\n  - ${pins}` };
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("grpo.yaml"), {});
      return analysis.runs[0]?.perDevice?.allocatedPeakBytes ?? 0;
    };
    const elsewhere = await peak("vllm_mode: server\n");
    const beside = await peak("vllm_gpu_memory_utilization: 0.4\n");
    assert.equal(Math.round((beside - elsewhere) / 2 ** 30), Math.round(0.4 * 24));
    const asleep = await peak("vllm_gpu_memory_utilization: 0.4\nvllm_enable_sleep_mode: true\n");
    assert.ok(asleep < beside);
  });
});

describe("analysis: losses of TRL's trainers", () => {
  it("are read for TRL's runs only", async () => {
    const reads = async (text: string): Promise<boolean> => {
      const read: string[] = [];
      const runtime = memoryRuntime({ "train.yaml": text });
      const recording = {
        ...runtime,
        readModelData: (path: string) => {
          read.push(path);
          return runtime.readModelData(path);
        },
      };
      await createAnalyzer(recording).analyse(uri("train.yaml"), {});
      assert.ok(read.includes("graphs/qwen2.json"));
      return read.includes("trainers/trl.json");
    };
    const run = "output_dir: out\nmodel_name_or_path: Qwen/Qwen2.5-0.5B\nper_device_train_batch_size: 1\n";
    assert.equal(await reads(run), false);
    assert.equal(await reads(`${run}beta: 0.1\nmax_length: 64\nprecompute_ref_log_probs: false\n`), true);
  });
});
