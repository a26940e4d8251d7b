/** OpenRLHF's own loops: transformers' models in a DeepSpeed engine, losses over whole logits in float32 (openrlhf/models/actor.py). */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { memoryRuntime, uri } from "./memory-runtime";

const GIB = 2 ** 30;

/** The run of a command of OpenRLHF's on eight GPUs. */
async function runOf(program: string, options: string) {
  const command = `deepspeed --num_gpus 8 --module openrlhf.cli.${program} ${options}\n`;
  const [run] = (await createAnalyzer(memoryRuntime({ "train.sh": command })).analyse(uri("train.sh"), {})).runs;
  assert.ok(run);
  return run;
}

type Run = Awaited<ReturnType<typeof runOf>>;

function partOf(run: Run, kind: string): number {
  const bytes = run.perDevice?.components.find((component) => component.kind === kind)?.bytes;
  return (bytes ?? 0) / GIB;
}

const MODEL = "--model.model_name_or_path meta-llama/Meta-Llama-3-8B --model.gradient_checkpointing_enable";

describe("analysis: OpenRLHF", () => {
  it("scores whole logits in float32, and names them until the next micro-batch's", async () => {
    const logits = async (micro: number): Promise<number> => {
      const run = await runOf(
        "train_sft",
        `${MODEL} --train.micro_batch_size ${micro} --data.max_len 2048 --ds.zero_stage 3`,
      );
      assert.ok(run.assumptions.some(({ id }) => id === "assume.from-source"));
      return partOf(run, "logits-and-loss");
    };
    // The head's result in bfloat16 and float32, and that of the micro-batch before.
    const one = (2048 * 128_256 * 10) / GIB;
    const more = (await logits(16)) - (await logits(8));
    assert.ok(Math.abs(more - 8 * one) < 0.01 * more, `${more} of ${8 * one}`);
  });

  it("takes what its programs have by default", async () => {
    const run = await runOf("train_sft", MODEL);
    const value = (name: string) => run.settings.find((setting) => setting.name === name)?.value;
    assert.deepEqual(
      [
        "micro_batch_size",
        "sequence_length",
        "zero_stage",
        "attention",
        "load_dtype",
        "gradient_accumulation_steps",
      ].map(value),
      [8, 2048, 2, "flash_attention_2", "bfloat16", 2],
    );
  });

  it("keeps DPO's reference beside the policy, and puts one score in the place of a reward model's head", async () => {
    const dpo = await runOf("train_dpo", `${MODEL} --ds.zero_stage 2 --train.micro_batch_size 1`);
    const sft = await runOf("train_sft", `${MODEL} --ds.zero_stage 2 --train.micro_batch_size 1 --data.max_len 512`);
    assert.ok(Math.abs(partOf(dpo, "weights") - 2 * partOf(sft, "weights")) < 0.1);
    const reward = await runOf("train_rm", `${MODEL} --ds.zero_stage 2`);
    assert.equal(reward.model?.parameters, 8_030_261_248 - 128_255 * 4096);
  });

  it("says that its reinforcement learning is not followed", async () => {
    const run = await runOf("train_ppo_ray", "--actor.model_name_or_path meta-llama/Meta-Llama-3-8B");
    assert.equal(run.perDevice, null);
    assert.ok(run.findings.some(({ code, message }) => code === "not-modelled" && message.includes("reinforcement")));
  });
});
