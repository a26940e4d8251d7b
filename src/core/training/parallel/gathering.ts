/**
 * Parameters that are sharded at rest and gathered while a layer uses them (ZeRO-3, FSDP). One unit is a layer's
 * parameters, or those outside the layers; the next unit is prefetched while one runs.
 */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { elements, type ForwardUsage, reserve } from "./strategy";

export interface GatheringOptions {
  /** Dtype of the gathered parameters. */
  readonly dtype: DType;
  /** Parameters up to this many elements are always there. */
  readonly keepBelow: number;
  /** Elements of the next unit that may be gathered ahead. */
  readonly prefetchElements: number;
  /** A unit used again within this many elements stays gathered. */
  readonly reuseDistance: number;
  /** Elements that may be gathered at once before prefetching stops. */
  readonly maxLive: number;
  /** The unit outside the layers stays gathered through forward and backward (FSDP's root). */
  readonly holdOutside: boolean;
}

export class Gathering {
  /** Elements per layer. */
  private readonly units = new Map<number, number>();
  private readonly order: readonly number[];
  private readonly held = new Map<number | string, Tensor>();
  private prefetched: Tensor | null = null;
  /** Whether a layer has run since the pass began: what is called before them is far from its backward. */
  private started = false;

  constructor(
    private readonly parameters: readonly Tensor[],
    private readonly options: GatheringOptions,
  ) {
    for (const parameter of parameters) {
      const { layer, elements: count } = parameter;
      if (layer === null || count <= options.keepBelow) continue;
      this.units.set(layer, (this.units.get(layer) ?? 0) + count);
    }
    this.order = [...this.units.keys()].sort((a, b) => a - b);
  }

  /** Elements used between a layer's forward and its backward. */
  private distance(layer: number): number {
    let later = 0;
    for (const unit of this.order) if (unit > layer) later += this.units.get(unit)!;
    return 2 * later;
  }

  private stays(layer: number): boolean {
    return this.distance(layer) <= this.options.reuseDistance;
  }

  /** Layers that stay gathered are unlike those that do not. */
  signature(layer: number): string {
    return `${this.units.get(layer) ?? 0}${this.stays(layer) ? "+" : ""}`;
  }

  private hold(torch: Torch, unit: number | string, count: number): void {
    if (count > 0 && !this.held.has(unit))
      this.held.set(unit, reserve(torch, "all_gather", count, this.options.dtype, "communication"));
  }

  /** Everything that is not always there. */
  gatherAll(torch: Torch): Tensor {
    const { dtype, keepBelow } = this.options;
    const gathered = this.parameters.filter(({ elements: count }) => count > keepBelow);
    return reserve(torch, "all_gather", elements(gathered), dtype, "communication");
  }

  private drop(unit: number | string): void {
    this.held.get(unit)?.release();
    this.held.delete(unit);
  }

  private dropPrefetched(): void {
    this.prefetched?.release();
    this.prefetched = null;
  }

  beginPass(torch: Torch): void {
    this.started = false;
    if (!this.options.holdOutside) return;
    const outside = this.parameters.filter(({ layer }) => layer === null);
    this.hold(torch, "outside", elements(outside));
  }

  endPass(): void {
    this.dropPrefetched();
    for (const unit of [...this.held.keys()]) this.drop(unit);
  }

  enter(torch: Torch, layer: number, backward: boolean): void {
    this.started = true;
    if (backward && !this.options.holdOutside)
      for (const unit of [...this.held.keys()]) if (typeof unit === "string") this.drop(unit);
    const size = this.units.get(layer) ?? 0;
    this.dropPrefetched();
    this.hold(torch, layer, size);
    const next = this.order[this.order.indexOf(layer) + (backward ? -1 : 1)];
    if (next === undefined || this.held.has(next)) return;
    const ahead = Math.min(
      this.units.get(next)!,
      this.options.prefetchElements,
      Math.max(0, this.options.maxLive - size),
    );
    if (ahead > 0) this.prefetched = reserve(torch, "prefetch", ahead, this.options.dtype, "communication");
  }

  leave(layer: number, backward: boolean): void {
    if (backward || !this.stays(layer)) this.drop(layer);
  }

  enterModule(torch: Torch, path: string, count: number): void {
    if (!this.options.holdOutside && count > this.options.keepBelow) this.hold(torch, path, count);
  }

  /** The head's weight is needed again at once, the embedding's only after every layer. */
  leaveModule(path: string, atOnce: boolean): void {
    if (this.options.holdOutside) return;
    if (atOnce || this.options.reuseDistance < 0) this.drop(path);
    const first = this.order[0];
    if (!this.started && first !== undefined && this.distance(first) > this.options.reuseDistance) this.drop(path);
  }
}

/** Gathers a model that only runs forward: nothing of it is used again before the next one. */
export class ForwardGathering implements ForwardUsage {
  private readonly gathering: Gathering;

  constructor(parameters: readonly Tensor[], options: Omit<GatheringOptions, "reuseDistance">) {
    this.gathering = new Gathering(parameters, { ...options, reuseDistance: -1 });
  }

  beginPass(torch: Torch): void {
    this.gathering.beginPass(torch);
  }

  endPass(): void {
    this.gathering.endPass();
  }

  enter(torch: Torch, layer: number, backward: boolean): void {
    this.gathering.enter(torch, layer, backward);
  }

  leave(_: Torch, layer: number, backward: boolean): void {
    this.gathering.leave(layer, backward);
  }

  enterModule(torch: Torch, path: string, count: number): void {
    this.gathering.enterModule(torch, path, count);
  }

  leaveModule(_: Torch, path: string): void {
    this.gathering.leaveModule(path, true);
  }
}
