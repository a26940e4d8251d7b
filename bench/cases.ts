/**
 * Time of a warm estimate over the cases with known peaks: one key changed, everything else read before, in a process that
 * has estimated every case already, so that its code is compiled.
 */
import { createAnalyzer } from "../src/analysis";
import { MemoryFiles, memoryRuntime } from "./memory";
import { documentsOf, type OracleCase, readKnownPeaks, resultsFile } from "./oracle";

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
  const cases = readKnownPeaks(file).map(({ case: one }) => one);
  /** Processor time of an estimate that is not kept yet: a limit never seen before, which clips the same as every other. */
  const estimated = async (one: OracleCase, round: number): Promise<number> => {
    const folder = `file:///cases/${one.id}`;
    const uri = `${folder}/train.yaml`;
    const documents = documentsOf({ ...one, max_grad_norm: 1 + round / 64 });
    for (const [name, text] of Object.entries(documents))
      if (round === 0 || name === "train.yaml") files.write(`${folder}/${name}`, text);
    analyzer.invalidate(uri);
    const started = spent();
    await analyzer.analyse(uri, { plans: false });
    return spent() - started;
  };
  for (const one of cases) await estimated(one, 0);
  for (const one of cases) {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 1; round <= ROUNDS; round++) best = Math.min(best, await estimated(one, round));
    durations.push(best);
  }
  return durations;
}
