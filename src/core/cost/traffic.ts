/**
 * What one GPU sends to others in an optimizer step, by what needs it, and how far it goes. Ranks are numbered tensor first, then
 * context and experts, then data, then stages (megatron/core/parallel_state.py, `RankGenerator`: tp-cp-ep-dp-pp).
 */
import { ELEMENT_BYTES } from "../engine/dtype";
import { DIMENSIONS } from "../graph/dimensions";
import { DEVICES_PER_MACHINE } from "../hardware/devices";
import type { Device } from "../hardware/types";
import { expertParallelSize, expertShare } from "../training/parallel/degrees";
import type { Links, TrainingRun } from "../training/run";
import { linkOf, network, type Range } from "./rates";
import { type ModelShape, shapeOf, tokensPerSample } from "./shape";
import { bytesOf, type Counts, halfPrecision } from "./work";

/** Who sends: copies and shards of the states, split layers, stages, experts, split sequences. */
type Sender = "states" | "tensor" | "stages" | "experts" | "context";

export interface Traffic {
  readonly sender: Sender;
  /** Bytes that one GPU sends in an optimizer step. */
  readonly bytes: number;
  /** Neighbouring ranks that a group lies in: beyond a machine's it crosses the network. */
  readonly span: number;
}

/** A run of several GPUs with what is asked of it. */
interface Asked {
  readonly run: TrainingRun;
  readonly counts: Counts;
  readonly shape: ModelShape | null;
  /** Tokens of one GPU in a step. */
  readonly tokens: number;
  /** Layers of one stage. */
  readonly layers: number;
  /** Ways that the residual stream is split over tensor-parallel ranks where it is sent. */
  readonly split: number;
}

const HALF = 2;
const ring = (ranks: number): number => (ranks - 1) / ranks;

/** Rows with anything to send; none on one GPU. */
export function trafficOf(run: TrainingRun, counts: Counts): readonly Traffic[] {
  const { parallel } = run;
  const { pipelineParallel: stages, contextParallel, tensorParallel } = parallel;
  if (parallel.worldSize <= 1) return [];
  const shape = shapeOf(run);
  const tokens = (run.microBatchSize * tokensPerSample(run) * run.gradientAccumulationSteps) / contextParallel;
  const layers = (shape?.layers ?? 0) / stages;
  const split = parallel.sequenceParallel === true ? tensorParallel : 1;
  const asked: Asked = { run, counts, shape, tokens, layers, split };
  const rows: Traffic[] = [
    { sender: "states", bytes: stateBytes(asked), span: parallel.worldSize / stages },
    { sender: "tensor", bytes: tensorBytes(asked), span: tensorParallel },
    { sender: "context", bytes: contextBytes(asked), span: tensorParallel * contextParallel },
    { sender: "experts", bytes: expertBytes(asked), span: expertParallelSize(parallel) },
    { sender: "stages", bytes: stages > 1 ? (2 * HALF * streamOf(asked)) / split : 0, span: parallel.worldSize },
  ];
  return rows.filter(({ bytes }) => bytes > 0);
}

/** Bytes per second of one GPU: those of a ring use all network cards of a machine, others share them. */
export function speedOf({ sender, span }: Traffic, device: Device, links?: Links): Range {
  const { peak, share } = linkOf(device, Math.min(span, DEVICES_PER_MACHINE), links);
  const within: Range = [peak * share[0], peak * share[1]];
  if (span <= DEVICES_PER_MACHINE) return within;
  const cards = sender === "states" ? 1 : DEVICES_PER_MACHINE;
  const [low, high] = network(device, links);
  return [Math.min(within[0], low / cards), Math.min(within[1], high / cards)];
}

/** Elements of the residual stream of a step's tokens. */
function streamOf({ tokens, shape }: Asked): number {
  return tokens * (shape?.hidden ?? 0);
}

