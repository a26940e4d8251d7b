/**
 * The launch command of a run: a shell script in the config's folder or its parent that names the config says how many
 * processes there are and which accelerate config they use. Nothing is executed.
 */

import { environmentSettings } from "../../formats/carriers";
import { hostedBy, hostfileOf } from "../../formats/hostfile";
import { hasDefaults } from "../../formats/hydra";
import { inCommands, type LocatedSetting } from "../../formats/types";
import { endOfPath } from "../../formats/value";
import { launchCounts } from "../../formats/world-size";
import { emptyMap, nodeAt } from "../../syntax/text";
import type { LocatedNode, MapNode, ShellCommand, Span } from "../../syntax/tree";
import type { CommandLine } from "../compose/overrides";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { baseName, joinUri, parentOf } from "../documents/uris";
import { frameworkOf } from "../frameworks/frameworks";
import { located, type Setting } from "../frameworks/settings";
import { type ProgramConfig, programConfig } from "./hydra-program";

const SCRIPT = /\.(?:sh|bash|slurm|sbatch)$|^(?:GNU)?[Mm]akefile$/;
/** Words in the name of a YAML that may be a cluster's job. */
const JOB: ReadonlySet<string> = new Set(
  "sky skypilot job jobs jobset k8s kube kubernetes pod pods pytorchjob mpijob task".split(" "),
);
const MOST_SCRIPTS = 40;
/** Folders above a Hydra config where the script that starts its program may be. */
const DEEPEST_CONFIG = 4;

/** A file that a command names and that is nowhere. */
export interface Absent {
  readonly id: "missing-file.accelerate" | "missing-file.hostfile";
  readonly target: string;
  readonly from: string;
  readonly span: Span;
}

/** What a launch script adds to a run. */
export interface Launch {
  /** The script, and the accelerate config it names. */
  readonly documents: readonly LoadedDocument[];
  readonly settings: readonly Setting[];
  readonly accelerate: { readonly document: LoadedDocument; readonly from: string; readonly span: Span } | undefined;
  /** Files that are named and are nowhere: an accelerate config, hosts. */
  readonly absent?: readonly Absent[];
}

/**
 * The command of a script that is itself the run, where it names an accelerate config or hosts; of a notebook, the one that starts
 * a program which it writes; of a config that a script writes, the one that names it there.
 */
export function ownLaunch(script: LoadedDocument): CommandLine | undefined {
  const { writer } = script;
  if (writer !== undefined) {
    const commands = writer.document.config?.parsed.shell?.commands ?? [];
    const starting = commands.find((command) => hands(command, script.uri));
    return starting && { script: writer.document, command: starting };
  }
  const parsed = script.config?.parsed;
  const isNotebook = parsed?.python !== undefined;
  const written = isNotebook ? script.written : [];
  const command = parsed?.shell?.commands.find((one) =>
    isNotebook
      ? written.some(({ uri }) => hands(one, uri))
      : accelerateConfig(one) !== undefined || hostfileOf(one) !== undefined,
  );
  return command === undefined ? undefined : { script, command };
}

/** What `accelerate launch --config_file` names. */
function accelerateConfig({ words, flags }: ShellCommand): LocatedNode | undefined {
  const launches = words.some(({ text }) => /(?:^|\/)accelerate$|^accelerate\.commands\.launch$/.test(text));
  return launches ? flag(flags, ["config_file", "config-file"]) : undefined;
}

/** A command that starts a Hydra program on a config. */
export interface Started extends CommandLine {
  readonly config: ProgramConfig;
}

