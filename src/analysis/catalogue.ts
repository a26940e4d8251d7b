/** The packaged catalogue of published model configs (`models/catalogue.json`). */
import * as z from "zod";
import type { Runtime } from "./runtime";

const entrySchema = z.object({
  name: z.string(),
  aliases: z.array(z.string()).optional(),
  config: z.record(z.string(), z.unknown()),
  parameters: z.number(),
  source: z.string().optional(),
  license: z.string().optional(),
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
    for (const name of namesOf(entry)) byName.set(name.toLowerCase(), entry);
  }
  const mirrors = mirrorsOf(text);
  const find = (name: string) => {
    const asked = name.toLowerCase();
    const [organisation = "", repository = ""] = asked.split("/");
    return byName.get(asked) ?? (mirrors.has(organisation) ? byName.get(repository) : undefined);
  };
  return { find, names: entries.map((entry) => entry.name) };
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
