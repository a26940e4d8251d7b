/**
 * Configs that extend others: detectron2's `_BASE_` (`fvcore/common/config.py`) and OpenMMLab's `_base_`
 * (`mmengine/config/config.py`). Bases come first, in their order, and the config's own keys win; a dict with
 * `_delete_=True` replaces the base's instead of joining it.
 */
import type { ConfigDocument, Format } from "../../formats/types";
import { merged, shifted } from "../../syntax/graft";
import { rootOf } from "../../syntax/python";
import type { Entry, MapNode, ParsedDocument } from "../../syntax/tree";
import type { LoadedDocument } from "../documents/store";
import { joinUri, parentOf } from "../documents/uris";
import { add, type Composing, cyclic, DEEPEST, MOST_INCLUDED, missing, type Part } from "./parts";

const BASE_KEYS: ReadonlySet<string> = new Set(["_BASE_", "_base_"]);

/** Whether the document names configs it extends. */
export function hasBases(document: LoadedDocument): boolean {
  return document.read.links.some(({ kind }) => kind === "include");
}

/** The document's content over its bases'. */
export async function withBases(
  main: LoadedDocument,
  own: ConfigDocument,
  format: Format,
  parts: Part[],
  composing: Composing,
): Promise<ParsedDocument> {
  const all = await layered(main, own, format, parts, composing, { above: [main.uri], known: new Map() });
  if (all === undefined) return own.parsed;
  const named = contentOf(own)?.entries.filter(({ key }) => BASE_KEYS.has(key)) ?? [];
  const root: MapNode = { ...all, entries: [...named, ...all.entries] };
  const { python } = own.parsed;
  if (python === undefined) return { ...own.parsed, root };
  const module = { ...python, assignments: root };
  return { ...own.parsed, python: module, root: rootOf(module, own.text.length) };
}

function contentOf({ parsed }: ConfigDocument): MapNode | undefined {
  if (parsed.python !== undefined) return parsed.python.assignments;
  return parsed.root?.kind === "map" ? parsed.root : undefined;
}

/** How a base was come to, and what the bases say that were read before. */
interface Way {
  readonly above: readonly string[];
  readonly known: Map<string, MapNode | undefined>;
}

async function layered(
  document: LoadedDocument,
  config: ConfigDocument,
  format: Format,
  parts: Part[],
  composing: Composing,
  { above, known }: Way,
): Promise<MapNode | undefined> {
  const content = contentOf(config);
  if (content === undefined) return undefined;
  const entries = content.entries.filter(({ key }) => !BASE_KEYS.has(key));
  const own = shifted({ ...content, entries }, add(parts, document));
  let below: MapNode | undefined;
  for (const { kind, target, span } of format.read(config).links) {
    // `mmdet::…` is a config inside an installed package.
    if (kind !== "include" || target.includes("::")) continue;
    const uri = joinUri(parentOf(document.uri), target);
    composing.dependencies.add(uri);
    const base = await composing.store.load(uri);
    if (base?.config === undefined) {
      composing.problems.push(missing("missing-file.include", "information", target, document.uri, span));
      continue;
    }
    if (above.includes(uri) || above.length > DEEPEST || parts.length > MOST_INCLUDED) {
      composing.problems.push(cyclic(target, document.uri, span));
      continue;
    }
    composing.links.push({ kind: "include", uri, from: document.uri, span });
    const inner = known.has(uri)
      ? known.get(uri)
      : await layered(base, base.config, format, parts, composing, { above: [...above, uri], known });
    known.set(uri, inner);
    if (inner !== undefined) below = below === undefined ? inner : merged(below, inner);
  }
  return below === undefined ? own : extended(below, own);
}

/** `merged`, with `_delete_` obeyed. */
function extended(below: MapNode, above: MapNode): MapNode {
  const entries = new Map<string, Entry>(below.entries.map((entry) => [entry.key, entry]));
  for (const entry of above.entries) {
    const old = entries.get(entry.key)?.value;
    const joins = old?.kind === "map" && entry.value.kind === "map" && !deletes(entry.value);
    entries.set(entry.key, joins ? { ...entry, value: extended(old, entry.value as MapNode) } : entry);
  }
  return { ...above, entries: [...entries.values()] };
}

function deletes(map: MapNode): boolean {
  const mark = map.entries.find(({ key }) => key === "_delete_")?.value;
  return mark?.kind === "scalar" && mark.value === true;
}
