/**
 * Buffers that the first forward converts for good to the dtype of the states it meets: a conformer's positions stand in the
 * dtype of the weights until then (`extend_pe` of transformers/models/wav2vec2_conformer/modeling_wav2vec2_conformer.py).
 */
import type { DType } from "./dtype";
import type { Tensor } from "./tensor";
import type { Torch } from "./torch";

export class Settling {
  /**
   * @param buffers by name; converted ones take their place here
   * @param pending dtypes of those that wait, by name
   */
  constructor(
    private readonly buffers: Map<string, Tensor>,
    private readonly pending: Map<string, DType>,
  ) {}

  /** Whether any buffer was not used yet. */
  get isPending(): boolean {
    return this.pending.size > 0;
  }

  /** Converts the buffer of this name where it waits: the old one goes when its name is bound anew. */
  use(torch: Torch, name: string): void {
    const dtype = this.pending.get(name);
    const old = this.buffers.get(name);
    if (dtype === undefined || old === undefined) return;
    this.pending.delete(name);
    const converted = torch.empty("_to_copy", old.sizes, dtype);
    torch.ledger.relabel(converted.storage.id, "buffers");
    this.buffers.set(name, converted);
    old.release();
  }
}
