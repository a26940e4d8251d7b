/** Mappings that a script writes to a file and hands over by the file's path. */
import type { Entry, LocatedNode, MapNode, PythonCall, PythonModule } from "../../syntax/tree";
import { lastName } from "./called";

/** Arguments that take a mapping or the path of a file that has it (transformers/training_args.py, `deepspeed`, `fsdp_config`). */
const EITHER: ReadonlySet<string> = new Set(["deepspeed", "fsdp_config"]);

/** What writes a mapping into a file that is open: `json.dump(config, file)`. */
const DUMP = /(?:^|\.)(?:json\.dump|yaml\.(?:safe_)?dump)$/;

function textOf(node: LocatedNode | undefined): string | undefined {
  return node?.kind === "scalar" && typeof node.value === "string" ? node.value : undefined;
}

/** Path of a file that a call opens to write it anew. */
function writes({ callee, positional, keywords }: PythonCall): string | undefined {
  const mode = positional[1] ?? keywords.entries.find(({ key }) => key === "mode")?.value;
  return lastName(callee) === "open" && /^[wx]/.test(textOf(mode) ?? "") ? textOf(positional[0]) : undefined;
}

/** Mappings that a module writes, by the path of the file; the last one counts. */
function dumpedMaps({ calls }: PythonModule): ReadonlyMap<string, MapNode> {
  const dumped = new Map<string, MapNode>();
  for (const { callee, positional } of calls) {
    const [config, file] = positional;
    if (!DUMP.test(callee) || config?.kind !== "map" || file?.kind !== "unknown") continue;
    const at = file.source ?? file;
    const path = calls.flatMap((call) => (call.start === at.start ? (writes(call) ?? []) : [])).at(0);
    if (path !== undefined) dumped.set(path, config);
  }
  return dumped;
}

/** Arguments whose file the module writes itself, with the mapping in place of the path. */
export function withDumped(entries: readonly Entry[], module: PythonModule): readonly Entry[] {
  if (!module.calls.some(({ callee }) => DUMP.test(callee))) return entries;
  const dumped = dumpedMaps(module);
  return entries.map((entry) => {
    const map = EITHER.has(entry.key) ? dumped.get(textOf(entry.value)?.replace(/^\.\//, "") ?? "") : undefined;
    return map === undefined ? entry : { ...entry, value: map };
  });
}
