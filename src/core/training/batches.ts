/**
 * Micro-batches that the Trainer's loop keeps on the device. Since 4.46 it takes all of a step's from the loader before the first
 * forward (transformers/trainer.py, `get_batch_samples`): `batch_samples` names them until it names the next step's, and `inputs`
 * the last of them until its own loop goes on. Before, `inputs` alone named each until the next one was there.
 */

import { ELEMENT_BYTES } from "../engine/dtype";
import { BLOCK } from "../engine/ledger";
import type { Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import { allocateBatch, type BatchTensor } from "./forward";
import type { KeptBatches } from "./specs/step";

/** What labels of all micro-batches count together: one number, made once a step. */
const COUNT = "num_items_in_batch";

/**
 * Micro-batches of a step that have blocks of their own. They all are let go of at once, so of more the rest stands as one
 * block for each tensor of the batch: as many bytes, in segments that they would fill.
 */
const MOST_APART = 2048;

/** So many tensors of a batch as one of their blocks' bytes. */
function together(count: number, { name, sizes, dtype }: BatchTensor): BatchTensor {
  const bytes = sizes.reduce((product, size) => product * size, ELEMENT_BYTES[dtype]);
  return { name, sizes: [count, Math.ceil(bytes / BLOCK) * BLOCK], dtype: "uint8" };
}

export class HeldBatches {
  private samples: Tensor[][] = [];
  /** The batch that the loop's variable names still. */
  private last: Tensor[] = [];
  private readonly each: readonly BatchTensor[];
  private readonly once: readonly BatchTensor[];

  constructor(
    private readonly torch: Torch,
    batch: readonly BatchTensor[],
    private readonly kept: KeptBatches,
    private readonly accumulation: number,
  ) {
    this.each = batch.filter(({ name }) => name !== COUNT);
    this.once = batch.filter(({ name }) => name === COUNT);
  }

  /** What a step takes before its first micro-batch. */
  beginStep(step: number): void {
    if (this.kept !== "step") return;
    this.enter(step);
    const { accumulation, each } = this;
    const apart = Math.min(accumulation, MOST_APART);
    const rest = accumulation - apart;
    const samples = Array.from({ length: apart }, () => allocateBatch(this.torch, each));
    if (rest > 0)
      samples[0]?.push(
        ...allocateBatch(
          this.torch,
          each.map((tensor) => together(rest, tensor)),
        ),
      );
    samples.at(-1)?.push(...allocateBatch(this.torch, this.once));
    this.last = this.samples.pop() ?? [];
    this.letGo();
    this.samples = samples;
  }

  beginMicroBatch(step: number): void {
    if (this.kept === "micro-batch") {
      this.enter(step);
      const next = allocateBatch(this.torch, [...this.each, ...this.once]);
      this.letGo();
      this.samples = [next];
    }
    for (const tensor of this.last) tensor.release();
    this.last = [];
  }

  /** Lets go of all, when the loop is over. */
  release(): void {
    this.letGo();
    for (const tensor of this.last) tensor.release();
    this.last = [];
  }

  private enter(step: number): void {
    this.torch.ledger.enter("data", step);
    this.torch.kind = "inputs";
  }

  private letGo(): void {
    for (const tensor of this.samples.flat()) tensor.release();
    this.samples = [];
  }
}
