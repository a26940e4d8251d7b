/**
 * How many processes a command starts, and how many GPUs the job it stands in is granted: the launcher's options, the
 * environment, and the scheduler's lines. Values the shell fills in from the outside count as not said.
 * Sources: torch/distributed/run.py, deepspeed/launcher/runner.py, accelerate/commands/launch.py, llamafactory/launcher.py,
 * swift/cli/main.py, and sbatch's manual.
 */
import type { Entry, LocatedNode, MapNode, ShellCommand } from "../syntax/tree";
import { CARDS, GPU_LABELS, GPUS_PER_NODE, NODES } from "./jobs/keys";
import type { LocatedSetting } from "./types";

export function entryOf(map: MapNode, names: readonly string[]): Entry | undefined {
  return map.entries.findLast((entry) => names.includes(entry.key.replaceAll("-", "_")));
}

/** A count: a number, or the least of a range (`--nnodes 2:4`). */
export function countOf(node: LocatedNode | undefined): number | undefined {
  if (node?.kind !== "scalar") return undefined;
  const value = typeof node.value === "string" ? Number(/^(\d{1,6})(?::\d{1,6})?$/.exec(node.value)?.[1]) : node.value;
  return typeof value === "number" && Number.isInteger(value) && value >= 1 ? value : undefined;
}

/** What is known of `$((8 * $NNODES))`. */
function factorOf(node: LocatedNode | undefined): number | undefined {
  if (node?.kind !== "unknown") return undefined;
  const [, before, after] =
    /^\$\(\(\s?(?:(\d{1,5})\s?\*|\$?\{?\w{1,80}\}?\s?\*\s?(\d{1,5})\s?\)\)$)/.exec(node.raw) ?? [];
  const count = Number(before ?? after);
  return count >= 1 ? count : undefined;
}

