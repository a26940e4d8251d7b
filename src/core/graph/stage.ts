/**
 * A model's graph as one stage of a pipeline has it: the first embeds tokens, the last has what comes after the layers, and between
 * stages only the states go on. Sources: torch/distributed/pipelining/stage.py, torchtitan/distributed/pipeline_parallel.py
 * (generate_llm_fqn_per_model_part), megatron/core/models/gpt/gpt_model.py (`pre_process`, `post_process`).
 */
import type { DType } from "../engine/dtype";
import { bareName, readIn } from "./reads";
import { writes } from "./rewrite";
import type { ArchitectureGraph, BlockInstruction, Instruction, RepeatInstruction, TensorSpec } from "./types";

/** Which of the model's ends a stage has, and the dtype of the states that it is given. */
export interface StageEnds {
  readonly first: boolean;
  readonly last: boolean;
  readonly states: DType;
}

/** Name of what comes in from the stage before. */
export const RECEIVED = "hidden_states";

type Layers = RepeatInstruction | BlockInstruction;

function isLayers(instruction: Instruction): instruction is Layers {
  return "repeat" in instruction || "block" in instruction;
}

/** The graph of one stage; null where the model's layers do not stand between an embedding of tokens and the rest. */
export function stageOf(graph: ArchitectureGraph, { first, last, states }: StageEnds): ArchitectureGraph | null {
  const { body } = graph.main;
  const begin = body.find(isLayers);
  const end = body.findLastIndex(isLayers);
  const taken = begin && partsOf(begin).in[0];
  const sent = partsOf(body[end] as Layers | undefined).out[0];
  const embedding = body.findIndex((one) => "call" in one && one.call === "Embedding" && one.in[0] === "%input_ids");
  if (embedding < 0 || embedding > end || typeof taken !== "string" || typeof sent !== "string") return null;
  const maker = body.findIndex((one) => writes(one).includes(taken.slice(1)));
  const received = body.map((one, k): Instruction => {
    if (first || !("out" in one) || (k !== embedding && k !== maker)) return one;
    return { op: "alias", in: [`%${RECEIVED}`], out: one.out };
  });
  const outputs = last ? graph.main.outputs : [bareName(sent)];
  const own = needed(last ? received : received.slice(0, end + 1), outputs);
  const given = first ? [] : [{ name: RECEIVED, shape: ["B", "S", "hidden_size"], dtype: states }];
  const used = usedBy([own, graph.blocks]);
  const batch = [...given, ...graph.batch.filter(({ name }) => used(`%${name}`))];
  const here = graph.parameters.filter(({ name, layers }) => layers !== undefined || isParameterUsed(used, name));
  const parameters = here.map((spec) => withoutTie(spec, graph.tied, here));
  const names = new Set(parameters.map(({ name }) => name));
  return {
    ...graph,
    batch,
    parameters,
    tied: graph.tied.filter(({ name, to }) => names.has(name) && names.has(to)),
    main: { inputs: batch.map(({ name }) => name), outputs, body: own },
  };
}

/**
 * A head that is the embedding's matrix is one of its own where the embedding is another stage's (megatron/core/models/common/
 * language_module/language_module.py, setup_embeddings_and_output_layer).
 */
function withoutTie(spec: TensorSpec, tied: ArchitectureGraph["tied"], here: readonly TensorSpec[]): TensorSpec {
  const tie = tied.find(({ name }) => name === spec.name);
  if (tie === undefined || here.some(({ name }) => name === tie.to)) return spec;
  const { when: _, ...own } = spec;
  return own;
}

function partsOf(layers: Layers | undefined): Pick<RepeatInstruction["repeat"], "in" | "out"> {
  if (layers === undefined) return { in: [], out: [] };
  return "repeat" in layers ? layers.repeat : layers;
}

/** The instructions that `outputs` are made by. */
function needed(body: readonly Instruction[], outputs: readonly string[]): Instruction[] {
  const values = new Set(outputs.map(bareName));
  const kept: Instruction[] = [];
  for (const one of body.toReversed()) {
    const made = writes(one);
    if (made.length > 0 && !isLayers(one) && !made.some((name) => values.has(name))) continue;
    for (const name of readIn({ outputs: [], body: [one] })) values.add(name);
    kept.push(one);
  }
  return kept
    .toReversed()
    .map((one) => ("drop" in one ? { drop: one.drop.filter((name) => values.has(bareName(name))) } : one));
}

/** Whether something goes by a name in some code. */
function usedBy(code: unknown): (name: string) => boolean {
  const text = JSON.stringify(code);
  return (name) => text.includes(`"${name}"`);
}

/** Whether a parameter is named, or the module it belongs to is called. */
function isParameterUsed(used: (name: string) => boolean, name: string): boolean {
  return used(`@${name}`) || used(name.replace(/\.[^.]+$/, ""));
}
