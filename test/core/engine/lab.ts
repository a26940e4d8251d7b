/** A small laboratory: tensors on an empty device, operators run on them, and what they allocated. */

import { backward } from "../../../src/core/engine/backward";
import type { DType } from "../../../src/core/engine/dtype";
import { Ledger } from "../../../src/core/engine/ledger";
import type { Sizes } from "../../../src/core/engine/shape";
import { alias, type Tensor } from "../../../src/core/engine/tensor";
import { Torch } from "../../../src/core/engine/torch";

/** Smallest block of the allocator: every allocation is a multiple of it. */
export const BLOCK = 512;

export function rounded(bytes: number): number {
  return Math.ceil(bytes / BLOCK) * BLOCK;
}

export interface Lab {
  readonly torch: Torch;
  readonly ledger: Ledger;
  /** A tensor without history. */
  tensor(sizes: Sizes, dtype?: DType, strides?: Sizes): Tensor;
  /** A leaf that requires grad. */
  leaf(sizes: Sizes, dtype?: DType): Tensor;
  /** Operators and bytes allocated while `body` ran, in order. */
  made(body: () => void): string[];
  /** Bytes alive now. */
  readonly live: number;
  /** Runs backward from `root` with a gradient of its own shape; the root is given up before, as `del loss` does not. */
  differentiate(root: Tensor): void;
  /** Runs `body` under autocast and leaves the region after it. */
  autocast<T>(dtype: DType, body: () => T): T;
}

export function lab(): Lab {
  const ledger = new Ledger();
  const torch = new Torch(ledger);
  ledger.startCounting();
  const tensor = (sizes: Sizes, dtype: DType = "float32", strides?: Sizes): Tensor =>
    torch.empty("given", sizes, dtype, strides);
  return {
    torch,
    ledger,
    tensor,
    leaf(sizes, dtype = "float32") {
      const leaf = tensor(sizes, dtype);
      leaf.requiresGradFlag = true;
      return leaf;
    },
    made(body) {
      const from = ledger.count;
      body();
      return Array.from(ledger.bytes.slice(from), (bytes, k) => `${ledger.labelOf(from + k).operator} ${bytes}`);
    },
    get live() {
      return ledger.live;
    },
    differentiate(root) {
      const gradient = torch.empty("ones_like", root.sizes, root.dtype);
      backward(torch, [root], [gradient.retain()]);
      gradient.release();
    },
    autocast(dtype, body) {
      torch.autocastEnabled = true;
      torch.autocastDtype = dtype;
      const result = body();
      torch.autocastEnabled = false;
      torch.clearCastCache();
      return result;
    },
  };
}

/** A view of `source` with its dimensions swapped. */
export function turned(source: Tensor): Tensor {
  return alias(source, [...source.sizes].reverse(), [...source.strides].reverse());
}
