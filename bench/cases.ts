/** Time of a warm estimate over the cases with known peaks: one key changed, everything else read before. */
import { createAnalyzer } from "../src/analysis";
import { MemoryFiles, memoryRuntime } from "./memory";
import { documentsOf, readKnownPeaks, resultsFile } from "./oracle";

/** Each case is estimated so often; the best counts. */
const ROUNDS = 3;

/** Milliseconds of this process, whatever else runs on the machine. */
function spent(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of processor time per case, in the order of the file; empty when there are no cases. */
export async function warmEstimates(): Promise<readonly number[]> {
  const file = resultsFile(undefined);
  if (file === undefined) return [];
  const files = new MemoryFiles();
  const analyzer = createAnalyzer(memoryRuntime(files));
  const durations: number[] = [];
  for (const { case: one } of readKnownPeaks(file)) {
    const folder = `file:///cases/${one.id}`;
    const uri = `${folder}/train.yaml`;
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round <= ROUNDS; round++) {
      // A limit never seen before, so that no estimate of it is kept; every one clips the same.
      const documents = documentsOf({ ...one, max_grad_norm: 1 + round / 64 });
      for (const [name, text] of Object.entries(documents))
        if (round === 0 || name === "train.yaml") files.write(`${folder}/${name}`, text);
      analyzer.invalidate(uri);
      const started = spent();
      await analyzer.analyse(uri, { plans: false });
      if (round > 0) best = Math.min(best, spent() - started);
    }
    durations.push(best);
  }
  return durations;
}
