/** Keys that change memory and that nothing is computed from: they are named, and counted beside the verdict. */
import type { Direction } from "../../formats/directions";
import type { LocatedSetting } from "../../formats/types";
import type { RunInputs } from "./inputs";
import { overridesOf } from "./overridden-config";

type Documents = Pick<RunInputs, "documents" | "layers" | "main" | "model" | "replaced">;

/** Those of the run's documents; what a program that a command starts does with an option's value is counted there. */
function uncountedSettings({ documents, layers, main, model, replaced }: Documents): readonly LocatedSetting[] {
  const places = layers.flatMap(({ settings }) => settings.flatMap(({ place }) => place ?? []));
  const overrides = model?.kind === "found" ? overridesOf(model.config, main.read.settings) : [];
  const used = new Set([
    ...places.map(({ uri, valueSpan }) => `${uri} ${valueSpan.start}`),
    ...overrides.map(({ value }) => `${main.uri} ${value.start}`),
  ]);
  return documents.flatMap(({ uri, read }) =>
    read.settings.filter(
      ({ uncounted, key, valueSpan }) =>
        uncounted === true && replaced?.has(key) !== true && !used.has(`${uri} ${valueSpan.start}`),
    ),
  );
}

/** Their keys, as they are written. */
export function uncountedKeys(inputs: Documents): string[] {
  return [...new Set(uncountedSettings(inputs).map(({ key }) => key))];
}

/** Where each of them that has a likely direction moves the memory. */
export function uncountedDirections(inputs: Documents): Readonly<Record<string, Direction>> {
  return Object.fromEntries(
    uncountedSettings(inputs).flatMap(({ key, direction }) =>
      direction === undefined ? [] : [[key, direction] as const],
    ),
  );
}
