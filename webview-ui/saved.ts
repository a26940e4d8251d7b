/** What the page keeps with `setState`, read back without trust: an older version may have written it. */
import type { WhatIfSet } from "./model/controls";

/** What a person arranged on the page; survives hiding and reloading. */
export interface Arrangement {
  /** Rows of the breakdown that are open. */
  readonly opened: readonly string[];
  readonly allPlans: boolean;
  /** Cursor of the timeline, 0..1; null when it rests on the peak. */
  readonly cursor: number | null;
  /** What the timeline is taken apart by. */
  readonly reading: "part" | "module";
}

export interface Saved {
  readonly uri?: string;
  readonly runId?: string;
  readonly follow?: boolean;
  readonly set: WhatIfSet;
  readonly arrangement: Arrangement;
}

export const ARRANGEMENT: Arrangement = { opened: [], allPlans: false, cursor: null, reading: "part" };

type Unknown = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readArrangement(value: unknown): Arrangement {
  if (!isObject(value)) return ARRANGEMENT;
  const { opened, allPlans, cursor, reading } = value;
  return {
    opened: Array.isArray(opened) ? opened.filter((one) => typeof one === "string") : [],
    allPlans: allPlans === true,
    cursor: typeof cursor === "number" && cursor >= 0 && cursor <= 1 ? cursor : null,
    reading: reading === "module" ? "module" : "part",
  };
}

/** Whatever `getState` gave as something to start from; what does not make sense is left out. */
export function readSaved(value: unknown): Saved {
  if (!isObject(value)) return { set: {}, arrangement: ARRANGEMENT };
  const { uri, runId, set, arrangement } = value;
  const pairs = isObject(set) ? Object.entries(set) : [];
  return {
    ...(typeof uri === "string" ? { uri } : {}),
    ...(typeof runId === "string" ? { runId } : {}),
    set: Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === "string")),
    arrangement: readArrangement(arrangement),
  };
}
