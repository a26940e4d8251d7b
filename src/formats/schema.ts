/**
 * Formats that are a table of keys over a view of the document: the root of a data file, the flags of a command, the
 * keyword arguments of Python calls. The table says what a key means canonically; a few functions hold the rest.
 */

import { nodeAt } from "../syntax/text";
import type { LocatedNode, MapNode, PythonCall, SpanEdit } from "../syntax/tree";
import { type Message, say } from "../words/message";
import { Deriving } from "./deriving";
import { editByTable, inNotebook, type Target } from "./edit";
import { type ReadPolicy, readByTable } from "./reader";
import { NOT_RECOGNISED, type Recognition } from "./recognition";
import { type KeyTable, tableOf } from "./table";
import type {
  CarrierId,
  ConfigDocument,
  DocumentLink,
  EditContext,
  EditResult,
  Format,
  FormatProblem,
  KeySpec,
  LocatedSetting,
  ReadResult,
  SchemaId,
  SettingChange,
  SettingName,
} from "./types";

/** What a format sees of a document. */
export interface View {
  /** Arguments by the table's keys; nested maps and dotted keys are both fine. */
  readonly map: MapNode;
  /** Where new keys are written; undefined when the carrier has no place for them. */
  readonly target?: MapNode;
  /** Words of the command, or the callee names: what recognition may look at beside the keys. */
  readonly words: readonly string[];
  /** The calls that the map is made of, each with the prefix of its keywords. */
  readonly calls?: readonly { readonly prefix: string; readonly call: PythonCall }[];
  /** Settings the carrier states by itself (the launcher's world size). */
  readonly extra?: readonly LocatedSetting[];
}

export interface SchemaFormat {
  readonly id: SchemaId;
  readonly carrier?: CarrierId;
  readonly keys: readonly KeySpec[];
  /** The views worth looking at, best first; empty when the document cannot be of this format. */
  readonly views: (document: ConfigDocument) => readonly View[];
  readonly recognise: (view: View, document: ConfigDocument) => Recognition;
  /** Settings that follow from several keys; gets what the table read. */
  readonly derive?: (d: Deriving, view: View, document: ConfigDocument) => void;
  readonly links?: (settings: readonly LocatedSetting[], view: View) => readonly DocumentLink[];
  /** Whether a value really names a document. */
  readonly keepLink?: (link: DocumentLink) => boolean;
  /** What the library does with keys it does not know: `near` reports near misses of known keys only. */
  readonly unknownKeys?: {
    /** Blocks whose keys are looked at; every block when not said, and then a name that is known in one is in all. */
    readonly parents?: readonly string[];
    readonly known: ReadonlySet<string>;
    /** Name of the library when it stops at a key it does not know. */
    readonly stops?: string;
  };
  /** Paths that have no row and are read all the same, by code of their own. */
  readonly readsBeside?: (path: string) => boolean;
  /** Calls of a Python carrier, and the prefix that their keywords have in the table. */
  readonly calls?: readonly (readonly [RegExp, string])[];
  /** Where a key that is not there yet would be written; undefined where nothing here takes it. */
  readonly place?: (key: KeySpec, view: View, document: ConfigDocument, context: EditContext) => Target | undefined;
  /** Code for changes that no key can say, and the changes that are left. */
  readonly construct?: (
    document: ConfigDocument,
    view: View,
    stated: ReadonlySet<string>,
    changes: readonly SettingChange[],
    context: EditContext,
  ) => { readonly edits: readonly SpanEdit[]; readonly rest: readonly SettingChange[] } | { readonly refused: Message };
  /** Problems that need more than one key. */
  readonly check?: (
    settings: readonly LocatedSetting[],
    view: View,
    document: ConfigDocument,
  ) => readonly FormatProblem[];
}

