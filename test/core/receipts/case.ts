/** Receipts: random training runs with what PyTorch says of each, made by `capture/truth/receipts.py`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { DType } from "../../../src/core/engine/dtype";
import { type FamilyFacts, factsOf } from "../../../src/core/graph/facts";
import { familyGraphs, likeOf } from "../../../src/core/graph/stored";
import type { FamilyGraphs } from "../../../src/core/graph/types";
import { type FullestResult, simulateFullest, simulateRoles } from "../../../src/core/stages";
import { initializationNamed } from "../../../src/core/training/adapters/initialization";
import {
  IA3_FEEDFORWARD,
  IA3_TARGETS,
  LN_TUNING_TARGETS,
  PEFT_TARGETS,
} from "../../../src/core/training/adapters/peft-targets";
import type {
  AdapterSpec,
  CompressionSpec,
  DdpSpec,
  EvaluationSpec,
  Float8Recipe,
  FsdpSpec,
  LoopSpec,
  TrainingRun,
} from "../../../src/core/training/run";
import type { TrainedSpec } from "../../../src/core/training/specs/trained";
import { rowsOf } from "../../rows";
import { causalRun } from "../runs";

/** An adapter in the words of its config class. */
export interface Peft {
  readonly type?: AdapterSpec["type"];
  readonly r: number;
  readonly alpha?: number;
  readonly dropout?: number;
  readonly dora?: boolean;
  readonly target_modules: readonly string[] | string;
  readonly target_parameters?: readonly string[];
  readonly modules_to_save?: readonly string[];
  readonly autocast_adapter_dtype?: boolean;
  readonly bias?: AdapterSpec["bias"];
  readonly exclude_modules?: readonly string[];
  readonly layers_to_transform?: readonly number[];
  readonly rank_pattern?: Readonly<Record<string, number>>;
  readonly lora_bias?: boolean;
  readonly trainable_token_indices?: readonly number[];
  readonly token_indices?: readonly number[];
  readonly feedforward_modules?: readonly string[];
  readonly decompose_both?: boolean;
  readonly decompose_factor?: number;
  readonly oft_block_size?: number;
  readonly boft_block_size?: number;
  readonly boft_block_num?: number;
  readonly block_share?: boolean;
  readonly num_virtual_tokens?: number;
  readonly encoder_hidden_size?: number;
  readonly prefix_projection?: boolean;
  readonly init_lora_weights?: string;
  readonly loftq_config?: { readonly loftq_bits: 4 | 8; readonly loftq_iter: number };
}

/** One drawn run, in the words of the reference. */
export interface Case {
  readonly id: string;
  readonly model: Readonly<Record<string, unknown>> & { readonly model_type: string };
  readonly task?: TrainingRun["task"];
  readonly batch: number;
  readonly seq?: number;
  readonly target_seq?: number;
  readonly image?: number;
  /** Samples of sound. */
  readonly audio?: number;
  readonly load_dtype?: DType;
  readonly amp?: "bf16" | "fp16" | null;
  readonly attn?: TrainingRun["attention"];
  readonly gradient_checkpointing?: boolean;
  readonly use_reentrant?: boolean;
  readonly optim?: string;
  readonly optim_args?: Readonly<Record<string, string>>;
  readonly grad_accum?: number;
  readonly max_grad_norm?: number;
  readonly peft?: Peft;
  /** Patterns of the names of the weights that are trained, and the dtype they are raised to. */
  readonly trained?: readonly string[];
  readonly trained_dtype?: DType;
  readonly quant?: { readonly type: "nf4" | "fp4" | "int8"; readonly double?: boolean; readonly storage?: DType };
  readonly kbit_prep?: boolean;
  /** torchtune's loss over pieces of every sequence. */
  readonly chunked_loss?: { readonly chunks: number; readonly keeps_logits: boolean };
  readonly in_backward?: boolean;
  /** A loop of one's own around `model.parameters()`: what its names hold, and whether outputs keep a cache. */
  readonly loop?: { readonly holds: LoopSpec["holds"]; readonly caches: boolean; readonly zeros_late?: true };
  /** BAdam trains its first block. */
  readonly badam?: boolean;
  /** `mamba_ssm`'s kernels run the state-space layers. */
  readonly state_space_kernels?: true;
  /** torchao's recipe of 8-bit products, put in by accelerate. */
  readonly float8?: Float8Recipe;
  /** bfloat16 as accelerate's mixed precision has it; what that means is up to the sharding. */
  readonly bf16?: boolean;
  /** How the run is spread (`capture/truth/ranks`). */
  readonly ranks?: Ranks;
  /** The Trainer's evaluation after the steps (`capture/truth/phases.py`). */
  readonly eval?: {
    readonly batch: number;
    readonly seq?: number;
    readonly batches: number;
    readonly keeps?: EvaluationSpec["keeps"];
    readonly accumulation_steps?: number | null;
    readonly concat?: boolean;
  };
}

