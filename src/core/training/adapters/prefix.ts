/**
 * Prefix tuning: trained keys and values stand before every layer's own. They come out of one table (or network), are
 * copied into a cache layer by layer, and each attention reads them with its own behind them, through a mask that is made
 * for the longer rows. Sources: peft/peft_model.py (get_prompt), transformers/cache_utils.py (DynamicLayer.update),
 * masking_utils.py (sdpa_mask: no mask is left out once keys outnumber queries), integrations/sdpa_attention.py (repeat_kv
 * where there is a mask).
 */
import type { DType } from "../../engine/dtype";
import type { AttentionCache, AttentionOperandPair } from "../../engine/interpreter/options";
import { repeatHeads } from "../../engine/ops/attention";
import { cat, expand, permute, split, unbind, view } from "../../engine/ops/layout";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { TrainingRun } from "../run";
import { castInput, done } from "./layer";
import type { PromptSizes } from "./prompt-sizes";

/** Whether a decoder of its own has the prefix among its keys: what encoder and decoder read is no longer (peft/peft_model.py, PeftModelForSeq2SeqLM). */
export function standsAmongKeys({ adapter, task }: Pick<TrainingRun, "adapter" | "task">): boolean {
  return adapter?.type === "prefix-tuning" && task === "seq2seq-lm";
}

/**
 * Whether the prefix is followed as keys and values of its own: in decoders with fused attention. Elsewhere its tokens
 * count as part of the sequence. Checkpointed layers are not given the cache (modeling_layers.py).
 */
export function standsApart({ adapter, checkpointing, attention, task }: TrainingRun): boolean {
  return adapter?.type === "prefix-tuning" && checkpointing === null && attention !== "eager" && task === "causal-lm";
}

interface Slot {
  readonly key: Tensor;
  readonly value: Tensor;
}

/** Keys or values with each head repeated for the queries that share it, owned. */
function wide(torch: Torch, states: Tensor, groups: number): Tensor {
  return groups === 1 ? states.retain() : repeatHeads(torch, states, groups);
}

export class PrefixCache implements AttentionCache {
  private slots: Slot[] = [];
  private next = 0;
  private mask: Tensor | null = null;

  /** @param masks whether attention takes a mask (kernels with causality as an argument take none) */
  constructor(
    private readonly sizes: PromptSizes,
    private readonly tokens: number,
    private readonly masks: boolean,
  ) {}

  /** Takes over the encoded prefix of a batch, `[rows, tokens, keys and values of all layers]`. */
  fill(torch: Torch, encoded: Tensor, dtype: DType, length: number): void {
    const { layers, keyHeads, keyWidth } = this.sizes;
    const states = done(castInput(torch, encoded, dtype), encoded);
    const rows = states.size(0);
    const apart = done(view(torch, states, [rows, this.tokens, layers * 2, keyHeads, keyWidth]), states);
    const turned = done(permute(torch, apart, [2, 0, 3, 1, 4]), apart);
    const parts = split(torch, turned, new Array<number>(layers).fill(2), 0);
    turned.release();
    this.slots = parts.map((part) => {
      const [key, value] = unbind(torch, part, 0).map((one) => done(cat(torch, [one], 2), one)) as [Tensor, Tensor];
      part.release();
      return { key, value };
    });
    this.next = 0;
    if (!this.masks) return;
    const seen = torch.empty("le", [1, 1, length, length + this.tokens], "bool");
    this.mask = done(expand(torch, seen, [rows, 1, length, length + this.tokens]), seen);
  }

  update(
    torch: Torch,
    _queries: number,
    key: Tensor,
    value: Tensor,
    repeats: boolean,
    heads: number,
  ): AttentionOperandPair {
    const slot = this.slots[this.next];
    if (slot === undefined) return { key: key.retain(), value: value.retain() };
    const groups = repeats ? heads / this.sizes.keyHeads : 1;
    const longer = (before: Tensor, own: Tensor): Tensor => {
      const repeated = done(wide(torch, before, groups), before);
      return done(cat(torch, [repeated, own], 2), repeated);
    };
    const [keys, values] = [longer(slot.key, key), longer(slot.value, value)];
    this.slots[this.next++] = { key: keys.retain(), value: values.retain() };
    const { mask } = this;
    if (mask === null) return { key: keys, value: values };
    const left = heads / keys.size(1);
    return {
      key: keys,
      value: values,
      reads: { key: wide(torch, keys, left), value: wide(torch, values, left), mask: mask.retain() },
    };
  }

  /** The forward is over. */
  release(): void {
    for (const { key, value } of this.slots.splice(0)) {
      key.release();
      value.release();
    }
    this.releaseMask();
  }

  /** The mask belongs to the forward of the layers. */
  releaseMask(): void {
    this.mask?.release();
    this.mask = null;
  }
}
