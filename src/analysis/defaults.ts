/** Defaults of a format's keys for given library versions. */
import type { LibraryVersions } from "../core/training/run";
import type { Format, KeySpec } from "../formats/types";
import { holds } from "./versions";

/** The canonical value of a key that is stated nowhere; undefined when the table does not say. */
export function defaultOf(spec: KeySpec, libraries: LibraryVersions): KeySpec["default"] {
  const older = Object.entries(spec.defaultsBy ?? {}).find(([condition]) => holds(condition, libraries));
  const written = older === undefined ? spec.default : older[1];
  return written === undefined ? undefined : (spec.means?.[String(written)] ?? written);
}

/** Whether a key still exists in these versions (`removedIn: "transformers 5"`). */
export function isRemoved(spec: KeySpec, libraries: LibraryVersions): boolean {
  if (spec.removedIn === undefined) return false;
  const [library, version] = spec.removedIn.split(" ");
  return holds(`${library}>=${version}`, libraries);
}

/** The first key of a format, not removed, that sets a canonical name. */
export function keyFor(format: Format, name: string, libraries: LibraryVersions): KeySpec | undefined {
  const candidates = format.keys.filter((spec) => spec.name === name);
  return candidates.find((spec) => !isRemoved(spec, libraries)) ?? candidates[0];
}
