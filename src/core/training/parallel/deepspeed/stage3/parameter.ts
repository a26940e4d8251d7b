/**
 * A parameter that is spread over the ranks, and what gathers it. Source: deepspeed/runtime/zero/partition_parameters.py
 * (`_convert_to_deepspeed_param`, `_all_gather_sequential`, `_all_gather_dtype`, AllGatherCoalescedHandle, `_partition_param`).
 */
import type { DType } from "../../../../engine/dtype";
import { alias, type Tensor } from "../../../../engine/tensor";
import type { Torch } from "../../../../engine/torch";
import { reserve } from "../../strategy";
import { converted } from "../blocks";
import { dequantized, HALF, packed, quantized, type Stored, scalesOf, together } from "./quantized";

/** `ds_status`. */
type Status = "away" | "in-flight" | "here";

export class ZeroParameter {
  status: Status = "away";
  /** `ds_active_sub_modules`, by path. */
  readonly active = new Set<string>();
  /** What is there of it while it is gathered. */
  data: Tensor | null = null;
  /** `ds_secondary_tensor`. */
  secondary: Stored | null = null;

  /**
   * @param id `ds_id`: the order of `model.parameters()`
   * @param isPacked its parts are kept in 8 bits (`ds_quant_scale`)
   */
  constructor(
    readonly tensor: Tensor,
    readonly id: number,
    readonly persists: boolean,
    private readonly ranks: number,
    readonly isPacked = false,
  ) {}

  get elements(): number {
    return this.tensor.elements;
  }

  get dtype(): DType {
    return this.tensor.dtype;
  }

  get isTrained(): boolean {
    return this.tensor.requiresGradFlag;
  }

  /** `partition_numel`. */
  get share(): number {
    return Math.ceil(this.elements / this.ranks);
  }

  /** Its part where it is spread over a group of `ranks`: what fills up the last of all ranks' parts is in there. */
  partOver(ranks: number): number {
    return Math.floor((this.share * this.ranks) / ranks);
  }

  /** This rank's part of the copy that a group of `ranks` keeps (`_partition_param_sec`). */
  keepSecondary(torch: Torch, ranks: number): void {
    const count = this.partOver(ranks);
    this.secondary ??= this.isPacked
      ? packed(torch, count, "weights")
      : reserve(torch, "ds_secondary_tensor", count, this.dtype, "weights");
  }

  /** `invalidate_secondary_tensor`. */
  dropSecondary(): void {
    this.secondary?.release();
    this.secondary = null;
  }

  /** What views of it that backward needs lie in, the last one last. */
  private readonly viewed: (Tensor | null)[] = [];

  /** The name is given to other memory (`param.data = …`, `free_param`); a view that a node saved holds what it was made over. */
  view(saved: boolean): void {
    if (saved) this.viewed.push(this.data?.retain() ?? null);
    else this.viewed.pop()?.release();
  }

  /** Its place among the gathered ones goes. */
  drop(): void {
    this.data?.release();
    this.data = null;
    this.status = "away";
  }
}

/** A gather that runs (`AllGatherHandle`, `AllGatherCoalescedHandle`). */
export class Handle {
  private complete = false;
  private waiting: number;
  private readonly held: Stored[] = [];

  /**
   * @param of parameters that are there once it has ended
   * @param flat what they come in
   * @param land puts them into their places; what it returns stays as long as `flat`
   */
  constructor(
    readonly of: readonly ZeroParameter[],
    flat: Stored | null,
    private readonly land: (torch: Torch) => Stored | null = () => null,
  ) {
    this.waiting = of.length;
    if (flat !== null) this.held.push(flat);
  }

  /** One of its parameters is wanted: all are there then, and what they came in goes with the last that was asked for. */
  wait(torch: Torch): void {
    if (!this.complete) {
      const more = this.land(torch);
      if (more !== null) this.held.push(more);
      for (const parameter of this.of) parameter.status = "here";
    }
    this.complete = true;
    if (--this.waiting === 0) for (const block of this.held) block.release();
  }
}

/** What a gather goes over. */
export interface GatherOptions {
  readonly ranks: number;
  /** The ranks' parts wait in host memory. */
  readonly fromHost: boolean;
  /** ZeRO++: parts are sent in 8 bits. */
  readonly quantizes: boolean;
  /** One by one (`allgather_sequential`). */
  readonly apart: boolean;
  /** As a sum (`use_all_reduce_for_fetch_params`). */
  readonly bySum: boolean;
}

