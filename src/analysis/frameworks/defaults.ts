/** Defaults of a format's keys for given library versions. */

import type { Field } from "../../formats/fields";
import captured from "../../formats/hf-training-arguments/fields.json";
import { TRL_FORMAT_KEYS } from "../../formats/trl";
import trl from "../../formats/trl/fields.json";
import type { Format, KeySpec } from "../../formats/types";
import type { SettingName } from "../../terms/settings";
import { table, tables } from "../../terms/table";
import type { Framework } from "./framework";
import { holds, type Versions } from "./versions";

/** The default of a field in given releases. */
function inForce({ default: now, defaultsBy = {} }: Pick<KeySpec, "default" | "defaultsBy">, libraries: Versions) {
  const older = Object.entries(defaultsBy).find(([condition]) => holds(condition, libraries));
  return older === undefined ? now : older[1];
}

/** The canonical value of a key that is stated nowhere; undefined when the table does not say. */
export function defaultOf(spec: KeySpec, libraries: Versions): KeySpec["default"] {
  const written = inForce(spec, libraries);
  return written === undefined ? undefined : (spec.means?.[String(written)] ?? written);
}

/** Fields that TRL's trainers do not agree on, by trainer. */
const OF_TRAINERS: Readonly<Record<string, Readonly<Record<string, object>>>> = tables(trl.trainers);
const OF_TRAINING_ARGUMENTS: Readonly<Record<string, object>> = table(captured.fields);

/** The default of a setting under one of TRL's trainers; undefined where the trainer makes no difference. */
export function trainerDefault(
  { trlDefaults }: Pick<Framework, "trlDefaults">,
  trainer: string | null,
  name: SettingName,
  libraries: Versions,
): KeySpec["default"] {
  const fields = trainer === null || trlDefaults !== true ? undefined : OF_TRAINERS[trainer];
  const key = TRL_FORMAT_KEYS.find((spec) => spec.name === name && fields?.[spec.key] !== undefined)?.key ?? "";
  const field: Field | undefined = fields?.[key];
  if (field === undefined || isRemoved(field.removedIn, libraries)) return undefined;
  // What a class does not say itself it has from TrainingArguments.
  const has = field.since === undefined || isRemoved(field.since, libraries);
  const said: Field = has ? field : (OF_TRAINING_ARGUMENTS[key] ?? {});
  return inForce(said, libraries);
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
