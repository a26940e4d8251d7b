/** Keys that change memory and that nothing is computed from: they are named, unless they ask for nothing. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { axolotl } from "../../src/formats/axolotl";
import { parseDocument } from "../../src/formats/parse";
import type { LocatedSetting } from "../../src/formats/types";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const BASE = "base_model: ./model\ndatasets: []\nmicro_batch_size: 2\nsequence_len: 512\n";

async function uncounted(lines: string): Promise<readonly string[]> {
  const files = { "axolotl.yml": BASE + lines, "model/config.json": JSON.stringify(TINY_LLAMA) };
  const { suppositions } = await resolveFiles(files, "axolotl.yml");
  return suppositions.flatMap(({ message }) =>
    message.id === "assume.uncounted" ? String(message.args["keys"]).split(", ") : [],
  );
}

describe("analysis: keys that are not counted", () => {
  it("are named where they ask for something", async () => {
    assert.deepEqual(await uncounted("relora: true\nlisa_n_layers: 4\ntiled_mlp: true\n"), [
      "relora ↓",
      "lisa_n_layers ↓",
      "tiled_mlp ↓",
    ]);
    assert.deepEqual(await uncounted("relora: false\nlisa_n_layers:\ntiled_mlp: false\nadapter: lora\n"), []);
    // A block leaves it to its keys, and what costs no GPU memory is none of it.
    assert.deepEqual(await uncounted("qat:\n  weight_dtype: int4\nlow_cpu_mem_usage: true\n"), ["qat.weight_dtype ↑"]);
  });

  it("leave a band of which nothing is claimed", async () => {
    const claim = async (lines: string) => {
      const files = { "axolotl.yml": `${BASE}bf16: true\n${lines}`, "model/config.json": JSON.stringify(TINY_LLAMA) };
      const [run] = (await createAnalyzer(memoryRuntime(files)).analyse(uri("axolotl.yml"), {})).runs;
      assert.ok(run?.perDevice);
      return run.statement.claim;
    };
    assert.match((await claim("")) ?? "", /^\d\d % of measured runs/);
    assert.equal(await claim("relora: true\n"), undefined);
  });

  it("are gpt-neox's experts and grouped heads, which its captured code has not, and what Megatron sends to the host", async () => {
    const said = async (main: string, text: string) => {
      const { suppositions } = await resolveFiles({ [main]: text }, main);
      return suppositions.flatMap(({ message }) => (message.id === "assume.uncounted" ? [message.args["keys"]] : []));
    };
    const neox = (more: string) =>
      `{ "num_layers": 2, "hidden_size": 128, "num_attention_heads": 4, "seq_length": 64, "max_position_embeddings": 64, ${more} "pipe_parallel_size": 1, "model_parallel_size": 1, "train_micro_batch_size_per_gpu": 1 }`;
    assert.deepEqual(await said("a.yml", neox('"num_kv_heads": 4, "moe_num_experts": 1,')), []);
    assert.deepEqual(await said("a.yml", neox('"num_kv_heads": 2, "moe_num_experts": 8,')), [
      "num_kv_heads ↓, moe_num_experts ↑",
    ]);
    const megatron =
      "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 128 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 " +
      "--micro-batch-size 1 --global-batch-size 1 --vocab-size 512 --bf16 --optimizer-cpu-offload\n";
    assert.deepEqual(await said("a.sh", megatron), ["optimizer_cpu_offload ↓"]);
  });

  it("are layers that a script replaces and an optimizer from elsewhere, and not one that is read", async () => {
    const script = (before: string, given: string) =>
      [
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments",
        'model = AutoModelForCausalLM.from_pretrained("./model")',
        before,
        `Trainer(model, TrainingArguments("o"), optimizers=${given}).train()`,
      ].join("\n");
    const said = async (before: string, given: string) => {
      const files = { "train.py": script(before, given), "model/config.json": JSON.stringify(TINY_LLAMA) };
      const { suppositions } = await resolveFiles(files, "train.py");
      return suppositions.flatMap(({ message }) => (message.id === "assume.uncounted" ? [message.args["keys"]] : []));
    };
    assert.deepEqual(await said("opt = torch.optim.AdamW(model.parameters(), amsgrad=True)", "(opt, None)"), []);
    assert.deepEqual(await said("", "(None, schedule)"), []);
    assert.deepEqual(await said("from ours import make", "make(model)"), ["optimizers"]);
    const cut = (slice: string) => `model.model.layers = nn.ModuleList(list(model.model.layers)[${slice}])`;
    assert.deepEqual(await said(cut("::2"), "(None, None)"), []);
    assert.deepEqual(await said(cut("::step"), "(None, None)"), ["model.model.layers"]);
    const others = "model.model.layers = nn.ModuleList(teacher.model.layers[:1])";
    assert.deepEqual(await said(others, "(None, None)"), ["model.model.layers"]);
    assert.deepEqual(await said("model.model.layers = model.model.layers[:1]", "(None, None)"), []);
    const many = "del model.model.layers[1:]\n".repeat(65);
    assert.ok((await said(many, "(None, None)")).includes("model.model.layers"));
    assert.deepEqual(await said("if short:\n    del model.model.layers[1:]", "(None, None)"), ["model.model.layers"]);
  });

  it("are all of those that stand for no setting", () => {
    for (const { key, memory, name, also, type } of axolotl.keys) {
      if (!memory || name !== null || also !== undefined || type === "map" || key.includes(".")) continue;
      const value = type === "boolean" ? "true" : type === "integer" || type === "number" ? "7" : "something";
      const document = parseDocument("file:///w/axolotl.yml", `${BASE}${key}: ${value}\n`);
      assert.ok(document);
      const { settings } = axolotl.read(document);
      const stated = settings.find((setting: LocatedSetting) => setting.key === key);
      assert.equal(stated?.uncounted, true, key);
    }
  });
});
