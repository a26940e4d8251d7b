import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { TASKS } from "../../src/terms/names";

const config = z.looseObject({ model_type: z.string().min(1) });
const schema = z.strictObject({
  schema: z.literal("vram-lens/catalogue/1"),
  counted: z.strictObject({ transformers: z.string(), torch: z.string() }),
  mirrors: z.array(z.string()),
  models: z.array(
    z.strictObject({
      name: z.string().regex(/^[\w.-]+\/[\w.-]+$/),
      aliases: z.array(z.string().regex(/^([\w.-]+\/)?[\w.-]+$/)).optional(),
      task: z.enum([...TASKS, "none"]).optional(),
      license: z.string().min(1),
      stated: z.string().regex(/^[\d.]+[MB]$/),
      note: z.string().optional(),
      parameters: z.number().int().positive(),
      config,
    }),
  ),
});

const text = readFileSync(join(__dirname, "../../models/catalogue.json"), "utf8");
const catalogue = schema.parse(JSON.parse(text));

/** Parameters of a decoder with gated MLP and RMS norms, from its config alone. */
function decoderParameters(config: Readonly<Record<string, unknown>>, qkvBias: boolean, headNorms: boolean): number {
  const number = (key: string) => Number(config[key]);
  const [hidden, inner, layers] = [number("hidden_size"), number("intermediate_size"), number("num_hidden_layers")];
  const [heads, groups] = [number("num_attention_heads"), number("num_key_value_heads")];
  const head = config["head_dim"] === undefined ? hidden / heads : number("head_dim");
  const bias = (width: number) => (qkvBias ? width : 0);
  const attention = 2 * hidden * heads * head + bias(heads * head) + 2 * (hidden * groups * head + bias(groups * head));
  const layer = attention + 3 * hidden * inner + 2 * hidden + (headNorms ? 2 * head : 0);
  const embeddings = number("vocab_size") * hidden * (config["tie_word_embeddings"] === true ? 1 : 2);
  return embeddings + layers * layer + hidden;
}

describe("models/catalogue.json", () => {
  it("is compact: one model a line, under 512 kB", () => {
    assert.ok(text.length < 512_000, String(text.length));
    assert.equal(text.split("\n").length, catalogue.models.length + 3);
  });

  it("holds more than 900 models under more than 1600 names", () => {
    assert.ok(catalogue.models.length > 900, String(catalogue.models.length));
    assert.ok(catalogue.models.flatMap((model) => [model.name, ...(model.aliases ?? [])]).length > 1600);
  });

  it("has every repository once", () => {
    const owner = new Map<string, string>();
    for (const model of catalogue.models) {
      const organisation = model.name.split("/")[0];
      for (const one of [model.name, ...(model.aliases ?? [])]) {
        const name = (one.includes("/") ? one : `${organisation}/${one}`).toLowerCase();
        assert.equal(owner.get(name), undefined, name);
        owner.set(name, model.name);
      }
    }
  });

  it("says an activation that is not the family's default", () => {
    // GPT-2's default `gelu_new` is made of seven operators that keep tensors, Cerebras-GPT's `gelu` is one.
    const cerebras = catalogue.models.filter(({ name }) => name.startsWith("cerebras/Cerebras-GPT"));
    assert.equal(cerebras.length, 7);
    for (const { name, config } of cerebras) assert.equal(config["activation_function"], "gelu", name);
  });

  it("has counts that round to the stated ones", () => {
    for (const { name, stated, parameters, note } of catalogue.models) {
      if (note !== undefined) continue;
      const value = Number(stated.slice(0, -1)) * (stated.endsWith("B") ? 1e9 : 1e6);
      assert.ok(Math.abs(value - parameters) < 0.025 * parameters, `${name}: ${parameters} against ${stated}`);
    }
  });

  for (const [family, qkvBias, headNorms] of [
    ["llama", false, false],
    ["mistral", false, false],
    ["qwen2", true, false],
    ["qwen3", false, true],
  ] as const) {
    it(`agrees with the formula of ${family}`, () => {
      const models = catalogue.models.filter(
        ({ config, task }) => config.model_type === family && task === undefined && config["mlp_bias"] !== true,
      );
      assert.ok(models.length >= 9);
      for (const { name, config, parameters } of models)
        assert.equal(decoderParameters(config, qkvBias, headNorms), parameters, name);
    });
  }

  it("knows counts published to the last digit", () => {
    const published: Readonly<Record<string, number>> = {
      "meta-llama/Llama-3.1-8B": 8_030_261_248,
      "meta-llama/Llama-3.2-1B": 1_235_814_400,
      "meta-llama/Llama-2-7b-hf": 6_738_415_616,
      "mistralai/Mistral-7B-v0.1": 7_241_732_096,
      "mistralai/Mixtral-8x7B-v0.1": 46_702_792_704,
      "Qwen/Qwen2.5-7B": 7_615_616_512,
      "Qwen/Qwen2.5-0.5B": 494_032_768,
      "Qwen/Qwen3-8B": 8_190_735_360,
      "google/gemma-2-2b": 2_614_341_888,
      "openai-community/gpt2": 124_439_808,
      "EleutherAI/pythia-1.4b": 1_414_647_808,
      "microsoft/resnet-50": 25_557_032,
      "Qwen/Qwen2.5-VL-7B-Instruct": 8_292_166_656,
      "openai/gpt-oss-20b": 20_914_757_184,
    };
    for (const [name, count] of Object.entries(published))
      assert.equal(catalogue.models.find((model) => model.name === name)?.parameters, count, name);
  });
});