/** The command of the first script next to the config that names it, or that starts a Hydra program of this config. */
export async function findCommand(
  main: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<(CommandLine & Partial<Started>) | undefined> {
  const name = baseName(main.uri);
  const hydra = main.config !== undefined && hasDefaults(main.config);
  const near = hydra ? folders.slice(0, DEEPEST_CONFIG) : folders.slice(0, 2);
  for (const folder of [...near, ...(await foldersOfScripts(folders.slice(0, DEEPEST_CONFIG), store))]) {
    const isNear = near.includes(folder);
    for (const script of await scriptsIn(folder, store, dependencies)) {
      const named = script.text.includes(name) ? commandNaming(script, main.uri, !isNear) : undefined;
      if (named !== undefined) return { script, command: named };
      const started = hydra && isNear ? await hydraCommand(script, main, folders, store, dependencies) : undefined;
      if (started !== undefined) return started;
    }
  }
  return undefined;
}

/** Folders beside a config's that scripts are kept in. */
const OF_SCRIPTS = /^(?:scripts?|bash|shell|slurm|launch(?:ers)?|jobs?)$/;

async function foldersOfScripts(folders: readonly string[], store: DocumentStore): Promise<readonly string[]> {
  const found: string[] = [];
  for (const folder of folders)
    for (const { name, type } of await store.list(folder))
      if (type === "directory" && OF_SCRIPTS.test(name)) found.push(joinUri(folder, name));
  return found.filter((folder) => !folders.includes(folder));
}

function mayBeJob(name: string): boolean {
  return (
    /\.ya?ml$/i.test(name) &&
    name
      .toLowerCase()
      .split(/[._-]/)
      .some((word) => JOB.has(word))
  );
}

async function scriptsIn(
  folder: string,
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<readonly LoadedDocument[]> {
  const scripts = (await store.list(folder)).filter(
    (entry) => entry.type === "file" && (SCRIPT.test(entry.name) || mayBeJob(entry.name)),
  );
  const result: LoadedDocument[] = [];
  for (const script of scripts.slice(0, MOST_SCRIPTS)) {
    const uri = joinUri(folder, script.name);
    dependencies.add(uri);
    const document = await store.load(uri);
    if (document !== undefined) result.push(document);
  }
  return result;
}

/** Whether a word of a command names a file: its path, or an option with it. */
export function namesFile(word: string, uri: string): boolean {
  const name = baseName(uri);
  return word === name || word.endsWith(`/${name}`) || word.endsWith(`=${name}`);
}

/** Whether a word is a path that the file's own ends in, with a folder of it. */
function endsPath(word: string, uri: string): boolean {
  const path = word.replace(/^\.\//, "");
  return path.includes("/") && namesFile(path, uri) && uri.endsWith(`/${path.slice(path.indexOf("=") + 1)}`);
}

/**
 * The command whose words name the config.
 *
 * @param whole by its path, not its name alone
 */
function commandNaming(document: LoadedDocument, uri: string, whole = false): ShellCommand | undefined {
  return document.config?.parsed.shell?.commands.find((command) => hands(command, uri, whole ? endsPath : namesFile));
}

/** Programs that read, write and move files and start nothing on them. */
const OF_FILES: ReadonlySet<string> = new Set(
  "cat tee cp mv rm ln sed awk grep head tail ls echo printf touch chmod mkdir wget curl diff".split(" "),
);

/** Whether a command starts a program on a file, and does not only write or change it. */
export function hands({ words }: ShellCommand, uri: string, names = namesFile): boolean {
  return !OF_FILES.has(words[0]?.text ?? "") && words.some(({ text }) => names(text, uri));
}

/** A plain path of a file that a program reads its arguments from (`train.py config.yaml`). */
const DATA = /^(?!-)[\w./-]{1,300}\.(?:ya?ml|json|toml)$/;

/** What hands a program its config by name. */
const CONFIG = /^--config(?:[-_]file)?(?:=(.+))?$/;

/** The file that the words behind a program hand to it: what an option names, else the first of them. */
function handed(words: readonly { readonly text: string }[]): string | undefined {
  const [first] = words;
  const option = words.findIndex(({ text }) => CONFIG.test(text));
  return option < 0 ? first?.text : (CONFIG.exec(words[option]?.text ?? "")?.[1] ?? words[option + 1]?.text);
}

/** The training config that a script's command hands to a Python program; undefined where none does, or the script is a program itself. */
export async function startedData(
  script: LoadedDocument,
  {
    folders,
    store,
    isOutside,
  }: { folders: readonly string[]; store: DocumentStore; isOutside: (uri: string) => boolean },
): Promise<LoadedDocument | undefined> {
  if (ownPythonTrains(script)) return undefined;
  for (const { words } of script.config?.parsed.shell?.commands ?? []) {
    const program = words.findIndex(({ text }) => /\.py$/.test(text));
    const path = program < 0 ? undefined : handed(words.slice(program + 1));
    if (path === undefined || !DATA.test(path)) continue;
    for (const folder of new Set([parentOf(script.uri), ...folders])) {
      const uri = joinUri(folder, path);
      const document = isOutside(uri) ? undefined : await store.load(uri);
      if (document?.recognised === undefined) continue;
      if (frameworkOf(document.recognised.format).trainer !== undefined) return document;
    }
  }
  return undefined;
}

/** Whether a notebook's own Python trains: it is its own run then. */
export function ownPythonTrains({ config, recognised }: LoadedDocument): boolean {
  return config?.parsed.python !== undefined && recognised !== undefined && !inCommands(recognised.format);
}

/** The command that starts a Hydra program on this config, with what names the config. */
async function hydraCommand(
  script: LoadedDocument,
  main: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<Started | undefined> {
  for (const command of script.config?.parsed.shell?.commands ?? []) {
    const config = await programConfig(command, { script, folders, store, dependencies });
    if (config?.document.uri === main.uri) return { script, command, config };
  }
  return undefined;
}

/**
 * The Hydra config that a script's command starts on; its overrides are over that config. The longest command counts,
 * as where a format reads the script.
 */
export async function startedConfig(
  script: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<Started | undefined> {
  const size = ({ overrides, flags }: ShellCommand) => overrides.entries.length + flags.entries.length;
  const [command] = (script.config?.parsed.shell?.commands ?? []).toSorted((a, b) => size(b) - size(a));
  const names = command?.flags.entries.some(({ key }) => /^config[-_](?:name|path|dir)$/.test(key));
  if (command === undefined || (names === false && command.overrides.entries.length === 0)) return undefined;
  const config = await programConfig(command, { script, folders, store, dependencies });
  return config?.document.config?.parsed.root?.kind === "map" ? { script, command, config } : undefined;
}

/** The processes of the hosts that a file names. */
async function hostsOf(
  command: ShellCommand,
  folders: Iterable<string>,
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<readonly LocatedSetting[] | "absent"> {
  const target = textOf(hostfileOf(command));
  if (target === undefined) return [];
  for (const folder of folders) {
    const uri = joinUri(folder, target);
    dependencies.add(uri);
    const text = (await store.load(uri))?.text;
    const hosted = text === undefined ? undefined : hostedBy(command, text);
    if (hosted !== undefined) return [hosted];
  }
  return "absent";
}

/** Launch settings of a command: what it says of processes, and the accelerate config it names. */
export async function launchOf(
  { script, command }: CommandLine,
  starts: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<Launch> {
  const directives = script.config?.parsed.shell?.directives ?? emptyMap({ start: 0, end: 0 });
  const folders = new Set([parentOf(script.uri), ...starts, parentOf(parentOf(script.uri))]);
  const hosts = await hostsOf(command, folders, store, dependencies);
  const absent = hosts === "absent" ? absentIn(script, "missing-file.hostfile", hostfileOf(command)) : [];
  const hosted = hosts === "absent" ? [] : hosts;
  const said = [...launchCounts(command, directives), ...hosted, ...environmentSettings(command)];
  const settings = located(said, script.uri, "linked");
  const file = accelerateConfig(command);
  const target = textOf(file);
  if (file === undefined || target === undefined)
    return { documents: [script], settings, accelerate: undefined, absent };
  for (const folder of folders) {
    const uri = joinUri(folder, target);
    dependencies.add(uri);
    const document = await store.load(uri);
    if (document?.recognised === undefined || frameworkOf(document.recognised.format).part !== "launcher") continue;
    return {
      documents: [script, document],
      // Flags of `accelerate launch` win over its file.
      settings: [...located(document.read.settings, uri, "linked"), ...settings],
      accelerate: { document, from: script.uri, span: file },
      absent,
    };
  }
  absent.push(...absentIn(script, "missing-file.accelerate", file));
  return { documents: [script], settings, accelerate: undefined, absent };
}

function absentIn(script: LoadedDocument, id: Absent["id"], node: LocatedNode | undefined): Absent[] {
  const target = textOf(node);
  if (node === undefined || target === undefined) return [];
  return [{ id, target, from: script.uri, span: { start: node.start, end: node.end } }];
}

function flag(flags: MapNode, names: readonly string[]): LocatedNode | undefined {
  return names.map((name) => nodeAt(flags, name)).find((node) => node !== undefined);
}

function textOf(node: LocatedNode | undefined): string | undefined {
  const path = node && endOfPath(node);
  if (path !== undefined) return path;
  return node?.kind === "scalar" && node.value !== null ? String(node.value) : undefined;
}
