/**
 * YAML as PyYAML or OmegaConf reads it, located. The `yaml` package gives the structure (in its failsafe schema, so
 * that it types nothing); scalars are typed by `scalars.ts`. Only the first document of a stream is read, as the
 * loaders do. Aliases and merge keys are placed where the alias is written, with `source` pointing at the anchor.
 */
import {
  type Alias,
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  Parser,
  type YAMLParseError,
  type Document as YamlDocument,
} from "yaml";
import { type Message, say } from "../words/message";
import { type YamlDialect, yamlScalar } from "./scalars";
import { MAX_DEPTH, MAX_LENGTH, prepareText } from "./text";
import type { Entry, LocatedNode, MapNode, ParsedDocument, ScalarNode, Span, SyntaxProblem, UnknownNode } from "./tree";
import { joinedLines } from "./yaml-lines";
import { maskTemplates } from "./yaml-templates";

/** Nodes an alias may stand for in all, so that nested aliases cannot explode. */
const MAX_ALIASED = 10_000;

/** Nested flow brackets or indentation beyond `MAX_DEPTH` are refused before the parser recurses into them. */
function tooDeepAt(text: string): number | null {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 91 || code === 123) {
      if (++depth > MAX_DEPTH) return index;
    } else if ((code === 93 || code === 125) && depth > 0) depth--;
    else if (code === 10 && (text.charCodeAt(index + 1) === 10 || text.charCodeAt(index + 1) === 13)) depth = 0;
  }
  const deep = new RegExp(`^ {${4 * MAX_DEPTH},}\\S|^(?:[-?] ){${MAX_DEPTH},}`, "m").exec(text);
  return deep === null ? null : deep.index;
}

/** Reads YAML. Never throws; offsets are those of `original`. */
export function parseYaml(original: string, dialect: YamlDialect = "pyyaml"): ParsedDocument {
  const prepared = prepareText(original, MAX_LENGTH.yaml);
  const problems: SyntaxProblem[] = [...prepared.problems];
  if (prepared.tooLarge) return { root: null, problems, syntax: "yaml" };
  const deep = tooDeepAt(prepared.text);
  if (deep !== null) {
    const message = say("syntax.deep-file", { depth: MAX_DEPTH });
    return {
      root: null,
      problems: [...problems, { code: "too-deep", message, start: deep, end: deep + 1 }],
      syntax: "yaml",
    };
  }
  // The YAML lexer knows the byte-order mark; a blank in its place would indent the first line.
  const bom = original.charCodeAt(0) === 0xfeff;
  const masked = maskTemplates(bom ? `\ufeff${prepared.text.slice(1)}` : prepared.text);
  try {
    const { composed, text } = composeLeniently(masked.text);
    const converter = new Converter(text, original, dialect, masked.spans);
    const root = composed === null || composed.contents === null ? null : converter.node(composed.contents, 0);
    const errors = composed?.errors ?? [];
    for (const error of errors) problems.push(syntaxProblem(error, original));
    return { root, problems: [...problems, ...masked.problems, ...converter.problems].slice(0, 200), syntax: "yaml" };
  } catch (error) {
    const message = error instanceof RangeError ? say("syntax.deep") : say("syntax.not-yaml");
    return {
      root: null,
      problems: [...problems, { code: "syntax", message, start: 0, end: Math.min(1, original.length) }],
      syntax: "yaml",
    };
  }
}

/** A problem of the package in its own words, without the place that they end with. */
function syntaxProblem({ code, message, pos: [from, to] }: YAMLParseError, text: string): SyntaxProblem {
  const start = Math.min(from, text.length);
  const tab = /tab/i.test(message);
  const reason = message.replace(/ at line \d+[\s\S]*$/, "").replace(/\.?$/, ".");
  return {
    code: tab ? "tab" : "syntax",
    message: tab ? say("syntax.tab") : say(`yaml.${code}`, { reason }),
    start,
    end: Math.min(Math.max(to, start + 1), Math.max(text.length, start)),
  };
}

/** The document as PyYAML's scanner would still take it, and the text it was read from: equal to the given in length. */
function composeLeniently(given: string): { composed: YamlDocument.Parsed | null; text: string } {
  const composed = compose(given);
  if (composed === null || composed.errors.length === 0) return { composed, text: given };
  const joined = joinedLines(given);
  const again = joined === undefined ? null : compose(joined);
  return joined === undefined || again === null || again.errors.length > 0
    ? { composed, text: given }
    : { composed: again, text: joined };
}

function compose(text: string): YamlDocument.Parsed | null {
  const composer = new Composer({
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
    strict: true,
    keepSourceTokens: false,
  });
  for (const document of composer.compose(new Parser().parse(text))) return document as YamlDocument.Parsed;
  return null;
}

class Converter {
  readonly problems: SyntaxProblem[] = [];
  private readonly anchors = new Map<string, LocatedNode>();
  private aliased = 0;

  constructor(
    private readonly text: string,
    private readonly original: string,
    private readonly dialect: YamlDialect,
    private readonly templates: readonly Span[],
  ) {}

