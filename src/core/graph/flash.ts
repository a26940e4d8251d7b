/**
 * The fused-attention graph as FlashAttention 2 and 3 or flex attention run it: causality and windows are arguments of the
 * kernel, so no mask is built, and keys and values keep their own heads. Sources: transformers/integrations/
 * {flash_attention,flex_attention}.py, transformers/masking_utils.py (flash_attention_mask).
 */
import { bareName, nameOf, readIn } from "./reads";
import type { ArchitectureGraph, GraphFunction, Instruction, Operand, OpInstruction } from "./types";

const ATTENTION = "scaled_dot_product_attention";
/** Kernels that take causality and windows as arguments, by whatever package. */
const WITHOUT_MASK = /flash|flex|xformers/;

/** Whether an attention implementation never makes a mask or the matrix of scores. */
export function buildsNoMask(attention: string): boolean {
  return WITHOUT_MASK.test(attention);
}

/** Operators that only look at their input in another way. */
const PASSES = /^(?:reshape|view|contiguous|clone|alias|_unsafe_view)/;

function maker(body: readonly Instruction[], name: string | undefined): OpInstruction | undefined {
  if (name === undefined) return undefined;
  return body.findLast((one): one is OpInstruction => "op" in one && one.out.includes(name));
}

/** The value whose heads were repeated into `operand` (`repeat_kv`: unsqueezed, expanded, reshaped), or the operand itself. */
function beforeRepeat(body: readonly Instruction[], operand: Operand | undefined): Operand | undefined {
  let made = maker(body, nameOf(operand));
  while (made !== undefined && PASSES.test(made.op)) made = maker(body, nameOf(made.in[0]));
  if (made?.op !== "expand") return operand;
  made = maker(body, nameOf(made.in[0]));
  while (made !== undefined && (made.op.startsWith("slice") || made.op.startsWith("unsqueeze"))) {
    const source = made.in[0];
    const before = maker(body, nameOf(source));
    if (before === undefined || !(before.op.startsWith("slice") || before.op.startsWith("unsqueeze"))) return source;
    made = before;
  }
  return operand;
}

function unmasked(fn: GraphFunction): GraphFunction {
  const instead = new Map<string, string>();
  const unrepeated = (operand: Operand | undefined): Operand => {
    const before = beforeRepeat(fn.body, operand)!;
    const [repeated, source] = [nameOf(operand), nameOf(before)];
    if (repeated !== undefined && source !== undefined && repeated !== source) instead.set(repeated, source);
    return before;
  };
  const body = fn.body.map((instruction): Instruction => {
    if (!("op" in instruction) || instruction.op !== ATTENTION) return instruction;
    const [query, key, value, mask, dropout] = instruction.in;
    const causal = mask !== null && mask !== undefined ? true : (instruction.in[5] ?? false);
    const operands = [query!, unrepeated(key), unrepeated(value), null, dropout ?? 0, causal];
    return { ...instruction, in: operands, kw: { ...instruction.kw, enable_gqa: true } };
  });
  return { ...fn, body: keptForKernel(body, instead) };
}

/**
 * What modelling code before 4.48 rebinds to its repeated self (`key_states = repeat_kv(key_states, …)`) is no longer repeated: its name
 * keeps it until the forward returns, where the repeated one went.
 */
function keptForKernel(body: readonly Instruction[], instead: ReadonlyMap<string, string>): readonly Instruction[] {
  const kernel = body.findIndex((one) => "op" in one && one.op === ATTENTION);
  const early = new Set(body.slice(0, Math.max(0, kernel)).flatMap((one) => ("drop" in one ? one.drop : [])));
  const held = new Map([...instead].filter(([, source]) => early.has(source)));
  if (held.size === 0) return body;
  const sources = new Set(held.values());
  return body.map((one) =>
    "drop" in one ? { drop: one.drop.filter((name) => !sources.has(name)).map((name) => held.get(name) ?? name) } : one,
  );
}

/** Removes operators whose results nobody reads, until there are none. */
function withoutDead(fn: GraphFunction): GraphFunction {
  let body = fn.body;
  for (;;) {
    const read = readIn({ outputs: fn.outputs, body });
    const kept = body.filter(
      (one) => !("op" in one) || one.out.some((name) => name !== null && read.has(bareName(name))),
    );
    if (kept.length === body.length) return { ...fn, body };
    body = kept;
  }
}

/** Inputs that a function no longer reads. */
function unread(fn: GraphFunction): readonly boolean[] {
  const read = readIn(fn);
  return fn.inputs.map((name) => !read.has(name));
}

/** The graph without masks and repeated heads. */
export function withFlash(graph: ArchitectureGraph): ArchitectureGraph {
  const blocks = graph.blocks.map((fn) => withoutDead(unmasked(fn)));
  const spare = blocks.map(unread);
  const without = (operands: readonly Operand[], which: readonly number[]): Operand[] =>
    operands.map((operand, k) => (which.every((block) => spare[block]?.[k] === true) ? null : operand));
  const body = unmasked(graph.main).body.map((instruction): Instruction => {
    if ("block" in instruction) return { ...instruction, in: without(instruction.in, [instruction.block]) };
    if (!("repeat" in instruction)) return instruction;
    const which = instruction.repeat.bodies.map(({ block }) => block);
    const carried = instruction.repeat.carry;
    const cut = without(instruction.repeat.in, which).map((operand, k) =>
      carried[k] === null ? operand : instruction.repeat.in[k]!,
    );
    return { repeat: { ...instruction.repeat, in: cut } };
  });
  return { ...graph, main: withoutDead({ ...graph.main, body }), blocks };
}