const SCHEDULES = {
  "1F1B": "1f1b",
  GPipe: "gpipe",
  Interleaved1F1B: "interleaved",
  LoopedBFS: "looped-bfs",
  InterleavedZeroBubble: "interleaved-zero-bubble",
  ZBVZeroBubble: "zbv-zero-bubble",
  DualPipeV: "dual-pipe-v",
} as const;

/** A sharded run in the words of `capture/truth/ranks`. */
export interface Ranks {
  readonly kind: "fsdp2" | "blocks" | "fsdp1" | "tensor" | "pipeline" | "ddp" | "replicas";
  readonly world: number;
  readonly replicas?: number;
  readonly reshard?: boolean | number;
  readonly reduce_dtype?: DType | null;
  readonly activation_checkpointing?: boolean;
  readonly strategy?: "FULL_SHARD" | "SHARD_GRAD_OP";
  readonly prefetch?: "BACKWARD_PRE" | "BACKWARD_POST" | null;
  readonly original?: boolean;
  readonly cpu_offload?: boolean;
  /** Ranks that exchange tokens for heads around attention. */
  readonly exchange?: number;
  /** Whole experts are shared out by transformers' plan, and nothing else. */
  readonly by_experts?: boolean;
  /** A checkpoint is written after the steps, put together on the first rank. */
  readonly saves?: boolean;
  /** Ranks that share every sequence, how keys and values go around, and which of them is looked at. */
  readonly context?: number;
  readonly rotate?: "alltoall";
  readonly rank?: number;
  /** The pipeline's schedule, and the stage that is looked at. */
  readonly schedule?: keyof typeof SCHEDULES;
  /** Stages of each rank. */
  readonly stages?: number;
  readonly stage?: number;
  /** Arguments of DistributedDataParallel. */
  readonly find_unused_parameters?: boolean;
  readonly static_graph?: boolean;
  readonly gradient_as_bucket_view?: boolean;
  readonly bucket_cap_mb?: number;
  readonly compression?: CompressionSpec;
  /** Ranks that each stage's parameters are spread over. */
  readonly shards?: number;
}

/** What PyTorch says, in bytes and elements. */
export interface Result {
  readonly peak_allocated: number;
  readonly peak_reserved: number;
  readonly peak_phase: string;
  readonly phase_peaks: Readonly<Record<string, number>>;
  readonly params: number;
  readonly trainable: number;
}

export interface Receipt {
  readonly case: Case;
  readonly result: Result;
}

const ROOT = path.resolve(__dirname, "../../..");

/** All receipts of one family, or of one kind of ways to train (`ways/…`). */
export function receiptsOf(file: string): Receipt[] {
  return rowsOf(__dirname, `${file}.jsonl`);
}

/** Families with receipts and graphs. */
export function families(): string[] {
  return readdirSync(__dirname)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => name.slice(0, -".jsonl".length))
    .filter((family) => existsSync(graphFile(family)));
}

