/** Resolves one document of files in memory to the run it describes. */
import { strict as assert } from "node:assert";
import { DocumentStore } from "../../src/analysis/documents/store";
import { gather, type RunInputs } from "../../src/analysis/linking/inputs";
import { readCatalogue } from "../../src/analysis/models/catalogue";
import { type Resolution, resolveRun } from "../../src/analysis/resolve";
import type { FamilyGraphs } from "../../src/core/graph/types";
import { memoryRuntime, uri } from "./memory-runtime";

/**
 * @param main path of the document that is gathered
 * @param graphs of a family; none are known when absent
 */
export async function gatherFiles(
  files: Readonly<Record<string, string>>,
  main: string,
  graphs: (family: string) => FamilyGraphs | undefined = () => undefined,
): Promise<RunInputs> {
  const runtime = memoryRuntime(files);
  const store = new DocumentStore(runtime.files);
  const document = await store.load(uri(main));
  assert.ok(document?.recognised, "recognised");
  return gather(document, document.recognised.format, {
    runtime,
    store,
    catalogue: await readCatalogue(runtime),
    graphs: async (family) => graphs(family),
    modelOverride: undefined,
  });
}

/** @param main path of the document that is resolved */
export async function resolveFiles(files: Readonly<Record<string, string>>, main: string): Promise<Resolution> {
  return resolveRun(await gatherFiles(files, main), {});
}
