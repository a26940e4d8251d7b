/**
 * A dictionary that a model hands to all its layers and that some of them write into (`shared_kv_states` in
 * transformers/models/gemma4/modeling_gemma4.py). Checkpointed layers are given it in the closure they are recomputed from
 * (`partial(super().__call__, **kwargs)` in transformers/modeling_layers.py), so it lives until the last of them has been:
 * and so does what a recomputation put into it, with the graph behind that.
 */
import { type CheckpointOptions, checkpoint, type Segment } from "./checkpoint";
import type { Ledger } from "./ledger";
import { hostTensor, type Tensor } from "./tensor";
import type { Torch } from "./torch";

export class Shelf {
  private references = 1;
  private readonly values = new Map<string, Tensor>();

  /** What stands under a name, borrowed. */
  get(name: string): Tensor | null {
    return this.values.get(name) ?? null;
  }

  /** Puts tensors, owned from now on, in the place of what stood there: a tuple's items go last first. */
  put(entries: readonly (readonly [name: string, tensor: Tensor])[]): void {
    const before = entries.map(([name]) => this.values.get(name));
    for (const [name, tensor] of entries) this.values.set(name, tensor);
    for (const tensor of before.reverse()) tensor?.release();
  }

  /** An argument without bytes for a closure: it holds the dictionary as long as it lives. */
  ticket(ledger: Ledger): Tensor {
    const ticket = hostTensor(ledger, [], "uint8");
    this.references++;
    ticket.along = this;
    return ticket;
  }

  release(): void {
    if (--this.references > 0) return;
    const values = [...this.values.values()];
    this.values.clear();
    for (const tensor of values) tensor.release();
  }
}

/** The dictionary with, per input and per output of a segment, the name in it; null where it is not of it. */
interface Shelved {
  readonly shelf: Shelf;
  readonly reads: readonly (string | null)[];
  readonly stores: readonly (string | null)[];
}

/**
 * As `checkpoint`, of a layer that is given the dictionary: what it reads there is no argument of its own, and what it
 * stores it does not return.
 */
export function checkpointWith(
  { shelf, reads, stores }: Shelved,
  torch: Torch,
  segment: Segment,
  inputs: readonly (Tensor | null)[],
  positional: readonly number[],
  options: CheckpointOptions,
): Tensor[] {
  const own = inputs.map((input, k) => (reads[k] === null ? input : null));
  const ticket = shelf.ticket(torch.ledger);
  const returned = checkpoint(
    torch,
    (given) => {
      const found = reads.map((name, k) => (name === null ? (given[k] ?? null) : shelf.get(name)));
      return segment(found).filter((output, k) => {
        if (stores[k] === null) return true;
        output.release();
        return false;
      });
    },
    [...own, ticket],
    positional,
    options,
  );
  ticket.release();
  return stores.flatMap((name) => (name === null ? returned.splice(0, 1) : [shelf.get(name)!.retain()]));
}
