/** Plans and stages in every format whose keys they write: what is promised is what the edited files say, to the byte. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { CURVES } from "../../src/analysis/hover/curves";
import { t } from "../../src/analysis/messages";
import type { ReportRun } from "../../src/core/report/schema";
import type { DrawnName } from "../../src/terms/tried";
import { memoryRuntime, uri } from "./memory-runtime";
import { edited, type Files, promisesOf } from "./promises";
import { LLAMA, WHOLE_RUNS, type WholeRun } from "./whole-runs";

async function analyse(files: Files, main: string, device: string | null, plans: boolean): Promise<ReportRun> {
  const options = { ...(device === null ? {} : { device }), reserve: 0.1, plans, guide: plans };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(main), options)).runs;
  assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
  return run;
}

/** A number as `--set` takes it, of one that is shown with its digits in groups. */
const plain = (value: string): string => (/^\d{1,3}(?:,\d{3})+$/.test(value) ? value.replaceAll(",", "") : value);

describe("analysis: what plans promise in every format", () => {
  for (const [name, { main, text, beside, count }] of Object.entries(WHOLE_RUNS))
    it(name, async () => {
      const files: Files = {
        [main]: text,
        "model/config.json": JSON.stringify(LLAMA),
        ".vramlens.yaml": `runs:\n  - match: "${main}"\n    sequence_length: 1024\n`,
        ...beside,
      };
      const used = (await analyse(files, main, `${count}x80GB`, false)).perDevice?.usedPeakBytes ?? 0;
      const device = `${count}x${Math.round((0.7 * used) / 2 ** 20)}MiB`;
      const promises = promisesOf(await analyse(files, main, device, true));
      assert.ok(promises.length > 1);
      for (const { what, edits, usedPeakBytes } of promises) {
        const after = await analyse(edited(files, edits), main, device, false);
        assert.equal(after.perDevice?.usedPeakBytes, usedPeakBytes, what);
      }
    });
});

/** Settings by the label that hovers give their curves. */
const BY_LABEL: ReadonlyMap<string, DrawnName> = new Map(
  Object.values(CURVES).map(({ label, override }) => [t("en", label), override]),
);

const SWITCHES: Readonly<Record<string, string>> = { on: "true", off: "false" };

/** Runs that say in other ways what their values come from. */
const TOLD: Readonly<Record<string, WholeRun>> = {
  ...WHOLE_RUNS,
  "ms-swift's Megatron in 16 bits": {
    ...WHOLE_RUNS["ms-swift's Megatron"]!,
    text: `${WHOLE_RUNS["ms-swift's Megatron"]!.text.trimEnd()} --bf16 true --torch_dtype bfloat16\n`,
  },
  "LLM Foundry with variables": {
    ...WHOLE_RUNS["LLM Foundry"]!,
    text: `variables:\n  max_seq_len: 1024\n${WHOLE_RUNS["LLM Foundry"]!.text.replace("max_seq_len: 1024", `max_seq_len: $${"{variables.max_seq_len}"}`)}`,
  },
  "a command with variables": {
    ...WHOLE_RUNS["a command of the Trainer"]!,
    text: `BATCH=16\n${WHOLE_RUNS["a command of the Trainer"]!.text.replace("batch_size 16", "batch_size $BATCH")}`,
  },
};

describe("analysis: what hovers try in every format is what the edited files say", () => {
  for (const [name, { main, text, beside, count }] of Object.entries(TOLD))
    it(name, async () => {
      const files: Files = {
        [main]: text,
        "model/config.json": JSON.stringify(LLAMA),
        ".vramlens.yaml": `runs:\n  - match: "${main}"\n    sequence_length: 1024\n`,
        ...beside,
      };
      const runtime = memoryRuntime(files);
      const analyzer = createAnalyzer(runtime);
      const options = { device: `${count}x80GB` };
      const write = (texts: Files) => {
        for (const [path, written] of Object.entries(texts)) {
          runtime.write(path, written);
          analyzer.invalidate(uri(path));
        }
      };
      let held = 0;
      for (const path of Object.keys(files).filter((one) => !one.startsWith("model/"))) {
        const analysis = await analyzer.analyse(uri(path), options);
        const run = analysis.runs.find(({ perDevice }) => perDevice !== null);
        const seen = new Set<string>();
        for (const [line, words] of (files[path] ?? "").split("\n").entries())
          for (const { index } of words.matchAll(/[\w.]+/g)) {
            const curve = (await analysis.hover(line, index + 1))?.picture?.curve;
            const setting = BY_LABEL.get(curve?.label ?? "");
            if (run === undefined || curve == null || setting === undefined || seen.has(setting)) continue;
            seen.add(setting);
            for (const { value, bytes, now } of curve.points) {
              const written = analysis.whatIfEdits(run.id, { [setting]: SWITCHES[value] ?? plain(value) });
              if (now || written === null || "refused" in written) continue;
              write(edited(files, written.edits));
              const after: ReportRun | undefined = (await analyzer.analyse(uri(path), options)).runs.find(
                ({ id }) => id === run.id,
              );
              write(files);
              assert.equal(after?.perDevice?.usedPeakBytes, bytes, `${path}: ${setting} ${value}`);
              held++;
            }
          }
      }
      assert.ok(held >= 5, `${held} points`);
    });

  it("a variable has the curve of the key that it is the value of", async () => {
    for (const [name, key, label] of [
      ["LLM Foundry with variables", "max_seq_len: 1024", "tokens"],
      ["a command with variables", "BATCH=16", "micro-batch"],
    ] as const) {
      const { main, text, count } = TOLD[name]!;
      const files = { [main]: text, "model/config.json": JSON.stringify(LLAMA) };
      const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(main), { device: `${count}x80GB` });
      const line = text.split("\n").findIndex((one) => one.includes(key));
      const at = text.split("\n")[line]?.indexOf(key) ?? 0;
      for (const character of [at + 1, at + key.length - 1])
        assert.equal((await analysis.hover(line, character))?.picture?.curve?.label, label, `${name} ${character}`);
    }
  });

  it("a launcher's file is of the run that a script starts with it", async () => {
    const { main, text, beside, count } = WHOLE_RUNS["accelerate with DeepSpeed"]!;
    const files: Files = { [main]: text, "model/config.json": JSON.stringify(LLAMA), ...beside };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("launch.yaml"), {
      device: `${count}x80GB`,
    });
    for (const [line, words] of (files["launch.yaml"] ?? "").trimEnd().split("\n").entries())
      assert.match((await analysis.hover(line, words.search(/\S/) + 1))?.markdown ?? "", /Fits|no GPU memory/, words);
  });
});

