import type { Tensor } from "../../engine/tensor";

/** Python's names in a function: rebinding one lets the old tensors go once the new ones are there. */
export class Locals {
  private readonly names = new Map<string, readonly Tensor[]>();

  /** Binds `name` to a tensor it takes over. */
  bind(name: string, tensor: Tensor): Tensor {
    this.bindAll(name, [tensor]);
    return tensor;
  }

  /** Binds `name` to a list of tensors it takes over. */
  bindAll(name: string, tensors: readonly Tensor[]): void {
    const old = this.names.get(name);
    this.names.set(name, tensors);
    for (const tensor of old ?? []) tensor.release();
  }

  /** `del name`. */
  drop(name: string): void {
    this.bindAll(name, []);
  }

  /** The function returns. */
  release(): void {
    for (const tensors of this.names.values()) for (const tensor of tensors) tensor.release();
    this.names.clear();
  }
}
