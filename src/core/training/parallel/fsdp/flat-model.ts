/** A model wrapped by FSDP1: the hooks around its units. Source: torch/distributed/fsdp/_runtime_utils.py, whose names the methods have. */
import type { DType } from "../../../engine/dtype";
import { isFloating } from "../../../engine/dtype";
import { type ModuleHooks, onGradient, passThrough } from "../../../engine/module-hooks";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import type { FsdpSpec } from "../../run";
import { reserve } from "../strategy";
import type { FlatParameter } from "./flat-parameter";

/** A wrapped module; the model itself is the empty path. */
interface FlatUnit {
  readonly path: string;
  /** Its parameters as one, or several where some of its modules are wrapped by themselves. */
  readonly flats: readonly FlatParameter[];
}

class State {
  ranPreBackward = false;
  needsUnshard = false;
  prefetched = false;
  training: "idle" | "forward" | "pre-backward" | "post-backward" = "idle";
  /** Place among the units in the order their forwards ended. */
  index: number | null = null;

  constructor(readonly unit: FlatUnit) {}
}

export class FlatModel implements ModuleHooks {
  /** Segments that are recomputed lie inside the hooks (FSDP around a checkpointed layer). */
  readonly aroundCheckpoints = true;
  /** Outside of `no_sync`. */
  reduces = true;
  private readonly states: readonly State[];
  private readonly byPath: ReadonlyMap<string, State>;
  private readonly order: State[] = [];
  private isQueued = false;

  constructor(
    units: readonly FlatUnit[],
    private readonly spec: FsdpSpec,
    private readonly options: { readonly ranks: number; readonly compute: DType | null },
  ) {
    this.states = units.map((unit) => new State(unit));
    this.byPath = new Map(this.states.map((state) => [state.unit.path, state]));
  }

  has(path: string): boolean {
    return this.byPath.has(path);
  }

  before(torch: Torch, path: string, inputs: readonly (Tensor | null)[]): (Tensor | null)[] {
    const state = this.byPath.get(path)!;
    const isRoot = path === "";
    const given = isRoot ? inputs.map((input) => input && this.cast(torch, input)) : [...inputs];
    state.training = "forward";
    const frozen: FlatParameter[] = [];
    for (const flat of state.unit.flats) {
      flat.unshard(torch);
      flat.useViews(torch, (inside) => this.postBackward(inside, state, flat));
      if (!flat.trained) frozen.push(flat);
    }
    if (frozen.length === 0 || !torch.gradEnabled) return given;
    // `_register_post_backward_reshard_only_hook`.
    return passThrough(torch, given, (inside) => {
      for (const flat of frozen) this.reshard(inside, flat);
      if (this.spec.backwardPrefetch === "after") this.prefetch(inside, state);
    });
  }

  after(torch: Torch, path: string, outputs: readonly Tensor[]): Tensor[] {
    const state = this.byPath.get(path)!;
    state.index = this.order.push(state) - 1;
    if (path !== "" && this.spec.reshardAfterForward !== false) for (const flat of state.unit.flats) flat.free(torch);
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

  /** `_root_cast_forward_input`; the tensor is given up. */
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
    if (state.needsUnshard && !state.prefetched) for (const flat of state.unit.flats) flat.unshard(torch);
    state.needsUnshard = false;
    if (this.spec.backwardPrefetch === "before") this.prefetch(torch, state);
    state.ranPreBackward = true;
  }

  /** The unit whose forward ended before this one's (`get_handle_to_backward_prefetch`). */
  private prefetch(torch: Torch, { index }: State): void {
    const target = index === null || index < 1 ? undefined : this.order[index - 1];
    if (target === undefined || !target.needsUnshard || target.prefetched) return;
    for (const flat of target.unit.flats) flat.unshard(torch);
    target.prefetched = true;
  }

  private postBackward(torch: Torch, state: State, flat: FlatParameter): void {
    state.training = "post-backward";
    const { whole } = flat;
    if (whole.grad === null) return;
    this.reshard(torch, flat);
    state.prefetched = false;
    if (this.spec.backwardPrefetch === "after") this.prefetch(torch, state);
    if (!this.reduces) {
      if (this.spec.flatOptimizer !== true) flat.useGradientViews(torch);
      return;
    }
    const gradient = whole.grad;
    whole.grad = null;
    this.reduce(torch, flat, gradient);
  }

  /** `_reduce_grad`: what is reduced, the sum that stays here, and that in the shard's dtype. */
  private reduce(torch: Torch, flat: FlatParameter, gradient: Tensor): void {
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
    if (this.spec.cpuOffload || flat.accumulated !== null) sum.release();
    else flat.savedGradient = sum;
    padded?.release();
    sent.release();
    gradient.release();
  }

  /** Units that stay gathered after forward stay so between micro-batches, too (`_should_free_in_backward`). */
  private reshard(torch: Torch, flat: FlatParameter): void {
    if (this.reduces || this.spec.reshardAfterForward !== false) flat.free(torch);
  }

  /** `_post_backward_final_callback`. */
  private backwardIsOver(torch: Torch): void {
    for (const state of this.states) {
      for (const flat of state.unit.flats) {
        this.reshard(torch, flat);
        if (this.reduces) flat.handOver(this.spec.flatOptimizer === true);
      }
      state.ranPreBackward = false;
      state.needsUnshard = false;
      state.prefetched = false;
      state.index = null;
      state.training = "idle";
    }
    this.order.length = 0;
    this.isQueued = false;
  }

  rest(torch: Torch): void {
    if (torch.gradEnabled && !this.reduces && this.spec.reshardAfterForward === false) return;
    for (const state of this.states) {
      for (const flat of state.unit.flats) flat.rest(torch);
      state.training = "idle";
    }
    this.order.length = 0;
  }
}
