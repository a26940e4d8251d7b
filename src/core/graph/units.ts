/**
 * Layers that checkpointing wraps one by one though graphs have them written out, being unlike one another: the convolutions
 * that read the wave (transformers/models/wav2vec2/modeling_wav2vec2.py, `Wav2Vec2LayerNormConvLayer` and its siblings, each a
 * `GradientCheckpointingLayer`; so in hubert, wavlm, sew, unispeech, data2vec and speecht5).
 *
 * While nothing in them is trained that makes no difference. Where their biases are, the non-reentrant kind runs them again,
 * and the reentrant kind gives them no gradients at all: nobody tells the wave to require grad once the feature encoder was
 * frozen (`_freeze_parameters`).
 *
 * And the layers that stand in a layer that is checkpointed itself: the state space behind Zamba's shared attention
 * (transformers/models/zamba2/modeling_zamba2.py, `Zamba2MambaDecoderLayer` in `Zamba2HybridLayer`, both of them
 * `GradientCheckpointingLayer`s), which is given the states by position and the attention's by name.
 *
 * And whole stages of pyramids, whose layers stand in loops of the main function (transformers/models/swinv2/modeling_swinv2.py,
 * `Swinv2Stage`; swin's layers are checkpointed inside their stages, too).
 *
 * And the blocks of networks that a library builds by name, whose graphs say which its own switch has recomputed (timm's
 * `set_grad_checkpointing`; models/_manipulate.py, `checkpoint_seq` and `checkpoint`, neither of them the reentrant kind).
 */
import { bareName, layerPath, madeBy, nameOf, readIn } from "./reads";
import type { ArchitectureGraph, BlockInstruction, GraphFunction, Instruction } from "./types";

/** The layer whose module a path of the main function is or lies in. */
const LAYER = /^.*\.feature_(?:extractor|encoder)\.conv_layers\.\d+(?=\.|$)/;
/** The layer inside a layer. */
const INNER = /^.*\.layers\.\{i\}\.mamba_decoder(?=\.|$)/;

/** The layer that a path is or lies in; null: none. */
type LayerOf = (path: string) => string | null;

const matching =
  (layers: RegExp): LayerOf =>
  (path) =>
    layers.exec(path)?.[0] ?? null;

/** The layer by the paths of all of them. */
function among(layers: readonly string[]): LayerOf {
  const known = new Set(layers);
  return (path) => {
    for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
      const layer = path.slice(0, end);
      if (known.has(layer)) return layer;
    }
    return null;
  };
}

/** Where a layer's function stands; null: nothing says. */
type PathOf = (block: number) => string | null;

/** Consecutive instructions of one layer; null: of none. */
interface Run {
  readonly layer: string | null;
  readonly body: Instruction[];
}

/** The module an instruction belongs to: its own path, that of the layers it repeats, or the scope it stands in. */
function placeOf(instruction: Instruction, scope: string, pathOf: PathOf): string {
  if ("scope" in instruction) return instruction.scope;
  if ("repeat" in instruction) return pathOf(instruction.repeat.bodies[0]?.block ?? 0) ?? scope;
  if ("block" in instruction) return pathOf(instruction.block) ?? scope;
  return "call" in instruction ? instruction.path : scope;
}

function runsOf(body: readonly Instruction[], layerOf: LayerOf, pathOf: PathOf): Run[] {
  const runs: Run[] = [];
  let scope = "";
  for (const instruction of body) {
    if ("scope" in instruction) scope = instruction.scope;
    const layer = layerOf(placeOf(instruction, scope, pathOf));
    const last = runs[runs.length - 1];
    // What a layer calls last stands before the drops of what called it.
    if (last !== undefined && ("drop" in instruction || last.layer === layer)) last.body.push(instruction);
    else runs.push({ layer, body: [instruction] });
  }
  return runs;
}

