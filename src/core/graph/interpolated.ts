/**
 * Positions of pictures that the run's are smaller or larger than: the table stays as large as it was trained, and each forward
 * interpolates it to the patches that there are. Source: transformers/models/dinov2/modeling_dinov2.py, interpolate_pos_encoding.
 */
import { rebuild } from "./rewrite";
import type { ArchitectureGraph, Expression, GraphFunction, Instruction, Operand, TensorSpec } from "./types";

/** The config's key of the side that the table was made for, in pixels; without it that is the pictures' own (`image_size`). */
export const TABLE_SIDE = "position_image_size";

const TABLE = /\.position_embeddings$/;
const ALL = Number.MAX_SAFE_INTEGER;

const ofTable = (expression: Expression): Expression => expression.replaceAll("image_size", TABLE_SIDE);

/** Whether it is a table of one row for each patch of a picture, and rows before them. */
const isTable = ({ name, shape }: TensorSpec): boolean =>
  TABLE.test(name) && shape.some((size) => size.includes("image_size"));

/** What a forward does with a table before it adds it; `%positions` is what it gives. */
function interpolated({ name, shape }: TensorSpec): readonly Instruction[] {
  const table = `@${name}`;
  const width = `=${shape.at(-1)}`;
  const side = "image_size//patch_size";
  const own = `=${ofTable(side)}`;
  const steps: readonly (readonly [string, readonly Operand[]])[] = [
    ["slice.Tensor", [table, 1, 1, ALL]],
    ["reshape", ["%patches", [1, own, own, width]]],
    ["permute", ["%patches", [0, 3, 1, 2]]],
    ["to.dtype", ["%patches", "$float32"]],
    ["upsample_bicubic2d", ["%patches", [`=${side}`, `=${side}`]]],
    ["to.dtype", ["%patches", `$dtype(${table})`]],
    ["permute", ["%patches", [0, 2, 3, 1]]],
    ["view", ["%patches", [1, -1, width]]],
  ];
  const chain = steps.flatMap(([op, given], k): Instruction[] => {
    const from = `patches.${k - 1}`;
    const made: Instruction = {
      op,
      in: given.map((operand) => (operand === "%patches" ? `%${from}` : operand)),
      out: [`patches.${k}`],
    };
    return k === 0 ? [made] : [made, { drop: [from] }];
  });
  const last = `patches.${steps.length - 1}`;
  return [
    { op: "slice.Tensor", in: [table, 1, 0, 1], out: ["class.position"] },
    ...chain,
    { op: "cat", in: [["%class.position", `%${last}`], 1], out: ["positions"] },
    { drop: ["class.position", last] },
  ];
}

function inFunction(fn: GraphFunction, tables: readonly TensorSpec[]): GraphFunction {
  const replaced = new Map<number, readonly Instruction[]>();
  fn.body.forEach((instruction, at) => {
    if (!("op" in instruction)) return;
    const table = tables.find(({ name }) => instruction.in.includes(`@${name}`));
    if (table === undefined) return;
    const given = instruction.in.map((operand) => (operand === `@${table.name}` ? "%positions" : operand));
    replaced.set(at, [...interpolated(table), { ...instruction, in: given }, { drop: ["positions"] }]);
  });
  return replaced.size === 0 ? fn : rebuild(fn, new Set(), replaced);
}

/** The graph with tables of positions of their own side. */
export function withInterpolatedPositions(graph: ArchitectureGraph): ArchitectureGraph {
  const tables = graph.parameters.filter(isTable);
  return {
    ...graph,
    parameters: graph.parameters.map((one) => (isTable(one) ? { ...one, shape: one.shape.map(ofTable) } : one)),
    main: inFunction(graph.main, tables),
    blocks: graph.blocks.map((fn) => inFunction(fn, tables)),
  };
}
