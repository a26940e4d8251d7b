/**
 * Layers that checkpointing wraps one by one though graphs have them written out, being unlike one another: the convolutions
 * that read the wave (transformers/models/wav2vec2/modeling_wav2vec2.py, `Wav2Vec2LayerNormConvLayer` and its siblings, each a
 * `GradientCheckpointingLayer`; so in hubert, wavlm, sew, unispeech, data2vec and speecht5).
 *
 * While nothing in them is trained that makes no difference. Where their biases are, the non-reentrant kind runs them again,
 * and the reentrant kind gives them no gradients at all: nobody tells the wave to require grad once the feature encoder was
 * frozen (`_freeze_parameters`).
 */
import { bareName, readIn } from "./reads";
import type { ArchitectureGraph, BlockInstruction, GraphFunction, Instruction } from "./types";

/** The layer whose module a path is or lies in. */
const LAYER = /^.*\.feature_(?:extractor|encoder)\.conv_layers\.\d+(?=\.|$)/;

/** Consecutive instructions of one layer; null: of none. */
interface Run {
  readonly layer: string | null;
  readonly body: Instruction[];
}

/** The module an instruction belongs to: its own path, or the scope it stands in. */
function placeOf(instruction: Instruction, scope: string): string {
  if ("scope" in instruction) return instruction.scope;
  return "call" in instruction ? instruction.path : scope;
}

function runsOf(body: readonly Instruction[]): Run[] {
  const runs: Run[] = [];
  let scope = "";
  for (const instruction of body) {
    if ("scope" in instruction) scope = instruction.scope;
    const layer = LAYER.exec(placeOf(instruction, scope))?.[0] ?? null;
    const last = runs[runs.length - 1];
    // What a layer calls last stands before the drops of what called it.
    if (last !== undefined && ("drop" in instruction || last.layer === layer)) last.body.push(instruction);
    else runs.push({ layer, body: [instruction] });
  }
  return runs;
}

const madeBy = (instruction: Instruction): readonly string[] =>
  "op" in instruction || "call" in instruction || "block" in instruction
    ? instruction.out.filter((name) => name !== null).map(bareName)
    : [];

/** The layer's function and what the main function drops after it. */
function unitOf(body: readonly Instruction[]): { readonly fn: GraphFunction; readonly after: readonly string[] } {
  const made = new Set(body.flatMap(madeBy));
  const dropped = body.flatMap((one) => ("drop" in one ? one.drop : []));
  const inside = body.map(
    (one): Instruction => ("drop" in one ? { drop: one.drop.filter((name) => made.has(name)) } : one),
  );
  const outputs = [...made].filter((name) => !dropped.includes(name));
  const inputs = [...readIn({ outputs: [], body })].filter((name) => !made.has(name));
  return { fn: { inputs, outputs, body: inside }, after: dropped.filter((name) => !made.has(name)) };
}

/** The graph with those layers as units of checkpointing. */
export function withUnits(graph: ArchitectureGraph): ArchitectureGraph {
  const runs = runsOf(graph.main.body);
  if (runs.every(({ layer }) => layer === null)) return graph;
  const blocks = [...graph.blocks];
  const body = runs.flatMap((run): readonly Instruction[] => {
    if (run.layer === null) return run.body;
    const { fn, after } = unitOf(run.body);
    const unit: BlockInstruction = {
      block: blocks.push(fn) - 1,
      index: "0",
      in: fn.inputs.map((name) => `%${name}`),
      out: fn.outputs,
      checkpoint: true,
      positional: fn.inputs.map((_, k) => k),
    };
    return after.length === 0 ? [unit] : [unit, { drop: after }];
  });
  return { ...graph, blocks, main: { ...graph.main, body } };
}