/** Files of receipts by way of training (`capture/truth/optimizers_and_adapters.py`). */
export function waysOfTraining(): string[] {
  return readdirSync(path.join(__dirname, "ways")).map((name) => `ways/${path.basename(name, ".jsonl")}`);
}

function graphFile(family: string): string {
  return path.join(ROOT, "models", "graphs", `${family}.json`);
}

/** The table of parts that a stored file goes on from. */
export function tableOf(text: string): string | undefined {
  const like = likeOf(text);
  return like && readFileSync(path.join(ROOT, "models", "parts", `${like}.json`), "utf8");
}

const loaded = new Map<string, FamilyGraphs>();

/** The captured graphs of a family, read once. */
export function graphsOf(family: string): FamilyGraphs {
  let graphs = loaded.get(family);
  if (graphs === undefined) {
    const text = readFileSync(graphFile(family), "utf8");
    graphs = familyGraphs(text, tableOf(text));
    if (graphs === undefined) throw new Error(`${family}: not a file of graphs`);
    loaded.set(family, graphs);
  }
  return graphs;
}

const AUTOCAST = { bf16: "bfloat16", fp16: "float16" } as const;

/** Classes of torch.optim whose name in lower case means another optimizer to the Trainer. */
const TORCH_NAMES: Readonly<Record<string, string>> = { adafactor: "adafactor_torch" };

function optimizerOf({ model, optim = "adamw_torch_fused", optim_args: args = {} }: Case): TrainingRun["optimizer"] {
  const { hidden_size: hidden, num_attention_heads: heads } = model;
  if (optim === "sgd_momentum") return { name: "sgd", args: { momentum: "0.9" } };
  const [, torch] = /^torch\.optim\.(.+)$/.exec(optim) ?? [];
  if (optim === "adam_mini") return { name: optim, args: { dim: String(hidden), n_heads: String(heads) } };
  if (torch === undefined) return { name: optim, args };
  const name = torch.toLowerCase();
  return { name: TORCH_NAMES[name] ?? name, args };
}

/** Modules peft takes when the case names none. */
function standardModules(type: AdapterSpec["type"], family: string): readonly string[] | string {
  if (type === "ln-tuning") return LN_TUNING_TARGETS[family] ?? [];
  return (type === "ia3" ? IA3_TARGETS : PEFT_TARGETS)[family] ?? [];
}

/** Fields of a spec that the case has. */
function written<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function adapterOf(p: Peft, family: string): AdapterSpec {
  const type = p.dora ? "dora" : (p.type ?? "lora");
  const named = p.target_modules.length > 0;
  const tokens = p.token_indices ?? p.trainable_token_indices;
  return {
    type,
    rank: type === "oft" ? 0 : p.r,
    alpha: p.alpha ?? 16,
    dropout: p.dropout ?? 0,
    targetModules: named || type === "trainable-tokens" ? p.target_modules : standardModules(type, family),
    modulesToSave: p.modules_to_save ?? [],
    bias: p.bias ?? "none",
    useRslora: false,
    autocastAdapterDtype: p.autocast_adapter_dtype ?? true,
    ...written({
      targetParameters: p.target_parameters,
      excludeModules: p.exclude_modules,
      layersToTransform: p.layers_to_transform,
      rankPattern: p.rank_pattern,
      loraBias: p.lora_bias,
      trainableTokens: tokens?.length,
      feedforwardModules: p.feedforward_modules ?? IA3_FEEDFORWARD[family],
      decomposeBoth: p.decompose_both,
      decomposeFactor: p.decompose_factor,
      blockSize: p.oft_block_size ?? p.boft_block_size,
      blockCount: p.boft_block_num,
      blockShare: p.block_share,
      virtualTokens: p.num_virtual_tokens,
      encoderHiddenSize: p.encoder_hidden_size,
      prefixProjection: p.prefix_projection,
      initialization: initializationNamed(
        p.init_lora_weights ?? "",
        p.loftq_config ? { bits: p.loftq_config.loftq_bits, iterations: p.loftq_config.loftq_iter } : {},
        true,
      ),
    }),
  };
}

