/** Writing pins: into the run of `.vramlens.yaml` that applies to a document. */

import { insertPath } from "../../syntax/edit";
import { setValue } from "../../syntax/edit-list";
import type { MapNode, SpanEdit } from "../../syntax/tree";
import { say } from "../../words/message";
import type { ConfigDocument, EditResult, SettingChange } from "../types";
import { type PinnedRun, pinPathOf } from "./index";

/** Edits that state the changes in the first of the runs that apply; refused when none does. */
export function editPin(
  document: ConfigDocument,
  runs: readonly PinnedRun[],
  changes: readonly SettingChange[],
): EditResult {
  const edits: SpanEdit[] = [];
  for (const change of changes) {
    const path = pinPathOf(change.name);
    const holder = runs.find((run) => run.settings.some((setting) => setting.name === change.name)) ?? runs[0];
    if (path === undefined || holder === undefined) return { refused: say("refused.no-pin", { name: change.name }) };
    const stated = holder.settings.find((setting) => setting.name === change.name);
    const outcome =
      stated !== undefined
        ? setValue(document.text, stated.node, change.value, "pyyaml")
        : insertPath(document.text, holder.map, path.split("."), change.value, "pyyaml", lastEntry(holder.map));
    if ("refused" in outcome) return outcome;
    edits.push(...outcome.edits);
  }
  return { edits };
}

function lastEntry(map: MapNode) {
  return map.entries.at(-1);
}
