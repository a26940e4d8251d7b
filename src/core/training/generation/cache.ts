/**
 * Key-value caches of generation. Source: transformers/cache_utils.py (DynamicLayer, DynamicSlidingWindowLayer,
 * StaticLayer, QuantizedLayer).
 */
import type { DType } from "../../engine/dtype";
import { ELEMENT_BYTES, promote } from "../../engine/dtype";
import { layerLabel, NO_LAYER, ordinalOf, REPEATS_EACH, repeatOf } from "../../engine/folding/label";
import type { AttentionCache, AttentionOperandPair } from "../../engine/interpreter/options";
import { hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";

/** How a growing cache stores what it is given (`cache_implementation`). */
export type CacheStyle =
  /** By concatenation, the old and the new tensor of a layer existing together. */
  | "dynamic"
  /** So, with the layers that are not in use on the host: the running one and the next are there. */
  | "offloaded"
  /** Older tokens in 4 bits, the newest as they are; each update gives the whole in full precision. */
  | "quantized";

/** QuantizedCache's own: bits, group that shares two numbers, tokens that stay as they are. */
const BITS = 4;
const GROUP = 64;
const RESIDUAL = 128;

/** What a quantized layer holds of its keys, or of its values. */
interface Packed {
  codes: Tensor;
  /** A scale and a shift per group. */
  constants: Tensor;
  /** The newest tokens; null: none. */
  recent: Tensor | null;
  tokens: number;
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
  /** What a quantized layer holds in place of keys and values. */
  packed?: readonly [Packed, Packed];
  /** The layer it is of, as the first forward numbers them. */
  readonly layer: number;
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
    private readonly style: CacheStyle = "dynamic",
    /** Whether the `k`th attention is that of the model's layer `k`, of which not every one is run. */
    private readonly byLayer = false,
  ) {}

  /**
   * Bytes of every slot now.
   *
   * @param times layers of the model that a layer which is run stands for
   */
  bytes(times: (layer: number) => number): number {
    return this.slots.reduce((sum, { key, value, packed, layer }) => {
      const held = packed?.flatMap(({ codes, constants, recent }) => [codes, constants, recent]) ?? [key, value];
      return (
        sum + times(layer) * held.reduce((bytes, tensor) => bytes + (tensor === null ? 0 : storedBytes(tensor)), 0)
      );
    }, 0);
  }

  /** Does the same to every slot, as its layer does it. */
  private each(torch: Torch, body: (slot: Slot, index: number) => void): void {
    this.slots.forEach((slot, index) => {
      const { layer } = slot;
      const repeat = torch.firstRepeat + (repeatOf(layer) % REPEATS_EACH);
      if (layer !== NO_LAYER) torch.enterLayer(layerLabel(repeat, ordinalOf(layer)), false);
      body(slot, index);
    });
    torch.enterLayer(NO_LAYER, false);
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
    if (this.style === "quantized") return this.quantized(torch, index, queries, heads, key, value);
    if (this.style === "offloaded") this.fetch(torch, index);
    const stored = slot === undefined ? this.create(torch, queries, heads, key, value) : this.grow(torch, slot, tokens);
    const length = stored.key.size(2);
    if (!repeats) return { key: stored.key.retain(), value: stored.value.retain() };
    const wide = (tensor: Tensor): Tensor =>
      torch.empty("clone", [tensor.size(0), key.size(1), length, tensor.size(3)], tensor.dtype);
    return { key: wide(stored.key), value: wide(stored.value) };
  }

  /** The layer before goes to the host, this one and the next come back (cache_utils.py, Cache.offload and prefetch). */
  private fetch(torch: Torch, index: number): void {
    const count = this.slots.length;
    const before = index > 0 ? this.slots[index - 1] : this.slots[count - 1];
    for (const slot of [this.slots[index], count > 1 ? this.slots[(index + 1) % count] : undefined])
      if (slot !== undefined && slot.key.storage.id < 0)
        for (const name of ["key", "value"] as const)
          slot[name] = exchanged(slot[name], cacheTensor(torch, slot[name].sizes, slot[name].dtype));
    if (before !== undefined && before !== this.slots[index] && before.key.storage.id >= 0)
      for (const name of ["key", "value"] as const)
        before[name] = exchanged(before[name], hostTensor(torch.ledger, before[name].sizes, before[name].dtype));
  }

  /** `QuantizedLayer.update`: everything is dequantized and joined with the new tokens for the attention that asks. */
  private quantized(
    torch: Torch,
    index: number,
    queries: number,
    heads: number,
    key: Tensor,
    value: Tensor,
  ): AttentionOperandPair {
    const slot = this.slots[index];
    const sizes = (like: Tensor, tokens: number): number[] => [like.size(0), heads, tokens, like.size(3)];
    if (slot?.packed === undefined) {
      const tokens = key.size(2);
      const packed = [key, value].map((tensor): Packed => pack(torch, sizes(tensor, tokens), tensor.dtype, tokens));
      const none = (): Tensor => hostTensor(torch.ledger, [0], key.dtype);
      const grows = key.size(2) === queries;
      this.slots.push({
        ...{ key: none(), value: none(), window: null, length: tokens, grows, marker: null, layer: torch.layer },
        packed: [packed[0]!, packed[1]!],
      });
      return { key: key.retain(), value: value.retain() };
    }
    slot.length += key.size(2);
    const given = [key, value];
    const opened = slot.packed.map(({ tokens }, k) => cacheTensor(torch, sizes(given[k]!, tokens), given[k]!.dtype));
    const whole = given.map((tensor) => cacheTensor(torch, sizes(tensor, slot.length), tensor.dtype));
    slot.packed.forEach((one, k) => {
      const like = given[k]!;
      const recent = slot.length - one.tokens;
      if (recent >= RESIDUAL) {
        const { codes, constants, tokens } = pack(torch, sizes(like, slot.length), like.dtype, slot.length);
        for (const tensor of [one.codes, one.constants, one.recent]) tensor?.release();
        Object.assign(one, { codes, constants, tokens, recent: null });
        return;
      }
      const longer = cacheTensor(torch, sizes(like, recent), like.dtype);
      one.recent?.release();
      one.recent = longer;
    });
    for (const tensor of opened) tensor.release();
    const wide = (tensor: Tensor, like: Tensor): Tensor =>
      heads === like.size(1)
        ? tensor
        : exchanged(
            tensor,
            torch.empty("clone", [tensor.size(0), like.size(1), tensor.size(2), tensor.size(3)], tensor.dtype),
          );
    return { key: wide(whole[0]!, key), value: wide(whole[1]!, value) };
  }

  private create(torch: Torch, queries: number, heads: number, key: Tensor, value: Tensor): Slot {
    const place = this.byLayer ? torch.layerIndices.get(torch.layer) : undefined;
    const window = this.windowOf(place ?? this.slots.length);
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
      layer: torch.layer,
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
    if (tokens <= 0) return;
    this.each(torch, (slot, index) => {
      if (!slot.grows) return;
      if (this.style === "offloaded") this.fetch(torch, index);
      if (slot.packed === undefined) this.grow(torch, slot, tokens);
      else for (const one of slot.packed) lengthen(torch, one, slot.length, tokens);
      if (slot.packed !== undefined) slot.length += tokens;
    });
  }

  /** `reorder_cache`: every tensor is gathered anew by the beams that go on. */
  reorder(torch: Torch): void {
    this.each(torch, (slot) => {
      if (slot.packed !== undefined) return;
      for (const name of ["key", "value"] as const) {
        const old = slot[name];
        slot[name] = cacheTensor(torch, old.sizes, old.dtype);
        old.release();
      }
    });
  }

  release(): void {
    for (const slot of this.slots) letGo(slot);
    this.slots.length = 0;
  }

  /** As `release`, each slot as its layer's. */
  releaseEach(torch: Torch): void {
    this.each(torch, letGo);
    this.slots.length = 0;
  }
}

