/** Reads a DeepSpeed configuration map wherever it stands: a JSON of its own, or inline in a trainer's config. */
import type { MapNode } from "../../syntax/tree";
import { type ByTable, type ReadPolicy, readByTable } from "../reader";
import { tableOf } from "../table";
import type { LocatedSetting } from "../types";
import { DEEPSPEED_KEYS, FORBIDDING_BLOCKS, FREE_BLOCKS, OTHER_DEEPSPEED_KEYS } from "./keys";

const TABLE = tableOf(DEEPSPEED_KEYS);
const OTHER: ReadonlySet<string> = new Set(OTHER_DEEPSPEED_KEYS);

const POLICY: ReadPolicy = {
  strict: true,
  // pydantic blocks convert numbers written as text; top-level keys are used as they are.
  convertsText: (path) => path.includes("."),
  unknownKeys: {
    knows: (_name, path) => OTHER.has(path),
    others: (parent) => (parent === "" ? OTHER : []),
    looksAt: (parent) => !FREE_BLOCKS.some((block) => parent === block || parent.startsWith(`${block}.`)),
    rejectsIn: (parent) => FORBIDDING_BLOCKS.includes(parent),
  },
};

/** Settings of a DeepSpeed map; keys are shown below `shownUnder` when it is part of another config. */
export function deepspeedReader(map: MapNode, shownUnder = ""): ByTable {
  const tuned = map.entries.some((entry) => entry.key === "autotuning");
  return readByTable(map, TABLE, tuned ? { ...POLICY, tuned } : POLICY, shownUnder);
}

/** DeepSpeed's settings where they are a block of a trainer's, not a file. */
export function deepspeedBlock(
  settings: readonly LocatedSetting[],
): (LocatedSetting & { readonly node: MapNode }) | undefined {
  return settings.find(
    (setting): setting is LocatedSetting & { readonly node: MapNode } =>
      setting.name === "deepspeed" && setting.node.kind === "map",
  );
}

/** What such a block says, if there is one. */
export function readDeepspeedBlock(settings: readonly LocatedSetting[]): ByTable {
  const block = deepspeedBlock(settings);
  return block === undefined ? { settings: [], problems: [] } : deepspeedReader(block.node, block.key);
}
