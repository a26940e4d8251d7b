/** How a run is spread over devices. */
import type { DType } from "../../engine/dtype";
import type { Ring } from "../../engine/ops/ring-attention";
import type { StageEnds } from "../../graph/stage";
import type { StagesSchedule } from "../parallel/schedules";

/** Where ZeRO keeps a kind of state. */
export type OffloadTarget = "none" | "cpu" | "nvme";

/** DeepSpeed ZeRO, as the engine reads its JSON (sizes in elements unless the name says bytes). */
export interface DeepSpeedSpec {
  readonly zeroStage: 0 | 1 | 2 | 3;
  readonly offloadOptimizer: OffloadTarget;
  readonly offloadParam: OffloadTarget;
  readonly pinMemory: boolean;
  readonly overlapComm: boolean;
  readonly contiguousGradients: boolean;
  readonly reduceBucketSize: number;
  readonly allgatherBucketSize: number;
  readonly stage3PrefetchBucketSize: number;
  readonly stage3ParamPersistenceThreshold: number;
  readonly stage3MaxLiveParameters: number;
  readonly stage3MaxReuseDistance: number;
  /** Frozen parameters that a recomputation gathers go with it, as before 0.19.3 (partitioned_param_coordinator.py, update_recompute_parameters). */
  readonly releasesRecomputed?: true;
  /** Buffers are cast with the parameters in stages 0 to 2, as before 0.19.2 (deepspeed/runtime/engine.py, `_configure_distributed_model`). */
  readonly castsBuffers?: true;
  /** Stages 1 and 2 flatten parameters on the host, as before 0.18.7 (deepspeed/runtime/zero/stage_1_and_2.py, `flatten_on_accelerator`). */
  readonly flattensOnHost?: true;
  readonly subGroupSize: number;
  /** Page-locked buffers that states come through from NVMe, as large as a sub-group (`offload_optimizer.buffer_count`); absent: none. */
  readonly nvmeBuffers?: number;
  /** Elements of those that parameters come through (`offload_param`: `buffer_count` of `buffer_size`); absent: none. */
  readonly nvmeElements?: number;
  readonly gradAccumDtype: DType | null;
  readonly hpzPartitionSize: number;
  /** Ranks that stage 3 spreads over, each such group holding all of it (`mics_shard_size`); absent: all ranks. */
  readonly shardRanks?: number;
  /** Parameters are dealt out to the ranks in turn; absent: in their order. */
  readonly roundRobinGradients?: boolean;
  /** Gradients are reduced to the rank they belong to; absent: yes. */
  readonly reduceScatter?: boolean;
  /** The model lies whole on the device before the engine spreads it: it was not built inside `zero.Init`. */
  readonly loadsWhole?: boolean;
  /** Gradients are reduced in it (`communication_data_type`); absent: in the parameters' dtype. */
  readonly communicationDtype?: DType;
  /** ZeRO++: what is gathered goes in 8 bits (`zero_quantized_weights`). */
  readonly quantizesWeights?: boolean;
  /** Frozen parameters' parts are kept in 8 bits (`zero_quantized_nontrainable_weights`). */
  readonly quantizesFrozen?: boolean;
  /** ZeRO++: gradients are reduced in 4 bits across machines (`zero_quantized_gradients`). */
  readonly quantizesGradients?: boolean;
  /** Parameters are gathered one by one (`stage3_allgather_sequential`). */
  readonly gathersApart?: boolean;
  /** Several parameters are gathered by a sum of what each rank has of them (`stage3_use_all_reduce_for_fetch_params`). */
  readonly gathersBySum?: boolean;
  /** `torch.nn.functional.linear` is left as it is (`memory_efficient_linear: false`). */
  readonly plainLinear?: boolean;
  /** Share of the sub-groups that `offload_optimizer` takes to the host (`ratio`); absent: all. */
  readonly offloadRatio?: number;
  /** The optimizer is DeepSpeed's own fused one, not one that is handed in; absent: handed in. */
  readonly fusedOptimizer?: boolean;
  /** Dtype of the master copy, the gradients it is stepped with and its states (`bf16_master_weights_and_grads`); absent: float32. */
  readonly masterDtype?: "float16" | "bfloat16";
  /** Dtype of the moments where they wait on the host (`fp32_optimizer_states` of DeepSpeedCPUAdam); absent: float32. */
  readonly hostStatesDtype?: "bfloat16";
  /** Mixed-precision engine: 16-bit parameters with a float32 master copy; null = plain float32. */
  readonly engineDtype: "float16" | "bfloat16" | null;
}

