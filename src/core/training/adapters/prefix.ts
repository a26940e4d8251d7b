/**
 * Prefix tuning: trained keys and values that every attention finds in its cache. Sources: peft/peft_model.py (get_prompt),
 * transformers/cache_utils.py (DynamicCache, DynamicLayer.update), masking_utils.py (_ignore_causal_mask_sdpa: queries that are
 * fewer than keys keep their mask), integrations/sdpa_attention.py (with a mask, heads are repeated).
 */
import type { AttentionCache, AttentionOperandPair } from "../../engine/interpreter";
import { cat, permute, slice, split, unbind, view } from "../../engine/ops/layout";
import { repeatHeads } from "../../engine/ops/model";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";

/** How the trained vector of a token is divided. */
export interface PrefixShape {
  readonly layers: number;
  readonly heads: number;
  readonly headWidth: number;
  /** Heads of queries. */
  readonly queries: number;
}

export class PrefixCache implements AttentionCache {
  /** Keys and values of each layer. */
  private readonly slots: [Tensor, Tensor][];
  private mask: Tensor | null = null;
  private next = 0;

  /** @param states (sequences, tokens, layers × 2 × heads × width), borrowed */
  constructor(
    torch: Torch,
    states: Tensor,
    private readonly shape: PrefixShape,
  ) {
    const { layers, heads, headWidth } = shape;
    const [rows, tokens] = states.sizes as [number, number];
    const divided = view(torch, states, [rows, tokens, 2 * layers, heads, headWidth]);
    const turned = permute(torch, divided, [2, 0, 3, 1, 4]);
    divided.release();
    const parts = split(
      torch,
      turned,
      Array.from({ length: layers }, () => 2),
      0,
    );
    turned.release();
    // Every layer starts with an empty tensor, to which its part is joined.
    this.slots = parts.map((part) => {
      const pair = unbind(torch, part, 0);
      part.release();
      const made = pair.map((tensor) => cat(torch, [tensor], 2)) as [Tensor, Tensor];
      for (const tensor of pair) tensor.release();
      return made;
    });
  }

  update(torch: Torch, queries: number, key: Tensor, value: Tensor, repeats: boolean): AttentionOperandPair {
    const slot = this.slots[this.next++ % this.slots.length]!;
    const groups = this.shape.queries / this.shape.heads;
    // Where the graph repeats heads before attention, what comes in is taken for what was there before.
    const own = (tensor: Tensor): Tensor =>
      repeats && groups > 1 ? slice(torch, tensor, 1, 0, this.shape.heads) : tensor.retain();
    for (const k of [0, 1] as const) {
      const fresh = own(k === 0 ? key : value);
      const joined = cat(torch, [slot[k], fresh], 2);
      fresh.release();
      slot[k].release();
      slot[k] = joined;
    }
    const keys = slot[0].size(2);
    this.mask ??= torch.empty("where", [key.size(0), 1, queries, keys], "bool");
    const wide = (tensor: Tensor): Tensor => (groups === 1 ? tensor.retain() : repeatHeads(torch, tensor, groups));
    return { key: wide(slot[0]), value: wide(slot[1]), mask: this.mask };
  }

  release(): void {
    for (const tensor of this.slots.flat()) tensor.release();
    this.mask?.release();
    this.mask = null;
  }
}
