/**
 * Degrees that split the model or its sequences, as a smaller run of one device. A tensor-parallel rank computes the same
 * architecture with its share of the heads and of the inner width; a context-parallel one, the same with its share of
 * the tokens; an expert-parallel one, with its share of the experts, and as many tokens for them as before.
 *
 * Sources: transformers/models/llama/configuration_llama.py (`base_model_tp_plan`: attention and feed-forward column- then
 * row-wise, norms and embedding whole), torch/distributed/tensor/experimental/_attention.py (`context_parallel`: buffers
 * sharded along the sequence, keys and values gathered), deepspeed/sequence/layer.py (Ulysses),
 * deepspeed/moe/layer.py (`num_local_experts`).
 */
import { ELEMENT_BYTES } from "../../engine/dtype";
import { type ConfigView, configView, selectGraph } from "../../graph/config";
import { evaluate } from "../../graph/expression";
import type { FamilyGraphs, TensorSpec } from "../../graph/types";
import type { ModelConfig, ParallelSpec, TrainingRun } from "../run";

/** What is not known of a split run, in bytes of one device. */
export interface SplitUncertainty {
  readonly what: string;
  readonly settleWith: string;
  /** Buffers of collectives that may come on top. */
  readonly moreBytes: number;
  /** What may be spread, and is counted whole. */
  readonly lessBytes: number;
}

export interface LocalRun {
  readonly run: TrainingRun;
  readonly uncertain: readonly SplitUncertainty[];
}

/** Sizes that tensor parallelism divides: heads and the inner widths of feed-forward layers. */
const SPLIT_BY_TENSOR = [
  "num_attention_heads",
  "num_key_value_heads",
  "intermediate_size",
  "moe_intermediate_size",
  "shared_expert_intermediate_size",
] as const;
const SPLIT_BY_EXPERTS = ["num_local_experts", "num_experts", "n_routed_experts"] as const;

/** Modules whose weights tensor parallelism splits; the others (norms, routers) stay whole on every rank. */
const LINEAR_OR_EXPERTS = /^(?:Linear|Conv1D)$|Experts$/;
const EXPERTS = /Experts$/;

/** The run of one device; the reason when a degree cannot be followed. */
export function localRun(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: string } {
  const { tensorParallel, pipelineParallel, contextParallel, expertParallel, worldSize } = run.parallel;
  if (tensorParallel * pipelineParallel * contextParallel * expertParallel <= 1) return { run, uncertain: [] };
  if (pipelineParallel > 1)
    return {
      reason: `pipeline parallel degree ${pipelineParallel}: which layers and how many micro-batches a stage holds is the framework's schedule`,
    };
  if (worldSize % (tensorParallel * contextParallel) !== 0)
    return { reason: `parallel degrees ${tensorParallel} × ${contextParallel} on ${worldSize} devices` };
  const uncertain: SplitUncertainty[] = [];
  let local = run;
  for (const step of [byTensor, byContext, byExperts]) {
    const found = step(local, family);
    if ("reason" in found) return found;
    local = found.run;
    uncertain.push(...found.uncertain);
  }
  const parallel: ParallelSpec = {
    ...local.parallel,
    // Context-parallel ranks hold different tokens of one sample; parameters are sharded over them, too (accelerate's
    // `dp_shard_cp` mesh, DeepSpeed's sequence-data-parallel group).
    worldSize: worldSize / tensorParallel,
    tensorParallel: 1,
    contextParallel: 1,
    expertParallel: 1,
  };
  return { run: { ...local, parallel }, uncertain };
}

function viewOf(run: TrainingRun, family: FamilyGraphs): ConfigView {
  const sizes = { B: run.microBatchSize, S: run.sequenceLength, T: run.targetLength, I: run.imageSize };
  return configView(family, run.model.config, sizes);
}

/** The config with other values, under whatever name it has them. */
function withSizes(config: ModelConfig, family: FamilyGraphs, sizes: Readonly<Record<string, number>>): ModelConfig {
  const aliases = Object.entries(family.aliases).filter(([alias, target]) => alias in config && target in sizes);
  return { ...config, ...sizes, ...Object.fromEntries(aliases.map(([alias, target]) => [alias, sizes[target]!])) };
}

/** Sizes that the config has, divided; null when one does not divide. */
function divided(names: readonly string[], degree: number, view: ConfigView): Record<string, number> | null {
  const sizes: Record<string, number> = {};
  for (const name of names) {
    const value = view.scope(name);
    if (typeof value !== "number" || value <= 0) continue;
    if (value % degree !== 0) return null;
    sizes[name] = value / degree;
  }
  return sizes;
}

