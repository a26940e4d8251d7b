/** Analysis threads of a server that is a Web Worker itself. */
import type { CreateProgram } from "./errands";
import type { Thread, ThreadSource } from "./remote";
import { THREAD_DATA } from "./thread-data";

/** A Web Worker, as far as it is used. */
interface WebWorker {
  postMessage(message: unknown): void;
  terminate(): void;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onerror: ((event: { readonly message?: string }) => void) | null;
}

/** What a worker's global scope has for it. */
interface Scope {
  readonly Worker?: new (url: string, options: { readonly name: string }) => WebWorker;
  importScripts?(url: string): void;
  /** What the program leaves where it is loaded by `importScripts`. */
  readonly VramLensAnalysis?: { readonly createProgram: CreateProgram };
}

/** @param program URL of the bundled `worker.ts`, once the client said it */
export function webThreads(program: () => string | undefined, log: (message: string) => void): ThreadSource {
  const scope = globalThis as unknown as Scope;
  return {
    log,
    start: () => {
      const url = program();
      if (scope.Worker === undefined || url === undefined) throw new Error("workers cannot start workers here");
      return thread(new scope.Worker(url, { name: THREAD_DATA }));
    },
    here: async () => {
      const url = program();
      if (url !== undefined && scope.VramLensAnalysis === undefined) scope.importScripts?.(url);
      const found = scope.VramLensAnalysis;
      if (found === undefined) throw new Error("the analysis cannot be loaded");
      return found.createProgram;
    },
  };
}

function thread(worker: WebWorker): Thread {
  return {
    post: (message) => worker.postMessage(message),
    listen: (handler) => {
      worker.onmessage = ({ data }) => handler(data);
    },
    end: () => worker.terminate(),
    onGone: (handler) => {
      worker.onerror = ({ message }) => handler(message ?? "it failed");
    },
  };
}
