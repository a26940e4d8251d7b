/** Weights that configs leave as they are, to what is trained. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import type { ReportRun } from "../../src/core/report/schema";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

const { hidden_size: HIDDEN, intermediate_size: INNER, num_hidden_layers: LAYERS, vocab_size: WORDS } = TINY_LLAMA;
const KEYS = (HIDDEN / TINY_LLAMA.num_attention_heads) * TINY_LLAMA.num_key_value_heads;
const ATTENTION = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEYS;
const LAYER = ATTENTION + 3 * HIDDEN * INNER + 2 * HIDDEN;
const TABLES = (TINY_LLAMA.tie_word_embeddings ? 1 : 2) * HIDDEN * WORDS;

async function runOf(files: Readonly<Record<string, string>>): Promise<ReportRun> {
  const model = { "model/config.json": JSON.stringify(TINY_LLAMA) };
  const main = Object.keys(files)[0]!;
  const analysis = await createAnalyzer(memoryRuntime({ ...model, ...files })).analyse(uri(main), {});
  const run = analysis.runs[0];
  assert.ok(run);
  return run;
}

const llamaFactory = (lines: string): Readonly<Record<string, string>> => ({
  "train.yaml": `model_name_or_path: ./model\nstage: sft\nfinetuning_type: freeze\ndataset: d\ntemplate: llama3\ncutoff_len: 64\nper_device_train_batch_size: 1\nbf16: true\n${lines}`,
});
const axolotl = (patterns: string): Readonly<Record<string, string>> => ({
  "train.yaml": `base_model: ./model\nsequence_len: 64\nmicro_batch_size: 1\nbf16: true\ndatasets:\n  - path: d\n    type: alpaca\nunfrozen_parameters: ${patterns}\n`,
});
const swift = (lines: string): Readonly<Record<string, string>> => ({
  "train.yaml": `model: ./model\ntuner_type: full\ndataset: d\nmax_length: 64\nper_device_train_batch_size: 1\ntorch_dtype: bfloat16\n${lines}`,
});

describe("weights that are left as they are", () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, number])[] = [
    ["LLaMA-Factory: the last two layers by default", llamaFactory(""), 2 * LAYER],
    ["LLaMA-Factory: the first layer", llamaFactory("freeze_trainable_layers: -1\n"), LAYER],
    [
      "LLaMA-Factory: a module of the last layer, and the norm after it",
      llamaFactory("freeze_trainable_layers: 1\nfreeze_trainable_modules: self_attn\nfreeze_extra_modules: norm\n"),
      // Texts that names hold: `norm` is also in the names of the layers' own norms.
      ATTENTION + (2 * LAYERS + 1) * HIDDEN,
    ],
    ["axolotl: a layer", axolotl('["model.layers.0.self_attn"]'), ATTENTION],
    ["axolotl: rows of a weight have the whole weight's gradient", axolotl('["^model.norm.weight$[:8]"]'), HIDDEN],
    ["ms-swift: all but what begins so", swift("freeze_parameters: [model.layers]\n"), TABLES + HIDDEN],
    [
      "ms-swift: the first share, and what is trained all the same",
      swift("freeze_parameters_ratio: 1\ntrainable_parameters: [model.norm]\n"),
      HIDDEN,
    ],
    [
      "pins: names that a pattern is found in",
      {
        "train.yaml": "output_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 1e-5\nbf16: true\n",
        ".vramlens.yaml":
          'runs:\n  - match: "train.yaml"\n    model: ./model\n    sequence_length: 64\n    trained_parameters: ["norm"]\n',
      },
      (2 * LAYERS + 1) * HIDDEN,
    ],
  ];
  for (const [name, files, elements] of cases)
    it(name, async () => {
      const run = await runOf(files);
      assert.equal(run.model?.trainableParameters, elements);
    });

  it("LLaMA-Factory raises what is trained, and nothing else, to float32", async () => {
    const weights = async (lines: string): Promise<number> => {
      const run = await runOf(llamaFactory(`freeze_trainable_layers: 1\n${lines}`));
      return run.perDevice?.components.find(({ kind }) => kind === "weights")?.bytes ?? 0;
    };
    // The norms are smaller than a block of the allocator either way.
    assert.equal((await weights("")) - (await weights("pure_bf16: true\n")), 2 * (LAYER - 2 * HIDDEN));
  });
});
