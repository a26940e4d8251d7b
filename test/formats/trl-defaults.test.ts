/** Defaults of TRL's trainers by release, as `capture/facts/fields.py` read them from the config classes. */

import assert from "node:assert/strict";
import { trainerDefault } from "../../src/analysis/frameworks/defaults";
import { NEWEST } from "../../src/analysis/frameworks/versions";
import type { SettingName } from "../../src/terms/settings";

const of = (trainer: string, name: SettingName, trl: string = NEWEST.trl) =>
  trainerDefault({ trlDefaults: true }, trainer, name, { ...NEWEST, trl });

describe("defaults of TRL's trainers", () => {
  it("are those of the trainer's own class", () => {
    assert.deepEqual([of("sft", "sequence_length"), of("online-dpo", "sequence_length")], [1024, 512]);
    assert.deepEqual([of("grpo", "num_generations"), of("rloo", "num_generations")], [8, 2]);
    assert.deepEqual([of("gkd", "max_new_tokens"), of("nash-md", "max_new_tokens")], [128, 64]);
    assert.deepEqual(
      [of("dpo", "loss_type"), of("kto", "loss_type"), of("grpo", "loss_type")],
      ["sigmoid", "kto", "dapo"],
    );
  });

  it("are those of the release", () => {
    assert.deepEqual([of("grpo", "beta", "0.18.2"), of("grpo", "beta", "0.19.1")], [0.04, 0]);
    assert.deepEqual([of("grpo", "vllm_mode", "0.29.1"), of("grpo", "vllm_mode", "1.0.0")], ["server", "colocate"]);
    assert.deepEqual(
      ["1.9.0", "1.10.0"].map((trl) => of("rloo", "max_completion_length", trl)),
      [256, 512],
    );
  });

  it("are TrainingArguments' where the class said nothing yet, and none where it says nothing more", () => {
    assert.deepEqual([of("sft", "bf16", "0.18.2"), of("sft", "bf16", "0.19.1")], [false, null]);
    assert.deepEqual(
      ["0.21.0", "0.22.2"].map((trl) => of("sft", "gradient_checkpointing", trl)),
      [false, true],
    );
    assert.deepEqual([of("dpo", "max_prompt_length", "0.26.2"), of("dpo", "max_prompt_length")], [512, undefined]);
  });
});