function onlyTrained(patterns: readonly string[]): TrainedSpec {
  return { rules: [{ pattern: "", trained: false }, ...patterns.map((pattern) => ({ pattern, trained: true }))] };
}

const PREFETCH = { BACKWARD_PRE: "before", BACKWARD_POST: "after" } as const;

function fsdpOf({ kind, reshard = true, replicas, reduce_dtype: reduceDtype, ...flat }: Ranks): FsdpSpec {
  const { strategy, prefetch, original = true } = flat;
  const whole = kind === "fsdp1" ? strategy === "SHARD_GRAD_OP" : reshard === false;
  return {
    version: kind === "fsdp1" ? 1 : 2,
    sharding: whole ? "shard_grad_op" : "full_shard",
    cpuOffload: flat.cpu_offload === true,
    reshardAfterForward: kind === "fsdp1" ? !whole : reshard,
    ...(kind === "blocks" ? { groups: "layers" as const, reducesEach: true as const } : {}),
    ...(original ? {} : { flatOptimizer: true as const }),
    ...written({
      replicas,
      reduceDtype: reduceDtype ?? undefined,
      backwardPrefetch: prefetch ? PREFETCH[prefetch] : undefined,
    }),
  };
}

/** The Trainer looks for unused parameters of what it does not know, or does not recompute (transformers/trainer.py). */
function copiesOf(ranks: Ranks, { peft, gradient_checkpointing: recomputes }: Case): DdpSpec {
  return {
    findsUnused: ranks.find_unused_parameters ?? (peft !== undefined || recomputes !== true),
    ...written({
      staticGraph: ranks.static_graph,
      bucketViews: ranks.gradient_as_bucket_view,
      bucketMib: ranks.bucket_cap_mb,
      compression: ranks.compression,
    }),
  };
}

function spreadOf(ranks: Ranks, c: Case): TrainingRun["parallel"] {
  const { context: degree = 1, rotate: rotation = "allgather", rank = 0 } = ranks;
  const shares: Partial<TrainingRun["parallel"]> =
    degree === 1 ? {} : { contextParallel: degree, contextRotation: rotation, ring: { degree, rank, rotation } };
  const exchange: Partial<TrainingRun["parallel"]> =
    ranks.exchange === undefined ? {} : { contextParallel: ranks.exchange, exchangesHeads: true };
  const spread = { ...causalRun({}).parallel, worldSize: ranks.world, ...shares, ...exchange };
  if (ranks.kind === "pipeline")
    return {
      ...spread,
      pipelineParallel: ranks.world,
      pipelineSchedule: SCHEDULES[ranks.schedule ?? "1F1B"],
      ...(ranks.stages === undefined ? {} : { stagesPerRank: ranks.stages }),
      ...(ranks.shards === undefined
        ? {}
        : {
            worldSize: ranks.world * ranks.shards,
            fsdp: fsdpOf({ ...ranks, kind: "blocks", reduce_dtype: "float32" }),
          }),
    };
  if (ranks.kind === "replicas") return { ...spread, inOneProcess: { keepsAutocast: false } };
  if (ranks.kind === "ddp") return { ...spread, ddp: copiesOf(ranks, c) };
  if (ranks.kind === "tensor")
    return { ...spread, tensorParallel: ranks.world, ...(ranks.by_experts === true ? { sharesExperts: true } : {}) };
  const facts: FamilyFacts = ranks.kind === "blocks" ? {} : factsOf(c.model.model_type);
  const { unsplit, keptTogether: apart, looseLayers: loose } = facts;
  return { ...spread, fsdp: { ...fsdpOf(ranks), ...written({ unsplit: unsplit || undefined, apart, loose }) } };
}

/** States of FSDP1's pieces are not asked for (`capture/truth/ranks/saving.py`). */
function savingOf({ saves, kind, original = true }: Ranks): Pick<TrainingRun, "saving"> {
  return saves === true ? { saving: { optimizer: kind !== "fsdp1" || !original } } : {};
}

