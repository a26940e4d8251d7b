/** Captured graphs at the sizes of published models: as many parameters as PyTorch counts, whatever the depth. */
import { strict as assert } from "node:assert";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configView, selectGraph, sizesOf } from "../../src/core/graph/config";
import type { FamilyGraphs } from "../../src/core/graph/types";
import { placeTensors } from "../../src/core/training/placed";
import type { ModelConfig, Task } from "../../src/core/training/run";
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

const OWN_WIDTH = "heads of a width of their own (head_dim)";
const CUT_GRID = "a grid whose side is odd before it is halved";

/** What the graph of the family leaves out, and the models that have it. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "stabilityai/stablelm-2-12b": "a norm of each head's own (qk_layernorm)",
  "facebook/levit-128S": CUT_GRID,
  "facebook/levit-128": CUT_GRID,
  "facebook/levit-192": CUT_GRID,
  "facebook/levit-256": CUT_GRID,
  "facebook/levit-384": CUT_GRID,
  "facebook/regnet-x-080": "a stage narrower than one group",
  "zai-org/GLM-OCR": OWN_WIDTH,
  "zai-org/GLM-4.5V": OWN_WIDTH,
  "microsoft/speecht5_asr": "the groups of the convolution of positions (num_conv_pos_embedding_groups)",
};

/** Parameters of the model's graph, or null where its task has none. */
function counted(graphs: FamilyGraphs, { task = "causal-lm", config }: Entry): number | null {
  if (task === "none") return null;
  const view = configView(graphs, config, sizesOf(causalRun({ task })));
  const graph = selectGraph(graphs, task, "sdpa", view.scope);
  if (graph === undefined) return null;
  return placeTensors(graph.parameters, view, "float32")
    .filter(({ sharedWith }) => sharedWith === null)
    .reduce((sum, { sizes }) => sum + sizes.reduce((product, size) => product * size, 1), 0);
}

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
