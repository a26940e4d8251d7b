import type { Tensor } from "../../engine/tensor";

/** Python's names in a function: rebinding one lets the old tensor go once the new one is there. */
export class Locals {
  private readonly names = new Map<string, Tensor>();

  /** Binds `name` to a tensor it takes over. */
  bind(name: string, tensor: Tensor): Tensor {
    const old = this.names.get(name);
    this.names.set(name, tensor);
    old?.release();
    return tensor;
  }

  /** The function returns. */
  release(): void {
    for (const tensor of this.names.values()) tensor.release();
    this.names.clear();
  }
}