function byTensor(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: string } {
  const degree = run.parallel.tensorParallel;
  if (degree <= 1) return { run, uncertain: [] };
  const view = viewOf(run, family);
  const reason = `tensor parallel degree ${degree} of ${run.model.family}`;
  const sizes = divided(SPLIT_BY_TENSOR, degree, view);
  const head = view.scope("head_dim");
  if (sizes === null || typeof head !== "number") return { reason: `${reason}: heads or widths do not divide` };
  const config = withSizes(run.model.config, family, { ...sizes, head_dim: head });
  const local = { ...run, model: { ...run.model, config } };
  if (!splits(run, local, family, degree, ({ module }) => LINEAR_OR_EXPERTS.test(module)))
    return { reason: `${reason}: its graph has no head size of its own` };
  const hidden = Number(view.scope("hidden_size") ?? 0);
  const width = computeBytes(run);
  const vocabulary = view.scope("tie_word_embeddings") === true ? 0 : Number(view.scope("vocab_size") ?? 0);
  const states = run.adapter === null ? 2 * width + 8 : width;
  return {
    run: local,
    uncertain: [
      {
        what: `tensor parallel degree ${degree}: the output layer is counted whole, sums over the ranks in the band`,
        settleWith: "tensor_parallel",
        moreBytes: 2 * run.microBatchSize * run.sequenceLength * hidden * width,
        lessBytes: hidden * vocabulary * (1 - 1 / degree) * states,
      },
    ],
  };
}

function byContext(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: string } {
  const degree = run.parallel.contextParallel;
  if (degree <= 1) return { run, uncertain: [] };
  if (run.attention === "eager" || run.task !== "causal-lm")
    return { reason: `context parallel degree ${degree} with ${run.attention} attention for ${run.task}` };
  const view = viewOf(run, family);
  const heads = Number(view.scope("num_key_value_heads") ?? view.scope("num_attention_heads") ?? 0);
  const head = Number(view.scope("head_dim") ?? 0);
  const gathered = 2 * run.microBatchSize * run.sequenceLength * heads * head * computeBytes(run);
  return {
    run: { ...run, sequenceLength: Math.ceil(run.sequenceLength / degree) },
    uncertain: [
      {
        what: `context parallel degree ${degree}: every rank has its share of the tokens; keys and values of the others come on top`,
        settleWith: "context_parallel",
        moreBytes: gathered,
        lessBytes: 0,
      },
    ],
  };
}

function byExperts(run: TrainingRun, family: FamilyGraphs): LocalRun | { readonly reason: string } {
  const degree = run.parallel.expertParallel;
  if (degree <= 1) return { run, uncertain: [] };
  const reason = `expert parallel degree ${degree}`;
  const { deepspeed, fsdp } = run.parallel;
  if ((deepspeed?.zeroStage ?? 0) > 0 || fsdp !== null)
    return { reason: `${reason} under sharding: experts and the rest are spread over different ranks` };
  const view = viewOf(run, family);
  const sizes = divided(SPLIT_BY_EXPERTS, degree, view);
  const chosen = Number(view.scope("num_experts_per_tok") ?? 1);
  if (sizes === null || Object.keys(sizes).length === 0 || Object.values(sizes).some((count) => count < chosen))
    return { reason: `${reason} of ${run.model.family}: its experts do not divide` };
  const local = { ...run, model: { ...run.model, config: withSizes(run.model.config, family, sizes) } };
  const kept = ({ module, name }: TensorSpec): boolean =>
    EXPERTS.test(module) || /\.(?:gate|router)\.weight$/.test(name);
  if (!splits(run, local, family, degree, kept))
    return { reason: `${reason} of ${run.model.family}: it has no experts` };
  const hidden = Number(view.scope("hidden_size") ?? 0);
  const sent = run.microBatchSize * run.sequenceLength * chosen * hidden * computeBytes(run);
  return {
    run: local,
    uncertain: [
      {
        what: `${reason}: tokens are taken to be spread evenly; those sent and received come on top`,
        settleWith: "expert_parallel",
        moreBytes: 4 * sent,
        lessBytes: 0,
      },
    ],
  };
}

/** Bytes of an activation's element. */
function computeBytes(run: TrainingRun): number {
  return ELEMENT_BYTES[run.autocast ?? run.parallel.deepspeed?.engineDtype ?? run.loadDtype];
}

/**
 * Whether the layers' matrices that `chosen` names are `degree` times smaller in `local`, at least one of them, and the
 * others equal: the graph then has the sizes that the split changes as sizes of their own.
 */
function splits(
  run: TrainingRun,
  local: TrainingRun,
  family: FamilyGraphs,
  degree: number,
  chosen: (spec: TensorSpec) => boolean,
): boolean {
  const [whole, part] = [matricesOf(run, family), matricesOf(local, family)];
  if (whole === null || part === null) return false;
  const after = new Map(part.map(({ spec, size }) => [spec.name, size]));
  const all = whole.every(({ spec, size }) => (after.get(spec.name) ?? 0) * (chosen(spec) ? degree : 1) === size);
  return all && whole.some(({ spec }) => chosen(spec));
}

/** Matrices of a layer with their elements; null when the run has no graph. */
function matricesOf(run: TrainingRun, family: FamilyGraphs): { spec: TensorSpec; size: number }[] | null {
  const { scope } = viewOf(run, family);
  const graph = selectGraph(family, run.task, run.attention, scope);
  if (graph === undefined) return null;
  const first = (name: string) => (name === "i" ? 0 : scope(name));
  return graph.parameters
    .filter(({ layers, shape }) => layers !== undefined && shape.length > 1)
    .map((spec) => ({ spec, size: spec.shape.reduce((all, size) => all * Number(evaluate(size, first)), 1) }));
}
