/** The what-if controls: which settings can be tried, grouped as a person thinks of them, with the values on offer. */
import type { ReportRun } from "../../src/core/report/schema";
import { CONTROL_GROUPS, type ControlGroup, type ControlRow, type TriedRow } from "../../src/terms/setting-row";
import { TRIED, type TriedName } from "../../src/terms/tried";

/** What is not said of itself by the files: the number of GPUs stands in the report. */
const otherwise = (name: string, row: TriedRow | undefined, run: ReportRun): string | null =>
  name === "world_size" ? String(run.devices.count) : (row?.otherwise ?? null);

/** Settings with a control, in the panel's order. */
const CONTROLS = [...TRIED]
  .flatMap(([name, row]) => (row.control === undefined ? [] : [{ name, row, control: row.control }]))
  .sort(
    ({ control: one }, { control: other }) =>
      CONTROL_GROUPS.indexOf(one.group) - CONTROL_GROUPS.indexOf(other.group) || one.place - other.place,
  );

/** Whether a run has the control. */
function isShown({ when }: ControlRow, value: (name: string) => string | null): boolean {
  return when?.some((need) => ("is" in need ? value(need.of) === need.is : value(need.of) !== need.not)) ?? true;
}

/** Values to try, by canonical name; what is not in it stays as the files say. */
export type WhatIfSet = Readonly<Record<string, string>>;

export interface Control {
  readonly name: string;
  readonly kind: "number" | "word";
  /** What the files say (or what holds without them); null when nothing is known. */
  readonly base: string | null;
  /** What is shown as chosen: the tried value, else the base. */
  readonly value: string | null;
  readonly options: readonly string[];
}

export interface ControlGroupModel {
  readonly group: ControlGroup;
  readonly controls: readonly Control[];
}

function baseOf(run: ReportRun, name: string): string | null {
  const setting = run.settings.find((entry) => entry.name === name);
  if (setting === undefined) return otherwise(name, TRIED.get(name as TriedName), run);
  return setting.value === null ? null : String(setting.value);
}

/** Numbers in order, words as listed; the base is among them. */
function optionsOf({ values, kind }: TriedRow, base: string | null): readonly string[] {
  const all = base === null || values.includes(base) ? [...values] : [...values, base];
  return kind === "number" ? all.sort((a, b) => Number(a) - Number(b)) : all;
}

/** Controls for `run` with the values of `set` chosen. */
export function controlsOf(run: ReportRun, set: WhatIfSet): readonly ControlGroupModel[] {
  const value = (name: string) => set[name] ?? baseOf(run, name);
  const groups = new Map<ControlGroup, Control[]>();
  for (const { name, row, control } of CONTROLS) {
    if (!isShown(control, value)) continue;
    const base = baseOf(run, name);
    const controls = groups.get(control.group) ?? [];
    controls.push({ name, kind: row.kind, base, value: set[name] ?? base, options: optionsOf(row, base) });
    groups.set(control.group, controls);
  }
  return [...groups].map(([group, controls]) => ({ group, controls }));
}

/** `set` with one value changed; a value equal to what the files say leaves the set. */
export function change(set: WhatIfSet, control: Control, value: string): WhatIfSet {
  const { [control.name]: _, ...rest } = set;
  return value === control.base ? rest : { ...rest, [control.name]: value };
}

/** What of `set` the files do not say yet: an applied what-if is no what-if any more. */
export function stillTried(run: ReportRun, set: WhatIfSet): WhatIfSet {
  const said = new Map<string, string | null>([...TRIED.keys()].map((name) => [name, baseOf(run, name)]));
  return Object.fromEntries(Object.entries(set).filter(([name, value]) => said.get(name) !== value));
}

/** A typed number as the engine accepts it: a positive whole number; undefined otherwise. */
export function parseCount(text: string): string | undefined {
  const digits = text.trim().replace(/[_\s,]/g, "");
  return /^[1-9]\d{0,8}$/.test(digits) ? digits : undefined;
}

/** One name for a set, whatever the order its values were chosen in. */
export function setKey(set: WhatIfSet): string {
  return JSON.stringify(Object.entries(set).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Every set that is one option away from `set`: what the controls announce before they are touched.
 *
 * @param only the one control to look at; all when undefined
 */
export function neighbours(run: ReportRun, set: WhatIfSet, only?: string): readonly WhatIfSet[] {
  return controlsOf(run, set).flatMap(({ controls }) =>
    controls
      .filter((control) => only === undefined || control.name === only)
      .flatMap((control) =>
        control.options.filter((option) => option !== control.value).map((option) => change(set, control, option)),
      ),
  );
}