export function schemaFormat(spec: SchemaFormat): Format {
  const table = tableOf(spec.keys);
  const { readsBeside } = spec;
  const policy: ReadPolicy = {
    convertsText: () => true,
    ...unknownKeysOf(spec),
    ...(readsBeside === undefined ? {} : { readsBeside }),
  };

  function best(document: ConfigDocument): { view: View; recognition: Recognition } | undefined {
    let found: { view: View; recognition: Recognition } | undefined;
    for (const view of spec.views(document)) {
      const recognition = spec.recognise(view, document);
      if (recognition.confidence > (found?.recognition.confidence ?? 0)) found = { view, recognition };
    }
    return found;
  }

  function readView(view: View, document: ConfigDocument): ReadResult {
    const { settings, problems } = readByTable(view.map, table, policy);
    settings.push(...(view.extra ?? []));
    const deriving = new Deriving(settings);
    spec.derive?.(deriving, view, document);
    settings.push(...deriving.made);
    problems.push(...(spec.check?.(settings, view, document) ?? []));
    const links = [...settings.flatMap((setting) => linkOf(table, setting)), ...(spec.links?.(settings, view) ?? [])];
    return { settings, links: links.filter((link) => spec.keepLink?.(link) ?? true), problems };
  }

  function read(document: ConfigDocument): ReadResult {
    const view = best(document)?.view ?? spec.views(document)[0];
    return view === undefined ? { settings: [], links: [], problems: [] } : readView(view, document);
  }

  return {
    id: spec.id,
    ...(spec.carrier === undefined ? {} : { carrier: spec.carrier }),
    keys: spec.keys,
    recognise: (document) => best(document)?.recognition ?? NOT_RECOGNISED,
    read,
    callPath: (callee) => spec.calls?.find(([pattern]) => pattern.test(callee))?.[1].replace(/\.$/, ""),
    edit(document, asked, context = { libraries: {} }): EditResult {
      const view = best(document)?.view ?? spec.views(document)[0];
      if (view === undefined) return { refused: say("refused.not-recognised") };
      const result = readView(view, document);
      const stated = new Set(result.settings.flatMap(({ name }) => name ?? []));
      const made = spec.construct?.(document, view, stated, asked, context) ?? { edits: [], rest: asked };
      if ("refused" in made) return made;
      const changes = made.rest;
      const own = view.target === undefined ? undefined : { map: view.target, path: "" };
      const parted = asked.find(({ name }) => saidInParts(view, name));
      if (parted !== undefined) return { refused: say("refused.in-parts", { key: parted.name }) };
      const placeOf = (key?: KeySpec) =>
        key === undefined || spec.place === undefined ? own : spec.place(key, view, document, context);
      const keys = placed(spec.keys, view.map).filter((key) => spec.place === undefined || placeOf(key) !== undefined);
      const written = changes.map((change) => spell({ ...spec, keys }, table, result.settings, change));
      const refused = written.find((change) => "refused" in change);
      if (refused !== undefined && "refused" in refused) return refused;
      const wanted = written.filter((change) => "name" in change && change.written === undefined) as readonly Spelled[];
      const edited = editByTable(document, keys, result, wanted, placeOf, spec.carrier);
      if ("refused" in edited) return edited;
      return spec.carrier === "shell" && document.parsed.syntax === "notebook"
        ? inNotebook(edited)
        : { edits: [...made.edits, ...edited.edits] };
    },
  };
}

/** Whether the carrier states a setting by something else than its number: `CUDA_VISIBLE_DEVICES=0,1`, GPUs × nodes. */
function saidInParts({ extra = [] }: View, name: SettingName): boolean {
  const stated = extra.findLast((setting) => setting.name === name);
  return stated?.node.kind === "scalar"
    ? stated.node.value !== stated.value && name === "world_size"
    : stated !== undefined;
}

/** Keys that can be written here, those of blocks in use first; no block is made up for one key in a data file. */
function placed(keys: readonly KeySpec[], map: MapNode): readonly KeySpec[] {
  const dotted = map.entries.filter((entry) => entry.key.includes("."));
  if (dotted.length === 0) return keys.filter((key) => hasPlace(key, map));
  const blocks = new Set(dotted.map((entry) => entry.key.replace(/\..*$/s, "")));
  const used = (key: KeySpec) => blocks.has(key.key.replace(/\..*$/s, ""));
  return [...keys.filter(used), ...keys.filter((key) => !used(key))];
}

/** Whether the block a key belongs to is in use here. */
function hasPlace(key: KeySpec, map: MapNode): boolean {
  const cut = key.key.lastIndexOf(".");
  if (cut < 0) return true;
  const block = nodeAt(map, key.key.slice(0, cut));
  return block?.kind === "map" && block.entries.length > 0;
}

/** What is known of the library's keys beside the table, as the reader asks it. */
function unknownKeysOf({ unknownKeys: stated }: SchemaFormat): Pick<ReadPolicy, "unknownKeys"> {
  if (stated === undefined) return {};
  const { known, parents, stops } = stated;
  return {
    unknownKeys: {
      knows: (name, path) => known.has(parents === undefined ? name : path),
      others: () => known,
      ...(parents === undefined ? {} : { looksAt: (parent) => parents.includes(parent) }),
      ...(stops === undefined ? {} : { stops }),
    },
  };
}