function letGo({ key, value, marker, packed }: Slot): void {
  for (const tensor of [key, value, marker]) tensor?.release();
  for (const { codes, constants, recent } of packed ?? [])
    for (const tensor of [codes, constants, recent]) tensor?.release();
}

/** `before` goes as `after` takes its place. */
function exchanged(before: Tensor, after: Tensor): Tensor {
  before.release();
  return after;
}

/** Keys (or values) of `tokens` tokens in few bits. */
function pack(torch: Torch, sizes: readonly number[], dtype: DType, tokens: number): Packed {
  const count = sizes.reduce((all, size) => all * size, 1);
  const codes = cacheTensor(torch, [Math.ceil((count * BITS) / 8)], "uint8");
  return { codes, constants: cacheTensor(torch, [2 * Math.ceil(count / GROUP)], dtype), recent: null, tokens };
}

/** As if `tokens` more had come one by one: all but the newest are packed, the rest stay as they are. */
function lengthen(torch: Torch, one: Packed, length: number, tokens: number): void {
  const { dtype } = one.constants;
  const perToken = one.constants.elements / 2 / one.tokens;
  const recent = (length + tokens - one.tokens) % RESIDUAL;
  const packed = length + tokens - recent;
  const made = pack(torch, [Math.round(perToken * GROUP), packed], dtype, packed);
  for (const tensor of [one.codes, one.constants, one.recent]) tensor?.release();
  const rest = recent > 0 ? cacheTensor(torch, [Math.round(perToken * GROUP), recent], dtype) : null;
  Object.assign(one, { ...made, recent: rest });
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
