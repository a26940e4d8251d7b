/**
 * Fields of libraries' config classes, as `capture/facts/fields.py` read them in the libraries' sources: type and defaults of a
 * key stand there, what it means stands in its row.
 */
import type { SettingName } from "../terms/settings";
import type { EffectId } from "../words/message";
import { type LastWord, lastWord, rangeOf } from "./effects";
import type { KeySpec } from "./types";

/** What a class says of a field; what its trainers do not agree on stands with the trainers. */
export interface Field
  extends Partial<
    Pick<KeySpec, "type" | "default" | "defaultsBy" | "nullable" | "removedIn" | "min" | "max" | "aliases">
  > {
  /** The release that first had it, where older ones have been looked at. */
  readonly since?: string;
}

type Meant = Partial<Omit<KeySpec, "key" | "name" | "effect" | "memory">>;

/** Names of fields whose last word is one of these. */
type Ending<Name extends string, Words> = Name extends string ? (LastWord<Name> extends Words ? Name : never) : never;

/** A row; setting and what is said of it have the field's last word for their names, where the row has no others. */
interface Row<Name extends string> {
  (field: Ending<Ending<Name, EffectId>, SettingName>, meant?: Meant): KeySpec;
  (field: Ending<Name, EffectId>, name: SettingName | null, meant?: Meant): KeySpec;
  (field: Name, name: SettingName | null, effect: EffectId, meant?: Meant): KeySpec;
}

type Below<Block extends string, Name> = Name extends `${Block}${infer Rest}` ? Rest : never;

/**
 * Rows of keys that are fields of a class; one that it never had does not compile.
 *
 * @param fields as captured, by their names
 * @param block what the rows' keys stand below, with its dot
 * @returns rows of keys that change GPU memory, and of keys that cost none; what a row says stands before what was captured
 */
export function rowsOver<Name extends string, Block extends string = "">(
  fields: Readonly<Record<Name, object>>,
  block: Block = "" as Block,
): { readonly memory: Row<Below<Block, Name>>; readonly other: Row<Below<Block, Name>> } {
  const row =
    (memory: boolean): Row<Below<Block, Name>> =>
    (field: string, ...said: readonly (string | null | Meant | undefined)[]) => {
      const named = said.filter((part) => typeof part === "string" || part === null);
      const meant = said.find((part) => typeof part === "object" && part !== null) ?? {};
      const [name = lastWord(field) as SettingName, effect = lastWord(field)] = named as [SettingName | null, EffectId];
      const key = `${block}${field}` as string & Name;
      const { since: _, type = "any", ...captured }: Field = fields[key];
      const kind = meant.values === undefined ? type : "enum";
      return { key, name, ...rangeOf(name, meant.type ?? kind), ...captured, type: kind, ...meant, effect, memory };
    };
  return { memory: row(true), other: row(false) };
}
