/**
 * Reports of configs whose loop is the reference's, as JSON; what `npm run verify` compares with PyTorch.
 *
 * usage: node --require ./scripts/typescript.cjs bench/reference-check.ts FILE ...
 */
import { resolve } from "node:path";
import { collect } from "../src/analysis/collect";
import { createNodeRuntime, uriOf } from "../src/host/node";
import { referenceAnalyzer } from "./reference";

async function main(): Promise<void> {
  const named = process.argv.slice(2).map((path) => resolve(path));
  const runtime = createNodeRuntime({
    workspaceFolders: [process.cwd()],
    packageDirectory: resolve(__dirname, "..", "dist"),
    env: process.env,
    named,
  });
  const inputs = named.map((path) => ({ uri: uriOf(path), shown: path }));
  const report = await collect(referenceAnalyzer(runtime), runtime.files, inputs, { plans: false }, "reference");
  process.stdout.write(JSON.stringify(report));
}

main();
