/**
 * The analysis program, one for Node's worker threads and for Web Workers; `thread.ts` starts it. Where neither can be had, it
 * is loaded into the server's own thread, which takes what it makes from it.
 */
import { createAnalyzer } from "../../analysis";
import { inNode } from "../../terms/place";
import { programOf } from "./errands";
import type { Port } from "./messages";
import { serveAnalyses } from "./serve";
import { THREAD_DATA } from "./thread-data";

export const createProgram = programOf(createAnalyzer);

/** `node:worker_threads`, as far as it is used; undefined outside Node. */
interface WorkerThreads {
  readonly workerData: unknown;
  readonly parentPort: {
    postMessage(message: unknown): void;
    on(event: "message", handler: (message: unknown) => void): void;
  } | null;
}

/** The global scope of a Web Worker, as far as it is used. */
interface WorkerScope {
  readonly name?: string;
  postMessage?(message: unknown): void;
  addEventListener?(event: "message", handler: (event: { readonly data: unknown }) => void): void;
}

declare const require: (name: string) => unknown;

function portOfNode(): Port | undefined {
  if (!inNode()) return undefined;
  const { parentPort, workerData } = require("node:worker_threads") as WorkerThreads;
  if (parentPort === null || workerData !== THREAD_DATA) return undefined;
  return {
    post: (message) => parentPort.postMessage(message),
    listen: (handler) => parentPort.on("message", handler),
  };
}

function portOfBrowser(): Port | undefined {
  const scope = globalThis as unknown as WorkerScope;
  if (scope.name !== THREAD_DATA || scope.postMessage === undefined) return undefined;
  return {
    post: (message) => scope.postMessage?.(message),
    listen: (handler) => scope.addEventListener?.("message", ({ data }) => handler(data)),
  };
}

const port = portOfNode() ?? portOfBrowser();
if (port !== undefined) serveAnalyses(port, createAnalyzer);