/** Parameters of one GPU, and how many of them are experts, where each has a share of those. */
function held({ run, counts, shape }: Asked): { readonly dense: number; readonly experts: number } {
  const { tensorParallel, pipelineParallel } = run.parallel;
  const parts = tensorParallel * pipelineParallel;
  const apart = expertParallelSize(run.parallel);
  const [all, chosen] = [sizeOf(run, DIMENSIONS.experts), sizeOf(run, CHOSEN)];
  const experts = all > chosen ? ((shape?.idleExperts ?? 0) * all) / (all - chosen) : 0;
  const split = apart === tensorParallel ? 0 : Math.min(experts, counts.trainableParameters);
  return { dense: (counts.trainableParameters - split) / parts, experts: split / pipelineParallel / apart };
}

const CHOSEN = ["num_experts_per_tok", "num_experts_per_token", "moe_topk"];

function sizeOf({ model }: TrainingRun, names: readonly string[]): number {
  const found = names.map((name) => model.config[name]).find((value) => typeof value === "number");
  return typeof found === "number" ? found : 0;
}

/** Gradients and parameters, for every micro-batch where they are sharded and once where they are not. */
function stateBytes(asked: Asked): number {
  const { run, counts } = asked;
  const { worldSize, deepspeed, fsdp, mainParameters, tensorParallel, pipelineParallel, oneAtATime } = run.parallel;
  const ranks = Math.max(1, worldSize / (tensorParallel * pipelineParallel));
  if (ranks <= 1 || oneAtATime) return 0;
  const parts = tensorParallel * pipelineParallel;
  const micro = run.gradientAccumulationSteps;
  const trained = counts.trainableParameters / parts;
  const half = halfPrecision(run) ? 2 : 4;
  const stage = deepspeed?.zeroStage ?? 0;
  if (mainParameters !== undefined) {
    // Gradients are spread and parameters gathered (distrib_optimizer.py), or gradients summed.
    const { sharded, gradientDtype, dtype } = mainParameters;
    const each = sharded ? ELEMENT_BYTES[gradientDtype] + ELEMENT_BYTES[dtype] : 2 * ELEMENT_BYTES[gradientDtype];
    const { dense, experts } = held(asked);
    return each * (ring(ranks) * dense + ring(Math.max(1, ranks / expertShare(run.parallel))) * experts);
  }
  if (fsdp !== null || stage === 3) {
    const stored = run.quantization === null ? half : 0.55;
    return micro * ring(ranks) * (2 * (counts.parameters / parts) * stored + trained * half);
  }
  if (stage === 2) return (micro + 1) * ring(ranks) * trained * half;
  const gradient = deepspeed === null && run.adapter === null ? bytesOf(run) : half;
  return 2 * ring(ranks) * trained * gradient;
}

/** Two sums of a layer's output in forward and two in backward. */
function tensorBytes(asked: Asked): number {
  const { tensorParallel } = asked.run.parallel;
  return tensorParallel <= 1 ? 0 : 4 * asked.layers * streamOf(asked) * HALF * 2 * ring(tensorParallel);
}

/** Keys and values go round in forward, and with their gradients in backward. */
function contextBytes(asked: Asked): number {
  const { run, layers } = asked;
  const { contextParallel, tensorParallel } = run.parallel;
  if (contextParallel <= 1) return 0;
  const heads = sizeOf(run, DIMENSIONS.heads);
  const groups = sizeOf(run, ["num_key_value_heads"]) || heads;
  const share = heads > 0 ? groups / heads : 1;
  return (layers * 3 * 2 * HALF * streamOf(asked) * share * (contextParallel - 1)) / tensorParallel;
}

/** Tokens to their experts and back, in forward and in backward. */
function expertBytes(asked: Asked): number {
  const { run, layers, split } = asked;
  const { expertParallel } = run.parallel;
  if (expertParallel <= 1) return 0;
  const dense = sizeOf(run, ["first_k_dense_replace"]) / run.parallel.pipelineParallel;
  return ((layers - dense) * 4 * HALF * streamOf(asked) * sizeOf(run, CHOSEN) * ring(expertParallel)) / split;
}
