/** How many simulations a search for plans takes, and how long: the core alone, on runs that do not fit. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { searchPlans } from "../src/core/advise/search";
import { estimate } from "../src/core/estimate";
import type { ModelConfig, TrainingRun } from "../src/core/training/run";
import { graphsOf } from "../test/core/receipts/case";
import { causalRun } from "../test/core/runs";

const root = join(__dirname, "..");
const MOST_ESTIMATES = 48;
const ENOUGH_ESTIMATES = 16;
const DEVICE = { name: "NVIDIA GeForce RTX 4090", memoryBytes: 24564 * 2 ** 20, architecture: "ada", count: 1 };

export interface SearchFigure {
  readonly what: string;
  readonly estimates: number;
  readonly plans: number;
  /** Milliseconds of every repetition. */
  readonly durations: readonly number[];
}

function json<T>(...path: readonly string[]): T {
  return JSON.parse(readFileSync(join(root, ...path), "utf8"));
}

function fullFineTune(sample: string): TrainingRun {
  return causalRun({
    model: {
      name: sample,
      family: "llama",
      source: "config.json",
      config: json<ModelConfig>("samples", sample, "model", "config.json"),
    },
    microBatchSize: 8,
    sequenceLength: 1024,
    gradientAccumulationSteps: 2,
    device: DEVICE,
  });
}

/** Searches each run `times` times over, nothing remembered in between. */
export function searchFigures(times = 7): readonly SearchFigure[] {
  const graphs = graphsOf("llama");
  return [
    { what: "16 layers (1.2 B)", run: fullFineTune("llama-1b") },
    { what: "32 layers (8 B)", run: fullFineTune("llama-8b-zero3") },
  ].map(({ what, run }) => {
    const durations: number[] = [];
    let estimates = 0;
    let plans = 0;
    for (let round = 0; round < times; round++) {
      const started = performance.now();
      const result = searchPlans(
        run,
        (changed, enough) => {
          const found = estimate(changed, graphs, "peaks", enough);
          return found.ok ? found.estimate : null;
        },
        {
          limitBytes: Math.floor(0.9 * 23.5 * 2 ** 30),
          maxEstimates: MOST_ESTIMATES,
          enoughEstimates: ENOUGH_ESTIMATES,
          // No file of these runs could hold them: there is no launch script.
          without: ["more-gpus", "expandable-segments"],
        },
      );
      durations.push(performance.now() - started);
      estimates = result.estimates;
      plans = result.plans.length;
    }
    return { what, estimates, plans, durations };
  });
}
