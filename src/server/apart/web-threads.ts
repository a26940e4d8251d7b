/** Analysis threads of a server that is a Web Worker itself. */
import type { Loader } from "./program";
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
  /** What `thread.ts` leaves where it is loaded by `importScripts`. */
  readonly VramLensThread?: Loader;
}

/** @param program URL of the packed analysis program, once the client said it; `thread.js` stands beside it */
export function webThreads(program: () => string | undefined, log: (message: string) => void): ThreadSource {
  const scope = globalThis as unknown as Scope;
  const entryOf = (url: string): string => new URL("thread.js", url).href;
  return {
    log,
    start: () => {
      const url = program();
      if (scope.Worker === undefined || url === undefined) throw new Error("workers cannot start workers here");
      const worker = new scope.Worker(entryOf(url), { name: THREAD_DATA });
      worker.postMessage(url);
      return thread(worker);
    },
    here: async () => {
      const url = program();
      if (url !== undefined && scope.VramLensThread === undefined) scope.importScripts?.(entryOf(url));
      const found = scope.VramLensThread;
      if (url === undefined || found === undefined) throw new Error("the analysis cannot be loaded");
      return (await found.loaded(url)).createProgram;
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