function linkOf(table: KeyTable, setting: LocatedSetting): DocumentLink[] {
  const key = table.byPath.get(setting.key);
  const kind = key?.link ?? (setting.name === "model" && key?.name === "model" ? "model" : undefined);
  if (kind === undefined || setting.name !== key?.name || typeof setting.value !== "string" || setting.value === "")
    return [];
  return [{ kind, target: setting.value, span: setting.valueSpan }];
}

/** A change to write; `written` when the document already says it. */
type Spelled = SettingChange & { readonly written?: true };

/** The change in the format's own words, or why it cannot be written. */
function spell(
  spec: SchemaFormat,
  table: KeyTable,
  settings: readonly LocatedSetting[],
  change: SettingChange,
): Spelled | { refused: Message } {
  const asked = precision(spec, change);
  const stated = settings.findLast((setting) => setting.name === asked.name);
  const key =
    stated === undefined ? spec.keys.find((candidate) => candidate.name === asked.name) : table.byPath.get(stated.key);
  if (key === undefined) return stated === undefined ? asked : { refused: say("refused.follows") };
  if (key.name !== asked.name && key.also?.every((also) => also.name !== asked.name) !== false)
    return { refused: say("refused.follows") };
  if (asked.value === null) return asked;
  const means = key.name === asked.name ? key.means : key.also?.find((also) => also.name === asked.name)?.means;
  if (stated?.value === asked.value) return { name: asked.name, value: asked.value, written: true };
  if (means !== undefined) {
    const word = key.name === asked.name ? key.writes?.[String(asked.value)] : undefined;
    const written = word ?? Object.entries(means).find(([, canonical]) => canonical === asked.value)?.[0];
    // Words that only switch it off leave every other value as it is written, and so do keys that take anything.
    const open = Object.values(means).every((canonical) => canonical === "none");
    const free = key.name === asked.name && (key.type === "any" || key.type === "list");
    if (written === undefined)
      return open || free
        ? { name: asked.name, value: asked.value }
        : { refused: say("refused.no-word", { key: key.key }) };
    const value =
      written === "true" ? true : written === "false" ? false : /^-?\d+$/.test(written) ? Number(written) : written;
    return { name: asked.name, value };
  }
  if (
    typeof asked.value === "number" &&
    ((key.min !== undefined && asked.value < key.min) || (key.max !== undefined && asked.value > key.max))
  )
    return { refused: say("refused.range", { key: key.key, value: asked.value }) };
  if (key.type === "enum" && key.values !== undefined && !key.values.includes(String(asked.value))) {
    return { refused: say("refused.no-word", { key: key.key }) };
  }
  return asked;
}

/** `bf16: true` is `compute_dtype: bf16` where the format has one key for the precision. */
function precision(spec: SchemaFormat, change: SettingChange): SettingChange {
  const own = (name: string) => spec.keys.some((key) => key.name === name);
  if ((change.name === "bf16" || change.name === "fp16") && !own(change.name) && own("compute_dtype")) {
    return { name: "compute_dtype", value: change.value === true ? change.name : "fp32" };
  }
  return change;
}

/** A setting made of another one's place. */
export function derived(from: LocatedSetting, name: SettingName, value: LocatedSetting["value"]): LocatedSetting {
  return { ...from, name, value };
}

/** Plain value under a dotted path of a view: number, text or boolean; undefined when absent or unknown. */
export function valueAt(map: MapNode, path: string): string | number | boolean | null | undefined {
  const node = lookUp(map, path);
  return node?.kind === "scalar" ? node.value : undefined;
}

/** Node under a dotted path, whether the document nests or writes the path as one key. */
export function lookUp(map: MapNode, path: string): LocatedNode | undefined {
  const names = namesOf(map);
  if (names.has(path)) return map.entries.findLast((entry) => entry.key === path)?.value;
  const [first = "", ...below] = path.split(".");
  return below.length === 0 || !names.has(first) ? undefined : nodeAt(map, path);
}

const namesOfMap = new WeakMap<MapNode, ReadonlySet<string>>();

/** Names of the keys of a view's first level; every format asks, so they are gathered once per map. */
export function namesOf(map: MapNode): ReadonlySet<string> {
  let names = namesOfMap.get(map);
  if (names === undefined) {
    names = new Set(map.entries.map((entry) => entry.key));
    namesOfMap.set(map, names);
  }
  return names;
}

/** How many of some keys, by their dotted paths, a view has. */
export function count(map: MapNode, paths: readonly string[]): number {
  return paths.filter((path) => lookUp(map, path) !== undefined).length;
}
