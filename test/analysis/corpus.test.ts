/** Real files through the whole analysis: valid reports, no error on what the library accepts, edits that change one thing. */

import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { reportSchema } from "../../src/core/report/schema";
import { FORMATS, recogniseFormat } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";
import type { LocatedSetting } from "../../src/formats/types";
import { applyEdits } from "../../src/syntax/edit";
import type { SettingName } from "../../src/terms/settings";
import { describeCorpus } from "../corpus";
import { memoryRuntime, uri } from "./memory-runtime";

/** Errors that are right: what the file's own library would do. */
const RIGHT: Readonly<Record<string, readonly string[]>> = {
  "deepspeed/axolotl-ai-cloud+axolotl__deepspeed-zero3.json": ["syntax"],
  "deepspeed/hiyouga+LLaMA-Factory__deepspeed-ds_z3_fp8_config.json": ["duplicate-key"],
  "deepspeed/microsoft+DeepSpeedExamples__ds_config_nvme.json": ["invalid-value", "unknown-key"],
  "deepspeed/microsoft+DeepSpeedExamples__ds_zero_stage_infinity_config.json": ["unknown-key"],
};

/** Changes that any trainer's or DeepSpeed's file must take. */
const CHANGES: readonly (readonly [SettingName, string | number | boolean])[] = [
  ["micro_batch_size", 3],
  ["gradient_accumulation_steps", 7],
  ["gradient_checkpointing", true],
  ["max_grad_norm", 0.5],
  ["zero_stage", 3],
];

const shown = ({ key, value, node }: LocatedSetting): string => JSON.stringify([key, value, node.kind]);

describeCorpus("analysis: corpus", (entries) => {
  it("gives a valid report and no false error for every file", async () => {
    const wrong: string[] = [];
    let runs = 0;
    for (const { file, text } of entries) {
      // Estimates are other tests' business: without graphs the reading is what counts.
      const runtime = memoryRuntime({ [file]: text }, { "catalogue.json": undefined });
      const analysis = await createAnalyzer(runtime).analyse(uri(file), {});
      reportSchema.parse(analysis.report);
      runs += analysis.runs.length;
      for (const finding of analysis.runs.flatMap((run) => run.findings)) {
        if (finding.severity === "error" && !RIGHT[file]?.includes(finding.code))
          wrong.push(`${file}: ${finding.code} ${finding.message}`);
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(runs >= 0.99 * entries.length, `${runs} of ${entries.length}`);
  });

  it("edits change the intended setting and no other", () => {
    const ours = new Set(["hf-training-arguments", "trl", "deepspeed"]);
    let edits = 0;
    for (const { file, text } of entries) {
      const document = parseDocument(uri(file), text);
      const format = document === undefined ? undefined : recogniseFormat(document)?.format;
      if (document === undefined || format === undefined || !ours.has(format.id) || format.carrier !== undefined)
        continue;
      const before = format.read(document).settings;
      for (const [name, value] of CHANGES) {
        const result = format.edit(document, [{ name, value }]);
        if ("refused" in result) continue;
        edits++;
        const after = parseDocument(document.uri, applyEdits(document.text, result.edits));
        assert.ok(after);
        const read: readonly LocatedSetting[] = format.read(after).settings;
        const changed: LocatedSetting | undefined = read.findLast((setting) => setting.name === name);
        assert.equal(changed?.value, value, `${file}: ${name}`);
        const others = (list: readonly LocatedSetting[]): string[] =>
          list.filter((setting) => setting.key !== changed?.key && setting.node.kind !== "map").map(shown);
        assert.deepEqual(others(read), others(before), `${file}: ${name}`);
      }
    }
    assert.ok(edits > 100, `only ${edits} edits`);
  });

  it("survives files cut off anywhere", () => {
    const samples = entries.filter((_, index) => index % 12 === 0);
    for (const { file, text: whole } of samples) {
      const text = whole.slice(0, 4000);
      for (let end = 0; end < text.length; end += 97) {
        const document = parseDocument(uri(file), text.slice(0, end));
        if (document === undefined) continue;
        for (const format of FORMATS) {
          if (format.recognise(document).confidence === 0) continue;
          for (const setting of format.read(document).settings)
            assert.ok(setting.valueSpan.end <= document.text.length);
        }
      }
    }
  });
});
