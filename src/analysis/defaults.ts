/** Defaults of a format's keys for given library versions. */

import { TRAINER_DEFAULTS } from "../formats/trl/defaults";
import type { Format, KeySpec } from "../formats/types";
import type { SettingName } from "../terms/settings";
import type { Framework } from "./frameworks";
import { holds, type Versions } from "./versions";

/** The canonical value of a key that is stated nowhere; undefined when the table does not say. */
export function defaultOf(spec: KeySpec, libraries: Versions): KeySpec["default"] {
  const older = Object.entries(spec.defaultsBy ?? {}).find(([condition]) => holds(condition, libraries));
  const written = older === undefined ? spec.default : older[1];
  return written === undefined ? undefined : (spec.means?.[String(written)] ?? written);
}

/** The default of a setting under one of TRL's trainers; undefined where the trainer makes no difference. */
export function trainerDefault(
  { trlDefaults }: Pick<Framework, "trlDefaults">,
  trainer: string | null,
  name: SettingName,
  libraries: Versions,
): KeySpec["default"] {
  if (trainer === null || trlDefaults !== true) return undefined;
  const found = TRAINER_DEFAULTS[trainer]?.[name];
  if (found === undefined) return undefined;
  const older = Object.entries(found.older ?? {}).find(([condition]) => holds(condition, libraries));
  return older === undefined ? found.now : older[1];
}

/** Whether these versions are those that removed a key (`transformers 5`), or later ones. */
export function isRemoved(removedIn: string | undefined, libraries: Versions): boolean {
  if (removedIn === undefined) return false;
  const [library, version] = removedIn.split(" ");
  return holds(`${library}>=${version}`, libraries);
}

/** The first key of a format, not removed, that sets a canonical name. */
export function keyFor(format: Format, name: SettingName, libraries: Versions): KeySpec | undefined {
  const candidates = format.keys.filter((spec) => spec.name === name);
  return candidates.find((spec) => !isRemoved(spec.removedIn, libraries)) ?? candidates[0];
}