/** `all_gather_coalesced`: parameters of one dtype together, one alone straight into its place. */
export function gather(torch: Torch, parameters: readonly ZeroParameter[], options: GatherOptions): Handle[] {
  for (const parameter of parameters) parameter.status = "in-flight";
  const { ranks, fromHost, apart, bySum } = options;
  if (ranks === 1) {
    // `_no_gather_coalesced`: the part is the whole.
    if (fromHost || parameters.some(({ isPacked }) => isPacked))
      for (const parameter of parameters)
        parameter.data = reserve(torch, "_to_copy", parameter.elements, parameter.dtype, "communication");
    return [new Handle(parameters, null)];
  }
  const single = apart || parameters.length === 1;
  if (options.quantizes || parameters.every(({ isPacked }) => isPacked))
    return [single ? gatherPackedApart(torch, parameters, options) : gatherPacked(torch, parameters, options)];
  if (single) {
    for (const parameter of parameters) {
      const part = parameter.partOver(ranks);
      parameter.data = reserve(torch, "all_gather", part * ranks, parameter.dtype, "communication");
      if (fromHost) reserve(torch, "_to_copy", part, parameter.dtype, "communication").release();
    }
    return [new Handle(parameters, null)];
  }
  const dtypes = new Set(parameters.map(({ dtype }) => dtype));
  return [...dtypes].map((dtype) => {
    const own = parameters.filter((parameter) => parameter.dtype === dtype);
    const parts = own.map((parameter) => parameter.partOver(ranks));
    const total = parts.reduce((sum, part) => sum + part, 0) * ranks;
    const flat = reserve(torch, "all_gather", total, dtype, "communication");
    if (bySum && own.every(({ secondary }) => secondary === null)) {
      for (const parameter of own) parameter.data = alias(flat, [parameter.elements], null);
      flat.release();
      return new Handle(own, null);
    }
    if (fromHost) {
      const copies = parts.map((part) => reserve(torch, "_to_copy", part, dtype, "communication"));
      for (const copy of copies) copy.release();
    }
    return new Handle(own, flat, (torch) => {
      for (const parameter of own) parameter.data = reserve(torch, "cat", parameter.elements, dtype, "communication");
      return null;
    });
  });
}

/** `_all_gather_sequential` with `quantize`: each into a place of 8 bits, from which it is made on arrival. */
function gatherPackedApart(torch: Torch, parameters: readonly ZeroParameter[], options: GatherOptions): Handle {
  const { ranks, fromHost } = options;
  const arriving = parameters.map((parameter) => {
    const part = parameter.partOver(ranks);
    const place = reserve(torch, "empty", part * ranks, "int8", "communication");
    const sent = parameter.isPacked ? null : quantized(torch, part, parameter.dtype, fromHost);
    const scales = scalesOf(torch, part, ranks);
    sent?.release();
    return [place, scales];
  });
  return new Handle(parameters, together(arriving.flat()), (torch) => {
    for (const parameter of parameters) parameter.data = dequantized(torch, parameter.elements, parameter.dtype);
    return null;
  });
}

/** `_all_gather_coalesced` with `quantize`: put together, sent in 8 bits, made whole together and copied out one by one. */
function gatherPacked(torch: Torch, parameters: readonly ZeroParameter[], options: GatherOptions): Handle {
  const { ranks, fromHost } = options;
  const parts = parameters.map((parameter) => parameter.partOver(ranks));
  const total = parts.reduce((sum, part) => sum + part, 0);
  const flat = reserve(torch, "empty", total * ranks, "int8", "communication");
  const isPacked = parameters.every((parameter) => parameter.isPacked);
  const dtype = parameters[0]?.dtype ?? HALF;
  const sentFrom = isPacked ? "int8" : dtype;
  const copies = fromHost ? parts.map((part) => reserve(torch, "_to_copy", part, sentFrom, "communication")) : [];
  const joined = reserve(torch, "cat", total, sentFrom, "communication");
  for (const copy of copies) copy.release();
  const sent = isPacked ? joined : quantized(torch, total, dtype, false);
  if (!isPacked) joined.release();
  const scales = scalesOf(torch, total, ranks);
  sent.release();
  return new Handle(parameters, together([flat, scales]), (torch) => {
    const whole = reserve(torch, "dequantize", total * ranks, HALF, "communication");
    for (const parameter of parameters) {
      const place = reserve(torch, "cat", parameter.elements, HALF, "communication");
      parameter.data = converted(torch, place, parameter.dtype, "communication");
    }
    return whole;
  });
}
