/**
 * Weights on their way from the trained model to vLLM. Sources: trl/generation/vllm_generation.py (sync_weights, _iter_named_params),
 * vllm/distributed/weight_transfer/packed_tensor.py (packed_nccl_broadcast_producer), peft/tuners/lora/layer.py
 * (Linear.merge, unmerge, get_delta_weight).
 */
import { ELEMENT_BYTES } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { Strategy } from "../parallel";
import { type MergedParts, reserve, type WeightReceiver, WHOLE_PARTS } from "../parallel/strategy";
import type { WeightSyncSpec } from "../run";

/** Bytes of the tensors that are packed into one block (`DEFAULT_PACKED_BUFFER_SIZE_BYTES`), and blocks that are there at once. */
const PACKED_BYTES = 1024 ** 3;
const PACKED_BLOCKS = 2;

/** Batches are loaded whole, and nothing names them afterwards. */
const TOGETHER: WeightReceiver = { take() {}, end() {} };

/** The loop that loads them into an engine in the same process names the last. */
class Loading implements WeightReceiver {
  private last: Tensor | null = null;

  take(_: Torch, whole: Tensor): void {
    const before = this.last;
    this.last = whole.retain();
    before?.release();
  }

  end(): void {
    this.last?.release();
    this.last = null;
  }
}

/** They are packed for a server: what one block is made of is there until it is, and the block until its place is wanted again. */
class Packing implements WeightReceiver {
  private parts: Tensor[] = [];
  private bytes = 0;
  private readonly blocks: Tensor[] = [];

  take(torch: Torch, whole: Tensor): void {
    this.parts.push(whole.retain());
    this.bytes += whole.elements * ELEMENT_BYTES[whole.dtype];
    if (this.bytes > PACKED_BYTES) this.pack(torch);
  }

  end(torch: Torch): void {
    if (this.bytes > 0) this.pack(torch);
    for (const block of this.blocks.splice(0)) block.release();
  }

  private pack(torch: Torch): void {
    if (this.blocks.length === PACKED_BLOCKS) this.blocks.shift()!.release();
    this.blocks.push(reserve(torch, "cat", this.bytes, "uint8", "communication"));
    for (const part of this.parts.splice(0)) part.release();
    this.bytes = 0;
  }
}

const FACTOR = /\.lora_A$/;

/** Two factors of one layer. */
interface Pair {
  readonly a: Tensor;
  readonly b: Tensor;
}

function pairsOf(parameters: readonly Tensor[]): Pair[] {
  const byName = new Map(parameters.map((tensor) => [tensor.name, tensor]));
  return parameters.flatMap((a) => {
    const b = a.name !== null && FACTOR.test(a.name) ? byName.get(a.name.replace(FACTOR, ".lora_B")) : undefined;
    return b === undefined || a.rank !== 2 || b.rank !== 2 ? [] : [{ a, b }];
  });
}

/**
 * Each layer's product of factors, and its scaled copy, which is added to the weight in place. A part of the product's rows takes the whole
 * of the first factor (torch/distributed/tensor/_ops/_matrix_ops.py).
 */
function mergeParts(torch: Torch, pairs: readonly Pair[], { ranks, dtypeOf }: MergedParts): void {
  for (const { a, b } of pairs) {
    const dtype = dtypeOf(b);
    const count = Math.ceil(b.size(0) / ranks) * a.size(1);
    const padded = Math.ceil(a.size(0) / ranks) * ranks * a.size(1);
    const whole = ranks > 1 ? reserve(torch, "all_gather", padded, dtype, "communication") : null;
    const product = reserve(torch, "mm", count, dtype, "temporaries");
    whole?.release();
    const scaled = reserve(torch, "mul", count, dtype, "temporaries");
    product.release();
    scaled.release();
  }
}

/** Hands the trained weights over, adapters merged into them. */
export function syncWeights(
  torch: Torch,
  strategy: Strategy,
  parameters: readonly Tensor[],
  { batches, packs }: WeightSyncSpec,
): void {
  const receiver = packs === true ? new Packing() : batches === null ? new Loading() : TOGETHER;
  const pairs = pairsOf(parameters);
  const factors = new Set(pairs.flatMap(({ a, b }) => [a, b]));
  const sent = (tensor: Tensor): boolean => !factors.has(tensor);
  const merge = (torch: Torch, parts: MergedParts): void => mergeParts(torch, pairs, parts);
  if (strategy.handOver !== undefined)
    strategy.handOver(torch, { batches, adapted: pairs.length > 0, receiver, sent, merge });
  else {
    merge(torch, WHOLE_PARTS);
    for (const parameter of parameters) if (sent(parameter)) receiver.take(torch, parameter);
    merge(torch, WHOLE_PARTS);
  }
  receiver.end(torch);
}
