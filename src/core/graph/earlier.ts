/**
 * What earlier releases of transformers do otherwise (`models/releases/transformers.json`, written by `capture/storing/earlier.py`): graphs
 * that the newest release has not, and what the classes of configs fill in there.
 */
import * as z from "zod/mini";
import { renamedGraphs } from "./renamed";
import { storedGraphs } from "./stored";
import type { ArchitectureGraph, FamilyGraphs } from "./types";

interface Alike {
  readonly kinds: readonly string[];
  readonly families: readonly string[];
}

const facts = z.optional(z.record(z.string(), z.unknown()));
const earlierSchema = z.looseObject({
  /** By the recorded release: the first one whose code is another. */
  until: z.record(z.string(), z.string()),
  /** By the recorded release: families whose runs of some kinds ("causal-lm sdpa") were found to take what the newest release's take. */
  alike: z.optional(
    z.record(z.string(), z.array(z.looseObject({ kinds: z.array(z.string()), families: z.array(z.string()) }))),
  ),
  families: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        defaults: facts,
        derived: facts,
        /** Keys that the release's own classes give a number of their own, where the newest derives it. */
        given: z.optional(z.array(z.string())),
        graphs: z.array(z.number()),
        /** What modules are called otherwise: the newest names and the release's own, in the order in which they are told apart. */
        renamed: z.optional(z.array(z.tuple([z.string(), z.string()]))),
      }),
    ),
  ),
});

/** The newest graphs with the recorded release whose code they were found to be as well. */
function marked(newest: FamilyGraphs, release: string, groups: readonly Alike[] | undefined): FamilyGraphs {
  const kinds = new Set(groups?.filter(({ families }) => families.includes(newest.family)).flatMap((one) => one.kinds));
  if (kinds.size === 0) return newest;
  const graphs = newest.graphs.map((graph) =>
    kinds.has(`${graph.task} ${graph.attention}`) ? { ...graph, release } : graph,
  );
  return { ...newest, release, graphs };
}

/**
 * The family's graphs as a release had them; tasks and kinds of attention that were not recorded of it keep the newest ones.
 *
 * @param isBefore whether the release that the run is on is older than another
 * @returns the newest ones where the run's release is one of theirs, or nothing was recorded of it
 */
export function earlierGraphs(
  newest: FamilyGraphs,
  text: string,
  table: string | undefined,
  isBefore: (release: string) => boolean,
): FamilyGraphs {
  const content = storedGraphs(text, table);
  const known = earlierSchema.safeParse(content?.rest).data;
  const rows = Object.entries(known?.families[newest.family] ?? {}).filter(([one]) =>
    isBefore(known?.until[one] ?? one),
  );
  const renamed = rows.find(([, row]) => row.renamed !== undefined)?.[1].renamed;
  const standard = Object.keys(known?.until ?? {}).find((one) => isBefore(known?.until[one] ?? one));
  const called = renamed === undefined ? newest : renamedGraphs(newest, renamed);
  const named = standard === undefined ? called : marked(called, standard, known?.alike?.[standard]);
  // Where the release that stands for the run's has no graph of a task and kind of attention, the next later one's that has is nearer than
  // the newest, and stands in for it as that does.
  const recorded = rows.filter(([, row]) => row.renamed === undefined);
  const [release, own] = recorded[0] ?? [];
  if (content === undefined || own === undefined || release === undefined) return named;
  const graphs: ArchitectureGraph[] = [];
  for (const [one, row] of recorded) {
    const stored = new Set(graphs.map(({ task, attention }) => `${task} ${attention}`));
    for (const number of row.graphs) {
      const graph = content.graph(number);
      if (!stored.has(`${graph.task} ${graph.attention}`))
        graphs.push({ ...graph, ...(one === standard ? { release: one } : {}) });
    }
  }
  const isOwn = (task: string, attention: string): boolean =>
    graphs.some((graph) => graph.task === task && graph.attention === attention);
  const facts = (kind: "defaults" | "derived"): Record<string, unknown> =>
    Object.assign({}, ...recorded.map(([, row]) => row[kind]).reverse());
  const given = new Set(recorded.flatMap(([, row]) => row.given ?? []));
  return {
    ...named,
    release,
    defaults: { ...newest.defaults, ...(facts("defaults") as FamilyGraphs["defaults"]) },
    derived: {
      ...Object.fromEntries(Object.entries(newest.derived).filter(([key]) => !given.has(key))),
      ...(facts("derived") as FamilyGraphs["derived"]),
    },
    graphs: [...graphs, ...named.graphs.filter(({ task, attention }) => !isOwn(task, attention))],
  };
}
