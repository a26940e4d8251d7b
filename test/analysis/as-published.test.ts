/** How files that people publish are written: defaults of scripts without arguments, files that train nothing, adapters in a map of their own. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

async function runOf(files: Readonly<Record<string, string>>, path: string) {
  const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri(path), {})).runs;
  assert.ok(run !== undefined);
  const said = run.assumptions.map(({ what }) => what).join("\n");
  return { run, said, value: (name: string) => run.settings.find((setting) => setting.name === name)?.value };
}

const script = (name: string) => `import sys
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
name = ${name}
model = AutoModelForCausalLM.from_pretrained(name)
args = TrainingArguments(output_dir="o", per_device_train_batch_size=1)
Trainer(model=model, args=args).train()
`;

describe("files as they are published", () => {
  it("a script that takes its model from its arguments has its own default without them, which is said", async () => {
    for (const name of [
      'sys.argv[1] if len(sys.argv) > 1 else "Qwen/Qwen2.5-0.5B"',
      '"Qwen/Qwen2.5-0.5B" if len(sys.argv) < 2 else sys.argv[1]',
    ]) {
      const { value, said } = await runOf({ "a.py": script(name) }, "a.py");
      assert.equal(value("model"), "Qwen/Qwen2.5-0.5B");
      assert.match(said, /sys\.argv\[1\]/);
    }
    const { value } = await runOf({ "a.py": script("sys.argv[1] if len(sys.argv) > n else 'gpt2'") }, "a.py");
    assert.notEqual(value("model"), "gpt2");
  });

  it("what evaluates, generates or serves a model trains nothing", async () => {
    const factory = "model_name_or_path: Qwen/Qwen2.5-0.5B\ntemplate: qwen\nfinetuning_type: lora\n";
    const tune =
      "model:\n  _component_: torchtune.models.qwen2_5.qwen2_5_0_5b\ncheckpointer:\n  _component_: torchtune.training.FullModelHFCheckpointer\n" +
      "  checkpoint_dir: /tmp/Qwen2.5-0.5B\n  model_type: QWEN2\ntokenizer:\n  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer\ndtype: bf16\nbatch_size: 2\n";
    for (const written of [
      `${factory}infer_backend: vllm\n`,
      `${factory}n_shot: 5\nlang: en\n`,
      `${tune}tasks: ["a"]\nlimit: null\n`,
    ]) {
      const { run } = await runOf({ "a.yaml": written }, "a.yaml");
      assert.equal(run.perDevice, null);
      assert.match(run.findings.map(({ message }) => message).join(), /trains nothing/);
    }
  });

  it("a `peft_config` beside TrainingArguments is the run's adapter", async () => {
    const yaml = (peft: string) =>
      `model_name_or_path: Qwen/Qwen2.5-0.5B\ntraining_args:\n  output_dir: o\n  per_device_train_batch_size: 1\n  num_train_epochs: 1\n  learning_rate: 1e-4\n  save_steps: 10\n  gradient_accumulation_steps: 2\npeft_config:\n${peft}`;
    const lora = await runOf({ "a.yaml": yaml("  peft_type: LORA\n  r: 16\n") }, "a.yaml");
    assert.deepEqual(["adapter", "lora_rank"].map(lora.value), ["lora", 16]);
    const prefix = await runOf({ "a.yaml": yaml("  peft_type: PREFIX_TUNING\n  num_virtual_tokens: 8\n") }, "a.yaml");
    assert.equal(prefix.value("adapter"), "prefix-tuning");
  });

  it("options that are handed to BitsAndBytesConfig are its own", async () => {
    const files = (more: string) => ({
      "run.sh": `accelerate launch --config_file a.yaml train.py --model_name_or_path Qwen/Qwen2.5-0.5B --output_dir o --bf16 --per_device_train_batch_size 1 --use_peft_lora --lora_r 8 --use_4bit_quantization${more}\n`,
      "a.yaml":
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 2\nmixed_precision: bf16\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_use_orig_params: false\n",
    });
    const codes = async (more: string) => (await runOf(files(more), "run.sh")).run.findings.map(({ code }) => code);
    assert.ok((await codes("")).includes("quantized-sharding"));
    assert.ok(!(await codes(" --bnb_4bit_quant_storage_dtype bfloat16")).includes("quantized-sharding"));
    const nested = await runOf(files(" --use_nested_quant True"), "run.sh");
    assert.equal(nested.run.notCounted, undefined);
  });
});
