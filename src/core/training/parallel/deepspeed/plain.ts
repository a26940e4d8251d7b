/** DeepSpeed's engine around float32 parameters without ZeRO: gradients are reduced, the run's own optimizer steps. */
import type { DType } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { allReduce } from "./all-reduce";

export class PlainEngine {
  private boundary = true;

  /** @param communicated what gradients are reduced in */
  constructor(
    private readonly parameters: readonly Tensor[],
    private readonly communicated: DType,
  ) {}

  begin(_: Torch, last: boolean): void {
    this.boundary = last;
  }

  end(torch: Torch): void {
    if (!this.boundary) return;
    const gradients = this.parameters.flatMap(({ grad }) => grad ?? []);
    allReduce(torch, gradients, this.communicated);
  }
}
