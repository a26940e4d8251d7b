/**
 * The first GPU of torch's DataParallel: one process copies the model to every GPU it sees for each forward, gathers what all copies
 * return on the first one, and sums their gradients there when backward ends. Sources: torch/nn/parallel/data_parallel.py,
 * _functions.py (Broadcast, Gather, ReduceAddCoalesced), comm.py, torch/csrc/cuda/comm.cpp.
 */
import { type DType, ELEMENT_BYTES } from "../../engine/dtype";
import type { Watcher } from "../../engine/notes";
import { alias, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { bucketed } from "./ddp";
import { flatten } from "./deepspeed/blocks";
import { elements, NO_HOST, reserve, type Strategy } from "./strategy";

/** `buffer_size` of the functions that put tensors together, in bytes. */
const BUFFER = 10 * 1024 ** 2;

export class Replicas implements Strategy, Watcher {
  readonly parameterDtype = null;
  readonly shardsParameters = false;
  readonly host = NO_HOST;
  private parameters: readonly Tensor[] = [];
  /** Sums of the step's earlier micro-batches, owned. */
  private readonly sums = new Map<Tensor, Tensor>();
  private parts: readonly Tensor[] = [];

  constructor(
    private readonly devices: number,
    readonly keepsAutocast: boolean,
  ) {}

  /** Gradients are not summed up before a micro-batch ends: each finds none. */
  get watcher(): Watcher {
    return this;
  }

  gradient(): void {}

  prepare(_: Torch, parameters: readonly Tensor[]): void {
    this.parameters = parameters;
  }

  optimizerGroups(_: Torch, groups: readonly (readonly Tensor[])[]): readonly (readonly Tensor[])[] {
    return groups;
  }

  /** `scatter` gives this GPU a view of its samples; `broadcast_coalesced` puts parameters together, one chunk after the other. */
  split(torch: Torch, _: readonly string[], batch: readonly Tensor[]): Tensor[] {
    for (const chunk of bucketed(this.parameters, [BUFFER])) flatten(torch, chunk, "communication").release();
    const parts = batch.map((tensor) => {
      const [rows = 1, ...rest] = tensor.sizes;
      return rows % this.devices === 0 ? alias(tensor, [rows / this.devices, ...rest], null) : tensor.retain();
    });
    this.parts = parts;
    return parts;
  }

  endPass(): void {
    for (const part of this.parts) part.release();
    this.parts = [];
  }

  /** `gather`: all that the model returns, of all copies; the losses become a vector. */
  returned(torch: Torch, outputs: readonly Tensor[]): Tensor[] {
    const [loss, ...others] = outputs as readonly [Tensor, ...Tensor[]];
    const gathered = others.map(({ sizes: [rows = 1, ...rest], dtype }) =>
      torch.empty("gather", [rows * this.devices, ...rest], dtype),
    );
    for (const output of others) output.release();
    return [loss, ...gathered];
  }

  /** `Broadcast.backward`: what has no gradient is given zeros; `reduce_add_coalesced` sums chunk by chunk, beside the gradients. */
  endMicroBatch(torch: Torch, last: boolean): void {
    const gradients = this.parameters.map(
      (parameter) => parameter.grad ?? reserve(torch, "zeros", parameter.elements, parameter.dtype, "communication"),
    );
    const leafOf = new Map(gradients.map((gradient, k) => [gradient, this.parameters[k]!]));
    let sent: Tensor | null = null;
    const summed = taken(gradients).map((chunk) => {
      const flat = flatten(torch, chunk, "communication");
      sent?.release();
      sent = flat;
      const sum = reserve(torch, "reduce_add", elements(chunk), flat.dtype, "gradients");
      return { sum, chunk };
    });
    (sent as Tensor | null)?.release();
    for (const gradient of gradients) gradient.release();
    for (const { sum, chunk } of summed) {
      for (const gradient of chunk) this.accumulate(leafOf.get(gradient)!, sum);
      sum.release();
    }
    if (last) this.handBack();
  }

  /** AccumulateGrad takes a part of the sum as it is, or adds it to what is there. */
  private accumulate(leaf: Tensor, sum: Tensor): void {
    leaf.grad = null;
    if (!leaf.requiresGradFlag || this.sums.has(leaf)) return;
    this.sums.set(leaf, alias(sum, leaf.sizes, null, leaf.dtype));
  }

  private handBack(): void {
    for (const [leaf, sum] of this.sums) leaf.grad = sum;
    this.sums.clear();
  }
}

/** `_take_tensors` (torch/_utils.py): a chunk of a dtype ends before it would have more than the buffer. */
function taken(tensors: readonly Tensor[]): readonly (readonly Tensor[])[] {
  const ended: Tensor[][] = [];
  const open = new Map<DType, { readonly own: Tensor[]; bytes: number }>();
  for (const tensor of tensors) {
    const bytes = tensor.elements * ELEMENT_BYTES[tensor.dtype];
    const before = open.get(tensor.dtype);
    const isFull = before !== undefined && before.bytes + bytes > BUFFER;
    if (isFull) ended.push(before.own);
    const chunk = before === undefined || isFull ? { own: [], bytes: 0 } : before;
    open.set(tensor.dtype, chunk);
    chunk.own.push(tensor);
    chunk.bytes += bytes;
  }
  return [...ended, ...[...open.values()].map(({ own }) => own)];
}
