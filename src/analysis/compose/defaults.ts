/** Hydra's `defaults:` lists: the configs they name, in Hydra's order, each under the key of its package. */

import {
  contentOf,
  type DefaultsEntry,
  groupPath,
  packageHeader,
  packageOf,
  readDefaults,
  searchPath,
} from "../../formats/hydra";
import type { ConfigDocument } from "../../formats/types";
import { merged, shifted, wrapped } from "../../syntax/graft";
import type { MapNode, ParsedDocument } from "../../syntax/tree";
import { withoutEnding } from "../../terms/text";
import type { LoadedDocument } from "../documents/store";
import { joinUri, parentOf } from "../documents/uris";
import { sitePackages } from "../linking/hydra-program";
import { groupOption, type Override, overridesOf } from "./overrides";
import { add, type Composing, cyclic, DEEPEST, MOST_INCLUDED, missing, type Part } from "./parts";

/** Configs read for one list, counting those named several times. */
const MOST_VISITED = 1000;

/** A config of the list that is being read. */
interface Visit {
  readonly document: LoadedDocument;
  readonly config: ConfigDocument;
  /** Folder of the config below the root of configs, `""` for the root. */
  readonly folder: string;
  readonly package: string;
  readonly above: readonly string[];
}

/** One reading of a defaults list and of those in the configs it names. */
export class Defaults {
  /** Options chosen by `override`, by group; the outermost config decides. */
  private readonly chosen = new Map<string, readonly string[]>();
  /** Options by group as the lists state them, for `${group}` in an option. */
  private readonly stated = new Map<string, string>();
  private roots: readonly string[];
  private readonly overrides: readonly Override[];
  /** Keys of the command's overrides that chose a group's option. */
  readonly used = new Set<string>();
  private visited = 0;

  constructor(
    private readonly main: LoadedDocument,
    private readonly config: ConfigDocument,
    private readonly parts: Part[],
    private readonly composing: Composing,
  ) {
    this.roots = [parentOf(main.uri)];
    this.overrides = composing.line === undefined ? [] : overridesOf(composing.line);
  }

