/**
 * The launch command of a run: a shell script in the config's folder or its parent that names the config says how many
 * processes there are and which accelerate config they use. Nothing is executed.
 */
import { allocatorSettings } from "../formats/carriers";
import { nodeAt } from "../syntax/text";
import type { LocatedNode, MapNode, ShellCommand, Span } from "../syntax/tree";
import { located, type Setting } from "./settings";
import type { DocumentStore, LoadedDocument } from "./store";
import { baseName, joinUri, parentOf } from "./uris";

const SCRIPT = /\.(?:sh|bash|slurm|sbatch)$|^(?:GNU)?[Mm]akefile$/;
const MOST_SCRIPTS = 40;

/** What a launch script adds to a run. */
export interface Launch {
  /** The script, and the accelerate config it names. */
  readonly documents: readonly LoadedDocument[];
  readonly settings: readonly Setting[];
  readonly accelerate: { readonly document: LoadedDocument; readonly from: string; readonly span: Span } | undefined;
}

/** Launch settings of the first script next to the config that names it. */
export async function findLaunch(
  main: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<Launch | undefined> {
  const name = baseName(main.uri);
  for (const folder of folders.slice(0, 2)) {
    const scripts = (await store.list(folder)).filter((entry) => entry.type === "file" && SCRIPT.test(entry.name));
    for (const script of scripts.slice(0, MOST_SCRIPTS)) {
      const uri = joinUri(folder, script.name);
      dependencies.add(uri);
      const document = await store.load(uri);
      const command = document?.text.includes(name) ? commandNaming(document, name) : undefined;
      if (document === undefined || command === undefined) continue;
      return withAccelerate(document, command, main, store, dependencies);
    }
  }
  return undefined;
}

/** The command whose words name the config. */
function commandNaming(document: LoadedDocument, name: string): ShellCommand | undefined {
  return document.config?.parsed.shell?.commands.find((command) =>
    command.words.some(
      (word) => word.text === name || word.text.endsWith(`/${name}`) || word.text.endsWith(`=${name}`),
    ),
  );
}

async function withAccelerate(
  script: LoadedDocument,
  command: ShellCommand,
  main: LoadedDocument,
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<Launch> {
  const settings = [...worldSize(command, script.uri), ...located(allocatorSettings(command), script.uri, "linked")];
  const file = flag(command.flags, ["config_file", "config-file"]);
  const target = command.words.some((word) => word.text === "accelerate") ? textOf(file) : undefined;
  if (file === undefined || target === undefined) return { documents: [script], settings, accelerate: undefined };
  const folders = new Set([parentOf(script.uri), parentOf(main.uri), parentOf(parentOf(script.uri))]);
  for (const folder of folders) {
    const uri = joinUri(folder, target);
    dependencies.add(uri);
    const document = await store.load(uri);
    if (document?.recognised?.format.id !== "accelerate") continue;
    return {
      documents: [script, document],
      // Flags of `accelerate launch` win over its file.
      settings: [...located(document.read.settings, uri, "linked"), ...settings],
      accelerate: { document, from: script.uri, span: file },
    };
  }
  return { documents: [script], settings, accelerate: undefined };
}

/** Processes the command starts: per node times nodes (accelerate's `num_processes` counts all at once). */
function worldSize(command: ShellCommand, uri: string): Setting[] {
  const all = flag(command.flags, ["num_processes", "num-processes"]);
  const perNode = flag(command.flags, ["nproc_per_node", "nproc-per-node", "num_gpus"]);
  const nodes = flag(command.flags, ["nnodes", "num_nodes", "num_machines"]);
  const node = all ?? perNode;
  const count = Number(textOf(node));
  if (node === undefined || !Number.isInteger(count) || count < 1) return [];
  const machines = all === undefined ? Number(textOf(nodes) ?? 1) : 1;
  const setting = (name: string, value: number, at: LocatedNode): Setting => {
    const entry = command.flags.entries.find((candidate) => candidate.value === at);
    const place = { uri, keySpan: entry?.keySpan ?? at, valueSpan: { start: at.start, end: at.end } };
    return { name, value, from: "linked", key: `--${entry?.key ?? ""}`, place };
  };
  const known = Number.isInteger(machines) && machines > 0 ? machines : 1;
  const stated = Number(textOf(nodes));
  return [
    setting("world_size", count * known, node),
    ...(nodes !== undefined && Number.isInteger(stated) && stated > 0 ? [setting("num_machines", stated, nodes)] : []),
  ];
}

function flag(flags: MapNode, names: readonly string[]): LocatedNode | undefined {
  return names.map((name) => nodeAt(flags, name)).find((node) => node !== undefined);
}

function textOf(node: LocatedNode | undefined): string | undefined {
  return node?.kind === "scalar" && node.value !== null ? String(node.value) : undefined;
}
