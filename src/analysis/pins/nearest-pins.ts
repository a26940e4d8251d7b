/** The pins file that applies to a run. */
import { PINS_FILE, type PinnedRun, type PinsFile, pinnedFor, readPins } from "../../formats/pins";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { joinUri, parentOf, relativePath } from "../documents/uris";
import { located, type Setting } from "../frameworks/settings";
import { type Problem, problemAt } from "../problems";

interface AppliedPins {
  readonly document: LoadedDocument;
  readonly settings: readonly Setting[];
  readonly problems: readonly Problem[];
}

const pinsOf = new WeakMap<LoadedDocument, PinsFile>();

/** Pins file of a document, read once. */
function pinsFile(document: LoadedDocument): PinsFile {
  let file = pinsOf.get(document);
  if (file === undefined) {
    file = document.config === undefined ? { runs: [], problems: [] } : readPins(document.config);
    pinsOf.set(document, file);
  }
  return file;
}

/** A run's document, and the pins above it. */
interface Pinned {
  readonly main: LoadedDocument;
  readonly pins: { readonly document: LoadedDocument } | undefined;
}

/** The pinned runs that apply to the run's document, the first strongest. */
export function pinnedRunsOf({ main, pins }: Pinned): readonly PinnedRun[] {
  if (pins === undefined) return [];
  const path = relativePath(parentOf(pins.document.uri), main.uri) ?? "";
  return pinnedFor(pinsFile(pins.document), path);
}

/** The nearest `.vramlens.yaml` up the tree; only that one counts. */
export async function readNearestPins(
  main: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<AppliedPins | undefined> {
  for (const folder of folders) {
    const uri = joinUri(folder, PINS_FILE);
    dependencies.add(uri);
    const document = await store.load(uri);
    if (document === undefined) continue;
    const file = pinsFile(document);
    const path = relativePath(folder, main.uri) ?? "";
    const settings = pinnedFor(file, path)
      .toReversed()
      .flatMap((run) => located(run.settings, uri, "pin"));
    const problems = file.problems.map((found) =>
      problemAt({ uri, span: found }, found.code, found.severity, found.message, found.fixes),
    );
    for (const found of document.config?.parsed.problems ?? [])
      problems.push(problemAt({ uri, span: found }, "syntax", "error", found.message));
    return { document, settings, problems };
  }
  return undefined;
}
