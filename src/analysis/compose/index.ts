/**
 * A document with what it includes or is started with: Hydra's `defaults:`, configs it extends, FSDP options in a file
 * of their own, overrides of the command. The other texts stand behind the document's own in one joined text, so that
 * its format reads and edits them like one document.
 */

import { recogniseFormat } from "../../formats";
import { hasDefaults } from "../../formats/hydra";
import type { ConfigDocument, DocumentLink, EditContext, Format, ReadResult, SettingChange } from "../../formats/types";
import { isScript } from "../../syntax/dispatch";
import { grafted, shifted } from "../../syntax/graft";
import type { MapNode, Span, SpanEdit } from "../../syntax/tree";
import { type Message, say } from "../../words/message";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { baseName, joinUri, parentOf } from "../documents/uris";
import type { Setting } from "../frameworks/settings";
import { hasBases, withBases } from "./bases";
import { Defaults } from "./defaults";
import { overridden } from "./overrides";
import { add, type Composing, missing, type Part, within } from "./parts";

/** The document and what it includes, as one. */
export class Composition {
  readonly read: ReadResult;

  constructor(
    readonly format: Format,
    private readonly config: ConfigDocument,
    private readonly parts: readonly Part[],
    /** The document whose run this is: the config itself, or the script that starts on it. */
    private readonly owner: LoadedDocument,
  ) {
    this.read = format.read(config);
  }

  /** Included documents, without the one that includes them. */
  get included(): readonly LoadedDocument[] {
    return this.parts.flatMap(({ document }) => (document === this.owner ? [] : [document]));
  }

  /** Whether the run is the script's, which only names the config. */
  get startedByOwner(): boolean {
    return this.parts[0]?.document !== this.owner;
  }

  includes(uri: string): boolean {
    return this.parts.some((part) => part.document.uri === uri);
  }

  /** The setting with its place in the document it is written in. */
  placed(setting: Setting): Setting {
    if (setting.place === null) return setting;
    const part = this.partAt(setting.place.valueSpan.start);
    if (part === undefined) return setting;
    const { keySpan, valueSpan } = setting.place;
    const value = within(part, valueSpan);
    const key = keySpan.start < part.start ? { start: value.start, end: value.start } : within(part, keySpan);
    const place = { uri: part.document.uri, keySpan: key, valueSpan: value };
    const from = part.document === this.owner || setting.from !== "document" ? setting.from : "linked";
    return { ...setting, from, place };
  }

  /** The links of all its documents, each with the document it is written in. */
  get links(): readonly (DocumentLink & { readonly from: LoadedDocument })[] {
    return this.read.links.flatMap((link) => {
      const part = this.partAt(link.span.start);
      return part === undefined ? [] : [{ ...link, span: within(part, link.span), from: part.document }];
    });
  }

  /** The document that a place of the joined text is in. */
  documentAt(offset: number): LoadedDocument | undefined {
    return this.partAt(offset)?.document;
  }

  /** Edits by document, in the files whose values win. */
  edit(
    changes: readonly SettingChange[],
    context?: EditContext,
  ): { readonly edits: readonly { document: LoadedDocument; edit: SpanEdit }[] } | { readonly refused: Message } {
    const result = this.format.edit(this.config, changes, context);
    if ("refused" in result) return result;
    const edits = [];
    for (const edit of result.edits) {
      const part = this.partAt(edit.start);
      if (part === undefined || edit.end > part.start + part.document.text.length)
        return { refused: say("refused.several-files") };
      const syntax = part.document.config?.parsed;
      // A plain word or number is written in a command as in data.
      const plain = isScript(syntax?.syntax) && edit.end > edit.start && /^[\w.+-]+$/.test(edit.newText);
      if (syntax?.syntax !== this.config.parsed.syntax && !plain)
        return { refused: say("refused.other-file", { file: baseName(part.document.uri) }) };
      if (syntax?.problems.some((found) => found.code === "syntax" || found.code === "merge-conflict"))
        return { refused: say("refused.broken") };
      edits.push({ document: part.document, edit: { ...within(part, edit), newText: edit.newText } });
    }
    return { edits };
  }

  private partAt(offset: number): Part | undefined {
    return this.parts.findLast((part) => part.start <= offset);
  }
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
 * @param owner the script that the run is named by, when that is not the document
 */
export async function compose(
  main: LoadedDocument,
  format: Format | undefined,
  composing: Composing,
  owner: LoadedDocument = main,
): Promise<Composition | undefined> {
  const own = main.config;
  if (own === undefined) return undefined;
  const parts: Part[] = [{ document: main, start: 0 }];
  let { parsed } = own;
  const composed = (): ConfigDocument =>
    parts.length === 1 ? own : { ...own, parsed, text: parts.map((part) => part.document.text).join("\n") };
  // What a config is made of may say better what it is than the config alone.
  const formatNow = (): Format | undefined =>
    (parts.length === 1 ? undefined : recogniseFormat(composed())?.format) ?? format;
  const used = new Set<string>();
  if (hasDefaults(own)) {
    const defaults = new Defaults(main, own, parts, composing);
    parsed = await defaults.compose();
    for (const key of defaults.used) used.add(key);
  } else if (format !== undefined && hasBases(main)) parsed = await withBases(main, own, format, parts, composing);
  const beforeLine = formatNow();
  const { line } = composing;
  if (line !== undefined && beforeLine !== undefined && parsed.root?.kind === "map" && parsed.python === undefined) {
    const root = overridden(parsed.root, line, beforeLine, used, () => add(parts, line.script));
    if (root !== undefined) parsed = { ...parsed, root };
  }
  if (owner !== main) add(parts, owner);
  const known = formatNow();
  if (known === undefined) return undefined;
  for (const link of (parts.length === 1 ? main.read : known.read(composed())).links) {
    const part = parts.findLast(({ start }) => start <= link.span.start);
    if (link.kind !== "options" || part === undefined) continue;
    const root = await fsdpOptions(part.document, link.target, within(part, link.span), composing);
    if (root !== undefined) parsed = grafted(parsed, link.span, shifted(root.map, add(parts, root.document)));
  }
  return parts.length === 1 ? undefined : new Composition(known, composed(), parts, owner);
}

/** The file that `fsdp_config` names, looked for like DeepSpeed's. */
async function fsdpOptions(
  from: LoadedDocument,
  target: string,
  span: Span,
  composing: Composing,
): Promise<{ document: LoadedDocument; map: MapNode } | undefined> {
  if (!/\.(?:json|ya?ml)$/i.test(target)) return undefined;
  for (const start of new Set([parentOf(from.uri), ...composing.starts])) {
    const uri = joinUri(start, target);
    composing.dependencies.add(uri);
    const document = await composing.store.load(uri);
    if (document === undefined || uri === from.uri) continue;
    composing.links.push({ kind: "options", uri, from: from.uri, span });
    const root = document.config?.parsed.root;
    return root?.kind === "map" ? { document, map: root } : undefined;
  }
  composing.problems.push(missing("missing-file.fsdp", "warning", target, from.uri, span));
  return undefined;
}
