/** What a row of the settings' table says of a setting beside its name. */

import type { ComponentKind } from "./names";

const TYPES = ["integer", "number", "boolean", "string", "enum", "list", "map", "any"] as const;
/** What a value is; `any` where formats spell it with words, numbers and switches alike. */
export type SettingType = (typeof TYPES)[number];

export function isType(word: string): word is SettingType {
  return (TYPES as readonly string[]).includes(word);
}

export interface SettingRow {
  readonly type: SettingType;
  /** Smallest and largest number of it that libraries take; a key that takes others says so in its own row. */
  readonly min?: number;
  readonly max?: number;
  /** Place in the report's list of settings; the others are not listed. */
  readonly reported?: number;
  /** Kinds of memory whose bytes come from it, with its place among the settings that each of them comes from. */
  readonly drives?: Places<ComponentKind>;
  /** Where the verdict points at its key, with its place among those it points at. */
  readonly pointedAt?: Places<"step" | "evaluation" | "load" | "related" | "several">;
  /** Other values of it are tried: by the hover of its key, by the panel's controls. */
  readonly tried?: TriedRow;
  /** The setting whose values a hover of its key tries, where it is a part of that one or switches its block. */
  readonly triedAs?: string;
}

type Places<Name extends string> = { readonly [_ in Name]?: number };

/** Groups of the panel's controls, in its order. */
export const CONTROL_GROUPS = ["data", "precision", "savers", "optimizer", "adapters", "parallel", "offload"] as const;
export type ControlGroup = (typeof CONTROL_GROUPS)[number];

/** The panel's control of a setting: in which group, at which place of it. */
export interface ControlRow {
  readonly group: ControlGroup;
  readonly place: number;
  /** Only some runs have it: those of which one of these holds; null is a value that nothing says. */
  readonly when?: readonly (
    | { readonly of: string; readonly is: string | null }
    | { readonly of: string; readonly not: string | null }
  )[];
}

/** A setting of which other values are tried; what holds where nothing says it and what is said of it follow from the row. */
export interface TriedRow {
  /** Of a number other values may be typed, too. */
  readonly kind: "number" | "word";
  /** Values on offer, spelled as `--set` takes them. */
  readonly values: readonly string[];
  /** What holds where nothing says it. */
  readonly otherwise?: string;
  /** The panel's, where it has one for it. */
  readonly control?: ControlRow;
  /** A hover tries powers of two around the present number instead: how many below and above, and the least one. */
  readonly around?: { readonly below: number; readonly above: number; readonly least?: number };
  /** What one step costs is said of so many of it. */
  readonly per?: number;
  /** People choose it to save memory: what the present value saves is worth saying. */
  readonly saves?: true;
  /** No hover tries it. */
  readonly panelOnly?: true;
}
