/** Liger's switch: what it does to which model, and where a framework's switches need more. */
import { strict as assert } from "node:assert";
import { LEVERS } from "../../src/core/advise/levers";
import type { TrainingRun } from "../../src/core/training/run";
import { causalRun } from "../core/runs";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const PINS = 'runs:\n  - match: "*"\n    model: ./model\n    sequence_length: 64\n';
const GPT2 = { model_type: "gpt2", n_embd: 64, n_layer: 2, n_head: 4, vocab_size: 512, n_positions: 1024 };

async function runOf(text: string, config: object = TINY_LLAMA, main = "train.yaml"): Promise<TrainingRun> {
  const files = { [main]: text, ".vramlens.yaml": PINS, "model/config.json": JSON.stringify(config) };
  const { run } = await resolveFiles(files, main);
  assert.ok(run);
  return run;
}

const TRAIN = "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n";

describe("analysis: Liger", () => {
  it("fuses the loss of model types in its map, and leaves others alone", async () => {
    const switched = `${TRAIN}use_liger_kernel: true\n`;
    assert.equal((await runOf(switched)).fusedLoss, true);
    assert.equal((await runOf(switched, GPT2)).fusedLoss, false);
    // Granite's function fuses no head by itself (apply_liger_kernel_to_granite).
    assert.equal((await runOf(switched, { ...TINY_LLAMA, model_type: "granite" })).fusedLoss, false);
  });

  it("is offered to every family it knows and no other", () => {
    const lever = LEVERS.find(({ id }) => id === "fused-loss");
    const offered = (family: string): boolean => {
      const { model } = causalRun({});
      return lever?.options(causalRun({ model: { ...model, family } })).length === 1;
    };
    for (const family of ["llama", "deepseek_v3", "olmo3", "exaone4", "nemotron", "gpt_oss"])
      assert.ok(offered(family));
    for (const family of ["gpt2", "bloom", "opt", "phi", "gpt_neox", "granite"]) assert.ok(!offered(family));
  });

  it("is read where a script calls it: behind the load without the model it reaches the loss alone", async () => {
    const script = (before: string, after: string, loader = "AutoModelForCausalLM") =>
      `from liger_kernel.transformers import ${loader}, apply_liger_kernel_to_llama
from transformers import Trainer, TrainingArguments
${before}
model = ${loader}.from_pretrained("./model")
${after}
args = TrainingArguments("out", per_device_train_batch_size=2, bf16=True)
Trainer(model=model, args=args, train_dataset=data).train()
`;
    for (const [before, after, loss, layers, loader] of [
      ["", "", false, false],
      ["apply_liger_kernel_to_llama()", "", true, true],
      ["apply_liger_kernel_to_llama(rms_norm=False)", "", true, "gates"],
      ["apply_liger_kernel_to_llama(swiglu=False, fused_linear_cross_entropy=False)", "", false, "norms"],
      ["", "apply_liger_kernel_to_llama()", true, false],
      ["", "apply_liger_kernel_to_llama(model=model)", true, true],
      ["", "", true, true, "AutoLigerKernelForCausalLM"],
    ] as const) {
      const run = await runOf(script(before, after, loader), TINY_LLAMA, "train.py");
      assert.deepEqual([run.fusedLoss, run.fusedLayers], [loss, layers], `${before}|${after}|${loader}`);
    }
  });

  it("gives no fused loss where ms-swift computes the loss of each token itself, but its layers", async () => {
    const swift =
      "model: ./model\nattn_impl: sdpa\ntuner_type: full\ndataset_num_proc: 4\nmax_length: 64\nuse_liger_kernel: true\noutput_dir: out\nbf16: true\nper_device_train_batch_size: 2\n";
    const lever = LEVERS.find(({ id }) => id === "fused-loss");
    for (const [more, fused] of [
      ["", true],
      ["loss_scale: last_round\n", true],
      ["loss_scale: ignore_empty_think\n", true],
      ["loss_scale: hermes\n", false],
      ["loss_scale: last_round+react+ignore_empty_think\n", false],
      ["loss_scale: hermes\nis_binary_loss_scale: true\n", true],
      ["is_binary_loss_scale: false\n", false],
      ["enable_dft_loss: true\nenable_channel_loss: false\n", false],
      ["enable_channel_loss: true\n", false],
    ] as const) {
      const run = await runOf(`${swift}${more}`, TINY_LLAMA, "sft.yaml");
      assert.deepEqual([run.fusedLoss, run.fusedLayers], [fused, true], more);
      assert.equal(lever?.options(run).length, 0, more);
    }
  });

  it("is only for the types that LLaMA-Factory hands over", async () => {
    const factory =
      "model_name_or_path: ./model\nfinetuning_type: full\ntemplate: x\ncutoff_len: 64\nenable_liger_kernel: true\n";
    const of = async (type: string): Promise<boolean> =>
      (await runOf(`${factory}output_dir: out\nbf16: true\n`, { ...TINY_LLAMA, model_type: type }, "lf.yaml"))
        .fusedLoss;
    assert.deepEqual([await of("llama"), await of("smollm3")], [true, false]);
  });

  it("reads axolotl's words for checkpoints that wait on the host", async () => {
    const axolotl = "base_model: ./model\ndatasets: []\nmicro_batch_size: 2\nsequence_len: 512\n";
    const of = async (value: string): Promise<unknown[]> => {
      const { checkpointing, offloadsActivations } = await runOf(
        `${axolotl}gradient_checkpointing: ${value}\n`,
        TINY_LLAMA,
        "axolotl.yml",
      );
      return [checkpointing !== null, checkpointing?.offloads, offloadsActivations];
    };
    assert.deepEqual(await of("true"), [true, undefined, undefined]);
    assert.deepEqual(await of("offload"), [true, undefined, "once"]);
    assert.deepEqual(await of("unsloth"), [true, true, undefined]);
  });

  it("takes axolotl's chunked cross-entropy for a loss over whole logits", async () => {
    const axolotl = "base_model: ./model\ndatasets: []\nmicro_batch_size: 2\nsequence_len: 512\n";
    const run = await runOf(`${axolotl}chunked_cross_entropy: true\n`, TINY_LLAMA, "axolotl.yml");
    assert.equal(run.fusedLoss, false);
    assert.deepEqual(run.chunkedLoss, { chunks: 8, compiled: true, keepsLogits: true, whole: true });
  });
});
