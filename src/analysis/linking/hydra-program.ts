/**
 * The config a Hydra program starts on: what `--config-path`, `--config-dir` and `--config-name` of a command say, or
 * else the arguments of `hydra.main` (NeMo's `hydra_runner`) in the program. Nothing is executed.
 * Source: `hydra/_internal/utils.py` (`_run_hydra`, `compute_search_path_dir`): a path is relative to the program's file.
 */
import { nodeAt } from "../../syntax/text";
import type { LocatedNode, PythonCall, ShellCommand, Span } from "../../syntax/tree";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { joinUri, parentOf, relativePath } from "../documents/uris";

/** A place that names the config. */
export interface Naming {
  readonly document: LoadedDocument;
  readonly span: Span;
}

export interface ProgramConfig {
  readonly document: LoadedDocument;
  /** What names it in the script: the option, or the program. */
  readonly named: Span;
  /** The program's file and the argument of its decorator that names the config. */
  readonly program: Naming | undefined;
}

/** Where a program is looked for. */
export interface Search {
  readonly script: LoadedDocument;
  readonly folders: readonly string[];
  readonly store: DocumentStore;
  readonly dependencies: Set<string>;
}

export interface Program {
  /** Path of its file below a folder. */
  readonly path: string;
  readonly span: Span;
}

/** The config of a command that starts a Hydra program; undefined when it starts none, or the config is nowhere. */
export async function programConfig(command: ShellCommand, search: Search): Promise<ProgramConfig | undefined> {
  const program = programOf(command);
  if (program === undefined) return undefined;
  const merged = await mergedConfig(command, search);
  if (merged !== undefined) return merged;
  const name = optionOf(command, ["config-name", "cn"]);
  const starts = [...new Set([parentOf(search.script.uri), ...search.folders])];
  const python = await programFile(program, [...starts, ...(await sitePackages(starts, search.store))], search);
  const stated = python === undefined ? undefined : decoratorOf(python);
  const file = name?.text ?? textOf(stated?.name);
  // A program without `hydra.main` takes no such options.
  if (file === undefined || (python !== undefined && stated === undefined && name === undefined)) return undefined;
  const target = /\.ya?ml$/.test(file) ? file : `${file}.yaml`;
  for (const folder of foldersOf(command, starts, python, textOf(stated?.path))) {
    const uri = joinUri(folder, target);
    search.dependencies.add(uri);
    const document = await search.store.load(uri);
    if (document === undefined) continue;
    const own =
      python !== undefined && stated?.name !== undefined ? { document: python, span: stated.name } : undefined;
    return { document, named: name?.span ?? program.span, program: own };
  }
  return undefined;
}

/**
 * The file of `config=FILE`, which a program reads before it merges what else its command says (OmegaConf's `from_cli`
 * gives it the key, and `OmegaConf.load` takes a path from where it was started).
 */
async function mergedConfig({ words }: ShellCommand, search: Search): Promise<ProgramConfig | undefined> {
  const word = words.find(({ text }) => /^config=\S{1,400}\.ya?ml$/.test(text));
  const path = known(word?.text.slice("config=".length));
  if (word === undefined || path === undefined) return undefined;
  for (const folder of new Set([...search.folders, parentOf(search.script.uri)])) {
    const uri = joinUri(folder, path);
    search.dependencies.add(uri);
    const document = await search.store.load(uri);
    if (document !== undefined) return { document, named: word.node, program: undefined };
  }
  return undefined;
}

/** Folders the config may be in, the most likely first. */
function foldersOf(
  command: ShellCommand,
  starts: readonly string[],
  python: LoadedDocument | undefined,
  stated: string | undefined,
): readonly string[] {
  const asked = optionOf(command, ["config-path", "cp"]);
  const added = optionOf(command, ["config-dir", "cd"]);
  const path = known(asked?.text) ?? stated ?? "";
  const beside = python === undefined ? [] : [joinUri(parentOf(python.uri), path)];
  // What the script does not say (`$(pwd)/conf`) is most likely the launch directory.
  const below = asked === undefined && added === undefined ? [] : starts.map((start) => joinUri(start, path));
  const extra = known(added?.text);
  return [...new Set([...beside, ...below, ...(extra === undefined ? [] : starts.map((s) => joinUri(s, extra)))])];
}

