/** Analysis threads of a Node process. */
import { Worker } from "node:worker_threads";
import type { Loader } from "./program";
import type { Thread, ThreadSource } from "./remote";
import { THREAD_DATA } from "./thread-data";

/** Heap that a thread may take before it is ended, in MiB: the largest run that is followed takes about half. */
const LARGEST_HEAP = 1024;
/**
 * Young generation, in MiB: what a process has without asking. A run's tensors live until its step ends; where there is less room
 * they are copied over and over, which takes half as long again. At rest nothing of it is held (`thread.ts`).
 */
const YOUNG = 48;

/** @param entry absolute path of the bundled `thread.ts` */
export function nodeThreads(entry: string, log: (message: string) => void): ThreadSource {
  return {
    log,
    start: () => startThread(entry),
    here: async () => (await (require(entry) as Loader).loaded()).createProgram,
  };
}

function startThread(entry: string): Thread {
  const worker = new Worker(entry, {
    workerData: THREAD_DATA,
    resourceLimits: { maxOldGenerationSizeMb: LARGEST_HEAP, maxYoungGenerationSizeMb: YOUNG },
  });
  // The server ends when its client goes, whatever its thread does.
  worker.unref();
  let ended = false;
  return {
    post: (message) => worker.postMessage(message),
    listen: (handler) => {
      worker.on("message", handler);
      worker.unref();
    },
    end: () => {
      ended = true;
      void worker.terminate();
    },
    onGone: (handler) => {
      let why = "it ended";
      worker.on("error", (error) => {
        why = error instanceof Error ? error.message : String(error);
      });
      worker.on("exit", () => {
        if (!ended) handler(why);
      });
    },
  };
}
