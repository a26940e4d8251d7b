/** The what-if controls: which settings can be tried, grouped as a person thinks of them, with the values on offer. */
import type { ReportRun } from "../../src/core/report/schema";
import { type ControlGroup, TRIED, TRIED_ROWS, type TriedName, type TriedRow } from "../../src/terms/tried";

/** What is not said of itself by the files: the number of GPUs stands in the report. */
const otherwise = (name: TriedName, row: TriedRow, run: ReportRun): string | null =>
  name === "world_size" ? String(run.devices.count) : (row.otherwise ?? null);

type Value = (name: TriedName) => string | null;

/** Controls that only some runs have. */
const SHOWN: { readonly [Name in TriedName]?: (value: Value) => boolean } = {
  sequence_length: (value) => value("sequence_length") !== null,
  lora_rank: (value) => value("adapter") !== "none",
  zero_stage: (value) => value("fsdp") === "none",
  fsdp: (value) => value("fsdp") !== "none",
  offload_optimizer: (value) => value("zero_stage") !== "0" || value("offload_optimizer") !== "none",
  offload_param: (value) => value("zero_stage") === "3" || value("offload_param") !== "none",
};

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

function baseOf(run: ReportRun, name: TriedName, row: TriedRow): string | null {
  const setting = run.settings.find((entry) => entry.name === name);
  if (setting === undefined) return otherwise(name, row, run);
  return setting.value === null ? null : String(setting.value);
}

/** Numbers in order, words as listed; the base is among them. */
function optionsOf({ values, kind }: TriedRow, base: string | null): readonly string[] {
  const all = base === null || values.includes(base) ? [...values] : [...values, base];
  return kind === "number" ? all.sort((a, b) => Number(a) - Number(b)) : all;
}

/** Controls for `run` with the values of `set` chosen. */
export function controlsOf(run: ReportRun, set: WhatIfSet): readonly ControlGroupModel[] {
  const value: Value = (name) => set[name] ?? baseOf(run, name, TRIED[name]);
  const groups = new Map<ControlGroup, Control[]>();
  for (const [name, row] of TRIED_ROWS) {
    if (row.group === undefined || SHOWN[name]?.(value) === false) continue;
    const base = baseOf(run, name, row);
    const controls = groups.get(row.group) ?? [];
    controls.push({ name, kind: row.kind, base, value: set[name] ?? base, options: optionsOf(row, base) });
    groups.set(row.group, controls);
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
  const said = new Map<string, string | null>(TRIED_ROWS.map(([name, row]) => [name, baseOf(run, name, row)]));
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