  async compose(): Promise<ParsedDocument> {
    const { root } = this.config.parsed;
    if (root?.kind !== "map") return this.config.parsed;
    await this.addSearchPath();
    for (const entry of readDefaults(this.config)) {
      const [option] = entry.options;
      if (option !== undefined) this.stated.set(entry.path.replace(/^\//, ""), option);
    }
    const layers = await this.layers({
      document: this.main,
      config: this.config,
      folder: "",
      package: "",
      above: [this.main.uri],
    });
    const all = layers.reduce(merged);
    const hydra = root.entries.filter(({ key }) => key === "defaults" || key === "hydra");
    return { ...this.config.parsed, root: { ...root, entries: [...hydra, ...all.entries] } };
  }

  private async addSearchPath(): Promise<void> {
    const { starts, store } = this.composing;
    const paths = searchPath(this.config.parsed.root);
    const installed = paths.some((path) => path.package) ? await sitePackages(starts, store) : [];
    const added = paths.flatMap(({ path, package: inPackage }) =>
      (inPackage ? [...starts, ...installed] : starts).map((start) => joinUri(start, path)),
    );
    this.roots = [...new Set([...this.roots, ...added])];
  }

  /** What a config contributes, weakest first. Later entries are visited first: their overrides reach back. */
  private async layers(visit: Visit): Promise<MapNode[]> {
    const entries = [...readDefaults(visit.config), ...(visit.document === this.main ? await this.addedGroups() : [])];
    for (const entry of entries) {
      const group = groupPath(visit.folder, entry.path);
      if (entry.kind === "override" && !this.chosen.has(group)) this.chosen.set(group, entry.options);
    }
    const result: MapNode[] = [];
    for (const entry of entries.toReversed()) {
      if (entry.kind === "self") result.unshift(this.own(visit));
      else if (entry.kind !== "override") result.unshift(...(await this.included(entry, visit)));
    }
    return result;
  }

  private own(visit: Visit): MapNode {
    const { root } = visit.config.parsed;
    const content = contentOf(root?.kind === "map" ? root : { kind: "map", entries: [], start: 0, end: 0 });
    return wrapped(shifted(content, add(this.parts, visit.document)), visit.package);
  }

  /** Groups that the command adds (`+group=option`). */
  private async addedGroups(): Promise<DefaultsEntry[]> {
    const result: DefaultsEntry[] = [];
    for (const override of this.overrides) {
      const option = override.kind === "add" ? groupOption(override) : undefined;
      if (option === undefined) continue;
      const [path = "", at] = override.key.split("@");
      const files = this.roots.map((root) => joinUri(root, `${path}/${option}.yaml`));
      const found = await Promise.all(files.map((uri) => this.composing.store.load(uri)));
      if (found.every((document) => document === undefined)) continue;
      const span = override.value;
      result.push({ kind: "group", path: `/${path}`, options: [option], package: at, optional: false, span });
      this.used.add(override.key);
    }
    return result;
  }

  /** What the command says of a group: its option, or that there is none. */
  private choice(path: string, entry: DefaultsEntry): Override | undefined {
    const names = [path, ...(entry.package === undefined ? [] : [`${path}@${entry.package}`])];
    const override = this.overrides.findLast(
      (candidate) =>
        names.includes(candidate.key) && (candidate.kind === "remove" || groupOption(candidate) !== undefined),
    );
    if (override !== undefined) this.used.add(override.key);
    return override;
  }

  private async included(given: DefaultsEntry, visit: Visit): Promise<MapNode[]> {
    const path = groupPath(visit.folder, given.path);
    const isGroup = given.kind === "group";
    const choice = isGroup ? this.choice(path, given) : undefined;
    const entry = choice === undefined ? given : { ...given, span: choice.value };
    const said = choice === undefined || choice.kind === "remove" ? undefined : groupOption(choice);
    const chosen = choice === undefined ? (this.chosen.get(path) ?? entry.options) : said === undefined ? [] : [said];
    const options = isGroup ? chosen : [""];
    const from =
      choice === undefined || this.composing.line === undefined ? visit.document : this.composing.line.script;
    const result: MapNode[] = [];
    for (const written of options) {
      const option = written.replace(/\$\{([\w/]+)\}/g, (all, group: string) => this.stated.get(group) ?? all);
      if (option.includes("${") || ++this.visited > MOST_VISITED) continue;
      const target = isGroup ? (path === "" ? option : `${path}/${option}`) : path;
      const document = await this.load(target, entry, visit, from.uri);
      if (document?.config?.parsed.root?.kind !== "map") continue;
      const group = isGroup ? entry.path : withoutEnding(entry.path, /[^/]/);
      const asked = entry.package ?? packageHeader(document.text);
      const below: Visit = {
        document,
        config: document.config,
        folder: isGroup ? path : groupPath("", withoutEnding(target, /[^/]/)),
        package: packageOf(visit.package, asked, group, option),
        above: [...visit.above, document.uri],
      };
      result.push(...(await this.layers(below)));
    }
    return result;
  }

  /** The config of an entry, in the root of configs or a folder of the search path. */
  private async load(
    target: string,
    entry: DefaultsEntry,
    visit: Visit,
    from: string,
  ): Promise<LoadedDocument | undefined> {
    const { store, dependencies, links, problems } = this.composing;
    const name = /\.ya?ml$/.test(target) ? target : `${target}.yaml`;
    const beside = visit.document === this.main && !entry.path.startsWith("/") ? this.besideMain(entry, name) : [];
    for (const uri of [...beside, ...this.roots.map((root) => joinUri(root, name))]) {
      dependencies.add(uri);
      const document = await store.load(uri);
      if (document === undefined) continue;
      // A search path may lead to a config of the same name: that one is meant.
      if (uri === from && this.roots.length > 1) continue;
      if (visit.above.includes(uri) || visit.above.length > DEEPEST || this.parts.length > MOST_INCLUDED) {
        problems.push(cyclic(name, from, entry.span));
        return undefined;
      }
      links.push({ kind: "include", uri, from, span: entry.span });
      return document;
    }
    if (!entry.optional) problems.push(missing("missing-file.include", "information", name, from, entry.span));
    return undefined;
  }

  /** A group's own file read by itself may go up with `..` to folders beside its own. */
  private besideMain(entry: DefaultsEntry, name: string): string[] {
    const up = /^(?:\.\.\/)+/.exec(entry.path)?.[0];
    return up === undefined ? [] : [joinUri(parentOf(this.main.uri), `${up}${name}`)];
  }
}
