/**
 * What modules keep to their next forward (`self.recurrent_states = recurrent_states` in
 * transformers/models/recurrent_gemma/modeling_recurrent_gemma.py): a tensor with the graph behind it, which under
 * checkpointing is that of the recomputation and holds what that saved. It goes when the module runs again.
 */
import type { GraphFunction } from "../graph/types";
import type { Tensor } from "./tensor";

export class Kept {
  private readonly values = new Map<string, Tensor>();

  /** Puts a tensor in the place of what stood there. */
  keep(name: string, tensor: Tensor): void {
    const before = this.values.get(name);
    this.values.set(name, tensor.retain());
    before?.release();
  }

  forget(name: string): void {
    this.values.get(name)?.release();
    this.values.delete(name);
  }
}

/** Whether modules keep something: then no step does what the one before did, and no layer stands for another. */
export function keeps(graph: { readonly blocks: readonly GraphFunction[] }): boolean {
  return graph.blocks.some(({ body }) => body.some((one) => "op" in one && one.op === "keep"));
}
