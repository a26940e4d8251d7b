/** Keys that change memory and that nothing is computed from: they are named, and counted beside the verdict. */
import type { Direction } from "../formats/directions";
import type { RunInputs } from "./inputs";

/** Those of the run's documents, as they are written. */
export function uncountedKeys({ documents }: Pick<RunInputs, "documents">): string[] {
  const settings = documents.flatMap((document) => document.read?.settings ?? []);
  return [...new Set(settings.flatMap(({ uncounted, key }) => (uncounted === true ? [key] : [])))];
}

/** Where each of them that has a likely direction moves the memory. */
export function uncountedDirections({ documents }: Pick<RunInputs, "documents">): Readonly<Record<string, Direction>> {
  const settings = documents.flatMap((document) => document.read?.settings ?? []);
  return Object.fromEntries(
    settings.flatMap(({ uncounted, key, direction }) =>
      uncounted === true && direction !== undefined ? [[key, direction] as const] : [],
    ),
  );
}
