/**
 * Losses over pieces of every sequence in place of a model's own: the head is called once for each piece, by its path, so that an
 * adapter on it runs too. Sources: torchtune/modules/transformer.py (chunked_output), torchtune/modules/loss/ce_chunked_output_loss.py
 * and cross_entropy_loss.py; litgpt/model.py (`lm_head_chunk_size`), litgpt/utils.py (chunked_cross_entropy); axolotl/monkeypatch/loss.
 */
import { say } from "../../words/message";
import { ImpossibleSizes } from "../engine/not-modelled";
import type { ChunkedLossSpec } from "../training/run";
import { bareName } from "./reads";
import { base, reads, rebuild, valuesOf, writes } from "./rewrite";
import type { ArchitectureGraph, CallInstruction, GraphFunction, Instruction, Operand, OpInstruction } from "./types";

/** Sizes of a run that decide how many pieces there are. */
export interface Pieced {
  /** Tokens of each sample. */
  readonly tokens: number;
}

/** Operators between a model's logits and its cross-entropy: they change the dtype or the shape, and nothing else. */
const REWRITES: ReadonlySet<string> = new Set(["to", "_to_copy", "view", "reshape", "contiguous", "alias", "slice"]);

/** Pieces that a graph is written out for: a number in a config has an end. */
const MOST_PIECES = 20_000;

/** Lengths of pieces: `tensor_split` makes the first ones longer by one, `chunk` rounds all up but the last. */
function pieceLengths(length: number, { chunks, rows, rounds }: ChunkedLossSpec): number[] {
  const wanted = Math.min(Math.max(1, Math.trunc(chunks)), Math.max(1, length));
  const size = Math.max(1, rows ?? Math.ceil(length / wanted));
  const even = rows === undefined && rounds !== true;
  const count = even ? wanted : Math.ceil(length / size);
  if (!(count <= MOST_PIECES)) throw new ImpossibleSizes(say("engine.sizes"));
  const short = Math.floor(length / count);
  return Array.from({ length: count }, (_, k) =>
    even ? short + (k < length % count ? 1 : 0) : Math.min(size, length - k * size),
  );
}

/** Replaces the cross-entropy and the copies before it by one operator on the logits as the model returns them. */
function overLogits(main: GraphFunction, chunks: number): GraphFunction {
  const end = main.body.findIndex(
    (instruction) => "op" in instruction && base(instruction.op) === "cross_entropy_loss",
  );
  const loss = main.body[end] as OpInstruction | undefined;
  if (loss === undefined) return main;
  const removed = new Set<number>();
  let logits = loss.in[0]!;
  for (let k = end - 1; k >= 0; k--) {
    const instruction = main.body[k]!;
    if (!("op" in instruction) || !writes(instruction).includes(valuesOf(logits)[0]!)) continue;
    if (!REWRITES.has(base(instruction.op))) break;
    removed.add(k);
    logits = instruction.in[0]!;
  }
  const operator: Instruction = { op: "cross_entropy_of_pieces", in: [logits, loss.in[1]!, chunks], out: loss.out };
  return rebuild(main, removed, new Map([[end, operator]]));
}

/** Losses that pieces come in the place of. */
const LOSSES: ReadonlySet<string> = new Set(["cross_entropy_loss", "cross_entropy_by_rows"]);

const raw = (k: number): string => `raw.${k}`;
const piece = (k: number): string => `piece.${k}`;
const logitsOf = (k: number): string => `logits.${k}`;
const part = (k: number): string => `part.${k}`;
const total = (k: number): string => `total.${k}`;

/** Cuts a value into pieces along a dimension. */
const cut = (value: Operand, sizes: readonly number[], dim: number): Instruction => ({
  op: "split_with_sizes",
  in: [value, sizes, dim],
  out: sizes.map((_, k) => piece(k)),
});

/** The losses of pieces, each of logits that are there or that `made` makes, and their sum as `out`. */
function summed(
  count: number,
  labels: Operand,
  { compiled, keepsLogits }: ChunkedLossSpec,
  made: (k: number) => readonly Instruction[],
  out: readonly (string | null)[],
): Instruction[] {
  const losses = Array.from({ length: count }, (_, k): Instruction[] => [
    ...made(k),
    { op: "piece_cross_entropy", in: [`%${logitsOf(k)}`, labels, compiled], out: [part(k)] },
    ...(keepsLogits ? [] : [{ drop: [logitsOf(k)] }]),
    ...(k === 0
      ? []
      : [
          { op: "add.Tensor", in: [`%${k === 1 ? part(0) : total(k - 1)}`, `%${part(k)}`], out: [total(k)] },
          { drop: [k === 1 ? part(0) : total(k - 1), part(k)] },
        ]),
  ]).flat();
  const last = count === 1 ? part(0) : total(count - 1);
  return [...losses, { op: "alias", in: [`%${last}`], out: [...out] }, { drop: [last] }];
}

/** The head's call, and what follows it up to the loss but for conversions and shapes (a cap on the logits). */
interface Head {
  readonly call: CallInstruction;
  readonly after: readonly OpInstruction[];
  /** What a value was before conversions and shapes. */
  readonly before: ReadonlyMap<string, string>;
}