/** PyTorch FSDP (version 1 or 2) as accelerate configures it. */
export interface FsdpSpec {
  readonly version: 1 | 2;
  readonly sharding: "full_shard" | "shard_grad_op" | "hybrid_shard" | "no_shard";
  readonly cpuOffload: boolean;
  /** To all ranks, not at all, or to so many. */
  readonly reshardAfterForward: boolean | number;
  /** FSDP2: every layer and the rest are groups; absent: the embedding, and the last norm with the head, too (accelerate). */
  readonly groups?: "layers";
  /** accelerate finds no layers to wrap by itself: the model is one unit, but for FSDP2's ends. */
  readonly unsplit?: true;
  /** FSDP2 by layers and ends: the last norm and the head do not stay gathered after forward. */
  readonly tailResharded?: true;
  /** Paths of modules that are units beside the layers, around them or inside of them; `{i}` is any number. */
  readonly apart?: readonly string[];
  /** Paths of layers that are no units; `{i}` is any number. */
  readonly loose?: readonly string[];
  /** FSDP2 by layers: the model's own parameters stay gathered after forward, as where `reshard_after_forward` is not given. */
  readonly rootStays?: true;
  /** FSDP2: autocast is around the model, and parameters are gathered as they rest (no `MixedPrecisionPolicy`). */
  readonly autocastsAround?: true;
  /** FSDP2: dtype that gradients are reduced in; absent: the compute dtype. */
  readonly reduceDtype?: DType;
  /** FSDP1: the optimizer steps on flat parameters (`use_orig_params: false`); absent: on the parameters' pieces. */
  readonly flatOptimizer?: true;
  /** FSDP1: buffers stay as they are under mixed precision (`buffer_dtype` is none, or float32); absent: they are cast. */
  readonly keepsBuffers?: true;
  /** FSDP1: layers are units with the adapters in them; absent: adapters' factors are units of their own (peft's policy). */
  readonly mixesAdapters?: true;
  /** FSDP1: when the unit before is gathered in backward (`backward_prefetch`); absent: when its turn comes. */
  readonly backwardPrefetch?: "before" | "after";
  /** Ranks that experts are spread over already: they are groups of their own, and what runs next is gathered ahead; absent: 1. */
  readonly expertDegree?: number;
  /** Every micro-batch reduces its gradients; absent: the last one of a step does. */
  readonly reducesEach?: true;
  /** torch's pipeline runs it: parameters stay gathered until all of a step's gradients are reduced at once. */
  readonly inPipeline?: true;
  /** Copies of the sharded model (hybrid sharding keeps one on every machine); 1 when absent. */
  readonly replicas?: number;
}

/** Half-precision parameters with a float32 copy and one gradient buffer (Megatron's and nanotron's optimizers). */
export interface MainParametersSpec {
  readonly dtype: "float16" | "bfloat16";
  readonly gradientDtype: DType;
  /** The copy and the states are spread over the data-parallel ranks. */
  readonly sharded: boolean;
}

/** Linear layers that are split over GPUs by transformers' plan for the family. */
export interface TensorPlanSpec {
  readonly degree: number;
  /** Parameters, by their names in the graph, that the config says whole sizes of. */
  readonly undivided: readonly string[];
  /** The head is the embedding's matrix. */
  readonly isTied: boolean;
  /** Whole experts are shared out, and nothing else is split. */
  readonly sharesExperts?: true;
}

/** One stage of a pipeline, with how many micro-batches' buffers are there all the time. */
export interface StageSpec extends StageEnds {
  /** States that come in, and gradients of those that went out. */
  readonly received: number;
  readonly gradients: number;
  /** Gradients of the states that came in, on their way back. */
  readonly sent: number;
  /** Tokens, where the stage is given any. */
  readonly batches: number;
}

