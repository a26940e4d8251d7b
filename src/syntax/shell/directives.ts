/** What `#SBATCH` lines ask of the cluster. */
import { emptyMap } from "../text";
import type { Entry, MapNode } from "../tree";
import { typed } from "./nodes";

export function directivesOf(text: string): MapNode {
  const entries: Entry[] = [];
  for (const match of text.matchAll(/^#SBATCH[ \t]+(--?([A-Za-z][\w-]*))(?:[= \t]+([^\s#]+))?/gm)) {
    const [whole, flag = "", key = "", value] = match;
    const keyStart = match.index + whole.indexOf(flag);
    const keySpan = { start: keyStart, end: keyStart + flag.length };
    const end = match.index + whole.length;
    const start = value === undefined ? end : end - value.length;
    entries.push({
      key,
      keySpan,
      value: { kind: "scalar", value: value === undefined ? true : typed(value), raw: value ?? "", start, end },
    });
  }
  return { ...emptyMap({ start: 0, end: text.length }), entries };
}
