/** Mappings that a module writes to files: `json.dump(config, open("ds.json", "w"))`. */
import type { LocatedNode, MapNode, PythonCall, PythonModule } from "../tree";

/** What writes a mapping into a file that is open. */
const DUMP = /(?:^|\.)(?:json\.dump|yaml\.(?:safe_)?dump)$/;
const OPEN = /(?:^|\.)open$/;

function textOf(node: LocatedNode | undefined): string | undefined {
  return node?.kind === "scalar" && typeof node.value === "string" ? node.value : undefined;
}

/** Paths of files that calls open to write them anew, by where the calls begin. */
function openedBy(calls: readonly PythonCall[]): ReadonlyMap<number, string> {
  const paths = new Map<number, string>();
  for (const { callee, positional, keywords, start } of calls) {
    if (!OPEN.test(callee)) continue;
    const mode = positional[1] ?? keywords.entries.find(({ key }) => key === "mode")?.value;
    const path = textOf(positional[0]);
    if (path !== undefined && /^[wx]/.test(textOf(mode) ?? "")) paths.set(start, path);
  }
  return paths;
}

/** Mappings that a module dumps, by the path of the file; the last one counts. */
export function dumpedMaps({ calls }: PythonModule): ReadonlyMap<string, MapNode> {
  const dumped = new Map<string, MapNode>();
  const dumps = calls.filter(({ callee }) => DUMP.test(callee));
  const opened = dumps.length === 0 ? undefined : openedBy(calls);
  for (const { positional } of dumps) {
    const [config, file] = positional;
    if (config?.kind !== "map" || file?.kind !== "unknown") continue;
    const path = opened?.get((file.source ?? file).start);
    if (path !== undefined) dumped.set(path, config);
  }
  return dumped;
}
