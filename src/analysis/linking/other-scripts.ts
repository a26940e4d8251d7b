/**
 * Scripts that a script runs or reads: `bash train.sh 4`, `sbatch job.slurm`, `source settings.sh`. What the caller sets is there in
 * the script that it runs, and what a script reads stands before its own commands. Nothing is executed, and no script outside of the
 * workspace is followed: what it sets would be quoted as this one's.
 */
import { jobVariables, readScript } from "../../syntax/shell";
import type { Entry, LocatedNode, MapNode, ShellCommand, ShellWord } from "../../syntax/tree";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { joinUri, parentOf } from "../documents/uris";
import { known } from "./hydra-program";

const SHELLS = /^(?:\S*\/)?(?:bash|sh|zsh|sbatch|qsub|exec|srun|nohup|time|sudo)$/;
const READS = /^(?:source|\.)$/;
const SCRIPT = /\.(?:sh|bash|slurm|sbatch|env)$/;
/** Scripts of scripts. */
const DEEPEST = 4;
const MOST_CALLED = 8;
/** Where a value stands that is written in another file. */
const ELSEWHERE = { start: -1, end: -1 };

export interface Scripts {
  /** Folders that paths may start from beside the script's own. */
  readonly folders: readonly string[];
  readonly store: DocumentStore;
  /** Whether a file lies outside of the workspace. */
  readonly isOutside: (uri: string) => boolean;
}

/** The word of a command that names a script it runs or reads. */
function scriptOf({ words }: ShellCommand): ShellWord | undefined {
  const [first] = words;
  if (first === undefined) return undefined;
  if (SCRIPT.test(first.text)) return first;
  if (!SHELLS.test(first.text) && !READS.test(first.text)) return undefined;
  const named = words.findIndex(({ text }, index) => index > 0 && SCRIPT.test(text));
  // Words before it are options of the shell, or of what submits it.
  const before = words.slice(1, Math.max(named, 1)).every(({ text }, index, all) => {
    const follows = index > 0 && /^-/.test(all[index - 1]?.text ?? "");
    return /^-/.test(text) || SHELLS.test(text) || follows;
  });
  return named < 0 || !before ? undefined : words[named];
}

async function loaded(word: ShellWord, { uri }: LoadedDocument, { folders, store, isOutside }: Scripts) {
  // What only the shell knows in front of a path (`$(dirname $0)/`, `$ROOT/`) is most likely a folder of these.
  const path = known(word.text) ?? "";
  if (path === "" || path.includes("*")) return undefined;
  for (const folder of new Set([parentOf(uri), ...folders])) {
    const found = joinUri(folder, path);
    if (found === uri || isOutside(found)) continue;
    const document = await store.load(found);
    if (document?.config?.parsed.shell !== undefined) return document;
  }
  return undefined;
}

/** Values as they are known in another script, where they have no place. */
function moved(entries: readonly Entry[]): readonly Entry[] {
  return entries.flatMap(({ key, value }) => {
    const items = value.kind === "list" ? value.items.flatMap(elsewhere) : [];
    const [there] =
      value.kind === "list" && items.length > 0 ? [{ kind: "list" as const, items, ...ELSEWHERE }] : elsewhere(value);
    return there === undefined ? [] : [{ key, keySpan: ELSEWHERE, value: there }];
  });
}

function elsewhere(value: LocatedNode): readonly LocatedNode[] {
  return value.kind === "scalar" && value.value !== null
    ? [{ kind: "scalar", value: value.value, raw: value.raw, ...ELSEWHERE }]
    : [];
}

/** What a script asks of the cluster, where the script that it runs does not. */
function joined(own: MapNode, callers: MapNode): MapNode {
  const said = new Set(own.entries.map(({ key }) => key));
  const more = callers.entries.filter(({ key }) => !said.has(key));
  return { ...own, entries: [...moved(more), ...own.entries] };
}

/** What the files set that a script reads (`source settings.sh`); they find what it has set before. */
async function readBy(script: LoadedDocument, scripts: Scripts): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const { commands = [], variables } = script.config?.parsed.shell ?? {};
  for (const command of commands) {
    const word = READS.test(command.words[0]?.text ?? "") ? scriptOf(command) : undefined;
    const read = word === undefined ? undefined : await loaded(word, script, scripts);
    if (read === undefined) continue;
    const set = moved((variables?.entries ?? []).filter(({ keySpan }) => keySpan.start < command.start));
    const own = new Set(set.map(saying));
    const said = moved(readScript(read.text, [...entries, ...set]).variables.entries);
    entries.push(...said.filter((entry) => !own.has(saying(entry))));
  }
  return entries;
}

/** A name with its value, as text. */
function saying({ key, value }: Entry): string {
  const texts = value.kind === "list" ? value.items : [value];
  return `${key}=${texts.map((text) => (text.kind === "scalar" ? text.value : "")).join(" ")}`;
}

/** A script with the variables of the files it reads; itself where it reads none. */
export async function withRead(script: LoadedDocument, scripts: Scripts): Promise<LoadedDocument> {
  const { shell, python } = script.config?.parsed ?? {};
  if (shell === undefined || python !== undefined || shell.sealed === true) return script;
  const set = await readBy(script, scripts);
  return set.length === 0 ? script : script.withShell((text) => readScript(text, set));
}

/** Scripts that a script runs, each as it finds its variables, its arguments and the job it is in. */
export async function calledScripts(
  script: LoadedDocument,
  scripts: Scripts,
  depth = 0,
): Promise<readonly LoadedDocument[]> {
  const shell = script.config?.parsed.python === undefined ? script.config?.parsed.shell : undefined;
  if (shell === undefined || depth >= DEEPEST) return [];
  const called: LoadedDocument[] = [];
  for (const command of shell.commands) {
    const word = scriptOf(command);
    if (word === undefined || called.length >= MOST_CALLED || READS.test(command.words[0]?.text ?? "")) continue;
    const document = await loaded(word, script, scripts);
    if (document === undefined) continue;
    const given = command.words.slice(command.words.indexOf(word) + 1).map(({ text }) => text);
    const set = [...jobVariables(shell.directives), ...command.environment.entries];
    const before = [...moved(set), ...(await readBy(document, scripts))];
    const inner = document.withShell((text) => {
      const read = readScript(text, before, given);
      return { ...read, directives: joined(read.directives, shell.directives) };
    });
    called.push(inner, ...(await calledScripts(inner, scripts, depth + 1)));
  }
  return called;
}
