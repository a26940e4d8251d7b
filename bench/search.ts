/** How many simulations a search for plans takes, and how long: the core alone, on runs that do not fit. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { searchPlans } from "../src/core/advise/search";
import { estimate } from "../src/core/estimate";
import type { FamilyGraphs } from "../src/core/graph/types";
import type { ModelConfig, TrainingRun } from "../src/core/training/run";

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
  return {
    model: {
      name: sample,
      family: "llama",
      source: "config.json",
      config: json<ModelConfig>("samples", sample, "model", "config.json"),
    },
    task: "causal-lm",
    microBatchSize: 8,
    sequenceLength: 1024,
    targetLength: 0,
    imageSize: 0,
    gradientAccumulationSteps: 2,
    loadDtype: "float32",
    autocast: null,
    attention: "sdpa",
    checkpointing: null,
    optimizer: { name: "adamw_torch_fused", args: {} },
    maxGradNorm: 1,
    adapter: null,
    quantization: null,
    fusedLoss: false,
    labelSmoothing: 0,
    parallel: {
      worldSize: 1,
      tensorParallel: 1,
      pipelineParallel: 1,
      contextParallel: 1,
      expertParallel: 1,
      deepspeed: null,
      fsdp: null,
    },
    libraries: {
      torch: "2.11",
      transformers: "5.17",
      peft: "0.21",
      deepspeed: "0.19",
      accelerate: "1.15",
      trl: "1.0",
      bitsandbytes: "0.50",
    },
    device: DEVICE,
  };
}

/** Searches each run `times` times over, nothing remembered in between. */
export function searchFigures(times = 7): readonly SearchFigure[] {
  const graphs = json<FamilyGraphs>("models", "graphs", "llama.json");
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
        (changed) => {
          const found = estimate(changed, graphs, "peaks");
          return found.ok ? found.estimate : null;
        },
        {
          limitBytes: Math.floor(0.9 * 23.5 * 2 ** 30),
          maxEstimates: MOST_ESTIMATES,
          enoughEstimates: ENOUGH_ESTIMATES,
        },
      );
      durations.push(performance.now() - started);
      estimates = result.estimates;
      plans = result.plans.length;
    }
    return { what, estimates, plans, durations };
  });
}
