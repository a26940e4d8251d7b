/**
 * A parameter that is spread over the ranks, and what gathers it. Source: deepspeed/runtime/zero/partition_parameters.py
 * (`_convert_to_deepspeed_param`, `_all_gather_sequential`, `_all_gather_dtype`, AllGatherCoalescedHandle, `_partition_param`).
 */
import type { DType } from "../../../../engine/dtype";
import type { Tensor } from "../../../../engine/tensor";
import type { Torch } from "../../../../engine/torch";
import { reserve } from "../../strategy";

/** `ds_status`. */
type Status = "away" | "in-flight" | "here";

export class ZeroParameter {
  status: Status = "away";
  /** `ds_active_sub_modules`, by path. */
  readonly active = new Set<string>();
  /** What is there of it while it is gathered. */
  data: Tensor | null = null;
  /** `ds_secondary_tensor`. */
  secondary: Tensor | null = null;

  /** @param id `ds_id`: the order of `model.parameters()` */
  constructor(
    readonly tensor: Tensor,
    readonly id: number,
    readonly persists: boolean,
    private readonly ranks: number,
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

  /** This rank's part of the copy that a group of `ranks` keeps (`_partition_param_sec`). */
  keepSecondary(torch: Torch, ranks: number): void {
    this.secondary ??= reserve(
      torch,
      "ds_secondary_tensor",
      Math.floor((this.share * this.ranks) / ranks),
      this.dtype,
      "weights",
    );
  }

  /** `invalidate_secondary_tensor`. */
  dropSecondary(): void {
    this.secondary?.release();
    this.secondary = null;
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

  /** @param flat what several are gathered into together; each is copied out of it */
  constructor(
    readonly of: readonly ZeroParameter[],
    private readonly flat: Tensor | null,
  ) {
    this.waiting = of.length;
  }

  /** One of its parameters is wanted: all are there then, and what they came in goes with the last that was asked for. */
  wait(torch: Torch): void {
    if (!this.complete)
      for (const parameter of this.of) {
        if (this.flat !== null)
          parameter.data = reserve(torch, "cat", parameter.elements, parameter.dtype, "communication");
        parameter.status = "here";
      }
    this.complete = true;
    if (--this.waiting === 0) this.flat?.release();
  }
}

/** What a gather goes over. */
export interface GatherOptions {
  readonly ranks: number;
  /** The ranks' parts wait in host memory. */
  readonly fromHost: boolean;
}

/** `all_gather_coalesced`: parameters of one dtype together, one alone straight into its place. */
export function gather(torch: Torch, parameters: readonly ZeroParameter[], options: GatherOptions): Handle[] {
  for (const parameter of parameters) parameter.status = "in-flight";
  const { ranks, fromHost } = options;
  const [only] = parameters;
  if (ranks === 1) {
    // `_no_gather_coalesced`: the part is the whole.
    if (fromHost)
      for (const parameter of parameters)
        parameter.data = reserve(torch, "_to_copy", parameter.elements, parameter.dtype, "communication");
    return [new Handle(parameters, null)];
  }
  if (parameters.length === 1 && only !== undefined) {
    const whole = Math.ceil(only.elements / ranks) * ranks;
    only.data = reserve(torch, "all_gather", whole, only.dtype, "communication");
    if (fromHost) reserve(torch, "_to_copy", only.share, only.dtype, "communication").release();
    return [new Handle(parameters, null)];
  }
  const dtypes = new Set(parameters.map(({ dtype }) => dtype));
  return [...dtypes].map((dtype) => {
    const own = parameters.filter((parameter) => parameter.dtype === dtype);
    const parts = own.reduce((sum, { elements }) => sum + Math.ceil(elements / ranks), 0);
    const flat = reserve(torch, "all_gather", parts * ranks, dtype, "communication");
    if (fromHost) {
      const copies = own.map(({ share }) => reserve(torch, "_to_copy", share, dtype, "communication"));
      for (const copy of copies) copy.release();
    }
    return new Handle(own, flat);
  });
}