/** What a case evaluates, in the run that trains so. */
export function evaluationOf(c: Case, run: TrainingRun): Pick<TrainingRun, "evaluation"> {
  if (c.eval === undefined) return {};
  return {
    evaluation: {
      batchSize: c.eval.batch,
      sequenceLength: c.eval.seq ?? run.sequenceLength,
      targetLength: run.targetLength,
      keeps: c.eval.keeps ?? "loss",
      accumulationSteps: c.eval.accumulation_steps ?? null,
      batches: c.eval.batches,
      concatenates: c.eval.concat ?? true,
    },
  };
}

/** What the rank that a case looks at holds: the fullest, or the stage that it names. */
export function simulatedAs(c: Case): FullestResult {
  const trained = runOf(c);
  const [run, graphs] = [{ ...trained, ...evaluationOf(c, trained) }, graphsOf(c.model.model_type)];
  const { stage, world = 1 } = c.ranks ?? {};
  if (stage === undefined) return simulateFullest(run, graphs);
  const roles = simulateRoles(run, graphs);
  if (!Array.isArray(roles)) return roles;
  const wanted = stage === 0 ? "first" : stage === world - 1 ? "last" : "middle";
  const found = roles.find(({ role }) => role === wanted);
  if (found === undefined) throw new Error(`${c.id}: no stage ${stage}`);
  return { ok: true, simulation: found.simulation, uncertain: found.uncertain };
}

/** The run a case describes. */
export function runOf(c: Case): TrainingRun {
  return causalRun({
    model: { name: c.id, family: c.model.model_type, config: c.model, source: "config.json" },
    task: c.task ?? "causal-lm",
    microBatchSize: c.batch,
    sequenceLength: c.seq ?? 0,
    targetLength: c.target_seq ?? c.seq ?? 0,
    imageSize: c.image ?? 224,
    audioSamples: c.audio ?? 0,
    gradientAccumulationSteps: c.grad_accum ?? 1,
    loadDtype: c.load_dtype ?? "bfloat16",
    autocast: c.bf16 ? "bfloat16" : c.amp ? AUTOCAST[c.amp] : null,
    attention: c.attn ?? "sdpa",
    ...(c.ranks ? { parallel: spreadOf(c.ranks, c), ...savingOf(c.ranks) } : {}),
    checkpointing:
      c.gradient_checkpointing || c.ranks?.activation_checkpointing
        ? {
            useReentrant: c.use_reentrant ?? false,
            ...(c.ranks?.activation_checkpointing ? { wrapped: true } : {}),
          }
        : null,
    optimizer: {
      ...optimizerOf(c),
      ...(c.in_backward ? { stepsInBackward: true } : {}),
      ...(c.badam ? { block: 0 } : {}),
      ...(c.loop ? { oneGroup: true as const } : {}),
    },
    ...(c.loop
      ? {
          loop: {
            holds: c.loop.holds,
            keepsDtype: true as const,
            ...written({ zerosLate: c.loop.zeros_late }),
          },
          ...(c.loop.caches ? { keepsCache: "copies" as const } : {}),
        }
      : {}),
    maxGradNorm: c.max_grad_norm ?? 1,
    ...(c.trained ? { trained: { ...onlyTrained(c.trained), ...written({ dtype: c.trained_dtype }) } } : {}),
    adapter: c.peft ? adapterOf(c.peft, c.model.model_type) : null,
    chunkedLoss: c.chunked_loss
      ? { chunks: c.chunked_loss.chunks, compiled: false, keepsLogits: c.chunked_loss.keeps_logits }
      : null,
    ...(c.state_space_kernels ? { stateSpaceKernels: true } : {}),
    float8: c.float8 ? { backend: "torchao", recipe: c.float8, keeps: "first-and-last", cachesWeights: false } : null,
    quantization: c.quant
      ? {
          type: c.quant.type,
          double: c.quant.double ?? false,
          prepareForKbit: c.kbit_prep ?? false,
          computeDtype: "bfloat16",
        }
      : null,
  });
}
