/** Mappings that a module writes to files: `json.dump(config, open("ds.json", "w"))`. */
import type { LocatedNode, MapNode, PythonCall, PythonModule } from "../tree";

/** What writes a mapping into a file that is open. */
const DUMP = /(?:^|\.)(?:json\.dump|yaml\.(?:safe_)?dump)$/;
const OPEN = /(?:^|\.)open$/;

function textOf(node: LocatedNode | undefined): string | undefined {
  return node?.kind === "scalar" && typeof node.value === "string" ? node.value : undefined;
}

/** Path of a file that a call opens to write it anew. */
function opened({ callee, positional, keywords }: PythonCall): string | undefined {
  const mode = positional[1] ?? keywords.entries.find(({ key }) => key === "mode")?.value;
  return OPEN.test(callee) && /^[wx]/.test(textOf(mode) ?? "") ? textOf(positional[0]) : undefined;
}

/** Mappings that a module dumps, by the path of the file; the last one counts. */
export function dumpedMaps({ calls }: PythonModule): ReadonlyMap<string, MapNode> {
  const dumped = new Map<string, MapNode>();
  for (const { callee, positional } of calls) {
    const [config, file] = positional;
    if (!DUMP.test(callee) || config?.kind !== "map" || file?.kind !== "unknown") continue;
    const at = file.source ?? file;
    const path = calls.flatMap((call) => (call.start === at.start ? (opened(call) ?? []) : [])).at(0);
    if (path !== undefined) dumped.set(path, config);
  }
  return dumped;
}
