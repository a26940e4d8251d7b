/** A model wrapped by FSDP1: the hooks around its units. Source: torch/distributed/fsdp/_runtime_utils.py, whose names the methods have. */
import { type DType, isFloating } from "../../../engine/dtype";
import { SIDE_STREAMS } from "../../../engine/labels";
import { type ModuleHooks, onGradient, onGradients } from "../../../engine/module-hooks";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { FsdpSpec } from "../../run";
import { onStream, reserve, type Whole } from "../strategy";
import type { FlatParameter } from "./flat-parameter";
import { isInsideLayer } from "./units";

export interface FlatOptions {
  readonly ranks: number;
  readonly load: DType;
  /** Dtype of mixed precision, or null. */
  readonly compute: DType | null;
  /** Units are checkpointed by wrappers inside of them (`activation_checkpointing`). */
  readonly checkpointsUnits: boolean;
  /** A step has several micro-batches. */
  readonly accumulates: boolean;
}

/** A wrapped module; the model itself is the empty path. */
export interface FlatUnit {
  readonly path: string;
  /** Its parameters as one; null: others hold them all. */
  readonly flat: FlatParameter | null;
}

class State {
  ranPreBackward = false;
  needsUnshard = false;
  prefetched = false;
  training: "idle" | "forward" | "pre-backward" | "post-backward" = "idle";
  /** Place among the units in the order their forwards ended. */
  index: number | null = null;

  constructor(
    readonly path: string,
    readonly flat: FlatParameter | null,
  ) {}
}

export class FlatModel implements ModuleHooks {
  /** Segments that are recomputed lie inside the hooks (FSDP around a checkpointed layer). */
  readonly aroundCheckpoints = true;
  /** Some modules of layers are units. */
  readonly insideLayers: boolean;
  /** Outside of `no_sync`. */
  reduces = true;
  private readonly states: readonly State[];
  private readonly byPath: ReadonlyMap<string, State>;
  private readonly order: State[] = [];
  private isQueued = false;

  constructor(
    units: readonly FlatUnit[],
    private readonly spec: FsdpSpec,
    private readonly options: Pick<FlatOptions, "ranks" | "compute" | "checkpointsUnits">,
  ) {
    this.states = units.map(({ path, flat }) => new State(path, flat));
    this.byPath = new Map(this.states.map((state) => [state.path, state]));
    this.insideLayers = units.some(({ path, flat }) => isInsideLayer(path, flat?.parameters ?? []));
  }

  /** `apply_activation_checkpointing` goes by the units' policy, which peft's adapters meet (accelerate/accelerator.py, prepare_model). */
  get checkpointsAdapters(): boolean {
    return this.options.checkpointsUnits;
  }

  has(path: string): boolean {
    return this.byPath.has(path);
  }

  before(torch: Torch, path: string, inputs: readonly (Tensor | null)[]): (Tensor | null)[] {
    const state = this.byPath.get(path)!;
    const { flat } = state;
    // What is recomputed for the backward of its own unit was gathered before it.
    if (state.training === "pre-backward") return [...inputs];
    // `_root_pre_forward`; other units leave their inputs alone (`cast_forward_inputs`).
    const given = path === "" ? inputs.map((input) => input && this.cast(torch, input)) : [...inputs];
    state.training = "forward";
    if (flat !== null) {
      flat.unshard(torch);
      flat.useViews(torch, (inside) => this.postBackward(inside, state, flat));
    }
    if (flat === null || flat.trained || !torch.gradEnabled) return given;
    // `_register_post_backward_reshard_only_hook`: what made an input is gathered first, whose hook on the same tensor is older.
    onGradients(torch, given, (inside) => {
      state.training = "post-backward";
      this.reshard(inside, state);
      if (this.spec.backwardPrefetch === "after") this.prefetch(inside, state);
    });
    return given;
  }

  after(torch: Torch, path: string, outputs: readonly Tensor[]): Tensor[] {
    const state = this.byPath.get(path)!;
    if (state.training === "pre-backward") return [...outputs];
    // `record_post_forward` takes the first place for none.
    if (state.flat !== null && !state.index) state.index = this.order.push(state) - 1;
    if (path !== "" && this.spec.reshardAfterForward !== false) state.flat?.free(torch);
    state.prefetched = false;
    state.training = "idle";
    if (!torch.gradEnabled) return [...outputs];
    state.needsUnshard = false;
    state.ranPreBackward = false;
    for (const output of outputs)
      if (output.requiresGrad) {
        onGradient(torch, output, (inside) => this.preBackward(inside, state));
        state.needsUnshard = true;
      }
    return [...outputs];
  }

  /** `_cast_forward_inputs`; the tensor is given up. */
  private cast(torch: Torch, tensor: Tensor): Tensor {
    const { compute } = this.options;
    if (compute === null || tensor.dtype === compute || !isFloating(tensor.dtype)) return tensor;
    const cast = torch.toCopy(tensor, compute);
    tensor.release();
    return cast;
  }