describe("analysis: what hovers do not try", () => {
  it("is a rank where nothing has adapters", async () => {
    const { main, text } = WHOLE_RUNS["LLaMA-Factory"]!;
    const files = { [main]: text, "model/config.json": JSON.stringify(LLAMA) };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(main), { device: "80GB" });
    const at = (key: string) => text.split("\n").findIndex((line) => line.startsWith(`${key}:`));
    assert.equal((await analysis.hover(at("finetuning_type"), 2))?.picture?.curve ?? null, null);
    assert.notEqual((await analysis.hover(at("cutoff_len"), 2))?.picture?.curve ?? null, null);
  });

  it("is a length that a run does not count by, which is said", async () => {
    const text =
      "swift rlhf --rlhf_type grpo --model ./model --dataset d --max_length 8192 --max_completion_length 256 --num_generations 4 --per_device_train_batch_size 4\n";
    const files = { "run.sh": text, "model/config.json": JSON.stringify(LLAMA) };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("run.sh"), { device: "80GB" });
    const hover = await analysis.hover(0, text.indexOf("max_length") + 1);
    assert.equal(hover?.picture?.curve, null);
    assert.match(hover?.next ?? "", /^Not used for this estimate\.$/);
  });

  it("are values that no file can say", async () => {
    const { main, text, count } = WHOLE_RUNS["nanotron"]!;
    const files = { [main]: text };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(main), { device: `${count}x80GB` });
    const line = text.split("\n").findIndex((one) => one.includes("zero_stage"));
    const points = (await analysis.hover(line, 4))?.picture?.curve?.points ?? [];
    assert.deepEqual(
      points.map(({ value }) => value),
      ["0", "1"],
    );
  });
});

describe("analysis: a base in 4 bits", () => {
  const LORA = "output_dir: out\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\n";
  const BASES: readonly (readonly [string, string, readonly string[]])[] = [
    [
      "LLaMA-Factory",
      `model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\ndataset: d\ncutoff_len: 512\nbf16: true\n${LORA}`,
      ["quantization_bit: 4"],
    ],
    [
      "ms-swift",
      `model: Qwen/Qwen2.5-7B\ntuner_type: lora\ndataset: d\nmax_length: 512\ntorch_dtype: bfloat16\n${LORA}`,
      ["quant_bits: 4", "quant_method: bnb"],
    ],
  ];
  for (const [name, text, lines] of BASES)
    it(`is a plan of ${name}, in its own words`, async () => {
      const files: Files = { "train.yaml": text };
      const run = await analyse(files, "train.yaml", "12GB", true);
      const plan = run.plans.find(({ levers }) => levers.includes("qlora"));
      const after = edited(files, plan?.edits ?? [])["train.yaml"] ?? "";
      for (const line of lines) assert.ok(after.split("\n").includes(line), after);
      assert.doesNotMatch(after, /double/);
    });

  it("needs the package that packs it, in ms-swift", async () => {
    const [, text] = BASES[1]!;
    const peakOf = async (more: string) => {
      const run = await analyse({ "train.yaml": `${text}${more}` }, "train.yaml", null, false);
      const codes = run.findings.map(({ code }) => code);
      return { peak: run.perDevice?.usedPeakBytes ?? 0, ignored: codes.includes("ignored-key") };
    };
    const plain = await peakOf("");
    assert.deepEqual(await peakOf("quant_bits: 4\n"), { peak: plain.peak, ignored: true });
    const packed = await peakOf("quant_bits: 4\nquant_method: bnb\n");
    assert.ok(packed.peak < plain.peak / 2 && !packed.ignored);
    // Its scales are quantized, too, unless it is told otherwise.
    assert.ok(
      (await peakOf("quant_bits: 4\nquant_method: bnb\nbnb_4bit_use_double_quant: false\n")).peak > packed.peak,
    );
    assert.equal((await peakOf("quantization_bit: 4\n")).peak, packed.peak);
  });
});
