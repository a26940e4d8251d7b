/**
 * Sequences that several ranks share, as torch's `context_parallel` splits them: what the Trainer hands over is put in the order of
 * heads and tails, cut, and written back into the tensors it came in, whose blocks stay as large as they were until backward is
 * over. Sources: transformers/trainer.py (_prepare_context_parallel_inputs), torch/distributed/tensor/experimental/
 * _context_parallel/_attention.py (context_parallel, _context_parallel_buffers).
 */
import type { DType } from "../../engine/dtype";
import { alias, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { Strategy } from "./strategy";

/** What a batch of text has to be split. */
const SPLIT: ReadonlySet<string> = new Set(["input_ids", "labels", "position_ids"]);

/** A strategy whose micro-batches are split over `degree` ranks. */
export function splittingSequences(strategy: Strategy, degree: number): Strategy {
  const parts = new SequenceParts(degree);
  return Object.create(strategy, {
    split: {
      value: (torch: Torch, names: readonly string[], batch: readonly Tensor[]) => parts.of(torch, names, batch),
    },
    endPass: {
      value(torch: Torch): void {
        strategy.endPass?.(torch);
        parts.end();
      },
    },
  });
}

class SequenceParts {
  private held: Tensor[] = [];

  constructor(private readonly degree: number) {}

  /** This rank's part of what is split, owned here until the pass ends; the rest as it is. */
  of(torch: Torch, names: readonly string[], batch: readonly Tensor[]): Tensor[] {
    const whole = batch.filter((_, k) => SPLIT.has(names[k]!));
    const [first] = whole;
    if (first === undefined) return [...batch];
    const [rows, tokens] = first.sizes as [number, number];
    const own = tokens / this.degree;
    const integers = (operator: string, sizes: readonly number[], dtype: DType = "int64"): Tensor =>
      torch.empty(operator, sizes, dtype);
    // Labels are shifted while the sequence is whole; with one row the shifted ones look at the padded ones.
    const mask = integers("ones", [rows, tokens]);
    let shifted = integers("constant_pad_nd", [rows, tokens + 1]);
    if (rows > 1) {
      const padded = shifted;
      shifted = integers("clone", [rows, tokens]);
      padded.release();
    }
    const order = integers("_to_copy", [tokens], "int32");
    const shards = [...whole, mask, shifted].map(() => {
      const turned = integers("gather", [rows, tokens]);
      const shard = integers("clone", [rows, own]);
      turned.release();
      return shard;
    });
    order.release();
    for (const _ of shards.slice(1)) integers("clone", [rows, own]).release();
    const last = integers("clone", [rows, own]);
    const parts = batch.map((tensor, k) => (SPLIT.has(names[k]!) ? alias(tensor, [rows, own], null) : tensor));
    this.held = [...parts.filter((_, k) => SPLIT.has(names[k]!)), mask, shifted, ...shards, last];
    return parts;
  }

  end(): void {
    for (const tensor of this.held) tensor.release();
    this.held = [];
  }
}
