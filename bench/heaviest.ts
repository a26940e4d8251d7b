/**
 * What runs that take long cost beside an ordinary one, in one process and side by side, so that the ratios hold on any
 * machine; writes a part of docs/performance.md.
 *
 * usage: npm run heaviest
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../src/analysis";
import type { DocumentAnalysis } from "../src/analysis/analyzer";
import { estimate } from "../src/core/estimate";
import { graphsOf } from "../test/core/receipts/case";
import { replaceBlock } from "./blocks";
import { resolvedCluster } from "./clusters/page";
import { CLUSTER_RUNS } from "./clusters/runs";
import { CASES } from "./gaps";
import { MemoryFiles, memoryRuntime } from "./memory";

const PAGE = join(__dirname, "..", "docs", "performance.md");
const SAMPLE = join(__dirname, "..", "samples", "llama-8b-zero3", "model", "config.json");
const ORDINARY = "Llama-3.1-8B, every weight, checkpointing: an ordinary run";
const ROUNDS = 9;
/** Rounds of the ordinary run before any counts: the engine's code is compiled then. */
const UNTIL_COMPILED = 30;
/** Rounds of every other run that do not count. */
const WARM = 4;

/** Milliseconds of processor time of this process, whatever else runs on the machine. */
function spent(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The least that `body` takes: what the machine can do when nothing else runs on it. */
async function least(rounds: number, body: (round: number) => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const started = spent();
    await body(round);
    best = Math.min(best, spent() - started);
  }
  return best;
}

function cases(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const ordinary = {
    "train.yaml": "output_dir: o\nper_device_train_batch_size: 2\nbf16: true\ngradient_checkpointing: true\n",
    ".vramlens.yaml":
      "runs:\n  - match: train.yaml\n    model: ./model\n    task: causal-lm\n    sequence_length: 2048\n    dtype: bfloat16\n",
    "model/config.json": readFileSync(SAMPLE, "utf8"),
  };
  return { [ORDINARY]: ordinary, ...CASES };
}

/** Whole answers without plans, each after a limit of gradients never seen before. */
async function answers(): Promise<ReadonlyMap<string, number>> {
  const files = new MemoryFiles();
  const analyzer = createAnalyzer(memoryRuntime(files));
  const costs = new Map<string, number>();
  let limit = 0;
  for (const [index, [what, texts]] of Object.entries(cases()).entries()) {
    const folder = `file:///cases/heaviest-${index}`;
    for (const [name, text] of Object.entries(texts)) files.write(`${folder}/${name}`, text);
    const uri = `${folder}/train.yaml`;
    const ask = async (): Promise<DocumentAnalysis> => {
      files.write(uri, `${texts["train.yaml"]}max_grad_norm: ${1 + ++limit / 64}\n`);
      analyzer.invalidate(uri);
      return analyzer.analyse(uri, { plans: false, device: "A100-80GB" });
    };
    // A file that is no run without its companions says nothing here.
    if ((await ask()).runs.length === 0) continue;
    await least(what === ORDINARY ? UNTIL_COMPILED : WARM, ask);
    costs.set(what, await least(ROUNDS, ask));
  }
  return costs;
}

/** Estimates of one rank of each role of the runs that docs/clusters.md works out. */
async function clusters(): Promise<ReadonlyMap<string, number>> {
  const costs = new Map<string, number>();
  for (const [index, cluster] of CLUSTER_RUNS.entries()) {
    const run = await resolvedCluster(cluster, `file:///cases/cluster-${index}`);
    const graphs = graphsOf(run.model.family);
    await least(WARM, () => estimate(run, graphs));
    costs.set(cluster.title, await least(ROUNDS, () => estimate(run, graphs)));
  }
  return costs;
}

async function main(): Promise<void> {
  const costs = new Map([...(await answers()), ...(await clusters())]);
  const ordinary = costs.get(ORDINARY) ?? Number.NaN;
  const rows = [...costs].map(
    ([what, cost]) => `| ${what} | ${cost.toFixed(cost < 10 ? 1 : 0)} ms | ${(cost / ordinary).toFixed(1)} |`,
  );
  const text = ["| run | processor time | times the ordinary one |", "|---|--:|--:|", ...rows].join("\n");
  console.log(text);
  writeFileSync(PAGE, replaceBlock(readFileSync(PAGE, "utf8"), "heaviest", text));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
