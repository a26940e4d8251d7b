/**
 * What spreading a run over devices changes on one of them. Each strategy is a set of hooks around the same simulated
 * step: what is allocated once, what exists only while a layer runs, what becomes of gradients, what the optimizer sees.
 */

import type { DType } from "../../engine/dtype";
import type { SideStream } from "../../engine/labels";
import type { ModuleHooks } from "../../engine/module-hooks";
import type { LeafHook } from "../../engine/node";
import type { Watcher } from "../../engine/notes";
import { hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch, UsageHooks } from "../../engine/torch";
import type { ShardedEnds } from "../../graph/facts";
import type { Optimizer } from "../optimizers";
import type { SavingSpec } from "../specs/generation";
import type { UnitOf } from "../ties";

/** Host memory of one rank, in bytes. */
export interface HostUse {
  readonly pinned: number;
  readonly pageable: number;
  readonly nvme: number;
}

/** What gathers the parameters of a model that only runs forward, from the beginning of each forward to its end. */
export interface ForwardUsage extends UsageHooks {
  beginPass(torch: Torch): void;
  endPass(): void;
}

/** A module and its weight. */
export interface WeightedModule {
  readonly path: string;
  readonly weight: Tensor;
}

/** The modules at a model's ends, which some strategies treat apart. */
export interface ModelEnds {
  readonly embedding: WeightedModule | null;
  /** Those that the weights' names do not tell, as the family's class says. */
  readonly said?: ShardedEnds;
  /** `get_output_embeddings()`. */
  readonly head: WeightedModule | null;
  /** peft's wrapper stands around the model. */
  readonly adapted: boolean;
  /** Parameters and buffers by every name they go by. */
  readonly names: ReadonlyMap<string, Tensor>;
}

/** Who is given weights one after the other, each whole for as long as it names it. */
export interface WeightReceiver {
  take(torch: Torch, whole: Tensor): void;
  /** All have come. */
  end(torch: Torch): void;
}

/** What a rank has of the factors and weights that are merged. */
export interface MergedParts {
  /** Ranks that have one part each. */
  readonly ranks: number;
  readonly dtypeOf: (factor: Tensor) => DType;
}

/** Nothing is in parts. */
export const WHOLE_PARTS: MergedParts = { ranks: 1, dtypeOf: ({ dtype }) => dtype };

/** Weights on their way to another engine. */
export interface WeightHandover {
  /** Batches of layers that are whole at once (1: the model); null: one parameter after the other. */
  readonly batches: number | null;
  readonly receiver: WeightReceiver;
  /** Adapters are put into the weights on their way. */
  readonly adapted: boolean;
  /** Whether a parameter is among what is sent: factors of adapters stay. */
  sent(parameter: Tensor): boolean;
  /** Adds adapters to the weights that are there, or takes them out again. */
  merge(torch: Torch, parts: MergedParts): void;
}

/** What is in full until it is let go. */
export interface Whole {
  release(): void;
}