/** GPUs of `4`, `gpu:4`, `gpu:a100:4`. */
function gpusOf(entry: Entry | undefined): number | undefined {
  if (entry?.value.kind !== "scalar") return undefined;
  const count = Number(/(?:^|:)(\d{1,5})(?:\(|$)/.exec(String(entry.value.value))?.[1]);
  return count >= 1 ? count : undefined;
}

/** Devices of `CUDA_VISIBLE_DEVICES=0,1`. */
function visibleOf(entry: Entry | undefined): number | undefined {
  if (entry?.value.kind === "list") return entry.value.items.length;
  if (entry?.value.kind !== "scalar" || entry.value.value === null) return undefined;
  const text = String(entry.value.value).trim();
  return /^[\w-]+(?:\s?,\s?[\w-]+)*$/.test(text) ? text.split(",").length : undefined;
}

/** Parts of a GPU that a container asks for (NVIDIA/k8s-device-plugin, the `mixed` strategy). */
const MIG = /^nvidia\.com\/mig-/;

interface Granted {
  readonly entry: Entry;
  readonly total: number;
  readonly nodes: number;
}

/** What `#SBATCH` lines, or a job's YAML, grant the job. */
function grantedBy(directives: MapNode): Granted | undefined {
  const nodes = countOf(entryOf(directives, NODES)?.value) ?? 1;
  const perNode = entryOf(directives, GPUS_PER_NODE) ?? directives.entries.find(({ key }) => MIG.test(key));
  const each =
    perNode !== undefined && /gres/.test(perNode.key) && !/gpu/.test(rawOf(perNode)) ? undefined : gpusOf(perNode);
  if (perNode !== undefined && each !== undefined) return { entry: perNode, total: each * nodes, nodes };
  const all = entryOf(directives, ["gpus", "G"]);
  const total = gpusOf(all);
  if (all !== undefined && total !== undefined) return { entry: all, total, nodes };
  const perTask = entryOf(directives, ["gpus_per_task"]);
  const task = gpusOf(perTask);
  const tasks =
    countOf(entryOf(directives, ["ntasks", "n"])?.value) ??
    (countOf(entryOf(directives, ["ntasks_per_node"])?.value) ?? 1) * nodes;
  return perTask === undefined || task === undefined ? undefined : { entry: perTask, total: task * tasks, nodes };
}

function rawOf({ value }: Entry): string {
  return value.kind === "scalar" ? String(value.value) : "";
}

/** A name before the number of GPUs, where one stands there: `gpu:a100:4`, `H100:8`. */
const NAMED = /^(?:gpu:)?([A-Za-z][\w-]{1,40}?)(?::\d{1,5})?$/;

/** The GPU that the job names: `gres=gpu:a100:4`, `accelerators: H100:8`, a label of the nodes, a feature that they must have. */
function namedGpu(directives: MapNode): LocatedSetting | undefined {
  const label = entryOf(directives, GPU_LABELS);
  if (label !== undefined) return card(label, rawOf(label).trim());
  for (const key of GPUS_PER_NODE) {
    const asked = entryOf(directives, [key]);
    const name = asked && NAMED.exec(rawOf(asked).trim())?.[1];
    if (asked !== undefined && name !== undefined && name !== "gpu") return card(asked, name);
  }
  const constraint = entryOf(directives, ["constraint", "C"]);
  return constraint && constrainedTo(constraint);
}

function card(asked: Entry, name: string): LocatedSetting | undefined {
  return name === "" ? undefined : stated("device", asked, CARDS[name] ?? name, false);
}

/** Features of nodes that are called as their card is (`h100`, `gpu_a100-80gb`); sites choose the names. */
const FEATURE = /^(?:gpu[_-]?)?((?:[abhlv]\d{2,4}s?|t4|rtx[_-]?\w{4,6})(?:[_-]?\d{2,3}gb?)?)$/i;

/** The card among the features that all nodes must have (`--constraint="h100&ib"`); of those that may be chosen between, none is known. */
function constrainedTo(asked: Entry): LocatedSetting | undefined {
  const text = rawOf(asked);
  const names = text.includes("|") ? [] : text.split(/[&"']/).flatMap((one) => FEATURE.exec(one.trim())?.[1] ?? []);
  const [name, ...others] = names;
  return name === undefined || others.length > 0 ? undefined : card(asked, name);
}

type Stated = "world_size" | "least_devices" | "visible_devices" | "granted_devices" | "num_machines" | "device";

export function stated(name: Stated, entry: Entry, value: number | string, flag: boolean) {
  const { keySpan, value: node } = entry;
  const key = flag ? `--${entry.key}` : entry.key;
  return { name, key, value, node, keySpan, valueSpan: { start: node.start, end: node.end } };
}

/** Launchers that start one process for each GPU they see when they are not told how many. */
const TAKES_ALL =
  /^(?:\S*\/)?(?:deepspeed|accelerate|axolotl|llamafactory-cli|trl)$|accelerate\.commands\.launch|axolotl\.cli\.train/;

/** Words among which a command has its launcher. */
const LAUNCHER_WORDS = 6;

function takesAll({ words }: ShellCommand): boolean {
  return words.slice(0, LAUNCHER_WORDS).some(({ text }) => TAKES_ALL.test(text));
}

export function runsByMpi({ words }: ShellCommand): boolean {
  return /(?:^|\/)(?:mpirun|mpiexec|horovodrun)$/.test(words[0]?.text ?? "");
}

/** An option without the words behind its own, which are what is started (`--nproc_per_node 8 recipe`). */
function oneWord(entry: Entry | undefined): Entry | undefined {
  const first = entry?.value.kind === "list" ? entry.value.items[0] : undefined;
  return entry === undefined || first === undefined ? entry : { ...entry, value: first };
}

/** Processes of the launcher by its own options and environment; torchrun has `PET_` before each of its options there (torch/distributed/run.py). */
function launched(command: ShellCommand, granted: Granted | undefined): LocatedSetting | undefined {
  const { flags, environment } = command;
  const total = entryOf(flags, ["num_processes", "ddp_world_size", ...(runsByMpi(command) ? ["np", "n"] : [])]);
  const all = countOf(total?.value);
  if (total !== undefined && all !== undefined) return stated("world_size", total, all, true);
  const factor = factorOf(total?.value);
  if (total !== undefined && factor !== undefined) return stated("least_devices", total, factor, true);
  const nodesEntry = entryOf(flags, ["nnodes", "num_nodes", "num_machines"]);
  const asked = countOf(nodesEntry?.value) ?? countOf(entryOf(environment, ["NNODES", "PET_NNODES"])?.value);
  // A count that only the job knows (`$SLURM_NNODES`) is the one its lines ask for.
  const nodes = asked ?? (nodesEntry?.value.kind === "unknown" ? granted?.nodes : undefined) ?? 1;
  const perNode = oneWord(entryOf(flags, ["nproc_per_node", "num_gpus", "nproc", "gpus_per_node"]));
  const each = countOf(perNode?.value);
  // How many machines there are is known where it runs alone.
  const open = asked === undefined && granted === undefined && nodesEntry?.value.kind === "unknown";
  const least = open || (asked === undefined && entryOf(flags, ["hostfile"]) !== undefined);
  if (perNode !== undefined && each !== undefined)
    return stated(least ? "least_devices" : "world_size", perNode, each * nodes, true);
  const include = entryOf(flags, ["include"]);
  if (include?.value.kind === "scalar" && typeof include.value.value === "string") {
    const devices = include.value.value.split("@").flatMap((host) => (host.split(":")[1] ?? "").split(","));
    const count = devices.filter((part) => part !== "").length;
    // A host alone stands for all that it has.
    const isWhole = include.value.value.split("@").every((host) => host.includes(":"));
    if (count > 0 && isWhole) return stated("world_size", include, count, true);
  }
  const processes = entryOf(environment, ["NPROC_PER_NODE", "PET_NPROC_PER_NODE"]);
  const own = countOf(processes?.value);
  if (processes !== undefined && own !== undefined) return stated("world_size", processes, own * nodes, false);
  const devices = entryOf(environment, ["CUDA_VISIBLE_DEVICES"]);
  const visible = visibleOf(devices);
  const everyDevice = takesAll(command) || perNode !== undefined;
  if (devices !== undefined && visible !== undefined && everyDevice)
    return stated("world_size", devices, visible * nodes, false);
  const jobs = /(?:^|\/)srun$|torchrun$/.test(command.words[0]?.text ?? "") || everyDevice;
  if (granted !== undefined && jobs) return stated("world_size", granted.entry, granted.total, false);
  const unread = total ?? perNode;
  if (unread === undefined) return ofAll(command);
  // `--nproc_per_node=gpu` is as many as there are, a value from outside is not known.
  return isEvery(unread.value)
    ? stated("least_devices", { ...unread, key: baseOf(command.words[0]?.text ?? "") }, 1, false)
    : stated("least_devices", unread, 1, true);
}

/** Words of torchrun for as many processes as there are GPUs (torch/distributed/run.py, determine_local_world_size). */
function isEvery(node: LocatedNode): boolean {
  return node.kind === "scalar" && (node.value === "gpu" || node.value === "auto");
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A launcher that is told nothing: one process at least. */
function ofAll({ words }: ShellCommand): LocatedSetting | undefined {
  const launcher = words.slice(0, LAUNCHER_WORDS).find(({ text }) => TAKES_ALL.test(text));
  if (launcher === undefined) return undefined;
  const { node, text } = launcher;
  const at = { start: node.start, end: node.end };
  const key = baseOf(text);
  return { name: "least_devices", key, value: 1, node, keySpan: at, valueSpan: at };
}

/** GPUs that a command without a launcher sees: those that its environment names, else those that its job has on a machine. */
function seen({ environment }: ShellCommand, granted: Granted | undefined): LocatedSetting[] {
  const devices = entryOf(environment, ["CUDA_VISIBLE_DEVICES"]);
  const visible = visibleOf(devices);
  if (devices !== undefined) return visible === undefined ? [] : [stated("visible_devices", devices, visible, false)];
  if (granted === undefined) return [];
  return [stated("visible_devices", granted.entry, Math.ceil(granted.total / granted.nodes), false)];
}

const VISIBLE_IN_SCRIPT = /(?:^|\.)environ\["CUDA_VISIBLE_DEVICES"\]$/;

/** GPUs that a script leaves itself: `os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"`. */
export function seenByScript(assignments: MapNode): readonly LocatedSetting[] {
  const devices = assignments.entries.findLast(({ key }) => VISIBLE_IN_SCRIPT.test(key));
  const visible = visibleOf(devices);
  return devices === undefined || visible === undefined ? [] : [stated("visible_devices", devices, visible, false)];
}

/** The processes that the command starts, and what its job is granted. */
export function launchCounts(command: ShellCommand, directives: MapNode): readonly LocatedSetting[] {
  const granted = grantedBy(directives);
  const world = launched(command, granted);
  const nodes = entryOf(command.flags, ["nnodes", "num_nodes", "num_machines"]);
  const machines = countOf(nodes?.value);
  const gpu = namedGpu(directives);
  return [
    ...(gpu === undefined ? [] : [gpu]),
    ...(world === undefined ? seen(command, granted) : [world]),
    ...(nodes === undefined || machines === undefined ? [] : [stated("num_machines", nodes, machines, true)]),
    ...(granted === undefined ? [] : [stated("granted_devices", granted.entry, granted.total, false)]),
  ];
}
