/**
 * Which parameters are gathered when, and when they go: a trace of modules is recorded in the first forward and backward and
 * gathers ahead from the second on. Source: deepspeed/runtime/zero/partitioned_param_coordinator.py
 * (PartitionedParameterCoordinator), whose methods' names the comments give.
 */
import { SIDE_STREAMS } from "../../../../engine/labels";
import type { Torch } from "../../../../engine/torch";
import { onStream } from "../../strategy";
import { type GatherOptions, gather, type Handle, type ZeroParameter } from "./parameter";

/** A module, with the parameters that are its own. */
export interface ZeroModule {
  readonly path: string;
  /** In the order of their ids; those of other modules that its code reads come to them (`ds_external_parameters`). */
  readonly parameters: ZeroParameter[];
  /** `ds_recompute_parameters`. */
  readonly recomputed: Set<ZeroParameter>;
}

export interface CoordinatorOptions {
  readonly prefetchElements: number;
  readonly maxReuseDistance: number;
  /** Frozen parameters that a recomputation gathers stay for the module whose backward runs. */
  readonly keepsRecomputed: boolean;
  readonly maxLive: number;
  /** Gathers run on a stream of their own (`overlap_comm`; stage3.py, `__allgather_stream`). */
  readonly apartStream: boolean;
  /** Ranks of the group that keeps a second copy of its own; null: there is none. */
  readonly secondaryRanks: number | null;
}

const NEVER = -1e10;

export class Coordinator {
  private mode: "invalid" | "record" | "complete" = "invalid";
  private order: ZeroModule[] = [];
  private trace: { readonly parameter: ZeroParameter; readonly step: number }[] = [];
  /** The next of the trace to be gathered (`__param_queue`). */
  private next = 0;
  private fetchedFor = new Map<ZeroParameter, number>();
  private step = 0;
  private available = 0;
  private readonly inFlight = new Map<ZeroParameter, Handle>();
  private readonly inBackward = new Map<string, ZeroModule>();
  /** Steps of the trace that use each parameter, and the elements that are used before each step. */
  private uses = new Map<ZeroParameter, number[]>();
  private before: number[] = [];

  private readonly stream: typeof SIDE_STREAMS.gathering | null;
  /** Over the group that keeps a second copy. */
  private readonly within: GatherOptions;

  constructor(
    private readonly options: CoordinatorOptions,
    private readonly over: GatherOptions,
  ) {
    this.stream = options.apartStream ? SIDE_STREAMS.gathering : null;
    this.within = { ...over, ranks: options.secondaryRanks ?? over.ranks };
  }

  /** `reset_step`, as the model's forward begins. */
  reset(torch: Torch): void {
    this.landAll(torch);
    if (this.mode === "record") {
      this.trace = this.order.flatMap(({ parameters }, step) => parameters.map((parameter) => ({ parameter, step })));
      this.mode = "complete";
      this.measure();
    } else if (this.mode === "invalid") this.mode = "record";
    this.next = 0;
    this.fetchedFor = new Map();
    this.step = 0;
    this.available = 0;
  }

  /** Where the trace uses what. */
  private measure(): void {
    this.uses = new Map();
    this.before = [];
    let total = 0;
    this.order.forEach(({ parameters }, step) => {
      this.before.push(total);
      for (const parameter of parameters) {
        const steps = this.uses.get(parameter);
        if (steps === undefined) this.uses.set(parameter, [step]);
        else steps.push(step);
        total += parameter.elements;
      }
    });
  }

  /** `_clean_inflight_param_registry`. */
  private landAll(torch: Torch): void {
    for (const [parameter, handle] of this.inFlight) {
      handle.wait(torch);
      this.releaseOne(torch, parameter);
    }
    this.inFlight.clear();
  }

  /** `_invalidate_trace`. */
  private invalidate(torch: Torch): void {
    this.mode = "invalid";
    this.order = [];
    this.trace = [];
    this.next = 0;
    this.fetchedFor = new Map();
    this.landAll(torch);
  }

  /** Hooks are registered anew: what was recorded holds no longer. */
  forget(torch: Torch): void {
    if (this.mode !== "invalid") this.invalidate(torch);
  }

  /** `trace_prologue` and `record_module`. */
  private follow(torch: Torch, module: ZeroModule): void {
    if (this.mode === "complete" && this.order[this.step] !== module) this.invalidate(torch);
    if (this.mode === "record") this.order.push(module);
  }

  /**
   * What `reader`'s code reads of another module is gathered there, and is a parameter of the reader's from then on
   * (parameter_offload.py, `ZeROOrderedDict.__getitem__`).
   */
  read(torch: Torch, reader: ZeroModule, parameter: ZeroParameter): void {
    if (parameter.status !== "away") return;
    if (!reader.parameters.includes(parameter)) reader.parameters.push(parameter);
    for (const handle of gather(torch, [parameter], { ...this.over, quantizes: false })) handle.wait(torch);
    reader.parameters.sort((a, b) => a.id - b.id);
  }

