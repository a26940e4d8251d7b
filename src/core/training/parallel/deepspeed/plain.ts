/** DeepSpeed's engine around float32 parameters without ZeRO: gradients are reduced, the run's own optimizer steps. */
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { allReduce } from "./all-reduce";

export class PlainEngine {
  private boundary = true;

  constructor(private readonly parameters: readonly Tensor[]) {}

  begin(_: Torch, last: boolean): void {
    this.boundary = last;
  }

  end(torch: Torch): void {
    if (!this.boundary) return;
    const gradients = this.parameters.flatMap(({ grad }) => grad ?? []);
    allReduce(torch, gradients, "float32");
  }
}