/** An operand of the whole logits as that of one piece. */
function renamed(operand: Operand, names: ReadonlyMap<string, string>): Operand {
  if (Array.isArray(operand)) return operand.map((item: Operand) => renamed(item, names));
  const own = typeof operand === "string" && operand.startsWith("%") ? names.get(operand.slice(1)) : undefined;
  return own === undefined ? operand : `%${own}`;
}

/** The head of one piece. */
function headOf({ call, after, before }: Head, k: number, out: (k: number) => string): Instruction[] {
  const steps = [call, ...after];
  const names = new Map<string, string>();
  const made: Instruction[] = [];
  steps.forEach((step, n) => {
    const input = n === 0 ? [`%${piece(k)}`, ...call.in.slice(1)] : step.in.map((one) => renamed(one, names));
    const name = n === steps.length - 1 ? out(k) : `step.${n}.${k}`;
    for (const own of writes(step)) names.set(own, name);
    for (const [own, from] of before) if (names.get(from) === name) names.set(own, name);
    made.push({ ...step, in: input, out: [name] });
    if (n > 0) made.push({ drop: [`step.${n - 1}.${k}`] });
  });
  return made;
}

/** The pieces' logits in float32, all of them made before the first is raised; the last loses its last token. */
function raisedHeads(head: Head, count: number): Instruction[] {
  const each = Array.from({ length: count }, (_, k) => k);
  const last = count - 1;
  return [
    ...each.flatMap((k) => headOf(head, k, raw)),
    ...each.map((k) => ({ op: "to.dtype", in: [`%${raw(k)}`, "$float32"], out: [k === last ? "last" : logitsOf(k)] })),
    { drop: each.map(raw) },
    { op: "loop_binds", in: [], out: [] },
    { op: "slice.Tensor", in: ["%last", 1, 0, -1], out: [logitsOf(last)] },
    { drop: ["last"] },
  ];
}

/** Replaces the head's call and the loss by their pieces, which are cut from the head's input. */
function pieced(main: GraphFunction, head: string, spec: ChunkedLossSpec, { tokens }: Pieced): GraphFunction {
  const start = main.body.findIndex((instruction) => "call" in instruction && instruction.path === head);
  const end = main.body.findIndex((instruction) => "op" in instruction && LOSSES.has(base(instruction.op)));
  const call = main.body[start];
  const loss = main.body[end] as OpInstruction | undefined;
  if (call === undefined || !("call" in call) || loss === undefined || end < start) return main;
  const gone = new Set(writes(call));
  const removed = new Set<number>([start]);
  const after: OpInstruction[] = [];
  const before = new Map<string, string>();
  for (let k = start + 1; k < end; k++) {
    const instruction = main.body[k]!;
    if (!reads(instruction).some((name) => gone.has(name))) continue;
    for (const name of writes(instruction)) gone.add(name);
    removed.add(k);
    if (!("op" in instruction)) continue;
    if (!REWRITES.has(base(instruction.op))) after.push(instruction);
    else for (const name of writes(instruction)) before.set(name, reads(instruction)[0] ?? "");
  }
  const calls: Head = { call, after, before };
  const hidden = call.in[0]!;
  const lengths = pieceLengths(tokens, spec);
  const all = <T>(of: (k: number) => T): T[] => lengths.map((_, k) => of(k));
  const replaced = new Map<number, readonly Instruction[]>();
  // What the loop names of the logits is the list of their pieces.
  const held = spec.keepsLogits && main.outputs.some((name) => gone.has(bareName(name)));
  if (spec.keepsLogits) {
    const heads =
      spec.raisedFirst === true ? raisedHeads(calls, lengths.length) : all((k) => headOf(calls, k, logitsOf)).flat();
    replaced.set(start, [cut(hidden, lengths, 1), ...heads, { drop: all(piece) }]);
    const losses = summed(lengths.length, loss.in[1]!, spec, () => [], loss.out);
    replaced.set(end, held ? losses : [...losses, { drop: all(logitsOf) }]);
  } else {
    const losses = summed(lengths.length, loss.in[1]!, spec, (k) => headOf(calls, k, logitsOf), loss.out);
    replaced.set(end, [cut(hidden, lengths, 1), ...losses, { drop: all(piece) }]);
  }
  const fn = rebuild(main, removed, replaced);
  const kept = main.outputs.filter((name) => !gone.has(bareName(name)));
  return { ...fn, outputs: held ? [...kept, ...all((k) => `%${logitsOf(k)}`)] : kept };
}

/** The graph with a loss over pieces of every sequence in place of its own. */
export function withChunkedLoss(
  graph: ArchitectureGraph,
  head: string | null,
  spec: ChunkedLossSpec,
  sizes: Pieced,
): ArchitectureGraph {
  if (head === null || graph.task !== "causal-lm") return graph;
  return {
    ...graph,
    main: spec.whole === true ? overLogits(graph.main, spec.chunks) : pieced(graph.main, head, spec, sizes),
  };
}
