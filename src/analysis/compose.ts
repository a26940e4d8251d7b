/**
 * A document with what it includes: Hydra's `defaults:` and FSDP options in a file of their own. The included texts
 * stand behind the document's own in one joined text, so that its format reads and edits them like one document.
 */
import { recogniseFormat } from "../formats";
import {
  contentOf,
  type DefaultsEntry,
  groupPath,
  hasDefaults,
  packageHeader,
  packageOf,
  readDefaults,
  searchPath,
} from "../formats/hydra";
import type { ConfigDocument, DocumentLink, Format, ReadResult, SettingChange } from "../formats/types";
import { grafted, merged, shifted, wrapped } from "../syntax/graft";
import type { MapNode, ParsedDocument, Span, SpanEdit } from "../syntax/tree";
import { type Problem, say } from "./problems";
import type { Setting } from "./settings";
import type { DocumentStore, LoadedDocument } from "./store";
import { baseName, joinUri, parentOf } from "./uris";

const MOST_INCLUDED = 100;
const DEEPEST = 16;
/** Configs read for one list, counting those named several times. */
const MOST_VISITED = 1000;

/** A link to an included document. */
export interface IncludeLink {
  readonly kind: DocumentLink["kind"];
  readonly uri: string;
  readonly from: string;
  readonly span: Span;
}

/** One text of the joined text. */
interface Part {
  readonly document: LoadedDocument;
  readonly start: number;
}

interface Composing {
  readonly store: DocumentStore;
  readonly dependencies: Set<string>;
  readonly problems: Problem[];
  readonly links: IncludeLink[];
  readonly starts: readonly string[];
}

/** The document and what it includes, as one. */
export class Composition {
  readonly read: ReadResult;

  constructor(
    readonly format: Format,
    private readonly config: ConfigDocument,
    private readonly parts: readonly Part[],
  ) {
    this.read = format.read(config);
  }

  /** Included documents, without the one that includes them. */
  get included(): readonly LoadedDocument[] {
    return this.parts.slice(1).map((part) => part.document);
  }

  includes(uri: string): boolean {
    return this.parts.some((part) => part.document.uri === uri);
  }

  /** The setting with its place in the document it is written in. */
  placed(setting: Setting): Setting {
    if (setting.place === null) return setting;
    const part = this.partAt(setting.place.valueSpan.start);
    if (part === undefined || part === this.parts[0]) return setting;
    const { keySpan, valueSpan } = setting.place;
    const value = within(part, valueSpan);
    const key = keySpan.start < part.start ? { start: value.start, end: value.start } : within(part, keySpan);
    const place = { uri: part.document.uri, keySpan: key, valueSpan: value };
    return { ...setting, from: setting.from === "document" ? "linked" : setting.from, place };
  }

  /** Edits by document, in the files whose values win. */
  edit(
    changes: readonly SettingChange[],
  ): { readonly edits: readonly { document: LoadedDocument; edit: SpanEdit }[] } | { readonly refused: string } {
    const result = this.format.edit(this.config, changes);
    if ("refused" in result) return result;
    const edits = [];
    for (const edit of result.edits) {
      const part = this.partAt(edit.start);
      if (part === undefined || edit.end > part.start + part.document.text.length)
        return { refused: "the value is spread over several files" };
      const syntax = part.document.config?.parsed;
      if (syntax?.syntax !== this.config.parsed.syntax)
        return { refused: `the value is set in ${baseName(part.document.uri)}` };
      if (syntax?.problems.some((found) => found.code === "syntax" || found.code === "merge-conflict"))
        return { refused: "the file has syntax errors" };
      edits.push({ document: part.document, edit: { ...within(part, edit), newText: edit.newText } });
    }
    return { edits };
  }

  private partAt(offset: number): Part | undefined {
    return this.parts.findLast((part) => part.start <= offset);
  }
}

function within(part: Part, span: Span): Span {
  return { start: span.start - part.start, end: span.end - part.start };
}

/** Format of a config that says by its groups alone what it is; undefined when they do not say it either. */
export async function formatByGroups(main: LoadedDocument, store: DocumentStore): Promise<Format | undefined> {
  if (main.config === undefined || !hasDefaults(main.config)) return undefined;
  const composing = { store, dependencies: new Set<string>(), problems: [], links: [], starts: [parentOf(main.uri)] };
  return (await compose(main, undefined, composing))?.format;
}

/**
 * The document with all it includes; undefined when it includes nothing that is there.
 * @param format what the document is by itself
 */
export async function compose(
  main: LoadedDocument,
  format: Format | undefined,
  composing: Composing,
): Promise<Composition | undefined> {
  const own = main.config;
  if (own === undefined) return undefined;
  const parts: Part[] = [{ document: main, start: 0 }];
  let { parsed } = own;
  if (hasDefaults(own)) parsed = await new Defaults(main, own, parts, composing).compose();
  const composed = (): ConfigDocument =>
    parts.length === 1 ? own : { ...own, parsed, text: parts.map((part) => part.document.text).join("\n") };
  // What a config is made of may say better what it is than the config alone.
  const known = (parts.length === 1 ? undefined : recogniseFormat(composed())?.format) ?? format;
  if (known === undefined) return undefined;
  for (const link of (parts.length === 1 ? main.read : known.read(composed())).links) {
    if (link.kind !== "fsdp" || link.span.end > main.text.length) continue;
    const root = await fsdpOptions(main, link.target, link.span, composing);
    if (root !== undefined) parsed = grafted(parsed, link.span, shifted(root.map, add(parts, root.document)));
  }
  return parts.length === 1 ? undefined : new Composition(known, composed(), parts);
}

