/**
 * Key-value caches of generation. Source: transformers/cache_utils.py (DynamicLayer, DynamicSlidingWindowLayer,
 * StaticLayer, QuantizedLayer); vllm/v1/core/kv_cache_utils.py for pages.
 */
import type { DType } from "../../engine/dtype";
import { ELEMENT_BYTES, promote } from "../../engine/dtype";
import type { AttentionCache, AttentionOperandPair } from "../../engine/interpreter";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";

/** What one decoder layer keeps of a token. */
export interface CacheShape {
  readonly heads: number;
  readonly keyWidth: number;
  readonly valueWidth: number;
  /** Tokens a sliding layer sees; null: all. */
  readonly window: number | null;
  readonly keyDtype: DType;
  readonly valueDtype: DType;
}

/** How a cache stores what it is given. */
export type CacheKind =
  /** Grows by concatenation, the old and the new tensor of a layer existing together. */
  | { readonly kind: "dynamic" }
  /** Made once for the longest sequence. */
  | { readonly kind: "static"; readonly tokens: number }
  /** Older tokens in `bits` with a scale and a shift per group, the newest `residual` tokens as they are. */
  | { readonly kind: "quantized"; readonly bits: number; readonly group: number; readonly residual: number }
  /** Pages of `page` tokens (vLLM). */
  | { readonly kind: "paged"; readonly page: number };

/** Tokens of a sequence that a layer keeps after `length` of them. */
export function keptTokens(shape: CacheShape, kind: CacheKind, length: number): number {
  const whole = kind.kind === "static" ? Math.max(kind.tokens, length) : length;
  const seen = shape.window === null ? whole : Math.min(whole, shape.window);
  return kind.kind === "paged" ? Math.ceil(seen / kind.page) * kind.page : seen;
}

/** Bytes per element of a quantized cache: the code, and two 16-bit numbers per group. */
function quantizedBytes(bits: number, group: number): number {
  return bits / 8 + 4 / group;
}

/**
 * Bytes of a whole cache: the estimate of its own for generation and evaluation.
 *
 * @param shapes one per decoder layer that keeps keys and values
 * @param sequences sequences that are generated together, beams counted
 * @param length tokens of each, prompt included
 */
export function cacheBytes(shapes: readonly CacheShape[], kind: CacheKind, sequences: number, length: number): number {
  let bytes = 0;
  for (const shape of shapes) {
    const tokens = keptTokens(shape, kind, length);
    const widths: readonly (readonly [number, DType])[] = [
      [shape.keyWidth, shape.keyDtype],
      [shape.valueWidth, shape.valueDtype],
    ];
    for (const [width, dtype] of widths) {
      const elements = sequences * shape.heads * width;
      if (kind.kind !== "quantized") bytes += elements * tokens * ELEMENT_BYTES[dtype];
      else {
        const recent = Math.min(tokens, kind.residual);
        bytes += elements * (recent * ELEMENT_BYTES[dtype] + (tokens - recent) * quantizedBytes(kind.bits, kind.group));
      }
    }
  }
  return Math.round(bytes);
}

/** Keys and values of one attention. */
interface Slot {
  key: Tensor;
  value: Tensor;
  readonly window: number | null;
  /** Tokens seen so far. */
  length: number;
  /** Attention to the encoder's output never gets longer. */
  readonly grows: boolean;
  /** The window's length as a tensor. */
  readonly marker: Tensor | null;
}

/** A cache that takes part in the simulation. Slots are the attentions of a forward in the order they run. */
export class SimulatedCache implements AttentionCache {
  private readonly slots: Slot[] = [];
  private next = 0;

  /**
   * @param windowOf window of the `k`th attention, or null
   * @param heads heads of keys and values before they are repeated
   * @param staticTokens tokens of a static cache; null: it grows
   */
  constructor(
    private readonly windowOf: (layer: number) => number | null,
    private readonly heads: number,
    private readonly staticTokens: number | null,
    /** Sequences per one that comes in: beams of an encoder-decoder are made after its first forward. */
    private readonly beams = 1,
  ) {}

