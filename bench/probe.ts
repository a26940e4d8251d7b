/**
 * What `bench/beside.ts` asks of one tree of the project: a line of JSON for each line that it reads. It stands in both trees as it
 * is, so it asks for nothing that either does not have.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createAnalyzer } from "../src/analysis";
import { MemoryFiles, memoryRuntime } from "./memory";
import { documentsOf, type OracleCase } from "./oracle";
import { searchFigures } from "./search";

/** The case of `bench/run.ts`. */
const CASE: OracleCase = {
  id: "bench-llama-3.1-8b",
  model: JSON.parse(readFileSync(join(__dirname, "..", "samples", "llama-8b-zero3", "model", "config.json"), "utf8")),
  task: "causal-lm",
  batch: 2,
  seq: 2048,
  load_dtype: "bfloat16",
  amp: "bf16",
  attn: "sdpa",
  gradient_checkpointing: true,
  optim: "adamw_torch_fused",
};

const URI = "file:///cases/bench/train.yaml";
const files = new MemoryFiles();
const analyzer = createAnalyzer(memoryRuntime(files));
let batch = 0;

/** Milliseconds of an answer after the batch size became one that was never seen before. */
async function estimated(): Promise<number> {
  const texts: Readonly<Record<string, string>> = documentsOf({ ...CASE, batch: ++batch });
  for (const [name, text] of Object.entries(texts))
    if (batch === 1 || name === "train.yaml") files.write(`file:///cases/bench/${name}`, text);
  analyzer.invalidate(URI);
  const started = performance.now();
  const { runs } = await analyzer.analyse(URI, { plans: false, device: "A100-80GB" });
  if (runs[0]?.perDevice === null) throw new Error("the benchmark's case has no estimate");
  return performance.now() - started;
}

async function answer(question: string): Promise<readonly number[]> {
  if (question === "search") return searchFigures(1).flatMap(({ durations }) => durations);
  return [await estimated()];
}

async function main(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await answer(line)));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
