/**
 * Files of graphs as they are stored (`capture/storing/stored.py`): what stands in them more than once is said once, in a table
 * of parts that `{ "same": n }` points into, and `{ "run": [n, from, count] }` into the items of one. Values are
 * named by how far back they were made. A family's graphs are alike for most of their length, so files, time to parse and
 * memory shrink; what is shared stays one object. In the package `{ "back": n }` is the n-th part back from where it stands, and a run
 * counts so where its number is below zero (`scripts/archive.mjs`): what files have alike then reads alike. A file that says `like` goes on from the parts of a table that several
 * families share. `~` stands for the body of the model, which families and heads name differently (`bodies.ts`).
 */
import * as z from "zod/mini";
import { jsonOf } from "../../terms/json";
import { bodies } from "./bodies";
import { numbering } from "./distances";
import { Expressions } from "./expression";
import { Kept } from "./kept";
import type { ArchitectureGraph, FamilyGraphs, GraphFunction, TrainerGraph } from "./types";

const storedSchema = z.looseObject({
  schema: z.literal("vram-lens/graphs/4"),
  like: z.optional(z.string()),
  parts: z.array(z.unknown()),
  graphs: z.array(z.looseObject({})),
});
const tableSchema = z.looseObject({
  schema: z.literal("vram-lens/graphs/4"),
  root: z.optional(z.string()),
  parts: z.array(z.unknown()),
});

const NO_TABLE: z.infer<typeof tableSchema> = { schema: "vram-lens/graphs/4", parts: [] };

/** Reads a table of parts by its name (`models/parts/<name>.json`); undefined where there is none. */
export type ReadTable = (name: string) => Promise<string | undefined>;

/** The name of the table that a stored file goes on from, which it says before its parts; undefined where it stands alone. */
export function likeOf(text: string): string | undefined {
  return /"like":\s*"([\w.-]+)"/.exec(text.slice(0, text.indexOf('"parts"')))?.[1];
}

/** What `use` makes of a stored file and of the table that it goes on from. */
export async function withTable<T>(
  text: string,
  read: ReadTable,
  use: (text: string, table: string | undefined) => T,
): Promise<T> {
  const like = likeOf(text);
  return use(text, like === undefined ? undefined : await read(like));
}

/** A stored graph's functions; which of them there are depends on what it is of. */
interface Functions {
  readonly main: GraphFunction;
  readonly blocks?: readonly GraphFunction[];
  readonly after?: GraphFunction;
}

/** The graphs of a family's file; undefined where the text is none, or goes on from a table that is not the one given. */
export function familyGraphs(text: string, table?: string): FamilyGraphs | undefined {
  const content = contentOf(text, table);
  if (content === undefined || !("family" in content)) return undefined;
  return { ...(content as unknown as FamilyGraphs), expressions: new Expressions(), kept: new Kept() };
}

/** The losses of a file of trainers; none where the text is no such file. */
export function trainerGraphs(text: string, table?: string): readonly TrainerGraph[] {
  return (contentOf(text, table)?.graphs ?? []) as unknown as readonly TrainerGraph[];
}

/** A stored file whose graphs are put together when they are asked for. */
export interface StoredGraphs {
  /** What stands beside the graphs. */
  readonly rest: Readonly<Record<string, unknown>>;
  readonly count: number;
  /** The graph at a place, every part in its place and every value numbered. */
  readonly graph: (place: number) => ArchitectureGraph;
}

/** A file of graphs; undefined where the text is none, or goes on from a table that is not the one given. */
export function storedGraphs(text: string, table: string | undefined): StoredGraphs | undefined {
  const data = jsonOf(text);
  if (!storedSchema.safeParse(data).success) return undefined;
  const { schema: _, like, parts, graphs, ...rest } = data as z.infer<typeof storedSchema>;
  const before = like === undefined ? NO_TABLE : tableSchema.safeParse(jsonOf(table ?? "")).data;
  if (before === undefined) return undefined;
  const all: unknown[] = [];
  for (const part of [...before.parts, ...parts]) all.push(whole(part, all));
  const named = bodies(before.root);
  const numbered = numbering();
  const graph = (place: number): ArchitectureGraph => {
    const own = named(whole(graphs[place] ?? {}, all) as Functions);
    return {
      ...own,
      main: numbered(own.main),
      ...(own.blocks && { blocks: own.blocks.map((block) => ownIfStoring(numbered(block))) }),
      ...(own.after && { after: numbered(own.after) }),
    } as unknown as ArchitectureGraph;
  };
  return { rest: whole(rest, all) as Record<string, unknown>, count: graphs.length, graph };
}

/** What was stored, with all of its graphs. */
function contentOf(text: string, table: string | undefined): { readonly graphs: readonly object[] } | undefined {
  const content = storedGraphs(text, table);
  return (
    content && { ...content.rest, graphs: Array.from({ length: content.count }, (_, place) => content.graph(place)) }
  );
}

/** A block that stores for others is no other's object, however alike: by it what each stores is told apart (`stores.ts`). */
function ownIfStoring(block: GraphFunction): GraphFunction {
  return block.body.some((step) => "store" in step) ? { ...block } : block;
}

/** The items of a part that a list takes over in a row; undefined where the item stands for itself. */
function runOf(item: unknown, parts: readonly unknown[]): readonly unknown[] | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { run } = item as { readonly run?: unknown };
  if (!Array.isArray(run)) return undefined;
  const [part, from, count] = run.map(Number);
  const list = part === undefined ? undefined : parts.at(part);
  return Array.isArray(list) && from !== undefined && count !== undefined ? list.slice(from, from + count) : undefined;
}

/** A value with its parts in place; parts come before what holds them. */
function whole(value: unknown, parts: readonly unknown[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.flatMap((item) => runOf(item, parts) ?? [whole(item, parts)]);
  const { same, back } = value as { readonly same?: unknown; readonly back?: unknown };
  if (typeof same === "number") return parts[same];
  if (typeof back === "number") return parts[parts.length - back];
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) result[key] = whole(item, parts);
  return result;
}
