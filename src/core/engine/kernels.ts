/**
 * What kernels allocate inside themselves, through the caching allocator, where the dispatcher does not see it. Source:
 * aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp (mha_bwd): float32 accumulation of the query's gradient
 * and one float32 per row; with grouped queries also the gradients of keys and values at the query's number of heads.
 * aten/src/ATen/native/ReduceOps.cpp (impl_func_cum_ops): a running sum's input in the dtype of its result.
 */
import { ELEMENT_BYTES } from "./dtype";
import type { Ledger } from "./ledger";

const FLASH_BACKWARD = "_scaled_dot_product_flash_attention_backward";
/** Elements of the query's gradient per float32 of a row: heads are at least this wide where flash attention is used. */
const NARROWEST_HEAD = 32;

/** Bytes inside the kernel, given those of the three gradients in half precision. */
function inside(query: number, key: number, value: number): number {
  const expanded = (key < query ? query : 0) + (value < query ? query : 0);
  return 2 * query + (2 * query) / NARROWEST_HEAD + expanded;
}

/** What a block that cuDNN writes is: the result of a convolution, or a gradient of one. */
export const CONVOLUTIONS = ["convolution", "convolution_backward"] as const;
export type Convolution = (typeof CONVOLUTIONS)[number];

/** Bytes that cuDNN may take while it writes blocks, by their labels; 0: none. */
export interface Workspaces {
  readonly bytes: Float64Array;
  /** Which of the labels results or gradients are. */
  readonly kinds: ReadonlyMap<number, Convolution>;
  readonly largest: number;
}

/**
 * cuDNN's kernels for tensor cores want channels last: what a convolution of tensors that have them first reads and writes is
 * rearranged in a workspace. Convolutions of each channel by itself are PyTorch's own kernels unless they are in float16.
 * Null where nothing is convolved. Which kernel runs is decided on the card: these are the most that a rearranging one takes.
 * Source: cuDNN's developer guide ("Tensor Core Operations"); aten/src/ATen/native/Convolution.cpp, use_cudnn_depthwise.
 */
export function convolutionWorkspaces(ledger: Ledger): Workspaces | null {
  const bytes = new Float64Array(ledger.labelCount);
  const kinds = new Map<number, Convolution>();
  let largest = 0;
  const operators = CONVOLUTIONS.map((kind) => ({ kind, makes: ledger.labelsOf(kind) }));
  if (operators.every(({ makes }) => makes === null)) return null;
  const used = ledger.labelsInUse();
  for (const { kind, makes } of operators) {
    for (let label = 0; label < used.length; label++) {
      const kernel = used[label] === 1 && makes?.[label] === 1 ? ledger.labelAt(label).kernel : null;
      const product = kernel?.product;
      if (kernel == null || product?.convolution !== "channels-first") continue;
      const { count, columns, rows, dtype } = product;
      if (count > 1 && columns === 1 && dtype !== "float16") continue;
      const size = kernel.reads + count * rows * columns * ELEMENT_BYTES[dtype];
      bytes[label] = size;
      kinds.set(label, kind);
      largest = Math.max(largest, size);
    }
  }
  return kinds.size === 0 ? null : { bytes, kinds, largest };
}

/** How much higher the peak is with what kernels allocate inside themselves; 0 when it lies elsewhere. */
export function kernelTemporaries(ledger: Ledger): number {
  return Math.max(duringFlash(ledger), duringRunningSums(ledger)) - ledger.peak;
}

/** The peak with the copies that running sums make of an input of another dtype, which takes half of the result's bytes or less. */
function duringRunningSums(ledger: Ledger): number {
  const isSum = ledger.labelsOf("cumsum");
  if (isSum === null) return ledger.peak;
  const { events, bytes, labelIndices } = ledger;
  let [highest, live] = [ledger.peak, 0];
  for (const event of events) {
    if (event < 0) {
      live -= bytes[~event]!;
      continue;
    }
    const size = bytes[event]!;
    live += size;
    const label = labelIndices[event]!;
    if (isSum[label] === 0) continue;
    const reads = ledger.labelAt(label).kernel?.reads ?? size;
    if (2 * reads <= size) highest = Math.max(highest, live + size);
  }
  return highest;
}

function duringFlash(ledger: Ledger): number {
  const isFlash = ledger.labelsOf(FLASH_BACKWARD);
  if (isFlash === null) return ledger.peak;
  const { events, bytes, labelIndices, phaseList } = ledger;
  let highest = ledger.peak;
  for (const [at, { phase, firstEvent, before }] of phaseList.entries()) {
    if (phase !== "backward") continue;
    const end = phaseList[at + 1]?.firstEvent ?? events.length;
    let live = before;
    let gradients: number[] = [];
    for (let k = firstEvent; k < end; k++) {
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
  }
  return highest;
}
