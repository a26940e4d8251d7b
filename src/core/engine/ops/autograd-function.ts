/** What the code of an autograd function written in Python holds and gives (torch/autograd/function.py). */
import type { DType } from "../dtype";
import type { Sizes } from "../shape";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";

/** Blocks of one call, which go together when it returns. */
export class Locals {
  private readonly held: Tensor[] = [];

  constructor(private readonly torch: Torch) {}

  make(operator: string, sizes: Sizes, dtype: DType): Tensor {
    const tensor = this.torch.empty(operator, sizes, dtype);
    this.held.push(tensor);
    return tensor;
  }

  /** A name that is bound anew. */
  drop(...tensors: readonly Tensor[]): void {
    for (const tensor of tensors) {
      this.held.splice(this.held.indexOf(tensor), 1);
      tensor.release();
    }
  }

  return(): void {
    this.drop(...this.held);
  }
}

/** Gradient of a parameter, in its dtype. */
export const gradientOf = (torch: Torch, parameter: Tensor | null): Tensor | null =>
  parameter && torch.empty("to", parameter.sizes, parameter.dtype);

/** A product with the last weight: forward, or of the gradient. */
export function multiply(torch: Torch, sizes: Sizes, inner: number, dtype: DType): void {
  const columns = sizes.at(-1) ?? 1;
  torch.multiply(sizes, { count: 1, rows: sizes.slice(0, -1).reduce((a, b) => a * b, 1), columns, inner, dtype });
}