  /** Bytes of every slot now. */
  get bytes(): number {
    return this.slots.reduce((sum, { key, value }) => sum + storedBytes(key) + storedBytes(value), 0);
  }

  /** A new forward starts. */
  begin(): void {
    this.next = 0;
  }

  /** Whether any attention has come by. */
  get used(): boolean {
    return this.slots.length > 0;
  }

  update(torch: Torch, queries: number, key: Tensor, value: Tensor, repeats: boolean): AttentionOperandPair {
    const index = this.next++;
    const heads = repeats ? this.heads : key.size(1);
    const slot = this.slots[index];
    const tokens = key.size(2);
    const stored = slot === undefined ? this.create(torch, queries, heads, key, value) : this.grow(torch, slot, tokens);
    const length = stored.key.size(2);
    if (!repeats) return { key: stored.key.retain(), value: stored.value.retain() };
    const wide = (tensor: Tensor): Tensor =>
      torch.empty("clone", [tensor.size(0), key.size(1), length, tensor.size(3)], tensor.dtype);
    return { key: wide(stored.key), value: wide(stored.value) };
  }

  private create(torch: Torch, queries: number, heads: number, key: Tensor, value: Tensor): Slot {
    const index = this.slots.length;
    const window = this.windowOf(index);
    const tokens = this.staticTokens === null ? key.size(2) : Math.min(this.staticTokens, window ?? Infinity);
    const marker = window === null || this.staticTokens !== null ? null : torch.empty("_to_copy", [], "int64");
    // Both start as empty tensors of the keys' dtype, so the values are promoted to it (lazy_initialization).
    const made = (like: Tensor, dtype: DType): Tensor =>
      cacheTensor(torch, [like.size(0) * this.beams, heads, tokens, like.size(3)], dtype);
    const slot: Slot = {
      key: made(key, key.dtype),
      value: made(value, promote(key.dtype, value.dtype)),
      window,
      length: key.size(2),
      grows: key.size(2) === queries,
      marker,
    };
    this.slots.push(slot);
    return slot;
  }

  /** Concatenates new tokens to one slot: keys first; a sliding layer makes both before it lets go of either. */
  private grow(torch: Torch, slot: Slot, tokens: number): Slot {
    slot.length += tokens;
    if (this.staticTokens !== null) return slot;
    const keeps = slot.window === null ? slot.length : Math.min(slot.length, slot.window - 1 + tokens);
    const longer = (tensor: Tensor): Tensor =>
      cacheTensor(torch, [tensor.size(0), tensor.size(1), keeps, tensor.size(3)], tensor.dtype);
    const { key, value } = slot;
    slot.key = longer(key);
    if (slot.window === null) key.release();
    slot.value = longer(value);
    if (slot.window !== null) key.release();
    value.release();
    return slot;
  }

  /** As if `tokens` more had been generated one by one. */
  skip(torch: Torch, tokens: number): void {
    if (tokens > 0) for (const slot of this.slots) if (slot.grows) this.grow(torch, slot, tokens);
  }

  /** `reorder_cache`: every tensor is gathered anew by the beams that go on. */
  reorder(torch: Torch): void {
    for (const slot of this.slots) {
      for (const name of ["key", "value"] as const) {
        const old = slot[name];
        slot[name] = cacheTensor(torch, old.sizes, old.dtype);
        old.release();
      }
    }
  }

  release(): void {
    for (const { key, value, marker } of this.slots) for (const tensor of [key, value, marker]) tensor?.release();
    this.slots.length = 0;
  }
}

function storedBytes({ elements, dtype }: Tensor): number {
  return elements * ELEMENT_BYTES[dtype];
}

function cacheTensor(torch: Torch, sizes: readonly number[], dtype: DType): Tensor {
  const { kind, logits } = torch;
  torch.kind = "activations";
  torch.logits = false;
  const tensor = torch.empty("cat", sizes, dtype);
  torch.kind = kind;
  torch.logits = logits;
  return tensor;
}
