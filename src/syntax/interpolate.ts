/**
 * OmegaConf interpolation inside one document: `${a.b}`, relative `${.x}` and `${..x}`, and the resolvers that depend
 * on nothing outside (`oc.select`, `oc.env` with its default, arithmetic). The result is a tree in which such values
 * are known, stand where the interpolation is written and name the definition as their `source`. What cannot be
 * resolved becomes an unknown node.
 */

import { table } from "../terms/table";
import { type Message, say } from "../words/message";
import { yamlScalar } from "./scalars";
import { nodeAt } from "./text";
import type { Entry, LocatedNode, MapNode, ScalarNode, Span, UnknownNode } from "./tree";

const MAX_STEPS = 64;
const MAX_RESOLVED = 20_000;
/** Characters that texts are put together to. */
const MAX_CHARACTERS = 1024 * 1024;
const WHOLE = /^\$\{([^${}]*(?:\$\{[^${}]*\}[^${}]*)*)\}$/;

/** Whether any scalar of the text holds an interpolation; resolving is skipped otherwise. */
export function hasInterpolation(text: string): boolean {
  return text.includes("${");
}

/** The tree with interpolations resolved as far as the document itself tells. */
export function interpolate(root: MapNode): MapNode {
  return new Interpolator(root).map(root, []) as MapNode;
}

class Interpolator {
  private resolved = 0;
  private characters = 0;

  constructor(private readonly root: MapNode) {}

  /** @param steps interpolations behind which the node is looked at */
  map(node: LocatedNode, path: readonly string[], steps = 0): LocatedNode {
    if (steps > 0 && ++this.resolved > MAX_RESOLVED) return unknown({ ...node, raw: "" }, say("open.large"));
    if (node.kind === "map") {
      const entries = node.entries.map(
        (entry): Entry => ({ ...entry, value: this.map(entry.value, [...path, entry.key], steps) }),
      );
      return { ...node, entries };
    }
    if (node.kind === "list")
      return { ...node, items: node.items.map((item, index) => this.map(item, [...path, String(index)], steps)) };
    if (node.kind !== "scalar" || typeof node.value !== "string" || !node.value.includes("${")) return node;
    return this.scalar(node, path, steps);
  }

  private scalar(node: ScalarNode, path: readonly string[], steps: number): LocatedNode {
    if (steps > MAX_STEPS || ++this.resolved > MAX_RESOLVED) return unknown(node, say("open.cycle"));
    const text = String(node.value);
    const whole = WHOLE.exec(text)?.[1];
    if (whole !== undefined) return this.expression(whole, node, path, steps);
    let failed: Message | null = null;
    const joined = text.replace(/\$\{([^${}]*)\}/g, (all, inner: string) => {
      const part = failed === null ? this.expression(inner, node, path, steps) : unknown(node, failed);
      if (part.kind === "scalar" && part.value !== null) {
        const own = String(part.value);
        this.characters += own.length;
        if (this.characters <= MAX_CHARACTERS) return own;
        failed = say("open.large");
        return all;
      }
      failed = part.kind === "unknown" ? part.reason : say("open.not-single");
      return all;
    });
    return failed === null ? { ...node, value: joined } : unknown(node, failed);
  }

  private expression(expression: string, at: ScalarNode, path: readonly string[], steps: number): LocatedNode {
    const resolver = /^\s*([\w.]+)\s*:(.*)$/s.exec(expression);
    if (resolver !== null) return this.resolver(resolver[1] ?? "", splitArguments(resolver[2] ?? ""), at, path, steps);
    const found = this.find(expression.trim(), path);
    if (found === undefined) return unknown(at, say("open.undefined", { name: expression.trim() }));
    return this.moved(found.node, at, found.path, steps);
  }

  private find(reference: string, path: readonly string[]): { node: LocatedNode; path: readonly string[] } | undefined {
    const dots = /^\.*/.exec(reference)?.[0].length ?? 0;
    const base = dots === 0 ? [] : path.slice(0, Math.max(0, path.length - dots));
    const steps = reference
      .slice(dots)
      .replace(/\[["']?([^[\]"']{1,200})["']?\]/g, ".$1")
      .split(".")
      .filter((step) => step !== "");
    const full = [...base, ...steps];
    const node = nodeAt(this.root, full.join("."));
    return node === undefined ? undefined : { node, path: full };
  }

  private resolver(
    name: string,
    args: readonly string[],
    at: ScalarNode,
    path: readonly string[],
    steps: number,
  ): LocatedNode {
    const argument = (index: number): LocatedNode | undefined => {
      const text = args[index];
      if (text === undefined) return undefined;
      const value = text.includes("${") ? text : yamlScalar(text.replace(/^(["'])(.*)\1$/, "$2"), "omegaconf");
      const node: ScalarNode = { kind: "scalar", value, raw: at.raw, start: at.start, end: at.end };
      return typeof value === "string" && value.includes("${") ? this.scalar(node, path, steps + 1) : node;
    };
    if (name === "oc.select") {
      const found = this.find(args[0] ?? "", []);
      return found === undefined
        ? (argument(1) ?? unknown(at, say("open.undefined", { name: args[0] ?? "" })))
        : this.moved(found.node, at, found.path, steps);
    }
    if (name === "oc.env" || name === "env")
      return argument(1) ?? unknown(at, say("open.environment", { name: args[0] ?? "" }));
    const operation = ARITHMETIC[name];
    if (operation === undefined) return unknown(at, say("open.result", { name }));
    const values = args
      .map((_, index) => argument(index))
      .map((node) => (node?.kind === "scalar" && typeof node.value === "number" ? node.value : Number.NaN));
    const result = values.length === 0 ? Number.NaN : values.slice(1).reduce(operation, values[0] ?? Number.NaN);
    return Number.isFinite(result) ? { ...at, value: result } : unknown(at, say("open.arithmetic"));
  }

  private moved(
    node: LocatedNode,
    at: Span & { readonly raw: string },
    path: readonly string[],
    steps: number,
  ): LocatedNode {
    const place: Span = { start: at.start, end: at.end };
    if (node.kind === "scalar") {
      const value =
        typeof node.value === "string" && node.value.includes("${") ? this.scalar(node, path, steps + 1) : node;
      if (value.kind !== "scalar") return value.kind === "unknown" ? { ...value, ...place, raw: at.raw } : value;
      return { ...value, ...place, raw: at.raw, source: value.source ?? { start: node.start, end: node.end } };
    }
    return node.kind === "unknown" ? { ...node, ...place, raw: at.raw } : this.map(node, path, steps + 1);
  }
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = table({
  multiply: (a, b) => a * b,
  mul: (a, b) => a * b,
  add: (a, b) => a + b,
  sum: (a, b) => a + b,
  sub: (a, b) => a - b,
  subtract: (a, b) => a - b,
  divide: (a, b) => a / b,
  div: (a, b) => a / b,
  int_div: (a, b) => Math.floor(a / b),
  floor_div: (a, b) => Math.floor(a / b),
});

function unknown(at: Span & { readonly raw: string }, reason: Message): UnknownNode {
  return { kind: "unknown", raw: at.raw, reason, start: at.start, end: at.end };
}

/** Arguments of a resolver, split at commas outside of nested interpolations. */
function splitArguments(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === "{") depth++;
    else if (character === "}") depth--;
    else if (character === "," && depth === 0) {
      parts.push(text.slice(from, index).trim());
      from = index + 1;
    }
  }
  parts.push(text.slice(from).trim());
  return parts;
}
