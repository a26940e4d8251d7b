/** Real files of these formats: recognised as their index says, no error on what the library accepts. */
import { strict as assert } from "node:assert";
import { recogniseFormat } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";
import { describeCorpus } from "../corpus";

/** Ids that a name of the index may be recognised as. */
const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  deepspeed: ["deepspeed"],
  "hf-trl": ["trl", "hf-training-arguments"],
};

/** Files that are not what their folder says, each with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "deepspeed/EleutherAI+gpt-neox__base_model.json": "model part of a gpt-neox config; no DeepSpeed key in it",
};

/** Files whose library rejects them, each with the reason: errors are right there. */
const REJECTED: Readonly<Record<string, string>> = {
  "deepspeed/hiyouga+LLaMA-Factory__deepspeed-ds_z3_fp8_config.json": "steps_per_print twice: DeepSpeed raises",
  "deepspeed/microsoft+DeepSpeedExamples__ds_config_nvme.json":
    "reuse distance -1 and a key that starts with `_`: pydantic rejects both",
  "deepspeed/microsoft+DeepSpeedExamples__ds_zero_stage_infinity_config.json":
    "stage3_param_persitence_threshold: pydantic rejects it",
};

describeCorpus("formats: corpus", (entries) => {
  for (const entry of entries) {
    const accepted = ACCEPTED[entry.format];
    if (accepted === undefined) continue;
    it(entry.file, () => {
      const uri = `file:///corpus/${entry.file}`;
      const document = parseDocument(uri, entry.text);
      assert.ok(document);
      const recognised = recogniseFormat(document);
      if (EXCEPTIONS[entry.file] !== undefined) return;
      assert.ok(
        recognised !== undefined && accepted.includes(recognised.format.id),
        `recognised as ${recognised?.format.id}`,
      );
      const { problems, settings } = recognised.format.read(document);
      const errors = problems.filter((problem) => problem.severity === "error");
      if (REJECTED[entry.file] === undefined) {
        assert.deepEqual(
          errors.map((problem) => [
            problem.message.id,
            problem.message.args,
            document.text.slice(problem.start, problem.end),
          ]),
          [],
        );
      }
      for (const setting of settings) {
        const last = setting.key.split(".").at(-1) ?? "";
        assert.ok(
          document.text.slice(setting.keySpan.start, setting.keySpan.end).includes(last),
          `place of ${setting.key}`,
        );
      }
    });
  }
});
