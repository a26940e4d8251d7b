/** The packaged catalogue of published model configs (`models/catalogue.json`). */

import * as z from "zod";
import { DIMENSIONS } from "../core/graph/dimensions";
import type { Runtime } from "./runtime";

const entrySchema = z.object({
  name: z.string(),
  aliases: z.array(z.string()).optional(),
  config: z.record(z.string(), z.unknown()),
  parameters: z.number(),
  source: z.string().optional(),
  license: z.string().optional(),
  /** What the published weights are for; absent: causal language modelling. */
  task: z.string().optional(),
});

export type CatalogueEntry = z.infer<typeof entrySchema>;

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
  const text = await runtime.readModelData("catalogue.json").catch(() => undefined);
  const entries = parse(text);
  const byName = new Map<string, CatalogueEntry>();
  for (const entry of entries) {
    for (const name of namesOf(entry)) {
      // Repositories of two organisations may end alike (`roberta-base`): the first entry has the short name.
      const spelling = name.toLowerCase();
      if (!byName.has(spelling)) byName.set(spelling, entry);
    }
  }
  const mirrors = mirrorsOf(text);
  const find = (name: string) => {
    const asked = name.toLowerCase();
    const [organisation = "", repository = ""] = asked.split("/");
    return byName.get(asked) ?? (mirrors.has(organisation) ? byName.get(repository) : undefined);
  };
  const byShape = new Map<string, CatalogueEntry>();
  for (const entry of entries) {
    const shape = shapeOf(entry.config);
    if (shape !== undefined && !byShape.has(shape)) byShape.set(shape, entry);
  }
  const like = (config: Readonly<Record<string, unknown>>) => {
    const shape = shapeOf(config);
    return shape === undefined ? undefined : byShape.get(shape);
  };
  return { find, like, spellings: byName, names: entries.map((entry) => entry.name) };
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

/** Organisations that publish copies of others' models under the same last part. */
function mirrorsOf(text: string | undefined): ReadonlySet<string> {
  try {
    const data = z.object({ mirrors: z.array(z.string()) }).safeParse(JSON.parse(text ?? ""));
    return new Set(data.success ? data.data.mirrors.map((mirror) => mirror.toLowerCase()) : []);
  } catch {
    return new Set();
  }
}

function parse(text: string | undefined): CatalogueEntry[] {
  if (text === undefined) return [];
  try {
    const data: unknown = JSON.parse(text);
    const list = Array.isArray(data) ? data : ((data as { models?: unknown }).models ?? []);
    const result = z.array(entrySchema).safeParse(list);
    return result.success ? result.data : [];
  } catch {
    return [];
  }
}
