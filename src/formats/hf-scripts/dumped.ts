/** Mappings that a script writes to a file and hands over by the file's path. */
import { dumpedMaps } from "../../syntax/python/dumped";
import type { Entry, PythonModule } from "../../syntax/tree";

/** Arguments that take a mapping or the path of a file that has it (transformers/training_args.py, `deepspeed`, `fsdp_config`). */
const EITHER: ReadonlySet<string> = new Set(["deepspeed", "fsdp_config"]);

/** Arguments whose file the module writes itself, with the mapping in place of the path. */
export function withDumped(entries: readonly Entry[], module: PythonModule): readonly Entry[] {
  const dumped = dumpedMaps(module);
  if (dumped.size === 0) return entries;
  return entries.map((entry) => {
    const { key, value } = entry;
    const isPath = EITHER.has(key) && value.kind === "scalar" && typeof value.value === "string";
    const map = isPath ? dumped.get(String(value.value).replace(/^\.\//, "")) : undefined;
    return map === undefined ? entry : { ...entry, value: map };
  });
}