/** A path without what only the shell knows in front of it. */
export function known(path: string | undefined): string | undefined {
  const last = [...(path ?? "").matchAll(/\$\([^)]*\)?|`[^`]*`?|\$\{[^}]*\}?|\$\w+/g)].at(-1);
  if (last === undefined || path === undefined) return path;
  const rest = path.slice(last.index + last[0].length);
  // A command inside of another one (`$(cd "$(dirname "$0")" && pwd)/`) ends where the outer one does.
  return (path.includes("$(") ? rest.slice(rest.lastIndexOf(")") + 1) : rest).replace(/^\/+/, "");
}

/** An option's text as the command receives it, and its place. */
function optionOf({ words }: ShellCommand, names: readonly string[]): { text: string; span: Span } | undefined {
  for (const [index, word] of words.entries()) {
    const match = /^--?([a-z_-]+)(?:=(.*))?$/s.exec(word.text);
    if (match === null || !names.includes(match[1]?.replaceAll("_", "-") ?? "")) continue;
    const next = words[index + 1];
    if (match[2] !== undefined) return { text: match[2], span: word.node };
    if (next !== undefined) return { text: next.text, span: next.node };
  }
  return undefined;
}

/** The Python file a command runs: a word that ends so, or the module after `-m`. */
export function programOf({ words }: ShellCommand): Program | undefined {
  const file = words.find(({ text }) => /\.py$/.test(text));
  if (file !== undefined) return { path: known(file.text) ?? file.text, span: file.node };
  const at = words.findIndex(({ text }) => text === "-m");
  const module = at < 0 ? undefined : words[at + 1];
  return module !== undefined && /^[A-Za-z_][\w.]*$/.test(module.text)
    ? { path: `${module.text.replaceAll(".", "/")}.py`, span: module.node }
    : undefined;
}

/** Places that a script goes to before it starts something. */
const MOST_ENTERED = 8;

/** Folders that a script enters (`cd "$ROOT/src"`), below the folders that it may be started in. */
export function entered({ config }: LoadedDocument, starts: readonly string[]): readonly string[] {
  const commands = config?.parsed.python === undefined ? (config?.parsed.shell?.commands ?? []) : [];
  const paths = commands.flatMap(({ words: [first, to, ...more] }) =>
    first?.text === "cd" && more.length === 0 ? [known(to?.text) ?? ""] : [],
  );
  const below = paths
    .filter((path) => path !== "" && !/^[~/]/.test(path))
    .slice(0, MOST_ENTERED)
    .flatMap((path) => starts.map((start) => joinUri(start, path)));
  return [...new Set(below)].filter((uri) => starts.some((start) => relativePath(start, uri) !== undefined));
}

/** The file of a program: relative to a folder of these, or the module of an installed package. */
export async function programFile(
  { path }: Program,
  starts: readonly string[],
  { script, store, dependencies }: Search,
): Promise<LoadedDocument | undefined> {
  for (const start of [...starts, ...entered(script, starts)]) {
    const uri = joinUri(start, path);
    dependencies.add(uri);
    const document = await store.load(uri);
    if (document?.config?.parsed.python !== undefined) return document;
  }
  return undefined;
}

/** The config that a program's decorator names, and the argument that does. */
export function namedConfig(document: LoadedDocument): { uri: string; span: Span } | undefined {
  if (!/hydra/.test(document.text)) return undefined;
  const stated = decoratorOf(document);
  const name = textOf(stated?.name);
  if (stated?.name === undefined || name === undefined) return undefined;
  const folder = joinUri(parentOf(document.uri), textOf(stated.path) ?? "");
  return { uri: joinUri(folder, /\.ya?ml$/.test(name) ? name : `${name}.yaml`), span: stated.name };
}

/** The arguments of the program's `hydra.main`: keywords, or in their order. */
function decoratorOf(python: LoadedDocument): { path?: LocatedNode; name?: LocatedNode } | undefined {
  const isHydra = ({ callee }: PythonCall) => /(?:^|\.)hydra\.main$|(?:^|\.)hydra_runner$/.test(callee);
  const call = python.config?.parsed.python?.calls.find(isHydra);
  if (call === undefined) return undefined;
  const argument = (name: string, at: number) => nodeAt(call.keywords, name) ?? call.positional[at];
  const [path, name] = [argument("config_path", 0), argument("config_name", 1)];
  return { ...(path === undefined ? {} : { path }), ...(name === undefined ? {} : { name }) };
}

function textOf(node: LocatedNode | undefined): string | undefined {
  return node?.kind === "scalar" && typeof node.value === "string" ? node.value : undefined;
}

const ENVIRONMENTS = [".venv", "venv", "env"];

/** Folders of installed packages in the environments that lie in the workspace. */
export async function sitePackages(folders: readonly string[], store: DocumentStore): Promise<string[]> {
  const found: string[] = [];
  for (const folder of folders) {
    const names = (await store.list(folder)).filter(({ type }) => type === "directory").map(({ name }) => name);
    for (const environment of ENVIRONMENTS.filter((name) => names.includes(name))) {
      const lib = joinUri(folder, `${environment}/lib`);
      for (const { name } of await store.list(lib))
        if (/^python3/.test(name)) found.push(joinUri(lib, `${name}/site-packages`));
    }
  }
  return found;
}
