/**
 * A key-value cache that a model's outputs keep although nothing is generated (`use_cache` of the config): keys and values
 * are joined to nothing, which copies them. Before 4.56 the first ones are kept as they are, views with all of what they view.
 * Source: transformers/cache_utils.py (DynamicLayer.update; `self.keys = key_states` up to 4.55).
 */
import { type DType, promote } from "../../engine/dtype";
import type { AttentionCache, AttentionOperandPair } from "../../engine/interpreter/options";
import { cat } from "../../engine/ops/layout";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";

/** Where keys and values have their tokens. */
const TOKENS = 2;

export class KeptCache implements AttentionCache {
  private readonly kept: Tensor[] = [];

  /** Takes them as they are, where the library copies nothing. */
  readonly keep?: (key: Tensor, value: Tensor) => void;

  /** Attention that is written out reads the cache's tensors, copied or not: what was before them is let go of. */
  readonly keepWritten = (keyOrValue: Tensor | undefined): void => {
    if (keyOrValue !== undefined) this.kept.push(keyOrValue.retain());
  };

  /**
   * @param heads heads of keys and values before they are repeated
   * @param copies whether the library copies them
   */
  constructor(
    private readonly heads: number,
    copies = true,
  ) {
    if (copies) return;
    this.keep = (key, value) => this.kept.push(key.retain(), value.retain());
  }

  update(torch: Torch, _queries: number, key: Tensor, value: Tensor, repeats: boolean): AttentionOperandPair {
    // Both begin as empty tensors of the keys' dtype, so the values are promoted to it (lazy_initialization).
    const dtypes = [key.dtype, promote(key.dtype, value.dtype)] as const;
    const copied = [key, value].map((tensor, k) => {
      if (repeats) return this.unrepeated(torch, tensor, dtypes[k]!);
      return tensor.dtype === dtypes[k] ? cat(torch, [tensor], TOKENS) : torch.toCopy(tensor, dtypes[k]!);
    });
    this.kept.push(...copied);
    const [k, v] = repeats ? [key, value] : copied;
    return { key: k!.retain(), value: v!.retain() };
  }

  /** The copy before the heads are repeated, which the graph has behind it. */
  private unrepeated(torch: Torch, tensor: Tensor, dtype: DType): Tensor {
    return torch.empty("cat", [tensor.size(0), this.heads, ...tensor.sizes.slice(TOKENS)], dtype);
  }

  /** What was kept, from now on the caller's. */
  take(): readonly Tensor[] {
    return this.kept.splice(0);
  }

  release(): void {
    for (const tensor of this.kept.splice(0)) tensor.release();
  }
}
