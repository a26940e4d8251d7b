/**
 * A launcher's hosts and their GPUs, in a file that the command names. Sources: deepspeed/launcher/runner.py (_parse_hostfile,
 * parse_resource_filter, main), Open MPI's `mpirun --hostfile`.
 */
import type { LocatedNode, ShellCommand } from "../syntax/tree";
import type { LocatedSetting } from "./types";
import { countOf, entryOf, runsByMpi, stated } from "./world-size";

const HOST =
  /^[ \t]*([\w.@-]{1,253})(?:[ \t]+slots[ \t]*=[ \t]*(\d{1,4})|:(\d{1,4}))?[ \t]*(?:#.*|max[_-]slots=.*)?$/gm;
const MOST_HOSTS = 10_000;

function isDeepspeed({ words }: ShellCommand): boolean {
  return /(?:^|\/)deepspeed(?:\.py)?$/.test(words[0]?.text ?? "");
}

/** The file of hosts that the command names, where it decides how many processes there are. */
export function hostfileOf(command: ShellCommand): LocatedNode | undefined {
  const named = entryOf(command.flags, ["hostfile", "machinefile"])?.value;
  const decides = isDeepspeed(command) || (runsByMpi(command) && entryOf(command.flags, ["np", "n"]) === undefined);
  return decides ? named : undefined;
}

/** The processes that the hosts of the file run. */
export function hostedBy(command: ShellCommand, text: string): LocatedSetting | undefined {
  const { flags } = command;
  const hosts = new Map<string, number>();
  for (const [, host = "", slots, ports] of text.matchAll(HOST)) {
    if (hosts.size >= MOST_HOSTS) break;
    hosts.set(host, Number(slots ?? ports ?? 1));
  }
  const file = entryOf(flags, ["hostfile", "machinefile"]);
  if (file === undefined || hosts.size === 0) return undefined;
  const said = (name: string): string => {
    const node = entryOf(flags, [name])?.value;
    return node?.kind === "scalar" && typeof node.value === "string" ? node.value : "";
  };
  const included = filtered(said("include"));
  const excluded = filtered(said("exclude"));
  const perHost = countOf(entryOf(flags, ["num_gpus"])?.value);
  const active = [...hosts]
    .filter(([host]) => included.size === 0 || included.has(host))
    .map(([host, slots]) => {
      const out = excluded.get(host);
      const own = included.get(host) ?? slots;
      return out === undefined ? own : out === null ? 0 : own - out;
    })
    .filter((count) => count > 0)
    .slice(0, countOf(entryOf(flags, ["num_nodes"])?.value));
  const total = active.reduce((sum, count) => sum + (perHost ?? count), 0);
  return total > 0 ? stated("world_size", file, total, true) : undefined;
}

/** Hosts of `worker-1@worker-2:0,2`, each with how many of its slots are named; null: all. */
function filtered(text: string): Map<string, number | null> {
  const parts = text.split("@").filter((part) => part !== "");
  return new Map(
    parts.map((part) => {
      const [host = "", slots] = part.split(":");
      return [host, slots === undefined ? null : slots.split(",").filter((slot) => slot !== "").length] as const;
    }),
  );
}