/** Start of a document in the joined text; appends it when it is new. */
function add(parts: Part[], document: LoadedDocument): number {
  const known = parts.find((part) => part.document.uri === document.uri);
  if (known !== undefined) return known.start;
  const last = parts[parts.length - 1];
  const start = last === undefined ? 0 : last.start + last.document.text.length + 1;
  parts.push({ document, start });
  return start;
}

/** The file that `fsdp_config` names, looked for like DeepSpeed's. */
async function fsdpOptions(
  main: LoadedDocument,
  target: string,
  span: Span,
  composing: Composing,
): Promise<{ document: LoadedDocument; map: MapNode } | undefined> {
  if (!/\.(?:json|ya?ml)$/i.test(target)) return undefined;
  for (const start of composing.starts) {
    const uri = joinUri(start, target);
    composing.dependencies.add(uri);
    const document = await composing.store.load(uri);
    if (document === undefined || uri === main.uri) continue;
    composing.links.push({ kind: "fsdp", uri, from: main.uri, span });
    const root = document.config?.parsed.root;
    return root?.kind === "map" ? { document, map: root } : undefined;
  }
  composing.problems.push(missing("missing-file.fsdp", "warning", target, main.uri, span));
  return undefined;
}

function missing(id: string, severity: Problem["severity"], target: string, uri: string, span: Span): Problem {
  return { code: "missing-file", severity, message: say(id, { target }), uri, span };
}

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
class Defaults {
  /** Options chosen by `override`, by group; the outermost config decides. */
  private readonly chosen = new Map<string, readonly string[]>();
  /** Options by group as the lists state them, for `${group}` in an option. */
  private readonly stated = new Map<string, string>();
  private readonly roots: readonly string[];
  private visited = 0;

  constructor(
    private readonly main: LoadedDocument,
    private readonly config: ConfigDocument,
    private readonly parts: Part[],
    private readonly composing: Composing,
  ) {
    const added = searchPath(config.parsed.root).flatMap((path) =>
      composing.starts.map((start) => joinUri(start, path)),
    );
    this.roots = [...new Set([parentOf(main.uri), ...added])];
  }

  async compose(): Promise<ParsedDocument> {
    const { root } = this.config.parsed;
    if (root?.kind !== "map") return this.config.parsed;
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

  /** What a config contributes, weakest first. Later entries are visited first: their overrides reach back. */
  private async layers(visit: Visit): Promise<MapNode[]> {
    const entries = readDefaults(visit.config);
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

  private async included(entry: DefaultsEntry, visit: Visit): Promise<MapNode[]> {
    const path = groupPath(visit.folder, entry.path);
    const isGroup = entry.kind === "group";
    const options = isGroup ? (this.chosen.get(path) ?? entry.options) : [""];
    const result: MapNode[] = [];
    for (const written of options) {
      const option = written.replace(/\$\{([\w/]+)\}/g, (all, group: string) => this.stated.get(group) ?? all);
      if (option.includes("${") || ++this.visited > MOST_VISITED) continue;
      const target = isGroup ? (path === "" ? option : `${path}/${option}`) : path;
      const document = await this.load(target, entry, visit);
      if (document?.config?.parsed.root?.kind !== "map") continue;
      const group = isGroup ? entry.path : entry.path.replace(/[^/]*$/, "");
      const asked = entry.package ?? packageHeader(document.text);
      const below: Visit = {
        document,
        config: document.config,
        folder: isGroup ? path : groupPath("", target.replace(/[^/]*$/, "")),
        package: packageOf(visit.package, asked, group, option),
        above: [...visit.above, document.uri],
      };
      result.push(...(await this.layers(below)));
    }
    return result;
  }

  /** The config of an entry, in the root of configs or a folder of the search path. */
  private async load(target: string, entry: DefaultsEntry, visit: Visit): Promise<LoadedDocument | undefined> {
    const { store, dependencies, links, problems } = this.composing;
    const from = visit.document.uri;
    const name = /\.ya?ml$/.test(target) ? target : `${target}.yaml`;
    const beside = visit.document === this.main && !entry.path.startsWith("/") ? this.besideMain(entry, name) : [];
    for (const uri of [...beside, ...this.roots.map((root) => joinUri(root, name))]) {
      dependencies.add(uri);
      const document = await store.load(uri);
      if (document === undefined) continue;
      // A search path may lead to a config of the same name: that one is meant.
      if (uri === from && this.roots.length > 1) continue;
      if (visit.above.includes(uri) || visit.above.length > DEEPEST || this.parts.length > MOST_INCLUDED) {
        problems.push({
          code: "cyclic-link",
          severity: "error",
          message: say("cyclic-link.include", { target: name }),
          uri: from,
          span: entry.span,
        });
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
