/** Captured graphs at the sizes of published models: as many parameters as PyTorch counts, whatever the depth. */
import { strict as assert } from "node:assert";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configView, selectGraph, sizesOf } from "../../src/core/graph/config";
import type { FamilyGraphs } from "../../src/core/graph/types";
import { placeTensors } from "../../src/core/training/placed";
import type { ModelConfig, Task, TrainingRun } from "../../src/core/training/run";
import { graphsOf } from "../core/receipts/case";
import { causalRun } from "../core/runs";

interface Entry {
  readonly name: string;
  readonly task?: Task | "none";
  readonly parameters: number;
  readonly config: ModelConfig;
}

const models = join(__dirname, "../../models");
const entries = (JSON.parse(readFileSync(join(models, "catalogue.json"), "utf8")) as { models: Entry[] }).models;
const families = new Set(entries.map(({ config }) => String(config["model_type"])));

const CUT_GRID = "a grid whose side is odd before it is halved";

/** What the graph of the family leaves out, and the models that have it. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "stabilityai/stablelm-2-12b": "a norm of each head's own (qk_layernorm)",
  "facebook/levit-128S": CUT_GRID,
  "facebook/levit-128": CUT_GRID,
  "facebook/levit-192": CUT_GRID,
  "facebook/levit-256": CUT_GRID,
  "facebook/levit-384": CUT_GRID,
  "microsoft/speecht5_asr": "the groups of the convolution of positions (num_conv_pos_embedding_groups)",
};

/** Parameters of the model's graph, or null where its task has none. */
function counted(
  graphs: FamilyGraphs,
  { task = "causal-lm", config }: Entry,
  change: Partial<TrainingRun> = {},
): number | null {
  if (task === "none") return null;
  const view = configView(graphs, config, sizesOf(causalRun({ task, imageSize: 224, ...change })));
  const graph = selectGraph(graphs, task, "sdpa", view.scope);
  if (graph === undefined) return null;
  return placeTensors(graph.parameters, view, "float32")
    .filter(({ sharedWith }) => sharedWith === null)
    .reduce((sum, { sizes }) => sum + sizes.reduce((product, size) => product * size, 1), 0);
}

/** Parameters that PyTorch counts in the class's defaults, by family (capture/facts/parameter_counts.py). */
const defaults = JSON.parse(readFileSync(join(__dirname, "default-counts.json"), "utf8")) as Record<
  string,
  readonly [Task, number]
>;

/** Families whose class defaults are no model that anybody has: what is not compared. */
const NO_MODEL: ReadonlySet<string> = new Set([
  // No positions at all, neither absolute nor relative.
  "beit",
  // Keys that every published file states.
  "hrm_text",
  "lfm2",
  "lfm2_vl",
  "nemotron_h",
  // Configs of pictures and text inside one another, whose defaults differ where they meet.
  "cohere2_vision",
  "gemma3",
  "glm_ocr",
  "lighton_ocr",
  "mistral3",
  "qwen2_5_vl",
  "qwen2_vl",
  "qwen3_5",
  "qwen3_5_moe",
]);

describe("graphs at the defaults of the config classes", () => {
  for (const [family, [task, parameters]] of Object.entries(defaults))
    if (!NO_MODEL.has(family))
      it(family, () => {
        const graphs = graphsOf(family);
        const entry: Entry = { name: family, task, parameters, config: { model_type: family } };
        // Batches and lengths decide no parameter.
        for (const change of [{ microBatchSize: 1 }, { microBatchSize: 7, sequenceLength: 33 }]) {
          const count = counted(graphs, entry, change);
          assert.ok(count === null || count === parameters, `${count}, not ${parameters}`);
        }
      });
});

describe("graphs of published models", () => {
  for (const family of families) {
    const file = join(models, "graphs", `${family}.json`);
    if (!existsSync(file)) continue;
    it(family, () => {
      const graphs = graphsOf(family);
      const own = entries.filter(({ config }) => config["model_type"] === family);
      const wrong = own.flatMap((entry) => {
        const count = counted(graphs, entry);
        return count === null || count === entry.parameters || LEFT_OUT[entry.name]
          ? []
          : [`${entry.name}: ${count}, not ${entry.parameters}`];
      });
      assert.deepEqual(wrong, []);
    });
  }
});