  /** `fetch_sub_module`. */
  fetch(torch: Torch, module: ZeroModule, forward: boolean, recomputes: boolean): void {
    this.follow(torch, module);
    if (!forward) this.inBackward.set(module.path, module);
    const { parameters } = module;
    this.gatherAll(torch, parameters);
    const owner = recomputes && this.options.keepsRecomputed ? [...this.inBackward.values()].pop() : undefined;
    for (const parameter of parameters) {
      parameter.active.add(module.path);
      if (owner !== undefined && !parameter.isTrained) {
        // `update_recompute_parameters`: frozen ones stay for the module whose backward runs.
        owner.recomputed.add(parameter);
        parameter.active.add(owner.path);
      }
      const handle = this.inFlight.get(parameter);
      this.inFlight.delete(parameter);
      onStream(torch, this.stream, () => handle?.wait(torch));
    }
    if (this.mode === "complete") this.lookAhead(torch, parameters);
    this.step++;
  }

  /** `__all_gather_params`. */
  private gatherAll(torch: Torch, parameters: readonly ZeroParameter[]): void {
    const away = parameters.filter(({ status }) => status === "away");
    if (away.length === 0) return;
    for (const { elements } of away) this.available += elements;
    // Those in 8 bits by themselves, each kind within its group of ranks and over all.
    const kinds = [away.filter(({ isPacked }) => isPacked), away.filter(({ isPacked }) => !isPacked)];
    const groups = kinds.flatMap((kind) => [
      [kind.filter(({ secondary }) => secondary !== null), this.within] as const,
      [kind.filter(({ secondary }) => secondary === null), this.over] as const,
    ]);
    for (const [group, over] of groups) {
      if (group.length === 0) continue;
      const sorted = [...group].sort((a, b) => a.id - b.id);
      for (const handle of onStream(torch, this.stream, () => gather(torch, sorted, over)))
        for (const parameter of handle.of) this.inFlight.set(parameter, handle);
    }
  }

  /** What comes next in the trace is gathered while this module runs. */
  private lookAhead(torch: Torch, current: readonly ZeroParameter[]): void {
    const { trace, options } = this;
    const expected = current.filter((parameter) => (this.fetchedFor.get(parameter) ?? NEVER) < this.step).length;
    const discarded = new Set<ZeroParameter>();
    while (this.next < trace.length && discarded.size < expected) {
      const { parameter, step } = trace[this.next++]!;
      this.fetchedFor.set(parameter, step);
      discarded.add(parameter);
    }
    if (options.prefetchElements <= 0) return;
    const most = Math.min(options.maxLive - this.available, options.prefetchElements);
    const ahead = new Set<ZeroParameter>();
    let elements = 0;
    while (this.next < trace.length && elements < most) {
      const { parameter, step } = trace[this.next++]!;
      const isNew = parameter.status === "away" && !ahead.has(parameter);
      this.fetchedFor.set(parameter, Math.max(this.fetchedFor.get(parameter) ?? NEVER, step));
      if (!isNew) continue;
      ahead.add(parameter);
      elements += parameter.elements;
    }
    if (elements > 0) this.gatherAll(torch, [...ahead]);
  }

  /** `release_sub_module`. */
  release(torch: Torch, module: ZeroModule, forward: boolean): void {
    for (const parameter of module.parameters) {
      parameter.active.delete(module.path);
      if (this.isGoing(parameter)) this.releaseOne(torch, parameter);
    }
    if (forward) return;
    this.inBackward.delete(module.path);
    this.releaseRecomputed(torch, module);
  }

  private releaseRecomputed(torch: Torch, module: ZeroModule): void {
    for (const parameter of module.recomputed) {
      parameter.active.delete(module.path);
      if (!parameter.persists) this.releaseOne(torch, parameter);
    }
    module.recomputed.clear();
  }

  /**
   * `__params_to_release`: what is not always there, was not skipped ahead for a later use (it would not be gathered again), and
   * is not used again within so many elements of the trace.
   */
  private isGoing(parameter: ZeroParameter): boolean {
    if (this.mode !== "complete") return true;
    if (parameter.persists || (this.fetchedFor.get(parameter) ?? NEVER) > this.step) return false;
    const next = this.uses.get(parameter)?.find((step) => step >= this.step);
    return next === undefined || this.before[next]! - this.before[this.step]! >= this.options.maxReuseDistance;
  }

  /** `__release_param`. */
  private releaseOne(torch: Torch, parameter: ZeroParameter): void {
    if (parameter.status !== "here" || parameter.active.size > 0) return;
    this.partition(torch, parameter);
    this.available -= parameter.elements;
  }

  /** `partition`: with hpZ, the group's own copy is made the first time (`_partition_param_sec`). */
  private partition(torch: Torch, parameter: ZeroParameter): void {
    const { secondaryRanks } = this.options;
    if (secondaryRanks !== null) parameter.keepSecondary(torch, secondaryRanks);
    parameter.drop();
  }

  /** `release_backward_leftovers`: modules whose inputs required no gradient were never told that they are done. */
  releaseLeftovers(torch: Torch): void {
    for (const module of [...this.inBackward.values()].reverse()) {
      this.inBackward.delete(module.path);
      for (const parameter of module.parameters) {
        parameter.active.delete(module.path);
        if (!parameter.persists) this.releaseOne(torch, parameter);
      }
      this.releaseRecomputed(torch, module);
    }
  }

  /** `release_and_reset_all`. */
  releaseAll(torch: Torch, parameters: readonly ZeroParameter[]): void {
    for (const parameter of parameters) {
      this.inFlight.get(parameter)?.wait(torch);
      this.inFlight.delete(parameter);
      parameter.active.clear();
      this.releaseOne(torch, parameter);
    }
  }
}
