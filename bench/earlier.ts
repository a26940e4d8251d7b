/**
 * Which graphs of an earlier release of transformers (`capture/storing/earlier.py`) are worth to be stored: those by which runs take
 * another peak than by the newest ones. Writes a line of JSON for each: family, release, task, attention, the largest difference.
 *
 * usage: node --require ./scripts/typescript.cjs bench/earlier.ts RELEASE
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { estimate } from "../src/core/estimate";
import { earlierGraphs } from "../src/core/graph/earlier";
import { likeOf } from "../src/core/graph/stored";
import type { TrainingRun } from "../src/core/training/run";
import { graphsOf } from "../test/core/receipts/case";
import { causalRun } from "../test/core/runs";

const MODELS = join(__dirname, "..", "models");
const STORED = readFileSync(join(MODELS, "releases", "transformers.json"), "utf8");
const LIKE = likeOf(STORED);
const TABLE = LIKE === undefined ? undefined : readFileSync(join(MODELS, "parts", `${LIKE}.json`), "utf8");
const { until } = JSON.parse(STORED) as { until: Record<string, string> };

interface Entry {
  readonly family: string;
  readonly config: Record<string, unknown>;
}

const { models } = JSON.parse(readFileSync(join(MODELS, "catalogue.json"), "utf8")) as { models: readonly Entry[] };

/** Ways of training that show what a graph keeps: in float32, under autocast, layers recomputed, in 16 bits. */
const WAYS: readonly Partial<TrainingRun>[] = [
  {},
  { autocast: "bfloat16" },
  { autocast: "float16", checkpointing: { useReentrant: true } as TrainingRun["checkpointing"] },
  { loadDtype: "bfloat16", checkpointing: { useReentrant: false } as TrainingRun["checkpointing"] },
];

function main(release: string): void {
  const isBefore = (other: string): boolean =>
    Object.keys(until).indexOf(release) <= Object.values(until).indexOf(other);
  const seen = new Set<string>();
  for (const { config } of models) {
    const family = String(config["model_type"]);
    if (seen.has(family) || !existsSync(join(MODELS, "graphs", `${family}.json`))) continue;
    seen.add(family);
    const newest = graphsOf(family);
    const own = earlierGraphs(newest, STORED, TABLE, isBefore);
    if (own.release !== release) continue;
    for (const kind of new Set(
      own.graphs.flatMap((g) => (g.release === release ? [`${g.task} ${g.attention}`] : [])),
    )) {
      const [task, attention] = kind.split(" ") as [TrainingRun["task"], TrainingRun["attention"]];
      const model = {
        name: family,
        family,
        source: "config.json" as const,
        config: { ...config, num_hidden_layers: config["num_hidden_layers"] },
      };
      const change = {
        model,
        task,
        attention: attention === ("none" as string) ? "sdpa" : attention,
      } as Partial<TrainingRun>;
      let largest = 0;
      for (const way of WAYS) {
        const run = causalRun({
          ...change,
          microBatchSize: 8,
          sequenceLength: 256,
          targetLength: 128,
          imageSize: 224,
          ...way,
        });
        const [a, b] = [estimate(run, newest), estimate(run, own)];
        if (!(a.ok && b.ok)) {
          largest = a.ok === b.ok ? largest : 1;
          continue;
        }
        largest = Math.max(largest, Math.abs(a.estimate.allocatedPeakBytes / b.estimate.allocatedPeakBytes - 1));
      }
      console.log(JSON.stringify({ family, release, task, attention, largest: Number(largest.toFixed(5)) }));
    }
  }
}

main(process.argv[2] ?? "");
