/** The analysis program in Node: compiled where it ran before; a thread that rests gives memory back. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import * as v8 from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { unpacked } from "../../analysis/models/unpacked";
import { compiledFolder, startCompiled, unpackedSource } from "../../host/compiled";
import { type AnalysisModule, withLibraries } from "./program";
import { THREAD_DATA } from "./thread-data";

/** Quiet after which a thread rests: nobody is typing; milliseconds. */
const QUIET = 5000;

/**
 * What an estimate leaves behind is a third of the thread's memory, and V8 lets it lie until there is more of it; the room of young
 * objects is another third, which it gives back only where little was allocated lately. Before it counts objects of a class
 * it collects all that can be, and gives both back (v8/src/profiler/heap-profiler.cc, QueryObjects; heap/heap.cc,
 * CollectAllAvailableGarbage). Node before 20.13 counts none.
 */
function collectGarbage(): void {
  if (typeof v8.queryObjects === "function") {
    v8.queryObjects(class Nothing {}, { format: "count" });
    return;
  }
  v8.setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** @param later calls back once the program has run for a while */
export async function loaded(later: (write: () => void) => void = () => {}): Promise<AnalysisModule> {
  const folder = compiledFolder(process.env, process.platform);
  const packed = join(__dirname, "analysis.xz");
  // A build for development has it as it is.
  const isPacked = existsSync(packed);
  const file = isPacked ? packed : join(__dirname, "analysis.js");
  const source = isPacked ? { source: await unpackedSource(packed, folder, unpacked) } : {};
  const given = { ...source, require: withLibraries(createRequire(file)) };
  return startCompiled(file, folder, later, given) as AnalysisModule;
}

/** Starts the program where this is a thread for it. */
export async function start(): Promise<void> {
  if (workerData !== THREAD_DATA) return;
  const atRest: (() => void)[] = [];
  await loaded((write) => atRest.push(write));
  const rest = setTimeout(() => {
    for (const task of atRest.splice(0)) task();
    collectGarbage();
  }, QUIET).unref();
  // What the server said meanwhile waits until somebody listens.
  parentPort?.on("message", () => rest.refresh());
}