  node(node: unknown, depth: number): LocatedNode {
    if (depth > MAX_DEPTH) return this.unknown(spanOf(node, this.text), say("open.deep"));
    if (isAlias(node)) return this.alias(node);
    const converted = this.plainNode(node, depth);
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor !== undefined)
      this.anchors.set(node.anchor, converted);
    return converted;
  }

  private plainNode(node: unknown, depth: number): LocatedNode {
    const span = spanOf(node, this.text);
    if (isMap(node)) return { kind: "map", entries: this.entries(node.items as Pair[], depth), ...span };
    if (isSeq(node)) return { kind: "list", items: node.items.map((item) => this.node(item, depth + 1)), ...span };
    if (isScalar(node)) {
      const template = this.templates.find((mark) => mark.start < span.end && mark.end > span.start);
      if (template !== undefined) return this.unknown(span, say("open.template"));
      const raw = this.original.slice(span.start, span.end);
      const source = node.source ?? "";
      if (node.type === "PLAIN") return { kind: "scalar", value: this.typed(source, node.tag), raw, ...span };
      return { kind: "scalar", value: this.tagged(String(node.value ?? ""), node.tag), raw, ...span };
    }
    return { kind: "scalar", value: null, raw: "", ...span };
  }

  private typed(source: string, tag: string | undefined): ScalarNode["value"] {
    if (tag?.endsWith(":str") || tag === "!") return source;
    if (tag?.endsWith(":float") || tag?.endsWith(":int")) return this.tagged(source, tag);
    return yamlScalar(source, this.dialect);
  }

  private tagged(value: string, tag: string | undefined): ScalarNode["value"] {
    if (tag?.endsWith(":float") || tag?.endsWith(":int")) {
      const number = Number(value.replaceAll("_", ""));
      return Number.isNaN(number) ? value : number;
    }
    return value;
  }

  private entries(pairs: readonly Pair[], depth: number): Entry[] {
    const own: Entry[] = [];
    const merged: Entry[] = [];
    const seen = new Set<string>();
    for (const pair of pairs) {
      const keyNode = this.node(pair.key, depth + 1);
      const keySpan: Span = { start: keyNode.start, end: keyNode.end };
      const value =
        pair.value === null || pair.value === undefined ? this.missing(keyNode.end) : this.node(pair.value, depth + 1);
      const key = keyText(keyNode);
      if (key === "<<" && keyNode.kind === "scalar" && keyNode.raw === "<<") {
        merged.push(...this.merge(value));
        continue;
      }
      if (seen.has(key)) {
        this.problems.push({
          code: "duplicate-key",
          message: say("syntax.duplicate-last", { key }),
          ...keySpan,
        });
      }
      seen.add(key);
      own.push({ key, keySpan, value });
    }
    return [...merged.filter((entry) => !seen.has(entry.key)), ...own];
  }

  /** Entries a merge key brings in; of several maps the first wins. */
  private merge(value: LocatedNode): Entry[] {
    if (value.kind === "list") {
      const result = new Map<string, Entry>();
      for (const item of value.items)
        for (const entry of this.merge(item)) if (!result.has(entry.key)) result.set(entry.key, entry);
      return [...result.values()];
    }
    if (value.kind !== "map") return [];
    const at: Span = { start: value.start, end: value.end };
    return value.entries.map((entry) => ({ key: entry.key, keySpan: at, value: entry.value }));
  }

  private alias(alias: Alias): LocatedNode {
    const span = spanOf(alias, this.text);
    const target = this.anchors.get(alias.source);
    if (target === undefined) {
      this.problems.push({ code: "unknown-alias", message: say("syntax.anchor", { anchor: alias.source }), ...span });
      return this.unknown(span, say("open.alias"));
    }
    return this.moved(target, span);
  }

  /** The anchored node seen from the alias: same values, the alias' place, the anchor's place as `source`. */
  private moved(node: LocatedNode, at: Span): LocatedNode {
    if (++this.aliased > MAX_ALIASED) return this.unknown(at, say("open.large"));
    const raw = this.original.slice(at.start, at.end);
    if (node.kind === "scalar")
      return { ...node, ...at, raw, source: node.source ?? { start: node.start, end: node.end } };
    if (node.kind === "unknown") return { ...node, ...at, raw };
    if (node.kind === "list") return { kind: "list", items: node.items.map((item) => this.moved(item, at)), ...at };
    const entries = node.entries.map((entry) => ({ key: entry.key, keySpan: at, value: this.moved(entry.value, at) }));
    return { kind: "map", entries, ...at } satisfies MapNode;
  }

  private unknown(span: Span, reason: Message): UnknownNode {
    return { kind: "unknown", raw: this.original.slice(span.start, span.end), reason, ...span };
  }

  private missing(at: number): ScalarNode {
    return { kind: "scalar", value: null, raw: "", start: at, end: at };
  }
}

function keyText(node: LocatedNode): string {
  if (node.kind === "scalar")
    return node.raw.startsWith('"') || node.raw.startsWith("'") ? String(node.value) : node.raw;
  return node.kind === "unknown" ? node.raw : "";
}

function spanOf(node: unknown, text: string): Span {
  const range = (node as { range?: readonly [number, number, number] | null } | null)?.range;
  if (range === undefined || range === null) return { start: 0, end: 0 };
  let end = Math.min(range[1], text.length);
  // Block collections and block scalars end after their last line break; trim what belongs to no value.
  while (end > range[0] && /[\s]/.test(text.charAt(end - 1))) end--;
  return { start: Math.min(range[0], text.length), end };
}
