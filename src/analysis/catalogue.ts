/** The packaged catalogue of published model configs (`models/catalogue.json`). */
import { z } from "zod";
import type { Runtime } from "./runtime";

const entrySchema = z.object({
  name: z.string(),
  aliases: z.array(z.string()).optional(),
  config: z.record(z.string(), z.unknown()),
  parameters: z.number(),
  source: z.string().optional(),
  licence: z.string().optional(),
});

export type CatalogueEntry = z.infer<typeof entrySchema>;

export interface Catalogue {
  find(name: string): CatalogueEntry | undefined;
  /** Names close to one that is not in it. */
  readonly names: readonly string[];
}

/** Reads the catalogue once; empty when it is absent or unreadable. */
export async function readCatalogue(runtime: Runtime): Promise<Catalogue> {
  const text = await runtime.readModelData("catalogue.json").catch(() => undefined);
  const entries = parse(text);
  const byName = new Map<string, CatalogueEntry>();
  for (const entry of entries) {
    for (const name of [entry.name, ...(entry.aliases ?? [])]) byName.set(name.toLowerCase(), entry);
  }
  return { find: (name) => byName.get(name.toLowerCase()), names: entries.map((entry) => entry.name) };
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