export interface Strategy {
  /** Dtype the parameters have on the device, when the strategy changes it. */
  readonly parameterDtype: DType | null;
  /** Buffers stay in the dtype they were loaded in when the parameters' changes. */
  readonly keepsBuffers?: boolean;
  /** All of floating point are cast to the parameters' dtype, also those that the model makes in float32. */
  readonly castsBuffers?: boolean;
  /** Dtype that layers read of a factor before it is called; absent: the one it is gathered in. */
  readonly adaptersSeenAs?: ((factor: Tensor) => DType) | undefined;
  /** A wrapper casts what the model is given, which is in float32 as with autocast (torch/distributed/fsdp/_fully_shard/_fsdp_state.py, `_pre_forward`). */
  readonly castsInputs?: boolean;
  /** Whether autocast still wraps the forward. */
  readonly keepsAutocast: boolean;
  /** Parameters exist in full only while they are used. */
  readonly shardsParameters: boolean;
  /** Which unit a module is in, before the model is loaded. */
  readonly unitOf?: UnitOf;
  /**
   * Once the model is loaded: shards, buckets, master copies. Where two models are trained as one, `layers` are the parameters
   * of the one whose layers are gathered at a time.
   */
  prepare(torch: Torch, parameters: readonly Tensor[], layers?: readonly Tensor[], ends?: ModelEnds): void;
  /**
   * A model beside the trained one that only runs forward, sharded as that one is (or waiting `onHost`); its layers are
   * gathered alike.
   */
  prepareFrozen?(torch: Torch, parameters: readonly Tensor[], onHost?: boolean): ForwardUsage | null;
  /** A layer (by index) starts or stops using its parameters. */
  enter?(torch: Torch, layer: number, backward: boolean): void;
  leave?(torch: Torch, layer: number, backward: boolean): void;
  /** A module outside the layers (`elements` of parameters) is called in forward. */
  enterModule?(torch: Torch, path: string, elements: number): void;
  leaveModule?(torch: Torch, path: string, atOnce?: boolean): void;
  /** Hooks around the trained model's modules, once it is prepared. */
  readonly hooks?: ModuleHooks | undefined;
  /** The last micro-batch of a step reduces the gradients that the ones before it have added up. */
  readonly reducesLast?: boolean;
  /** The optimizer's groups hold what gradients appear on, in the parameters' place. */
  readonly stepsOnShards?: boolean;
  /** Who is told of each of those when its gradient is there. */
  onReduced?(reduced: (shard: Tensor) => void): void;
  /** What the wrapper around the model makes of its outputs, which are given up. */
  returned?(torch: Torch, outputs: readonly Tensor[]): Tensor[];
  /** What the model is given of a batch whose tensors go by `names`; what is made is the strategy's until the pass ends. */
  split?(torch: Torch, names: readonly string[], batch: readonly Tensor[]): Tensor[];
  /** Gradients of earlier micro-batches are there, where parameters do not tell. */
  readonly accumulates?: boolean;
  /** A step's first micro-batch runs beside other things than later ones. */
  readonly variesByPass?: boolean;
  /** The first pass lets go of something for good: the first step does not do what later ones do. */
  readonly settles?: boolean;
  /** Around one micro-batch's forward and backward. */
  beginPass?(torch: Torch): void;
  endPass?(torch: Torch): void;
  /** What a forward without a backward leaves gathered is there for the next ones, until `endPass`. */
  keepGathered?(torch: Torch): void;
  /** All parameters in full at once, as long as the result lives; null where they are there anyway. */
  gatherAll?(torch: Torch): Whole | null;
  /** Parameters whole as they rest while text is generated, all of them or those that no layer has; the rest is gathered by its hooks. */
  summon?(torch: Torch, which: "all" | "outside"): Whole;
  /** All parameters are made whole and handed over, where they are not there anyway. */
  handOver?(torch: Torch, handover: WeightHandover): void;
  /** What becomes of a gradient when it first appears. */
  readonly leafHook?: LeafHook | undefined;
  /** Told of gradients and modules between the events of each micro-batch; set once the optimizer is made. */
  readonly watcher?: Watcher | undefined;
  /** What stands for `torch.nn.functional.linear` from then on. */
  readonly linear?: Torch["linear"];
  /** A micro-batch begins and has ended; `last`: the optimizer steps after it. */
  beginMicroBatch?(torch: Torch, last: boolean): void;
  endMicroBatch?(torch: Torch, last: boolean): void;
  /**
   * The optimizer that the strategy puts in place of the run's own, which `make` builds on groups of parameters: it clips,
   * too. Null: the run's own on its own groups.
   */
  optimizer?(
    torch: Torch,
    groups: readonly (readonly Tensor[])[],
    make: (groups: readonly (readonly Tensor[])[]) => Optimizer,
  ): Optimizer | null;
  /** Parameters as the optimizer groups them: the model's own, or flat partitions of them. */
  optimizerGroups(torch: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[];
  /** Gradients have been clipped. */
  clipped?(torch: Torch): void;
  /** Before the optimizer's step: gradients of the partitions appear. */
  beforeStep?(torch: Torch): void;
  afterStep?(torch: Torch): void;
  /** A checkpoint is written: what is spread is put together, piece by piece, and goes to the host. */
  save?(torch: Torch, saving: SavingSpec): void;
  readonly host: HostUse;
  /**
   * Equal for layers that are treated alike: those whose parameters stay gathered between forward and
   * backward differ from the others.
   */
  layerSignature?(layer: number): string;
}

/** Allocates a block of a strategy's own, booked as `kind`. */
export function reserve(
  torch: Torch,
  operator: string,
  elements: number,
  dtype: DType,
  kind: "activations" | "inputs" | "communication" | "weights" | "gradients" | "optimizer" | "temporaries" | "buffers",
): Tensor {
  const before = { kind: torch.kind, logits: torch.logits, scope: torch.scope };
  torch.kind = kind;
  torch.logits = false;
  torch.scope = "";
  const tensor = torch.empty(operator, [Math.max(0, Math.ceil(elements))], dtype);
  torch.kind = before.kind;
  torch.logits = before.logits;
  torch.scope = before.scope;
  return tensor;
}

/** What runs under `torch.cuda.stream(...)`: its blocks come from that stream's pool (c10/cuda/CUDACachingAllocator.cpp, BlockPool). */
export function onStream<T>({ ledger }: Torch, stream: SideStream | null, run: () => T): T {
  const before = ledger.stream;
  ledger.stream = stream ?? before;
  const result = run();
  ledger.stream = before;
  return result;
}

/** As `reserve`, for blocks whose size tensor parallelism does not divide. */
export function reserveWhole(...[torch, ...block]: Parameters<typeof reserve>): Tensor {
  const { share } = torch;
  torch.share = undefined;
  const tensor = reserve(torch, ...block);
  torch.share = share;
  return tensor;
}

/** Elements of a list of tensors. */
export function elements(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, tensor) => sum + tensor.elements, 0);
}

/** A tensor whose bytes are booked elsewhere. */
export function ghost(torch: Torch, sizes: readonly number[], dtype: DType): Tensor {
  return hostTensor(torch.ledger, sizes, dtype);
}

/** No memory on the host. */
export const NO_HOST: HostUse = { pinned: 0, pageable: 0, nvme: 0 };
