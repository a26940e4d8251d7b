/**
 * Which part of a tensor each layer is given. Code picks it as it calls the layer (`per_layer_inputs[:, :, i, :]` in
 * transformers/models/gemma4/modeling_gemma4.py); graphs hold that in the layer's function, where only the reentrant kind of
 * checkpointing tells the difference: its function is given the part.
 */
import { nameOf, readIn } from "./reads";
import type { ArchitectureGraph, GraphFunction, OpInstruction } from "./types";

/** Per block, the inputs that are parts, and the dimension that the layer's index picks from. */
export type Parts = readonly ReadonlyMap<number, number>[];

/** What picks the part of input `name` that one of these indices is of, where that is all that is done with the input. */
function partOf(fn: GraphFunction, name: string, indices: ReadonlySet<string>): OpInstruction | null {
  for (const instruction of fn.body) {
    if (!("op" in instruction) || instruction.op !== "select.int" || nameOf(instruction.in[0]) !== name) continue;
    if (!indices.has(String(instruction.in[2])) || typeof instruction.out[0] !== "string") return null;
    const rest = { outputs: fn.outputs, body: fn.body.filter((one) => one !== instruction) };
    return readIn(rest).has(name) ? null : instruction;
  }
  return null;
}

/** The functions that are checkpointed layers, with the operands that stand for their index. */
function layersOf({ main }: ArchitectureGraph): ReadonlyMap<number, ReadonlySet<string>> {
  return new Map(
    main.body.flatMap((one): [number, ReadonlySet<string>][] =>
      "repeat" in one && one.repeat.checkpoint
        ? one.repeat.bodies.map(({ block }) => [block, new Set(["=i", `=${one.repeat.from}`, one.repeat.from])])
        : [],
    ),
  );
}

/** The graph with layers that are given their parts. */
export function withParts(graph: ArchitectureGraph): { readonly graph: ArchitectureGraph; readonly parts: Parts } {
  const layers = layersOf(graph);
  const found = graph.blocks.map((fn, block) =>
    fn.inputs.map((name) => partOf(fn, name, layers.get(block) ?? new Set<string>())),
  );
  if (found.every((parts) => parts.every((part) => part === null))) return { graph, parts: [] };
  const blocks = graph.blocks.map((fn, block): GraphFunction => {
    const picked = new Set<unknown>(found[block]);
    return {
      ...fn,
      inputs: fn.inputs.map((name, k) => found[block]![k]?.out[0] ?? name),
      body: fn.body.filter((instruction) => !picked.has(instruction)),
    };
  });
  const parts = found.map(
    (own) => new Map(own.flatMap((part, k): [number, number][] => (part === null ? [] : [[k, Number(part.in[1])]]))),
  );
  return { graph: { ...graph, blocks }, parts };
}
