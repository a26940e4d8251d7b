/**
 * Hydra's `defaults:` list: which configs a config is put together from, in which order, and under which key each
 * stands. Source: `hydra/_internal/defaults_list.py` and `hydra/core/default_element.py` of 1.3.
 */
import { nodeAt } from "../syntax/text";
import type { LocatedNode, MapNode, Span } from "../syntax/tree";
import type { ConfigDocument } from "./types";

/** One line of a defaults list. */
export interface DefaultsEntry {
  readonly kind: "self" | "config" | "group" | "override";
  /** Group (`db`, `/db`, `../db`), or the path of a config (`base`, `/a/base`). */
  readonly path: string;
  /** Options of a group in order; empty when none is chosen (`null`) or it is left to the command line (`???`). */
  readonly options: readonly string[];
  /** Key the content goes under, after `@`. */
  readonly package: string | undefined;
  readonly optional: boolean;
  /** What names the file: the option, or the path. */
  readonly span: Span;
}

/** Whether a document has a defaults list at all. */
export function hasDefaults(document: ConfigDocument): boolean {
  return document.parsed.syntax === "yaml" && nodeAt(document.parsed.root, "defaults")?.kind === "list";
}

/**
 * The entries of a document's defaults list, Hydra's own groups left out. Without `_self_` the document itself comes
 * last, as since Hydra 1.2.
 */
export function readDefaults(document: ConfigDocument): DefaultsEntry[] {
  const list = nodeAt(document.parsed.root, "defaults");
  const entries = list?.kind !== "list" ? [] : list.items.flatMap(entriesOf);
  const kept = entries.filter((entry) => !/^\/?hydra(?:\/|$)/.test(entry.path));
  return kept.some((entry) => entry.kind === "self") ? kept : [...kept, self({ start: 0, end: 0 })];
}

function self(span: Span): DefaultsEntry {
  return { kind: "self", path: "", options: [], package: undefined, optional: false, span };
}

function entriesOf(item: LocatedNode): DefaultsEntry[] {
  if (item.kind === "scalar" && typeof item.value === "string") {
    if (item.value === "_self_") return [self(item)];
    const { rest, at, optional } = marks(item.value);
    return [{ kind: "config", path: rest, options: [], package: at, optional, span: item }];
  }
  if (item.kind !== "map") return [];
  return item.entries.map(({ key, value }): DefaultsEntry => {
    const { rest, at, optional, override } = marks(key);
    const options = value.kind === "list" ? value.items.flatMap(optionOf) : optionOf(value);
    return { kind: override ? "override" : "group", path: rest, options, package: at, optional, span: value };
  });
}

function optionOf(node: LocatedNode): string[] {
  const text = node.kind === "scalar" && node.value !== null ? node.raw.replace(/^(["'])(.*)\1$/, "$2") : "";
  return text === "" || text === "???" ? [] : [text];
}

function marks(text: string): { rest: string; at: string | undefined; optional: boolean; override: boolean } {
  const words = text.trim().split(/\s+/);
  const [rest = "", at] = (words.pop() ?? "").split("@");
  return { rest, at, optional: words.includes("optional"), override: words.includes("override") };
}

/** A path in a defaults list as seen from the folder of its config: `/x` starts at the root, `..` goes up. */
export function groupPath(folder: string, path: string): string {
  const steps: string[] = [];
  for (const step of (path.startsWith("/") ? path : `${folder}/${path}`).split("/")) {
    if (step === "..") steps.pop();
    else if (step !== "" && step !== ".") steps.push(step);
  }
  return steps.join("/");
}

/** The key that `# @package name` in the head of a config asks for. */
export function packageHeader(text: string): string | undefined {
  for (const line of text
    .slice(0, 2000)
    .split("\n")
    .map((one) => one.trim())) {
    const found = /^#\s{0,9}@package[ \t]{1,9}(\S+)/.exec(line)?.[1];
    if (found !== undefined) return found;
    if (line !== "" && !line.startsWith("#")) return undefined;
  }
  return undefined;
}

/**
 * The key a config's content goes under.
 * @param parent key of the config whose list names it
 * @param asked `@package` of the entry, else the head of the config, else undefined
 * @param group group as written, or the folder part of a config's path
 * @param option the option's name
 */
export function packageOf(parent: string, asked: string | undefined, group: string, option: string): string {
  const own = group
    .split("/")
    .filter((step) => step !== "" && !step.startsWith("."))
    .join(".");
  const wanted = (asked ?? own)
    .replaceAll("_group_", own)
    .replaceAll("_here_", "")
    .replaceAll("_name_", option.replace(/^.*\//, ""));
  const full = [...parent.split("."), ...wanted.split(".")].filter((step) => step !== "");
  return full.slice(full.lastIndexOf("_global_") + 1).join(".");
}

/** Content of a config without the keys that are Hydra's. */
export function contentOf(root: MapNode): MapNode {
  return { ...root, entries: root.entries.filter(({ key }) => key !== "defaults" && key !== "hydra") };
}

/**
 * Folders that `hydra.searchpath` adds: below the launch directory (`file://configs`), or of a package that may be
 * installed (`pkg://verl.trainer.config`).
 */
export function searchPath(root: LocatedNode | null): { readonly path: string; readonly package: boolean }[] {
  const list = nodeAt(root, "hydra.searchpath");
  if (list?.kind !== "list") return [];
  return list.items.flatMap((item) => {
    const [, scheme, path] = item.kind === "scalar" ? (/^(file|pkg):\/\/(.+)$/.exec(String(item.value)) ?? []) : [];
    if (path === undefined || path.includes("${")) return [];
    return [{ path: scheme === "pkg" ? path.replaceAll(".", "/") : path, package: scheme === "pkg" }];
  });
}
