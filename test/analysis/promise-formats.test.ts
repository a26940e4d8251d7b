/** Plans and stages in every format whose keys they write: what is promised is what the edited files say, to the byte. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, uri } from "./memory-runtime";
import { edited, type Files, promisesOf } from "./promises";
import { LLAMA, WHOLE_RUNS } from "./whole-runs";

async function analyse(files: Files, main: string, device: string | null, plans: boolean): Promise<ReportRun> {
  const options = { ...(device === null ? {} : { device }), reserve: 0.1, plans, guide: plans };
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(main), options)).runs;
  assert.ok(run?.perDevice, run?.findings.map(({ message }) => message).join("; "));
  return run;
}

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

/** Settings whose curves are held, by the label that hovers give them. */
const CURVES: Readonly<Record<string, string>> = {
  "micro-batch": "micro_batch_size",
  precision: "compute_dtype",
  "ZeRO stage": "zero_stage",
};

/** The run as its files say it with a value written into them; null where they cannot say it. */
async function written(analysis: DocumentAnalysis, runId: string, set: Files): Promise<ReportRun | null> {
  const edits = analysis.whatIfEdits(runId, set);
  return edits === null || "refused" in edits ? null : ((await analysis.edited?.(runId, edits.edits)) ?? null);
}

describe("analysis: what hovers try in every format is what the edited files say", () => {
  for (const [name, { main, text, beside, count }] of Object.entries(WHOLE_RUNS))
    it(name, async () => {
      const pins = `runs:\n  - match: "${main}"\n    sequence_length: 1024\n`;
      const files: Files = {
        [main]: text,
        "model/config.json": JSON.stringify(LLAMA),
        ".vramlens.yaml": pins,
        ...beside,
      };
      const analyzer = createAnalyzer(memoryRuntime(files));
      for (const path of Object.keys(files).filter((one) => !one.startsWith("model/"))) {
        const analysis = await analyzer.analyse(uri(path), { device: `${count}x80GB` });
        const run = analysis.runs.find(({ perDevice }) => perDevice !== null);
        for (const [line, words] of (files[path] ?? "").split("\n").entries()) {
          const curve = analysis.hover(line, words.search(/\S/) + 1)?.picture?.curve;
          const setting = CURVES[curve?.label ?? ""];
          if (run === undefined || setting === undefined) continue;
          for (const { value, bytes, now } of curve?.points ?? []) {
            if (now) continue;
            const after: ReportRun | null = await written(analysis, run.id, { [setting]: value });
            assert.equal(after?.perDevice?.usedPeakBytes ?? bytes, bytes, `${path}: ${setting} ${value}`);
          }
        }
      }
    });
});

describe("analysis: what hovers do not try", () => {
  it("is a rank where nothing has adapters", async () => {
    const { main, text } = WHOLE_RUNS["LLaMA-Factory"]!;
    const files = { [main]: text, "model/config.json": JSON.stringify(LLAMA) };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(main), { device: "80GB" });
    const at = (key: string) => text.split("\n").findIndex((line) => line.startsWith(`${key}:`));
    assert.equal(analysis.hover(at("finetuning_type"), 2)?.picture?.curve ?? null, null);
    assert.notEqual(analysis.hover(at("cutoff_len"), 2)?.picture?.curve ?? null, null);
  });
});
