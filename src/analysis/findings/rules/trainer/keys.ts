/** Keys that releases of a library removed. */

import { renaming } from "../../../../formats/fix";
import captured from "../../../../formats/hf-training-arguments/fields.json";
import { TRAINING_ARGUMENTS_KEYS } from "../../../../formats/hf-training-arguments/keys";
import type { LocatedSetting } from "../../../../formats/types";
import { table } from "../../../../terms/table";
import { type Message, say } from "../../../../words/message";
import { isRemoved } from "../../../frameworks/defaults";
import { type Facts, type Hit, type Rule, removal, rule } from "../../rule";

/** A statement whose key a library version removed. */
interface Removed {
  readonly setting: LocatedSetting;
  readonly key: string;
  readonly removedIn: string;
  /** By its name alone where it stands in the same block. */
  readonly replacedBy: string | undefined;
  /** The new key stands there, too, and takes the same value. */
  readonly renamed: boolean;
}

function removedKeys(facts: Facts): Removed[] {
  const { keys } = facts.inputs.format;
  const changed = keys
    .filter(({ removedIn, oldNames }) => removedIn !== undefined || oldNames !== undefined)
    .map((spec) => ({ spec, oldNames: table(spec.oldNames ?? {}) }));
  const gone = (removedIn: string) => isRemoved(removedIn, facts.resolution.libraries);
  return facts.inputs.main.read.settings.flatMap((setting): Removed[] => {
    const name = nameOf(setting.key);
    // Below a block or a call that has a key of the same name itself, it is another key.
    const own = keys.some(({ key }) => key === setting.key);
    const of = (key: string) => setting.key === key || (!own && setting.key.endsWith(`.${key}`));
    for (const { spec, oldNames } of changed) {
      const { removedIn, replacedBy } = spec;
      if (removedIn !== undefined && of(spec.key) && gone(removedIn)) {
        const next = keys.find(({ key }) => key === replacedBy);
        const beside = blockOf(replacedBy ?? "") === blockOf(spec.key);
        const said = beside ? replacedBy && nameOf(replacedBy) : replacedBy;
        return [{ setting, key: name, removedIn, replacedBy: said, renamed: beside && next?.type === spec.type }];
      }
      const old = oldNames[name];
      if (old !== undefined && gone(old))
        return [{ setting, key: name, removedIn: old, replacedBy: nameOf(spec.key), renamed: true }];
    }
    return [];
  });
}

/** The block that a key stands in, and its name there. */
function blockOf(key: string): string {
  return key.slice(0, key.lastIndexOf(".") + 1);
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1);
}

/** What took the place of arguments without a row. */
const REPLACED: Readonly<Record<string, string>> = table({
  warmup_ratio: "warmup_steps (a share below 1 is taken)",
  evaluation_strategy: "eval_strategy",
  logging_dir: "the TENSORBOARD_LOGGING_DIR variable",
  push_to_hub_model_id: "hub_model_id",
  push_to_hub_organization: "hub_model_id",
  push_to_hub_token: "hub_token",
  include_inputs_for_metrics: "include_for_metrics",
});

const ROWS: ReadonlySet<string> = new Set(TRAINING_ARGUMENTS_KEYS.map(({ key }) => key));

/** Arguments without a row that releases of transformers removed, and in which. */
const REMOVED_OTHERS: ReadonlyMap<string, string> = new Map(
  Object.entries(captured.fields).flatMap(([name, field]) =>
    "removedIn" in field && !ROWS.has(name) ? [[name, field.removedIn] as const] : [],
  ),
);

/** Names of libraries as they write them themselves. */
const NAMES: Readonly<Record<string, string>> = table({
  trl: "TRL",
  transformers: "Transformers",
  accelerate: "Accelerate",
  axolotl: "Axolotl",
  lightning: "Lightning",
  deepspeed: "DeepSpeed",
});

/** `TRL 0.20` of `trl 0.20`. */
function named(release: string): string {
  return release.replace(/^\w+/, (library) => NAMES[library] ?? library);
}

/** "; use `max_length`", or nothing where nothing replaces the key. */
function replacement(key: string | undefined): string | Message {
  return key === undefined ? "" : say("removed.use", { key });
}

export const TRAINER_KEYS_RULES: readonly Rule[] = [
  rule("removed-key", "information", (facts) => {
    const { uri } = facts.inputs.main;
    return removedKeys(facts).map(({ setting, key, removedIn, replacedBy, renamed }): Hit => {
      const [library = ""] = removedIn.split(" ");
      const { keySpan, valueSpan } = setting;
      return {
        at: {
          value: null,
          from: "document",
          key: setting.key,
          place: { uri, keySpan, valueSpan },
        },
        // axolotl drops what it does not know; the others stop.
        ...(facts.pinned(library) === undefined
          ? {}
          : { severity: facts.framework.dropsUnknown === true ? ("warning" as const) : ("error" as const) }),
        args: { key, library: named(removedIn), next: replacement(replacedBy) },
        fixes: renamed && replacedBy !== undefined ? [{ ...renaming(keySpan, replacedBy), safe: true }] : [],
      };
    });
  }),
  rule("removed-key-other", "information", (facts) => {
    if (!facts.trainer || facts.pinned("transformers") === undefined) return [];
    const { root } = facts.inputs.main.config?.parsed ?? { root: null };
    if (root?.kind !== "map") return [];
    return root.entries.flatMap((entry) => {
      const removedIn = REMOVED_OTHERS.get(entry.key);
      if (removedIn === undefined || !isRemoved(removedIn, facts.resolution.libraries)) return [];
      const next = replacement(REPLACED[entry.key]);
      const place = { uri: facts.inputs.main.uri, keySpan: entry.keySpan, valueSpan: entry.value };
      const at = { key: entry.key, value: null, from: "document" as const, place };
      return [{ at, args: { key: entry.key, library: named(removedIn), next }, fixes: next === "" ? removal(at) : [] }];
    });
  }),
];
