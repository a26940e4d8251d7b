/** Reads a DeepSpeed configuration map wherever it stands: a JSON of its own, or inline in a trainer's config. */
import type { MapNode } from "../../syntax/tree";
import { type ReadPolicy, readByTable, tableOf } from "../table";
import type { FormatProblem, LocatedSetting } from "../types";
import { DEEPSPEED_KEYS, FORBIDDING_BLOCKS, FREE_BLOCKS, OTHER_DEEPSPEED_KEYS } from "./keys";

const TABLE = tableOf(DEEPSPEED_KEYS);

const POLICY: ReadPolicy = {
  forbidsUnknown: (parent) => FORBIDDING_BLOCKS.includes(parent),
  otherKeys: new Set(OTHER_DEEPSPEED_KEYS),
  // pydantic blocks convert numbers written as text; top-level keys are used as they are.
  convertsText: (path) => path.includes("."),
  free: (parent) => FREE_BLOCKS.some((block) => parent === block || parent.startsWith(`${block}.`)),
  nearMiss: "warning",
};

/** Settings of a DeepSpeed map; keys are shown below `shownUnder` when it is part of another config. */
export function deepspeedReader(
  map: MapNode,
  shownUnder = "",
): { readonly settings: LocatedSetting[]; readonly problems: FormatProblem[] } {
  const tuned = map.entries.some((entry) => entry.key === "autotuning");
  const { settings, problems } = readByTable(map, TABLE, tuned ? { ...POLICY, tuned } : POLICY);
  if (shownUnder === "") return { settings, problems };
  return {
    settings: settings.map((setting) => ({ ...setting, key: `${shownUnder}.${setting.key}` })),
    problems,
  };
}
