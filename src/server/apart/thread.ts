/**
 * Entry of every analysis thread, one program for Node's worker threads and for Web Workers: starts the analysis program, which
 * is shipped packed. A server that has no threads loads it into its own and has the program from `loaded`.
 */
import { inNode } from "../../terms/place";
import type { AnalysisModule } from "./program";

/** @param program URL of the packed analysis program, in a browser */
export async function loaded(program?: string): Promise<AnalysisModule> {
  if (inNode()) return (await import("./thread-node")).loaded();
  return (await import("./thread-browser")).loaded(program ?? "");
}

void (inNode()
  ? import("./thread-node").then(({ start }) => start())
  : import("./thread-browser").then(({ start }) => start()));
