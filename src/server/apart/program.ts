/** The analysis program as whoever loads it has it. */
import * as xz from "xz-decompress";
import type { CreateProgram } from "./errands";

/** What the program exports (`worker.ts`). */
export interface AnalysisModule {
  readonly createProgram: CreateProgram;
}

/** What a thread's entry exports (`thread.ts`), for whoever has no threads. */
export interface Loader {
  /** @param program URL of the packed analysis program, in a browser */
  loaded(program?: string): Promise<AnalysisModule>;
}

/** What stands in the loader already is no part of the program. */
export function withLibraries(require: (name: string) => unknown): (name: string) => unknown {
  return (name) => (name === "xz-decompress" ? xz : require(name));
}
