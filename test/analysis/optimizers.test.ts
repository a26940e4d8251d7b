/** What trainers give optimizers beside their name. */
import { strict as assert } from "node:assert";
import type { OptimizerSpec } from "../../src/core/training/run";
import { TINY_LLAMA } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const PINS = 'runs:\n  - match: "*.yaml"\n    model: ./model\n    sequence_length: 64\n';

async function optimizerOf(train: string, pins = PINS): Promise<OptimizerSpec | undefined> {
  const files = { "train.yaml": train, ".vramlens.yaml": pins, "model/config.json": JSON.stringify(TINY_LLAMA) };
  return (await resolveFiles(files, "train.yaml")).run?.optimizer;
}

const HF = "output_dir: out\nper_device_train_batch_size: 2\nbf16: true\n";
const LLAMA_FACTORY =
  "model_name_or_path: ./model\nstage: sft\nfinetuning_type: full\ndataset: d\ntemplate: llama3\noutput_dir: out\ncutoff_len: 64\n";

describe("analysis: optimizers", () => {
  it("get the decay of their groups, whatever optim_args says", async () => {
    const args = "optim: sgd\noptim_args: momentum=0.9,weight_decay=0.5\n";
    assert.deepEqual(await optimizerOf(`${HF}${args}`), { name: "sgd", args: { momentum: "0.9" } });
    assert.deepEqual(await optimizerOf(`${HF}${args}weight_decay: 0.1\n`), {
      name: "sgd",
      args: { momentum: "0.9", weight_decay: "0.1" },
    });
    // AdamW decays the parameter in place
    assert.deepEqual(await optimizerOf(`${HF}optim: adamw_torch\nweight_decay: 0.1\n`), {
      name: "adamw_torch",
      args: {},
    });
  });

  it("step in a loop before torch 2.0", async () => {
    const old = `${PINS}    libraries: { torch: "1.13" }\n`;
    assert.deepEqual(await optimizerOf(`${HF}optim: adamw_torch\n`, old), {
      name: "adamw_torch",
      args: { foreach: "False" },
    });
  });

  it("keep epsilon's sum beside the root in torch 2.0", async () => {
    const of = (torch: string) =>
      optimizerOf(`${HF}optim: adamw_torch\n`, `${PINS}    libraries: { torch: "${torch}" }\n`);
    assert.deepEqual((await of("2.0"))?.args, { denominator_apart: "True" });
    assert.deepEqual((await of("2.1"))?.args, {});
  });

  it("are told the modules they project", async () => {
    const train = `${HF}optim: galore_adamw\noptim_target_modules: [attn, mlp]\noptim_args: rank=64\n`;
    assert.deepEqual(await optimizerOf(train), {
      name: "galore_adamw",
      args: { rank: "64", optim_target_modules: "attn,mlp" },
    });
  });

  it("step in backward where torchtune says so", async () => {
    const recipe =
      "model:\n  _component_: torchtune.models.llama3_2.llama3_2_1b\nbatch_size: 2\ndtype: bf16\n" +
      "optimizer:\n  _component_: torch.optim.AdamW\n  fused: true\n";
    assert.equal((await optimizerOf(recipe))?.stepsInBackward, undefined);
    assert.equal((await optimizerOf(`${recipe}optimizer_in_bwd: true\n`))?.stepsInBackward, true);
  });

  it("train a block of layers with BAdam: the first layer, or the one its fixed mode names", async () => {
    const badam = `${LLAMA_FACTORY}use_badam: true\nbadam_mode: layer\n`;
    assert.equal((await optimizerOf(badam))?.block, 0);
    assert.equal((await optimizerOf(`${badam}badam_switch_mode: fixed\nbadam_start_block: 1\n`))?.block, 1);
    assert.equal(await optimizerOf(`${LLAMA_FACTORY}use_badam: true\nbadam_mode: ratio\n`), undefined);
  });

  it("tell Adam-mini how wide a head is", async () => {
    const optimizer = await optimizerOf(`${LLAMA_FACTORY}use_adam_mini: true\n`);
    const { hidden_size: dim, num_attention_heads: heads } = TINY_LLAMA;
    assert.deepEqual(optimizer, { name: "adam_mini", args: { dim: String(dim), n_heads: String(heads) } });
  });

  it("that are not known count as AdamW, which is said", async () => {
    const files = {
      "train.yaml": `${HF}optim: shampoo\n`,
      ".vramlens.yaml": PINS,
      "model/config.json": JSON.stringify(TINY_LLAMA),
    };
    const { run, suppositions } = await resolveFiles(files, "train.yaml");
    assert.equal(run?.optimizer.name, "adamw_torch");
    assert.ok(suppositions.some(({ message }) => message.id === "assume.optimizer-as-adamw"));
  });

  it("are chosen by LLaMA-Factory's switches", async () => {
    assert.deepEqual(await optimizerOf(`${LLAMA_FACTORY}use_galore: true\ngalore_rank: 32\ngalore_layerwise: true\n`), {
      name: "galore_adamw_layerwise",
      args: { rank: "32", proj_type: "std" },
    });
    assert.equal((await optimizerOf(`${LLAMA_FACTORY}use_apollo: true\n`))?.name, "apollo_adamw");
    assert.equal((await optimizerOf(`${LLAMA_FACTORY}use_muon: true\n`))?.name, "muon");
  });
});