  private preBackward(torch: Torch, state: State): void {
    if (state.ranPreBackward) return;
    if (!this.isQueued) {
      this.isQueued = true;
      torch.finalCallbacks?.push(() => this.backwardIsOver(torch));
    }
    state.training = "pre-backward";
    if (state.needsUnshard && !state.prefetched) state.flat?.unshard(torch);
    state.needsUnshard = false;
    if (this.spec.backwardPrefetch === "before") this.prefetch(torch, state);
    state.ranPreBackward = true;
  }

  /** The unit whose forward ended before this one's (`get_handle_to_backward_prefetch`). */
  private prefetch(torch: Torch, { index }: State): void {
    const target = index === null || index < 1 ? undefined : this.order[index - 1];
    if (target === undefined || !target.needsUnshard || target.prefetched) return;
    target.flat?.unshard(torch);
    target.prefetched = true;
  }

  private postBackward(torch: Torch, state: State, flat: FlatParameter): void {
    state.training = "post-backward";
    const { whole } = flat;
    if (whole.grad === null) return;
    this.reshard(torch, state);
    if (this.spec.backwardPrefetch === "after") this.prefetch(torch, state);
    if (!this.reduces) {
      if (this.spec.flatOptimizer !== true) flat.useGradientViews(torch);
      return;
    }
    const gradient = whole.grad;
    whole.grad = null;
    this.reduce(torch, flat, gradient);
  }

  /** `_post_backward_hook`: on a stream of its own (`_post_backward_stream`). */
  private reduce(torch: Torch, flat: FlatParameter, gradient: Tensor): void {
    onStream(torch, SIDE_STREAMS.reducing, () => this.reduceThere(torch, flat, gradient));
  }

  /** `_reduce_grad`: what is reduced, the sum that stays here, and that in the shard's dtype. */
  private reduceThere(torch: Torch, flat: FlatParameter, gradient: Tensor): void {
    const { ranks } = this.options;
    const { shardElements, own } = flat;
    const dtype = this.spec.reduceDtype ?? gradient.dtype;
    const sent =
      dtype === gradient.dtype ? gradient.retain() : reserve(torch, "to", gradient.elements, dtype, "gradients");
    const isWhole = gradient.elements === shardElements * ranks;
    const padded = isWhole ? null : reserve(torch, "pad", shardElements * ranks, dtype, "communication");
    // One rank sums nothing up.
    let sum = ranks === 1 ? sent.retain() : reserve(torch, "reduce_scatter", shardElements, dtype, "gradients");
    if (dtype !== own) {
      const cast = reserve(torch, "_to_copy", shardElements, own, "gradients");
      sum.release();
      sum = cast;
    }
    if (flat.savedGradient !== null || flat.accumulated !== null) sum.release();
    else flat.savedGradient = sum;
    padded?.release();
    sent.release();
    gradient.release();
  }

  /** Units that stay gathered after forward stay so between micro-batches, too (`_should_free_in_backward`). */
  private reshard(torch: Torch, state: State): void {
    if (this.reduces || this.spec.reshardAfterForward !== false) state.flat?.free(torch);
    else if (state.flat !== null) state.flat.isSeenWhole = false;
    state.prefetched = false;
  }

  /** `_post_backward_final_callback`. */
  private backwardIsOver(torch: Torch): void {
    for (const state of this.states) {
      this.reshard(torch, state);
      if (this.reduces) state.flat?.handOver(this.spec.flatOptimizer === true);
      state.ranPreBackward = false;
      state.needsUnshard = false;
      state.index = null;
      state.training = "idle";
    }
    this.order.length = 0;
    this.isQueued = false;
  }

  /** `_post_forward_reshard`: the model's own parameters stay, and all where units are not resharded. */
  keepGathered(torch: Torch): void {
    for (const { path, flat } of this.states)
      if (path === "" || this.spec.reshardAfterForward === false) flat?.receive(torch);
  }

  /**
   * The model itself is called without its wrapper, and finds its own parameters as they rest; layers are gathered by their hooks, beside
   * what is whole of them (torch/distributed/fsdp/_unshard_param_utils.py).
   */
  summon(torch: Torch, which: "all" | "outside"): Whole {
    const found: (Whole | null)[] = this.states.flatMap(({ path, flat }) => {
      if (flat === null) return [];
      if (path === "") return [flat.summonToRead(torch)];
      return [which === "all" ? flat.summonBeside(torch) : flat.leftGradient(torch)];
    });
    return {
      release: () => {
        for (const whole of found) whole?.release();
      },
    };
  }

  rest(torch: Torch): void {
    if (torch.gradEnabled && !this.reduces && this.spec.reshardAfterForward === false) return;
    for (const state of this.states) {
      state.flat?.rest(torch);
      state.training = "idle";
    }
    this.order.length = 0;
  }
}
