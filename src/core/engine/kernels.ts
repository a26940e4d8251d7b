/**
 * What kernels allocate inside themselves, through the caching allocator, where the dispatcher does not see it. Source:
 * aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp (mha_bwd): float32 accumulation of the query's gradient
 * and one float32 per row; with grouped queries also the gradients of keys and values at the query's number of heads.
 */
import type { Ledger } from "./ledger";

const FLASH_BACKWARD = "_scaled_dot_product_flash_attention_backward";
/** Elements of the query's gradient per float32 of a row: heads are at least this wide where flash attention is used. */
const NARROWEST_HEAD = 32;

/** Bytes inside the kernel, given those of the three gradients in half precision. */
function inside(query: number, key: number, value: number): number {
  const expanded = (key < query ? query : 0) + (value < query ? query : 0);
  return 2 * query + (2 * query) / NARROWEST_HEAD + expanded;
}

/**
 * Most that cuDNN takes inside one convolution: kernels for tensor cores want channels last, so input and output of a
 * tensor that has them first are rearranged in the workspace. 0 where nothing is convolved. Source: the layouts of cuDNN's
 * developer guide ("Tensor Core Operations"); which kernel runs is decided on the card.
 */
export function convolutionWorkspace(ledger: Ledger): number {
  return largest(ledger, "convolution") + largest(ledger, "convolution_backward");
}

function largest(ledger: Ledger, operator: string): number {
  const makes = ledger.labelsOf(operator);
  if (makes === null) return 0;
  const { bytes, labelIndices } = ledger;
  let most = 0;
  for (let id = 0; id < bytes.length; id++) if (makes[labelIndices[id]!] === 1) most = Math.max(most, bytes[id]!);
  return most;
}

/** How much higher the peak is with what kernels allocate inside themselves; 0 when it lies elsewhere. */
export function kernelTemporaries(ledger: Ledger): number {
  const isFlash = ledger.labelsOf(FLASH_BACKWARD);
  if (isFlash === null) return 0;
  const { events, bytes, labelIndices } = ledger;
  let live = 0;
  let highest = ledger.peak;
  let gradients: number[] = [];
  for (let k = 0; k < events.length; k++) {
    const event = events[k]!;
    if (event < 0) {
      live -= bytes[~event]!;
      continue;
    }
    live += bytes[event]!;
    if (isFlash[labelIndices[event]!] === 0) continue;
    gradients.push(bytes[event]!);
    if (gradients.length < 3) continue;
    const [query, key, value] = gradients as [number, number, number];
    highest = Math.max(highest, live + inside(query, key, value));
    gradients = [];
  }
  return highest - ledger.peak;
}
