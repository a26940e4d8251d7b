/**
 * Graphs of models of somebody's own, as `vram-lens trace` writes them to `.vramlens/graphs`: files of a workspace, which
 * anybody may have written. What does not have the form of a graph, or is larger than one, is none.
 */
import * as z from "zod/mini";
import { jsonOf } from "../../terms/json";
import { familyGraphs } from "./stored";
import type { FamilyGraphs } from "./types";

/** How the family of a graph of one's own begins; what follows is the file's name. */
const OWN_FAMILY = "own.";

/** Whether graphs are of somebody's own code, which runs as it was traced. */
export function isTraced({ family }: FamilyGraphs): boolean {
  return family.startsWith(OWN_FAMILY);
}

/** Larger files are not read. UTF-16 units. */
const LONGEST_FILE = 24 * 1024 * 1024;
const MOST_INSTRUCTIONS = 200_000;
const MOST_TENSORS = 50_000;

const name = z.string().check(z.maxLength(400));
const expression = z.string().check(z.maxLength(1000));
const scalar = z.union([expression, z.number(), z.boolean(), z.null()]);
/** Operands are lists of lists at the most (shapes in indices, splits). */
const operand = z.union([
  scalar,
  z.array(z.union([scalar, z.array(scalar).check(z.maxLength(4096))])).check(z.maxLength(4096)),
]);
const out = z.array(z.nullable(name)).check(z.maxLength(4096));
const places = z.array(z.int().check(z.minimum(0))).check(z.maxLength(4096));
const flags = {
  noamp: z.optional(z.literal(true)),
  nograd: z.optional(z.literal(true)),
};
const instruction = z.union([
  z.object({
    op: name,
    in: z.array(operand).check(z.maxLength(64)),
    kw: z.optional(z.record(name, operand)),
    out,
    ...flags,
  }),
  z.object({
    call: name,
    path: name,
    in: z.array(operand).check(z.maxLength(16)),
    attrs: z.optional(z.record(name, operand)),
    out,
    ...flags,
  }),
  z.object({ drop: z.array(name).check(z.maxLength(4096)) }),
  z.object({ scope: name }),
  z.object({
    repeat: z.object({
      from: expression,
      to: expression,
      bodies: z.array(z.object({ block: z.int().check(z.minimum(0)), when: expression })).check(z.maxLength(16)),
      in: z.array(operand).check(z.maxLength(4096)),
      carry: z.array(z.nullable(z.int().check(z.minimum(0)))).check(z.maxLength(4096)),
      out,
      checkpoint: z.boolean(),
      positional: z.array(z.int().check(z.minimum(0))).check(z.maxLength(64)),
      collect: z.optional(out),
      passing: z.optional(z.array(z.int().check(z.minimum(0))).check(z.maxLength(64))),
    }),
  }),
  z.object({
    block: z.int().check(z.minimum(0)),
    index: expression,
    in: z.array(operand).check(z.maxLength(4096)),
    out,
    checkpoint: z.boolean(),
    positional: z.array(z.int().check(z.minimum(0))).check(z.maxLength(64)),
    segment: z.optional(
      z.union([
        z.object({ reentrant: z.boolean(), autocast: z.optional(z.boolean()) }),
        z.object({ gradients: places, zeros: places, weights: z.array(name).check(z.maxLength(64)) }),
        z.object({ saved: z.int().check(z.minimum(0)), to: places }),
      ]),
    ),
  }),
]);
const body = z.object({
  inputs: z.array(name).check(z.maxLength(256)),
  outputs: z.array(name).check(z.maxLength(4096)),
  body: z.array(instruction).check(z.maxLength(MOST_INSTRUCTIONS)),
});
const tensor = z.object({
  name,
  shape: z.array(expression).check(z.maxLength(8)),
  dtype: z.optional(name),
  module: name,
  when: z.optional(expression),
  frozen: z.optional(z.literal(true)),
});
const graph = z.object({
  task: name,
  attention: z.literal("none"),
  when: z.array(expression).check(z.maxLength(16)),
  parameters: z.array(tensor).check(z.maxLength(MOST_TENSORS)),
  buffers: z.array(tensor).check(z.maxLength(MOST_TENSORS)),
  tied: z.array(z.object({ name, to: name, when: expression })).check(z.maxLength(MOST_TENSORS)),
  batch: z
    .array(z.object({ name, shape: z.array(expression).check(z.maxLength(8)), dtype: name }))
    .check(z.maxLength(64)),
  main: body,
  blocks: z.array(body).check(z.maxLength(1000)),
});

const traced = z.object({
  /** What was made: `GPT(config=GPTConfig())`. */
  entry: z.string().check(z.maxLength(2000)),
  /** The file it stands in, relative to the folder that holds `.vramlens`. */
  file: z.string().check(z.maxLength(1000)),
  /** Example inputs, as they are written for `--inputs`. */
  inputs: z.string().check(z.maxLength(4000)),
  /** What is taken for the loss: `returned`, or an expression of the output. */
  loss: z.string().check(z.maxLength(1000)),
  /** What the graph holds for beside the sizes that it names. */
  holds: z.array(z.string().check(z.maxLength(200))).check(z.maxLength(16)),
  sources: z
    .array(z.object({ path: z.string().check(z.maxLength(1000)), sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)) }))
    .check(z.maxLength(500)),
  when: z.iso.datetime(),
});

const file = z.object({
  schema: z.literal("vram-lens/graphs/4"),
  parts: z.array(z.never()).check(z.maxLength(0)),
  family: z.string().check(
    z.maxLength(200),
    z.refine((family) => family.startsWith(OWN_FAMILY)),
  ),
  captured: z.record(name, name),
  traced,
  defaults: z.record(name, scalar),
  derived: z.object({}),
  layerKind: z.null(),
  aliases: z.object({}),
  head: z.null(),
  graphs: z.array(graph).check(z.minLength(1), z.maxLength(8)),
});

/** How a graph of one's own came about. */
export type Traced = z.infer<typeof traced>;

export interface OwnGraphs {
  readonly graphs: FamilyGraphs;
  readonly traced: Traced;
  /** Versions of the libraries that it was traced with. */
  readonly versions: Readonly<Record<string, string>>;
}

/** The graph of a file of a workspace; undefined where it is none. */
export function ownGraphs(text: string): OwnGraphs | undefined {
  if (text.length > LONGEST_FILE) return undefined;
  const read = file.safeParse(jsonOf(text));
  if (!read.success) return undefined;
  const graphs = familyGraphs(text);
  return graphs && { graphs, traced: read.data.traced, versions: read.data.captured };
}
