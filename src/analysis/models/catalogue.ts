/** The packaged catalogue of published model configs (`models/catalogue.json`). */

import { DIMENSIONS } from "../../core/graph/dimensions";
import { jsonOf } from "../../terms/json";
import type { Runtime } from "../runtime";

/** A published model. */
export interface CatalogueEntry {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly parameters: number;
  readonly source?: string;
  readonly license?: string;
  /** What the published weights are for; absent: causal language modelling. */
  readonly task?: string;
}

export interface Catalogue {
  find(name: string): CatalogueEntry | undefined;
  /** The published model with exactly these dimensions, for a config that does not say its own name. */
  like(config: Readonly<Record<string, unknown>>): CatalogueEntry | undefined;
  /** Every spelling with its entry, in the order of the file. */
  readonly spellings: ReadonlyMap<string, CatalogueEntry>;
  /** Names close to one that is not in it. */
  readonly names: readonly string[];
}

/** Reads the catalogue once; empty when it is absent or unreadable. */
export async function readCatalogue(runtime: Runtime): Promise<Catalogue> {
  const { entries, mirrors } = parse(await runtime.readModelData("catalogue.json").catch(() => undefined));
  const byName = new Map<string, CatalogueEntry>();
  for (const entry of entries) {
    for (const name of namesOf(entry)) {
      // Repositories of two organisations may end alike (`roberta-base`): the first entry has the short name.
      const spelling = name.toLowerCase();
      if (!byName.has(spelling)) byName.set(spelling, entry);
    }
  }
  const find = (name: string) => {
    const asked = name.toLowerCase();
    const [organisation = "", repository = ""] = asked.split("/");
    return byName.get(asked) ?? (mirrors.has(organisation) ? byName.get(repository) : undefined);
  };
  let shapes: ReadonlyMap<string, CatalogueEntry> | undefined;
  const like = (config: Readonly<Record<string, unknown>>) => {
    const shape = shapeOf(config);
    if (shape === undefined) return undefined;
    shapes ??= byShape(entries);
    return shapes.get(shape);
  };
  return { find, like, spellings: byName, names: entries.map((entry) => entry.name) };
}

/** The first entry of each shape. */
function byShape(entries: readonly CatalogueEntry[]): ReadonlyMap<string, CatalogueEntry> {
  const found = new Map<string, CatalogueEntry>();
  for (const entry of entries) {
    const shape = shapeOf(entry.config);
    if (shape !== undefined && !found.has(shape)) found.set(shape, entry);
  }
  return found;
}

/** Keys that tell published models apart, each with its spellings. */
const TELLING: readonly (readonly string[])[] = [
  DIMENSIONS.hidden,
  DIMENSIONS.layers,
  DIMENSIONS.heads,
  ["vocab_size", "image_size"],
];

/** Dimensions as one text; undefined when a config lacks one of them. */
function shapeOf(config: Readonly<Record<string, unknown>>): string | undefined {
  const values = TELLING.map((names) => names.map((name) => config[name]).find((value) => typeof value === "number"));
  if (values.includes(undefined)) return undefined;
  const inner = config["intermediate_size"] ?? config["ffn_dim"] ?? null;
  return JSON.stringify([config["model_type"], ...values, inner, config["num_key_value_heads"] ?? null]);
}

/** Every spelling of an entry: repositories, their last parts, and aliases that name no organisation. */
function namesOf({ name, aliases }: CatalogueEntry): string[] {
  const organisation = name.split("/")[0] ?? "";
  const repositories = [name, ...(aliases ?? [])].map((alias) =>
    alias.includes("/") ? alias : `${organisation}/${alias}`,
  );
  return repositories.flatMap((repository) => [repository, repository.slice(repository.indexOf("/") + 1)]);
}

interface Contents {
  readonly entries: readonly CatalogueEntry[];
  /** Organisations that publish copies of others' models under the same last part, in lower case. */
  readonly mirrors: ReadonlySet<string>;
}

/** What the file holds; entries that are none are left out. */
function parse(text: string | undefined): Contents {
  const data = jsonOf(text);
  const { models, mirrors } = (Array.isArray(data) ? { models: data } : (data ?? {})) as Readonly<
    Record<string, unknown>
  >;
  const organisations = Array.isArray(mirrors) ? mirrors : [];
  return {
    entries: Array.isArray(models) ? models.filter(isEntry) : [],
    mirrors: new Set(organisations.map((mirror) => String(mirror).toLowerCase())),
  };
}

/** Looked at by hand: a schema's copies of a thousand configs cost time at every start, and memory for as long as they are kept. */
function isEntry(value: unknown): value is CatalogueEntry {
  if (typeof value !== "object" || value === null) return false;
  const { name, aliases, config, parameters } = value as Readonly<Record<string, unknown>>;
  const named = typeof name === "string" && (aliases === undefined || Array.isArray(aliases));
  return named && typeof parameters === "number" && typeof config === "object" && config !== null;
}
