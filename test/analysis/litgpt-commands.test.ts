/** litgpt's commands without a config: the model is a word of them, and what they leave open is the program's standard. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

async function started(command: string) {
  const files = { "train.sh": `${command}\n`, "model/config.json": JSON.stringify(TINY_LLAMA) };
  const { run } = await resolveFiles(files, "train.sh");
  assert.ok(run, command);
  return run;
}

describe("analysis: litgpt's commands", () => {
  it("fine-tune with LoRA unless they are another program", async () => {
    for (const name of ["finetune", "finetune_lora"]) {
      const run = await started(`litgpt ${name} ./model --data Alpaca --train.micro_batch_size 4 --lora_mlp true`);
      assert.deepEqual([run.microBatchSize, run.gradientAccumulationSteps, run.adapter?.rank], [4, 4, 8]);
      assert.match(String(run.adapter?.targetModules), /q_proj.*v_proj.*gate_proj/);
    }
    const whole = await started("litgpt finetune_full ./model --devices 2 --train.max_seq_length=128");
    assert.deepEqual([whole.adapter, whole.microBatchSize, whole.sequenceLength], [null, 1, 128]);
    assert.deepEqual([whole.parallel.worldSize, whole.parallel.fsdp?.sharding], [2, "full_shard"]);
  });

  it("are in mixed precision unless they say another (litgpt/utils.py, get_default_supported_precision)", async () => {
    const dtypes = async (command: string) => {
      const { loadDtype, autocast } = await started(command);
      return [loadDtype, autocast];
    };
    assert.deepEqual(await dtypes("litgpt finetune_full ./model"), ["float32", "bfloat16"]);
    assert.deepEqual(await dtypes("litgpt finetune_full ./model --precision bf16-true"), ["bfloat16", null]);
  });

  it("pretrain with their own batch and no adapter", async () => {
    const { microBatchSize, gradientAccumulationSteps, adapter } = await started("litgpt pretrain ./model --devices 1");
    assert.deepEqual([microBatchSize, gradientAccumulationSteps, adapter], [4, 128, null]);
  });

  it("with a config are that config's launcher, and others are none of them", async () => {
    const files = { "train.sh": "litgpt chat ./model\nlitgpt finetune_lora ./model --config lora.yaml\n" };
    const { runs } = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.sh"), {});
    assert.ok(runs.every(({ perDevice }) => perDevice === null));
  });

  it("are changed by their own words", async () => {
    const files = {
      "train.sh": "litgpt finetune_full ./model --train.micro_batch_size 64 --train.max_seq_length 2048\n",
      "model/config.json": JSON.stringify({ ...TINY_LLAMA, vocab_size: 32000 }),
    };
    const { runs } = await createAnalyzer(memoryRuntime(files)).analyse(uri("train.sh"), {
      device: "8GB",
      plans: true,
    });
    const edits = (runs[0]?.plans ?? []).flatMap((plan) => plan.edits.map(({ newText }) => newText));
    assert.ok(edits.length > 0);
  });
});
