/**
 * Parameters in 8 bits with a float32 scale per group (ZeRO++). Sources: deepspeed/runtime/zero/partition_parameters.py
 * (`CUDAQuantizer`), csrc/quantization/pt_binding.cpp (`quantize_kernel`, `dequantize`: they read and write float16).
 */
import type { DType } from "../../../../engine/dtype";
import type { Torch } from "../../../../engine/torch";
import { reserve } from "../../strategy";
import { converted } from "../blocks";

export const HALF: DType = "float16";
/** `target_group_size`. */
const TARGET = 8000;

/** Blocks that go together. */
export interface Stored {
  release(): void;
}

type Kind = "communication" | "weights";

export function together(blocks: readonly Stored[]): Stored {
  return {
    release() {
      for (const block of blocks) block.release();
    },
  };
}

/** Groups that so many elements are scaled in (`CUDAQuantizer.quantize`). */
function groupsOf(elements: number): number {
  let groups = Math.max(1, Math.ceil(elements / TARGET));
  while (groups < elements && elements % (8 * groups) !== 0) groups++;
  while (elements % (16 * groups) === 0 && elements / groups > TARGET) groups *= 2;
  return groups;
}

/** Elements in 8 bits and their scales. */
export function packed(torch: Torch, elements: number, kind: Kind): Stored {
  const values = reserve(torch, "quantize", elements, "int8", kind);
  return together([values, reserve(torch, "quantize", groupsOf(elements), "float32", kind)]);
}

/** A part packed to be sent: the kernel reads float16, of which a copy is made. */
export function quantized(torch: Torch, elements: number, dtype: DType, fromHost: boolean): Stored {
  const half = dtype === HALF && !fromHost ? null : reserve(torch, "_to_copy", elements, HALF, "temporaries");
  const result = packed(torch, elements, "communication");
  half?.release();
  return result;
}

/** Scales of every rank's part. */
export function scalesOf(torch: Torch, part: number, ranks: number): Stored {
  return reserve(torch, "empty", groupsOf(part) * ranks, "float32", "communication");
}

/** The whole parameter, which the kernel writes in float16. */
export function dequantized(torch: Torch, elements: number, dtype: DType): ReturnType<typeof converted> {
  return converted(torch, reserve(torch, "dequantize", elements, HALF, "communication"), dtype, "communication");
}
