/** Parts of a graph that the interpreter asks for, and what owns their tensors. */

import type { ArchitectureGraph, Instruction, RepeatInstruction } from "../../graph/types";
import { hostTensor, type Tensor } from "../tensor";
import type { Context, Input } from "./frame";
import type { InterpreterOptions } from "./options";

/** What the earliest of names refers to that still refers to a tensor. */
export function earliest({ frame }: Context, names: readonly string[]): Tensor | undefined {
  const named = names.findLast((name) => frame.has(name));
  return named === undefined ? undefined : frame.get(named);
}

export const DROPOUTS: ReadonlySet<string> = new Set(["dropout", "dropout_", "native_dropout"]);

/** What goes with an output, as a name of its own. */
export function apart(output: Tensor): Tensor {
  const name = hostTensor(output.ledger, [0], "uint8");
  name.along = output.along;
  output.along = null;
  return name;
}

/** Dtype of ids of tokens in a batch. */
const IDS = "$int64";

/**
 * What makes the outputs of the modules that embed the inputs (`get_input_embeddings`, of every part of the model).
 *
 * @param texts those of ids alone, where the model has such: `get_input_embeddings` of a whole that also hears or sees is that of its text
 * (transformers/models/whisper/modeling_whisper.py, WhisperModel)
 */
export function inputEmbeddings({ main, batch }: ArchitectureGraph, texts = false): ReadonlySet<Instruction> {
  const all = main.body.filter((instruction) => "inputgrad" in instruction);
  if (!texts) return new Set(all);
  const media = batch.filter(({ dtype }) => dtype !== IDS).map(({ name }) => name);
  const seen = readers(main.body, media);
  const ofIds = all.filter((instruction) => !seen.has(instruction));
  return new Set(ofIds.length > 0 ? ofIds : all);
}

/** What reads any of the names, or what such instructions make of it. */
function readers(body: readonly Instruction[], names: readonly string[]): ReadonlySet<Instruction> {
  const derived = new Set(names);
  const found = new Set<Instruction>();
  for (const instruction of body) {
    if (!("in" in instruction)) continue;
    if (!instruction.in.some((operand) => typeof operand === "string" && derived.has(operand.slice(1)))) continue;
    found.add(instruction);
    for (const name of instruction.out) if (name !== null) derived.add(name);
  }
  return found;
}

/** Those of them that embed `input_ids` themselves, however it is viewed; a decoder's of other ids are not given by anybody. */
export function embeddingsOfInputs(graph: ArchitectureGraph): ReadonlySet<Instruction> {
  const all = inputEmbeddings(graph);
  const derived = new Set(["input_ids"]);
  const own = new Set<Instruction>();
  for (const instruction of graph.main.body) {
    if (!("in" in instruction)) continue;
    const reads = instruction.in.some((operand) => typeof operand === "string" && derived.has(operand.slice(1)));
    if (!reads) continue;
    if (all.has(instruction)) own.add(instruction);
    else for (const name of instruction.out) if (name !== null) derived.add(name);
  }
  return own.size === 0 ? all : own;
}

/** The same tensors, owned. */
export function owned(inputs: readonly Input[]): Input[] {
  return inputs.map((input) => input?.retain() ?? null);
}

/** Stacks of layers and other repeats of a graph, in order. */
export function stacksOf({ main }: ArchitectureGraph): readonly RepeatInstruction[] {
  return main.body.filter((instruction) => "repeat" in instruction);
}

/** A library's own switch for its networks takes the kind that is not reentrant (timm/layers/config.py, use_reentrant_ckpt). */
export function withoutReentrance(options: InterpreterOptions): InterpreterOptions {
  const { checkpointing } = options;
  return checkpointing === null ? options : { ...options, checkpointing: { ...checkpointing, useReentrant: false } };
}