/** A hook that compresses gradients (torch/distributed/algorithms/ddp_comm_hooks). */
export interface CompressionSpec {
  /** Gradients are sent in this dtype (`fp16_compress_hook`). */
  readonly casts?: DType;
  /** Rank of PowerSGD's two factors (`matrix_approximation_rank`); absent: no PowerSGD. */
  readonly rank?: number;
  /** `use_error_feedback`, on by default: a copy of all gradients stays. */
  readonly feedback?: boolean;
  /** `warm_start`, on by default: factors stay. */
  readonly warm?: boolean;
}

/** Arguments of torch's DistributedDataParallel. */
export interface DdpSpec {
  /** `find_unused_parameters`. */
  readonly findsUnused?: boolean;
  readonly staticGraph?: boolean;
  /** `gradient_as_bucket_view`. */
  readonly bucketViews?: boolean;
  /** `bucket_cap_mb`, where it is said. */
  readonly bucketMib?: number;
  readonly compression?: CompressionSpec;
}

/** Layers that a pipeline's embedding, and its last norm with the head, count as. */
export interface EndLayers {
  readonly first: number;
  readonly last: number;
}

/** Names of the modules that are split by columns, and by rows. */
export interface SequencePlan {
  readonly columns: readonly string[];
  readonly rows: readonly string[];
}

/** How the run is spread over devices. Product of the degrees divides `worldSize`. */
export interface ParallelSpec {
  readonly worldSize: number;
  readonly tensorParallel: number;
  readonly pipelineParallel: number;
  /** torch's own schedule runs the stages; absent: other code, one forward, one backward. */
  readonly pipelineSchedule?: "1f1b" | "gpipe" | StagesSchedule;
  /** Stages of each rank, where the schedule has several. */
  readonly stagesPerRank?: number;
  /** Layers that the ends count as when layers are divided; absent: none. */
  readonly pipelineEnds?: EndLayers;
  /** Samples of a pipeline's micro-batch, where it cuts what it is given; absent: all of it. */
  readonly pipelineMicroBatch?: number;
  readonly contextParallel: number;
  /** How torch's own attention hands keys and values around between them; absent: other code splits sequences. */
  readonly contextRotation?: Ring["rotation"];
  /** The ranks that share every sequence, in a run whose length is one rank's already (`localRun`). */
  readonly ring?: Ring;
  /** Tokens are exchanged for heads around attention (Ulysses); absent: other code splits sequences. */
  readonly exchangesHeads?: true;
  /** The ranks that do, in a run whose length is one rank's already (`localRun`). */
  readonly headExchange?: number;
  readonly expertParallel: number;
  /** Ranks that every expert's matrices are split over; absent: those of tensor parallelism. */
  readonly expertTensorParallel?: number;
  /** How rows go to the ranks of their experts, where that is not followed; absent: each rank is sent its own (`alltoall`). */
  readonly otherDispatcher?: string;
  /** Rows go to the ranks of their experts and back, in a run that has one rank's experts already (`localRun`). */
  readonly dispatch?: { readonly sorts: boolean };
  readonly deepspeed: DeepSpeedSpec | null;
  readonly fsdp: FsdpSpec | null;
  /** What DistributedDataParallel is told, where nothing is sharded. */
  readonly ddp?: DdpSpec;
  /** The GPUs of tensor parallelism share out whole experts, and hold everything else (`enable_expert_parallel`). */
  readonly sharesExperts?: true;
  /** Tensor parallelism splits the residual stream along the sequence, too. */
  readonly sequenceParallel?: boolean;
  /** … by torch's distributed tensors; absent: what is gathered and scattered around matrices is not followed. */
  readonly sequencePlan?: SequencePlan;
  /** … and the loss is torch's over logits of which every GPU has a part of each row (`loss_parallel`). */
  readonly splitsLogits?: true;
  readonly mainParameters?: MainParametersSpec;
  /** One process puts layers on every GPU and a micro-batch goes through them in turn (`device_map`), no other beside it. */
  readonly oneAtATime?: true;
  /** One process copies the model to every GPU for each forward, and the first one gathers what they give (torch's DataParallel). */
  readonly inOneProcess?: {
    /** Autocast is inside the copies, too. */
    readonly keepsAutocast: boolean;
  };
  /** One stage of the pipeline, in a run whose layers are that stage's already (`stagesOf`). */
  readonly stage?: StageSpec;
  /** How transformers' plan splits linear layers, in a run whose config has one GPU's sizes already (`localRun`). */
  readonly tensorPlan?: TensorPlanSpec;
}
