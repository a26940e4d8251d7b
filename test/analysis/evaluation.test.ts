/** Evaluation beside training: when it counts, what it says when it alone does not fit, and the mend. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const TRAIN = "output_dir: out\nper_device_train_batch_size: 1\nbf16: true\n";
const FILES = {
  "model/config.json": JSON.stringify({ ...TINY_LLAMA, vocab_size: 64000 }),
  ".vramlens.yaml": 'runs:\n  - match: "*"\n    model: ./model\n    sequence_length: 512\n    dtype: float32\n',
};

async function analyse(text: string, main = "train.yaml", device?: string): Promise<DocumentAnalysis> {
  return createAnalyzer(memoryRuntime({ ...FILES, [main]: text })).analyse(uri(main), { device });
}

async function runOf(text: string, main?: string, device?: string): Promise<ReportRun> {
  const [run] = (await analyse(text, main, device)).runs;
  assert.ok(run?.perDevice);
  return run;
}

const evaluationPeak = ({ perDevice }: ReportRun): number | undefined =>
  perDevice?.phases.find(({ phase }) => phase === "evaluation")?.peakBytes;

describe("analysis: evaluation", () => {
  it("counts only where the run evaluates", async () => {
    const without = await runOf(`${TRAIN}per_device_eval_batch_size: 64\n`);
    assert.equal(evaluationPeak(without), undefined);
    const run = await runOf(`${TRAIN}per_device_eval_batch_size: 64\neval_strategy: steps\n`);
    assert.equal(run.perDevice?.peakPhase, "evaluation");
    assert.equal(evaluationPeak(run), run.perDevice?.allocatedPeakBytes);
    const origins = run.perDevice?.components.flatMap(({ origins }) => origins.map(({ key }) => key)) ?? [];
    assert.ok(origins.includes("per_device_eval_batch_size"));
    assert.ok(!origins.includes("per_device_train_batch_size"));
  });

  it("takes the library's batch of 8, and axolotl's own", async () => {
    const eight = await runOf(`${TRAIN}eval_strategy: epoch\n`);
    assert.equal(evaluationPeak(eight), evaluationPeak(await runOf(`${TRAIN}eval_on_start: true\n`)));
    assert.equal(
      evaluationPeak(eight),
      evaluationPeak(await runOf(`${TRAIN}eval_strategy: epoch\nper_device_eval_batch_size: 8\n`)),
    );
    const axolotl = "base_model: ./model\ndatasets: []\nmicro_batch_size: 2\nsequence_len: 512\n";
    assert.equal(evaluationPeak(await runOf(axolotl, "axolotl.yml")), undefined);
    assert.equal(
      evaluationPeak(await runOf(`${axolotl}val_set_size: 0.1\n`, "axolotl.yml")),
      evaluationPeak(await runOf(`${axolotl}val_set_size: 0.1\neval_batch_size: 2\n`, "axolotl.yml")),
    );
  });

  it("has axolotl's length of evaluation", async () => {
    const axolotl = "base_model: ./model\ndatasets: []\nmicro_batch_size: 2\nsequence_len: 512\nval_set_size: 0.1\n";
    const short = evaluationPeak(await runOf(axolotl, "axolotl.yml")) ?? 0;
    const long = evaluationPeak(await runOf(`${axolotl}eval_sequence_len: 2048\n`, "axolotl.yml")) ?? 0;
    assert.ok(long > 2 * short, `${long} against ${short}`);
  });

  it("keeps predictions where metrics need them", async () => {
    const base = `${TRAIN}eval_strategy: epoch\nmax_eval_samples: 80\n`;
    const loss = evaluationPeak(await runOf(base)) ?? 0;
    const metric = await runOf(`${base}metric_for_best_model: accuracy\n`);
    // Ten batches of logits in float32, and the last two copies of them.
    const batch = 8 * 512 * 64000 * 4;
    assert.ok((evaluationPeak(metric) ?? 0) > 18 * batch);
    const moved = await runOf(`${base}metric_for_best_model: accuracy\neval_accumulation_steps: 1\n`);
    assert.ok((evaluationPeak(moved) ?? 0) < loss + 2 * batch);
    const only = await runOf(`${base}metric_for_best_model: accuracy\nprediction_loss_only: true\n`);
    assert.equal(evaluationPeak(only), loss);
    const unknown = await runOf(`${TRAIN}eval_strategy: epoch\nmetric_for_best_model: accuracy\n`);
    assert.ok(unknown.assumptions.some(({ settleWith }) => settleWith === "max_eval_samples"));
  });

  it("offers the largest evaluation batch when training alone fits", async () => {
    const text = `${TRAIN}per_device_eval_batch_size: 64\neval_strategy: steps\n`;
    const analysis = await analyse(text, "train.yaml", "4GB");
    const finding = analysis.runs[0]?.findings.find(({ code }) => code === "does-not-fit");
    assert.ok(finding?.range);
    // The evaluation batch is underlined, not the training batch.
    assert.equal(finding.range.start.line, 3);
    const fix = analysis.fixes(finding.range).find(({ title }) => title.startsWith("Evaluate with"));
    assert.ok(fix);
    const batch = Number(/\d+/.exec(fix.title)?.[0]);
    const hasRoom = async (count: number): Promise<boolean> => {
      const { perDevice, devices } = await runOf(text.replace("64", String(count)), "train.yaml", "4GB");
      return perDevice!.usedPeakBytes <= devices.usableBytes!;
    };
    assert.ok(await hasRoom(batch));
    assert.ok(!(await hasRoom(batch + 1)));
    assert.equal(fix.edits[0]?.newText, String(batch));
  });
});

describe("analysis: generation in evaluation", () => {
  const GENERATING = `${TRAIN}eval_strategy: steps\nper_device_eval_batch_size: 4\npredict_with_generate: true\n`;

  it("keeps keys and values of every token but the last", async () => {
    const run = await runOf(`${GENERATING}generation_max_length: 600\n`);
    const { num_hidden_layers, num_key_value_heads, hidden_size, num_attention_heads } = TINY_LLAMA;
    const width = (num_key_value_heads * hidden_size) / num_attention_heads;
    // Under autocast over float32 weights the rotary embedding leaves keys in float32, and the values follow them.
    assert.equal(run.perDevice?.keyValueCacheBytes, 2 * num_hidden_layers * 4 * 599 * width * 4);
    const beams = await runOf(`${GENERATING}generation_max_length: 600\ngeneration_num_beams: 3\n`);
    assert.equal(beams.perDevice?.keyValueCacheBytes, 3 * (run.perDevice?.keyValueCacheBytes ?? 0));
  });

  it("has LLaMA-Factory's count of new tokens, and its default", async () => {
    const factory =
      "model_name_or_path: ./model\nfinetuning_type: full\ntemplate: x\ncutoff_len: 512\noutput_dir: out\nbf16: true\n" +
      "do_eval: true\npredict_with_generate: true\nper_device_eval_batch_size: 2\n";
    const cacheOf = async (text: string) => (await runOf(text, "lf.yaml")).perDevice?.keyValueCacheBytes ?? 0;
    const standard = await cacheOf(factory);
    assert.ok(standard > 0);
    assert.equal(await cacheOf(`${factory}max_new_tokens: 1024\n`), standard);
    assert.ok((await cacheOf(`${factory}max_new_tokens: 8192\n`)) > 5 * standard);
  });

  it("says so in the hover, and what it assumes", async () => {
    const analysis = await analyse(GENERATING);
    assert.ok(analysis.runs[0]?.assumptions.some(({ settleWith }) => settleWith === "generation_max_length"));
    assert.match((await analysis.hover(5, 3))?.markdown ?? "", /key-value cache \d/);
    assert.match(
      (await (await analyse(GENERATING.replace("true\n", "false\n"))).hover(4, 3))?.markdown ?? "",
      /Evaluation peaks/,
    );
  });
});

describe("analysis: saving a checkpoint", () => {
  const FSDP1 = "fsdp: full_shard\nfsdp_config:\n  version: 1\n";
  const PIN = "device: { name: 80GB, count: 4 }\n";
  const savingPeak = async (text: string, more: Readonly<Record<string, string>> = {}): Promise<number | undefined> => {
    const pins = `${FILES[".vramlens.yaml"]}    ${PIN}`;
    const runtime = memoryRuntime({ ...FILES, ...more, ".vramlens.yaml": pins, "train.yaml": TRAIN + text });
    const [run] = (await createAnalyzer(runtime).analyse(uri("train.yaml"), {})).runs;
    assert.ok(run?.perDevice);
    return run.perDevice.phases.find(({ phase }) => phase === "saving")?.peakBytes;
  };
  const zero = (save: boolean): Readonly<Record<string, string>> => ({
    "ds.json": JSON.stringify({
      bf16: { enabled: "auto" },
      zero_optimization: { stage: 3, stage3_gather_16bit_weights_on_model_save: save },
    }),
  });

  it("counts where the Trainer puts sharded weights together, and where it writes checkpoints at all", async () => {
    assert.equal(await savingPeak(""), undefined);
    assert.ok((await savingPeak(FSDP1)) !== undefined);
    assert.equal(await savingPeak(`${FSDP1}save_strategy: "no"\n`), undefined);
    assert.equal(await savingPeak(`${FSDP1}  state_dict_type: LOCAL_STATE_DICT\n`), undefined);
  });

  it("knows what each version of FSDP does when nothing says it", async () => {
    const second = "fsdp: full_shard\nfsdp_config:\n  version: 2\n";
    assert.equal(await savingPeak(second), undefined);
    assert.ok((await savingPeak(`${second}  state_dict_type: FULL_STATE_DICT\n`)) !== undefined);
  });

  it("goes by DeepSpeed's own key under stage 3", async () => {
    assert.equal(await savingPeak("deepspeed: ds.json\n", zero(false)), undefined);
    assert.ok((await savingPeak("deepspeed: ds.json\n", zero(true))) !== undefined);
  });
});
