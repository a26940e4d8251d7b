/**
 * A model whose modules were given to `fully_shard`: the hooks around them. Source:
 * torch/distributed/fsdp/_fully_shard/_fsdp_state.py (FSDPState), whose names the methods have.
 */
import { isFloating } from "../../../engine/dtype";
import { type ModuleHooks, onGradient, passThrough } from "../../../engine/module-hooks";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { Communication, ParameterGroup, type TrainingState } from "./group";
import type { ShardedParameter } from "./parameter";
import type { ShardingPolicy } from "./policy";
import { type Ahead, isInsideLayer, type Unit } from "./units";

/** Modules that were sharded by one call. */
class State {
  training: TrainingState = "idle";
  /** Of several modules, those that have not run in this forward. */
  readonly waiting = new Set<string>();

  constructor(
    readonly modules: readonly string[],
    readonly group: ParameterGroup | null,
  ) {}
}

export class FullyShardedModel implements ModuleHooks {
  readonly communication = new Communication();
  /** In the order of `named_modules`. */
  private readonly states: readonly State[];
  private readonly byPath = new Map<string, State>();
  /** The state whose forward began first (`iter_forward_root`). */
  private forwardRoot: State | null = null;
  private isQueued = false;

  /**
   * @param shards of every parameter of the units
   * @param ahead what is gathered ahead of its turn; null: in backward what ran before
   */
  constructor(
    units: readonly Unit[],
    shards: ReadonlyMap<Tensor, ShardedParameter>,
    private readonly policy: ShardingPolicy,
    private readonly ahead: Ahead | null = null,
  ) {
    this.states = units.map(({ modules, parameters, resharded }) => {
      const own = parameters.map((parameter) => shards.get(parameter)!);
      const of = own[0]?.policy ?? policy;
      const group = own.length === 0 ? null : new ParameterGroup(own, this.communication, of, resharded);
      return new State(modules, group);
    });
    for (const state of this.states) for (const path of state.modules) this.byPath.set(path, state);
    this.insideLayers = units.some(({ modules, parameters }) => isInsideLayer(modules[0]!, parameters));
  }

  /** Some modules of layers are units, as experts that are spread are. */
  readonly insideLayers: boolean;

  has(path: string): boolean {
    return this.byPath.has(path);
  }

  /** Wrappers of checkpointed layers are sharded as well: nothing is left for them, and inputs are cast (fsdp2_prepare_auto_wrap_policy). */
  wrap(torch: Torch, inputs: readonly (Tensor | null)[]): (Tensor | null)[] {
    return inputs.map((input) => input && this.cast(torch, input, this.policy.parameterDtype));
  }

  /** `_register_group_forward_hooks`: of several modules, the first to run. */
  before(torch: Torch, path: string, inputs: readonly (Tensor | null)[]): (Tensor | null)[] {
    const state = this.byPath.get(path);
    if (state === undefined || torch.halted) return [...inputs];
    if (state.modules.length > 1) {
      if (state.waiting.size > 0) return [...inputs];
      for (const module of state.modules) state.waiting.add(module);
    }
    return this.preForward(torch, state, inputs);
  }

  /** … and the last. */
  after(torch: Torch, path: string, outputs: readonly Tensor[]): Tensor[] {
    const state = this.byPath.get(path);
    if (state === undefined || torch.halted) return [...outputs];
    if (state.modules.length > 1) {
      state.waiting.delete(path);
      if (state.waiting.size > 0) return [...outputs];
    }
    return this.postForward(torch, state, outputs);
  }

  private preForward(torch: Torch, state: State, inputs: readonly (Tensor | null)[]): (Tensor | null)[] {
    // What is recomputed for a backward was gathered before it.
    if (state.training === "pre-backward") {
      state.group?.unshard(torch);
      state.group?.waitForUnshard(torch);
      return [...inputs];
    }
    state.training = "forward";
    this.forwardRoot ??= state;
    const cast = inputs.map((input) => input && this.cast(torch, input, this.policy.parameterDtype));
    if (state.group === null) return cast;
    const { group } = state;
    group.preForward(torch);
    for (const next of this.ahead?.forward.get(state.modules[0]!) ?? []) this.byPath.get(next)?.group?.unshard(torch);
    return torch.gradEnabled ? passThrough(torch, cast, (inside) => group.postBackward(inside)) : cast;
  }

  private postForward(torch: Torch, state: State, outputs: readonly Tensor[]): Tensor[] {
    if (state.training === "pre-backward") return [...outputs];
    state.group?.postForward(torch, torch.finalCallbacks !== null);
    if (torch.gradEnabled)
      for (const output of outputs)
        if (output.requiresGrad) onGradient(torch, output, (inside) => this.preBackward(inside, state));
    state.training = "idle";
    if (this.forwardRoot === state) {
      this.communication.dropGathered();
      this.forwardRoot = null;
    }
    return outputs.map((output) => this.cast(torch, output, this.policy.outputDtype));
  }

  /** `_cast_fp_tensor`; the tensor is given up. */
  private cast(torch: Torch, tensor: Tensor, dtype: ShardingPolicy["outputDtype"]): Tensor {
    if (dtype === null || tensor.dtype === dtype || !isFloating(tensor.dtype)) return tensor;
    const cast = torch.toCopy(tensor, dtype);
    tensor.release();
    return cast;
  }

  private preBackward(torch: Torch, state: State): void {
    state.training = "pre-backward";
    if (!this.isQueued) {
      this.isQueued = true;
      torch.finalCallbacks?.push(() => this.backwardIsOver(torch));
    }
    const ahead = this.ahead?.backward.get(state.modules[0]!) ?? [];
    state.group?.preBackward(torch, ahead.length === 0);
    for (const next of ahead) this.byPath.get(next)?.group?.unshard(torch);
  }

  /** `_root_post_backward_final_callback`. */
  private backwardIsOver(torch: Torch): void {
    for (const state of this.states) {
      const { group } = state;
      if (group !== null && group.state !== "post-backward") group.postBackward(torch);
      state.training = "idle";
      state.waiting.clear();
      if (group !== null) group.state = "idle";
      group?.finalizeBackward();
    }
    this.communication.order.length = 0;
    this.communication.dropScattered();
    this.isQueued = false;
  }

  /** After a pipeline's last backward (torch/distributed/pipelining/stage.py, perform_reduce_grad). */
  reduceAll(torch: Torch): void {
    for (const { group } of this.states) group?.postBackward(torch);
    this.backwardIsOver(torch);
  }

  keepGathered(torch: Torch): void {
    for (const { group } of this.states) group?.keepGathered(torch);
  }

  /** Nothing is gathered: a forward without a backward leaves the last modules and the model's own parameters. */
  rest(torch: Torch): void {
    for (const state of this.states) {
      state.training = "idle";
      state.waiting.clear();
      state.group?.rest(torch);
    }
    this.forwardRoot = null;
    this.communication.order.length = 0;
    this.communication.dropGathered();
  }
}
