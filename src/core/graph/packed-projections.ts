/**
 * State-space mixers of a quantized model. Unpacked, they multiply by the weight that makes the time steps themselves, which was
 * captured; a packed weight is none to multiply by, so that a quantized model's code calls the module, takes the bias off again that
 * the scan will add, and turns the result instead of what went in (transformers/models/jamba/modeling_jamba.py,
 * JambaMambaMixer.forward, and the same in falcon_mamba: `hasattr(self.config, "_is_quantized")`; Mamba's own has no such branch).
 */
import { base, rebuild, writes } from "./rewrite";
import type { ArchitectureGraph, GraphFunction, Instruction, Operand, OpInstruction } from "./types";

const PROJECTION = /^@(.*\.dt_proj)\.weight$/;

/** Names that no captured value has. */
const CALLED = "called";
const UNBIASED = "unbiased";

const isOp = (instruction: Instruction | undefined, name: string): instruction is OpInstruction =>
  instruction !== undefined && "op" in instruction && base(instruction.op) === name;

/** The transposition that makes an operand, by its place. */
function turnedAt({ body }: GraphFunction, before: number, operand: Operand | undefined): number {
  return body.findLastIndex(
    (one, k) => k < before && isOp(one, "transpose") && writes(one).some((name) => operand === `%${name}`),
  );
}

function called(fn: GraphFunction): GraphFunction {
  const at = fn.body.findIndex((one) => isOp(one, "matmul") && PROJECTION.test(String(one.in[0])));
  const product = fn.body[at];
  if (!isOp(product, "matmul")) return fn;
  const turned = turnedAt(fn, at, product.in[1]);
  const turn = fn.body[turned];
  const path = PROJECTION.exec(String(product.in[0]))?.[1];
  if (path === undefined || !isOp(turn, "transpose")) return fn;
  const [input = null, ...dims] = turn.in;
  const gone = new Set(writes(turn));
  const made: readonly Instruction[] = [
    { call: "Linear", path, in: [input], out: [CALLED] },
    { op: "sub.Tensor", in: [`%${CALLED}`, `@${path}.bias`], out: [UNBIASED] },
    { drop: [CALLED] },
    { ...turn, in: [`%${UNBIASED}`, ...dims], out: product.out },
    { drop: [UNBIASED] },
  ];
  const body = fn.body.map((one) => ("drop" in one ? { drop: one.drop.filter((name) => !gone.has(name)) } : one));
  return rebuild({ ...fn, body }, new Set([turned]), new Map([[at, made]]));
}

/** The graph as a quantized model runs it. */
export function withCalledProjections(graph: ArchitectureGraph): ArchitectureGraph {
  return { ...graph, main: called(graph.main), blocks: graph.blocks.map(called) };
}
