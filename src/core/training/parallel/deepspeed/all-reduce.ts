/**
 * Gradients reduced without ZeRO: put together in blocks of so many elements, in the communication dtype. Source:
 * deepspeed/runtime/engine.py (`buffered_allreduce_fallback`, `allreduce_no_retain`, `allreduce_bucket`).
 */
import type { DType } from "../../../engine/dtype";
import type { Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { converted, flatten } from "./blocks";

/** `MEMORY_OPT_ALLREDUCE_SIZE`, in elements. */
const BUCKET = 500_000_000;

export function allReduce(torch: Torch, gradients: readonly Tensor[], communicated: DType): void {
  const dtypes = new Set(gradients.map(({ dtype }) => dtype));
  for (const dtype of dtypes) {
    let bucket: Tensor[] = [];
    let count = 0;
    const reduce = (): void => {
      if (bucket.length === 0) return;
      const flat = flatten(torch, bucket, "communication");
      // `tensor` and what is sent live side by side.
      const sent = dtype === communicated ? null : converted(torch, flat.retain(), communicated, "communication");
      sent?.release();
      flat.release();
      bucket = [];
      count = 0;
    };
    for (const gradient of gradients) {
      if (gradient.dtype !== dtype) continue;
      bucket.push(gradient);
      count += gradient.elements;
      if (count > BUCKET) reduce();
    }
    reduce();
  }
}
