/**
 * Options whose classes a program imports from other modules of the workspace: the fields of the dataclasses that its parser is
 * given (`HfArgumentParser((ModelArguments, …))`, `tyro.cli(Config)`), with those of their bases. Nothing is executed.
 */
import type { Entry, LocatedNode, PythonModule } from "../../syntax/tree";
import type { LoadedDocument } from "../documents/store";
import { parentOf } from "../documents/uris";
import { programFile, type Search } from "./hydra-program";

/** Calls that are given classes whose fields are options. */
const PARSES: ReadonlySet<string> = new Set(["cli", "parse"]);
/** Modules looked through for one program. */
const MAX_MODULES = 24;
/** Folders above a program that may be the root of its packages. */
const MAX_PARENTS = 4;

interface Looking {
  readonly search: Search;
  /** Folders that absolute imports may start from. */
  readonly roots: readonly string[];
  readonly seen: Set<string>;
  readonly found: Map<string, Entry>;
  readonly foreign: Set<string>;
}

/** What the parsers of a program are given beside its own classes. */
export interface ImportedOptions {
  /** Fields with their defaults, the first class's before others'; those of the program's own classes are not among them. */
  readonly entries: readonly Entry[];
  /** Classes, and bases of classes, that no file of the workspace defines: a library's. */
  readonly foreign: readonly string[];
}

/** The options of a program whose classes stand elsewhere. */
export async function importedOptions(
  program: LoadedDocument,
  folders: readonly string[],
  search: Search,
): Promise<ImportedOptions> {
  const python = program.config?.parsed.python;
  if (python === undefined) return { entries: [], foreign: [] };
  const looking: Looking = {
    search,
    roots: rootsOf(program, folders),
    seen: new Set(),
    found: new Map(),
    foreign: new Set(),
  };
  for (const name of parsed(python)) await ofClass(name, program, looking);
  const own = new Set(python.options.entries.map(({ key }) => key));
  return {
    entries: [...looking.found.values()].filter(({ key }) => !own.has(key)),
    foreign: [...looking.foreign],
  };
}

/** Folders that a program's absolute imports may start from. */
export function rootsOf(program: LoadedDocument, folders: readonly string[]): readonly string[] {
  const above = [parentOf(program.uri)];
  while (above.length <= MAX_PARENTS) above.push(parentOf(above.at(-1) ?? ""));
  const inside = above.filter((folder) => folders.some((root) => `${folder}/`.startsWith(`${root}/`)));
  return [...new Set([...inside, ...folders])];
}

/** Functions that are a whole program. */
const WHOLE = /^(?:train|main|run\w{0,40}|finetune\w{0,40})$/;
/** Calls of a program that only prepares and hands over. */
const FEWEST_CALLS = 12;

/**
 * The module whose function a program calls, which is all it does (`from llava.train.train import train; train()`); undefined where it is
 * a program of its own, or that module is none of the workspace's.
 */
export async function wrappedProgram(
  program: LoadedDocument,
  folders: readonly string[],
  search: Search,
): Promise<LoadedDocument | undefined> {
  const python = program.config?.parsed.python;
  if (python === undefined || python.classes.length > 0 || python.calls.length > FEWEST_CALLS) return undefined;
  for (const { callee } of python.calls) {
    const imported = python.bound.get(callee) ?? "";
    const cut = imported.lastIndexOf(".");
    if (cut <= 0 || !WHOLE.test(imported.slice(cut + 1))) continue;
    const file = await moduleFile(imported.slice(0, cut), program, { search, roots: rootsOf(program, folders) });
    if (file?.config?.parsed.python !== undefined && file.uri !== program.uri) return file;
  }
  return undefined;
}

/** Names of the classes that parsers are given. */
function parsed({ calls }: PythonModule): readonly string[] {
  const texts = (node: LocatedNode): readonly string[] =>
    node.kind === "list" ? node.items.flatMap(texts) : node.kind === "unknown" ? [node.raw] : [];
  const given = calls.filter(({ callee }) => parses(callee)).flatMap(({ positional }) => positional.flatMap(texts));
  return given.filter((text) => /^[A-Za-z_][\w.]{0,200}$/.test(text));
}

/** Collects the fields of a class by the name that a module has for it. */
async function ofClass(name: string, document: LoadedDocument, looking: Looking): Promise<void> {
  const place = `${document.uri} ${name}`;
  const python = document.config?.parsed.python;
  if (python === undefined || looking.seen.has(place) || looking.seen.size > MAX_MODULES) return;
  looking.seen.add(place);
  const own = python.classes.find((type) => type.name === name);
  if (own !== undefined) {
    for (const entry of own.fields.entries) if (!looking.found.has(entry.key)) looking.found.set(entry.key, entry);
    for (const base of own.bases) await ofClass(base, document, looking);
    return;
  }
  const [head = "", ...rest] = name.split(".");
  const imported = python.bound.get(head);
  if (imported === undefined) {
    looking.foreign.add(rest.at(-1) ?? head);
    return;
  }
  const dotted = [imported, ...rest].join(".");
  const cut = dotted.lastIndexOf(".");
  const [before, wanted] = [dotted.slice(0, Math.max(0, cut)), dotted.slice(cut + 1)];
  const module = /^\.*$/.test(before) ? dotted.slice(0, cut + 1) : before;
  const file = await moduleFile(module, document, looking);
  if (file === undefined) looking.foreign.add(wanted);
  else await ofClass(wanted, file, looking);
}

/** The file of a module, seen from one that imports it; `.` at its start stands for the package, another for the one above. */
export async function moduleFile(
  module: string,
  from: LoadedDocument,
  { search, roots }: Pick<Looking, "search" | "roots">,
): Promise<LoadedDocument | undefined> {
  const dots = /^\.*/.exec(module)?.[0].length ?? 0;
  const path = module.slice(dots).replaceAll(".", "/");
  let folder = parentOf(from.uri);
  for (let up = 1; up < dots; up++) folder = parentOf(folder);
  const starts = dots > 0 ? [folder] : roots;
  const names = path === "" ? ["__init__.py"] : [`${path}.py`, `${path}/__init__.py`];
  for (const name of names) {
    const file = await programFile({ path: name, span: { start: 0, end: 0 } }, starts, search);
    if (file !== undefined) return file;
  }
  return undefined;
}

/** Whether a call reads options: a parser's class, or a function of that name. */
function parses(callee: string): boolean {
  const name = callee.slice(callee.lastIndexOf(".") + 1);
  return PARSES.has(name) || name.includes("Parser");
}
