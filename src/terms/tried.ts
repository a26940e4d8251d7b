/** Settings of which other values are tried, as their rows say it. */
import type { SettingRow, TriedRow } from "./setting-row";
import { ROWS, type SETTINGS } from "./settings";

type Rows = typeof SETTINGS;

/** A setting of which other values are tried. */
export type TriedName = {
  [Name in keyof Rows]: Rows[Name] extends { readonly tried: TriedRow } ? Name : never;
}[keyof Rows];

/** Those that a hover tries, too; the label of what it says is `curve.<name>`. */
export type DrawnName = {
  [Name in TriedName]: Rows[Name]["tried"] extends { readonly panelOnly: true } ? never : Name;
}[TriedName];

/** Of which the cost of a step is told, in words of its own (`hover.per-<name>`). */
export type CountedName = {
  [Name in TriedName]: Rows[Name]["tried"] extends { readonly per: number } ? Name : never;
}[TriedName];

export const TRIED: ReadonlyMap<TriedName, TriedRow> = new Map(
  ROWS.flatMap(([name, { tried }]) => (tried === undefined ? [] : [[name as TriedName, tried] as const])),
);

/** The setting whose values the hover of a key tries: its own, or those of what it is a part of. */
export function drawnFor(name: string, { tried, triedAs }: SettingRow): DrawnName | undefined {
  const own = tried === undefined || tried.panelOnly === true ? triedAs : name;
  return own as DrawnName | undefined;
}
