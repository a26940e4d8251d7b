import { strict as assert } from "node:assert";
import { stoppingArguments, type Versions } from "../../src/formats/hf-scripts/accepted";
import { parsePython } from "../../src/syntax/python";

/** `Class.argument` of what Python stops at, with the release that refuses it and what was meant. */
function refused(code: string, versions: Versions = {}): readonly string[] {
  const { python } = parsePython(code);
  assert.ok(python);
  return stoppingArguments(python, versions).map(({ className, argument, library, version, near }) =>
    [`${className}.${argument.key}`, library, version, near].filter((part) => part !== undefined).join(" "),
  );
}

describe("arguments that a class refuses", () => {
  it("a misspelt one is refused in every release, and what was meant is said", () => {
    const code = "from transformers import TrainingArguments\nTrainingArguments('out', gradient_checkpoint=True)\n";
    assert.deepEqual(refused(code), ["TrainingArguments.gradient_checkpoint transformers gradient_checkpointing"]);
    const letter = "import trl\ntrl.SFTConfig(max_lenght=512)\n";
    assert.deepEqual(refused(letter), ["SFTConfig.max_lenght trl max_length"]);
  });

  it("one that a release had is refused by a release that is said, and by nothing else", () => {
    const code = "from trl import SFTConfig\nSFTConfig(max_seq_length=512)\n";
    assert.deepEqual(refused(code), []);
    assert.deepEqual(refused(code, { trl: "0.15.0" }), []);
    assert.deepEqual(refused(code, { trl: "1.16.0" }), ["SFTConfig.max_seq_length trl 1.16.0"]);
  });

  it("one behind a condition that may ask for the release is let pass", () => {
    const code = (argument: string): string =>
      `import sys\nfrom trl import SFTConfig\nif sys.argv[1] == "old":\n    SFTConfig(${argument}=512)\n`;
    assert.deepEqual(refused(code("max_seq_length"), { trl: "1.16.0" }), []);
    assert.deepEqual(refused(code("max_lenght"), { trl: "1.16.0" }), ["SFTConfig.max_lenght trl 1.16.0 max_length"]);
  });

  it("what a class has of another library's follows that library's release", () => {
    const code = "from trl import SFTConfig\nSFTConfig(evaluation_strategy='steps')\n";
    assert.deepEqual(refused(code, { trl: "1.16.0" }), []);
    assert.deepEqual(refused(code, { trl: "1.16.0", transformers: "5.17.0" }), [
      "SFTConfig.evaluation_strategy transformers 5.17.0",
    ]);
  });

  it("a class is known by another name, too", () => {
    assert.deepEqual(refused("from peft import LoraConfig as Lora\nLora(rank=8)\n"), ["LoraConfig.rank peft"]);
  });

  it("a name that is only known when the script runs is none", () => {
    const code =
      "from transformers import TrainingArguments\nTrainingArguments('out', **{name: 1, f'{name}_steps': 2})\n";
    assert.deepEqual(refused(code), []);
    assert.deepEqual(refused(code.replace("name: 1", "'nam': 1")), ["TrainingArguments.nam transformers"]);
  });

  it("Unsloth's classes in the place of TRL's take more", () => {
    const call = "from trl import GRPOConfig\nGRPOConfig(vllm_sampling_params=params)\n";
    assert.deepEqual(refused(call), ["GRPOConfig.vllm_sampling_params trl"]);
    assert.deepEqual(refused(`from unsloth import FastLanguageModel\n${call}`), []);
  });

  it("a class of one's own of the same name, or one that is not imported from its library, takes what it takes", () => {
    assert.deepEqual(refused("from .config import ModelConfig\nModelConfig(dim=512)\n"), []);
    assert.deepEqual(
      refused("from peft import LoraConfig\nclass LoraConfig:\n  rank: int = 8\nLoraConfig(rank=8)\n"),
      [],
    );
  });
});