/** What the first round of a repeat takes over from its caller, unless that lets go of it by name. */
function takenOver(instruction: Instruction): readonly string[] {
  if (!("repeat" in instruction)) return [];
  const { in: operands, carry } = instruction.repeat;
  return operands.flatMap((operand, k) => (carry[k] === null ? [] : (nameOf(operand) ?? [])));
}

/**
 * The layer's function and what the caller drops after it.
 *
 * @param given what the caller hands out where it ends with the layer; null: it goes on
 * @param kept what the caller lets go of by name
 */
function unitOf(
  body: readonly Instruction[],
  given: readonly string[] | null,
  kept: ReadonlySet<string>,
): { readonly fn: GraphFunction; readonly after: readonly string[] } {
  const made = new Set(body.flatMap(madeBy));
  const dropped = body.flatMap((one) => ("drop" in one ? one.drop : []));
  const inside = body.map((one): Instruction => {
    if ("repeat" in one) return { repeat: one.repeat, ofUnit: true };
    return "drop" in one ? { drop: one.drop.filter((name) => made.has(name)) } : one;
  });
  const passed = new Set(body.flatMap(takenOver));
  const outputs = [...made].filter(
    (name) => !dropped.includes(name) && (given === null ? kept.has(name) || !passed.has(name) : given.includes(name)),
  );
  const inputs = [...readIn({ outputs: [], body })].filter((name) => !made.has(name));
  return { fn: { inputs, outputs, body: inside }, after: dropped.filter((name) => !made.has(name)) };
}

/** How a unit's function is called. */
type Calling = Pick<BlockInstruction, "index" | "positional">;

/** The function with its layers as functions of their own, which go to `blocks`; null: it has none. */
function split(
  fn: GraphFunction,
  layerOf: LayerOf,
  blocks: GraphFunction[],
  calling: (unit: GraphFunction) => Calling,
): GraphFunction | null {
  const runs = runsOf(fn.body, layerOf, (block) => layerPath(blocks[block] ?? { body: [] }));
  if (runs.every(({ layer }) => layer === null)) return null;
  const kept = new Set(fn.body.flatMap((one) => ("drop" in one ? one.drop : [])));
  const body = runs.flatMap((run, k): readonly Instruction[] => {
    if (run.layer === null) return run.body;
    const unit = unitOf(run.body, k === runs.length - 1 ? fn.outputs.map(bareName) : null, kept);
    const block: BlockInstruction = {
      block: blocks.push(unit.fn) - 1,
      in: unit.fn.inputs.map((name) => `%${name}`),
      out: unit.fn.outputs,
      checkpoint: true,
      ...calling(unit.fn),
    };
    return unit.after.length === 0 ? [block] : [block, { drop: unit.after }];
  });
  return { ...fn, body };
}

/** Graphs that were cut already: every forward and every step asks again. */
const cut = new WeakMap<ArchitectureGraph, ArchitectureGraph>();

/** The graph with those layers as units of checkpointing. */
export function withUnits(graph: ArchitectureGraph): ArchitectureGraph {
  const known = cut.get(graph) ?? unitsOf(graph);
  cut.set(graph, known);
  return known;
}

function unitsOf(graph: ArchitectureGraph): ArchitectureGraph {
  const blocks: GraphFunction[] = [...graph.blocks];
  const named = graph.units ?? graph.stages;
  const layerOf = named === undefined ? matching(LAYER) : among(named);
  const main = split(graph.main, layerOf, blocks, ({ inputs }) => ({
    index: "0",
    positional: inputs.map((_, k) => k),
  }));
  const whole = graph.blocks.map((block) =>
    split(block, matching(INNER), blocks, ({ inputs }) => ({
      index: "i",
      positional: inputs.flatMap((name, k) => (name === block.inputs[0] ? [k] : [])),
    })),
  );
  if (main === null && whole.every((block) => block === null)) return graph;
  return { ...graph, blocks: blocks.map((block, k) => whole[k] ?? block), main: main ?? graph.main };
}
