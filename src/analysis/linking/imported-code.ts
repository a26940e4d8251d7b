/**
 * What other files of the workspace do for a script that imports it from there: their functions and classes are read together with the
 * script (`from utils import build_model`), those that these import themselves too. Nothing is executed, and nothing outside of the
 * script's folder and those above it in the workspace is asked for.
 */
import { isNotebook } from "../../syntax/dispatch";
import { notebookCode } from "../../syntax/notebook";
import { isLibrary } from "../../syntax/python/libraries";
import { type Statement, statementsOf } from "../../syntax/python/statements";
import { type Piece, putTogether } from "../../syntax/python/together";
import { MAX_LENGTH } from "../../syntax/text";
import type { PythonModule } from "../../syntax/tree";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { moduleFile, rootsOf } from "./imported-options";

/** Modules looked through for one script, and how long each may be. */
const MOST_MODULES = 16;
const LONGEST = 96 * 1024;
interface Module {
  readonly document: LoadedDocument;
  /** Its Python: of a notebook, that of its cells. */
  readonly text: string;
  readonly python: PythonModule;
  readonly statements: readonly Statement[];
  /** Statements by what they bind: a file's largest number of names asks for each of its statements once. */
  readonly binding: ReadonlyMap<string, readonly Statement[]>;
  readonly kept: Set<Statement>;
  readonly imports: Map<string, { module: Module; name: string | null }>;
  readonly done: Set<string>;
}

class Following {
  /** Modules in the order in which they were gone through: each behind those it imports. */
  readonly order: Module[] = [];
  private readonly modules = new Map<string, Module | undefined>();
  private length: number;

  constructor(
    private readonly search: {
      readonly script: LoadedDocument;
      readonly folders: readonly string[];
      readonly store: DocumentStore;
      readonly dependencies: Set<string>;
    },
    private readonly roots: readonly string[],
  ) {
    this.length = search.script.text.length;
  }

  /** What names of a module stand for: its own statements, and what it imports; a name that stands for itself is gone through once. */
  async follow(module: Module, names: Iterable<string>): Promise<void> {
    const waiting = [...names];
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (module.done.has(name)) continue;
      module.done.add(name);
      for (const statement of module.binding.get(name) ?? [])
        if (!module.kept.has(statement)) {
          module.kept.add(statement);
          waiting.push(...statement.names);
        }
      await this.imported(module, name);
    }
    if (!this.order.includes(module)) this.order.push(module);
  }

  private async imported(module: Module, name: string): Promise<void> {
    const dotted = module.python.bound.get(name);
    if (dotted === undefined || isLibrary(dotted)) return;
    if (name === "*") {
      const all = await this.module(dotted.replace(/\.?\*$/, ""), module.document);
      if (all !== undefined) await this.follow(all, all.binding.keys());
      return;
    }
    const target = await this.resolved(dotted, module);
    if (target === undefined) return;
    module.imports.set(name, target);
    if (target.name !== null) await this.follow(target.module, [target.name]);
    else await this.follow(target.module, attributesNamed(module.text, name));
  }

  /** What `from a.b import c` or `import a` means: a name of a module, or a module. */
  private async resolved(dotted: string, from: Module): Promise<{ module: Module; name: string | null } | undefined> {
    const cut = dotted.lastIndexOf(".");
    const [before, name] = [dotted.slice(0, cut + 1), dotted.slice(cut + 1)];
    const outer = /^\.*$/.test(before) ? before : before.slice(0, -1);
    const module = outer === "" ? undefined : await this.module(outer, from.document);
    if (module?.binding.has(name) === true) return { module, name };
    const whole = await this.module(dotted, from.document);
    return whole === undefined ? undefined : { module: whole, name: null };
  }

  private async module(dotted: string, from: LoadedDocument): Promise<Module | undefined> {
    const place = dotted.startsWith(".") ? `${from.uri} ${dotted}` : dotted;
    if (this.modules.has(place)) return this.modules.get(place);
    if (this.modules.size > MOST_MODULES * 4) return undefined;
    this.modules.set(place, undefined);
    const document = await moduleFile(dotted, from, { search: this.search, roots: this.roots });
    const module = document && this.opened(document);
    this.modules.set(place, module);
    return module;
  }

  private opened(document: LoadedDocument): Module | undefined {
    const { uri, text } = document;
    const known = [...this.modules.values()].find((one) => one?.document.uri === uri);
    if (known !== undefined) return known;
    const inside = this.roots.some((root) => uri.startsWith(`${root}/`));
    const python = document.config?.parsed.python;
    this.length += text.length + 1;
    const fits = text.length <= LONGEST && this.length < MAX_LENGTH.other;
    if (uri === this.search.script.uri || !inside || !fits || python === undefined || uri.endsWith(".ipynb"))
      return undefined;
    if (this.order.length >= MOST_MODULES) return undefined;
    return moduleOf(document, python);
  }
}

function moduleOf(document: LoadedDocument, python: PythonModule, { text } = document as { text: string }): Module {
  const statements = statementsOf(text);
  const binding = new Map<string, Statement[]>();
  for (const statement of statements)
    for (const name of statement.binds) {
      const known = binding.get(name);
      if (known === undefined) binding.set(name, [statement]);
      else known.push(statement);
    }
  return { document, text, python, statements, binding, kept: new Set(), imports: new Map(), done: new Set() };
}

/** Names behind a module's own in a text. */
function attributesNamed(text: string, module: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [, name] of text.matchAll(/\b[A-Za-z_]\w{0,80}\.([A-Za-z_]\w{0,80})/g))
    if (name !== undefined) names.add(name);
  return text.includes(`${module}.`) ? names : new Set();
}

/** The script with what it imports from the workspace; itself where that is nothing. */
export async function withImported(
  script: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
): Promise<LoadedDocument> {
  const python = script.config?.parsed.python;
  if (python === undefined || script.part !== undefined) return script;
  if ([...python.bound.values()].every((dotted) => isLibrary(dotted))) return script;
  const dependencies = new Set<string>();
  const following = new Following({ script, folders, store, dependencies }, rootsOf(script, folders));
  const cells = isNotebook(script.config?.parsed.syntax) ? notebookCode(script.text, 0) : undefined;
  const main = moduleOf(script, python, cells);
  await following.follow(main, python.bound.keys());
  const modules = [main, ...following.order.filter((one) => one !== main && one.kept.size > 0)];
  const pieces = modules.map((module): Piece => {
    const kept = module.statements.filter((one) => module === main || module.kept.has(one));
    const imports = [...module.imports].flatMap(([local, { module: target, name }]) => {
      const piece = modules.indexOf(target);
      return piece < 0 ? [] : [[local, { piece, name }] as const];
    });
    return { text: module.text, kept, imports: new Map(imports) };
  });
  if (modules.length === 1)
    return script.withCode({ text: script.text, from: script.text.length, behind: [], dependencies });
  const { text, starts } = putTogether(pieces);
  const first = starts[1] ?? text.length;
  // Places are behind a notebook's own text, not behind that of its cells.
  const by = cells === undefined ? 0 : script.text.length + 1 - first;
  const behind = modules.slice(1).map(({ document }, index) => ({ document, from: (starts[index + 1] ?? 0) + by }));
  const own =
    cells === undefined ? { text } : { text: `${script.text}\n${text.slice(first)}`, cells: { text, from: first } };
  return script.withCode({ ...own, from: first + by, behind, dependencies });
}
