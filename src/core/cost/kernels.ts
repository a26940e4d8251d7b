/** Seconds that a pass over the model keeps a card busy, kernel by kernel: each does its arithmetic or waits for its bytes. */
import { type DType, ELEMENT_BYTES } from "../engine/dtype";
import type { Device } from "../hardware/types";
import type { Pass, Products } from "../report/operators";
import {
  achieved,
  BANDWIDTH,
  FLOAT8_SHARE,
  FLOAT32_MATRIX,
  filled,
  KERNEL_SECONDS,
  multiprocessors,
  type Range,
} from "./rates";

/** Of the rates' ranges: 0 takes the slow end, 1 the fast end. */
export type End = 0 | 1;

/** How a run computes where the card leaves a choice. */
export interface Modes {
  /** float32 products on TF32 units (`torch.backends.cuda.matmul.allow_tf32`); convolutions are, unless told otherwise. */
  readonly tf32: boolean;
  /** A framework's own code runs in place of the captured one: its kernels may be fused. */
  readonly ownCode: boolean;
}

export interface KernelSeconds {
  /** Of kernels that arithmetic binds. */
  readonly compute: number;
  /** Of kernels that their bytes bind. */
  readonly memory: number;
  /** Bytes that all of them move. */
  readonly bytes: number;
  readonly launches: number;
}

/** Share of the float32 peak that bfloat16 products reach where there are no units for them: conversions come on top. */
const EMULATED: Range = [0.3, 0.8];

/** FLOP per second of products that fill the card; null where nothing is known of it. */
export function matrixRate(device: Device, dtype: DType, end: End, tf32 = false): number | null {
  const { peak } = device;
  if (peak === null) return null;
  const share = achieved(device).matrix[end];
  const half = dtype === "float16" ? peak.float16 : peak.bfloat16;
  switch (dtype) {
    case "float16":
    case "bfloat16":
      return half === null ? peak.float32 * EMULATED[end] : half * share;
    case "float8":
      // Without units for them 8-bit factors are multiplied in 16 bits.
      return peak.float8 === null ? (half ?? peak.float16) * share : peak.float8 * share * FLOAT8_SHARE[end];
    case "int8":
    case "uint8":
      return (peak.float8 ?? 2 * peak.float16) * share * FLOAT8_SHARE[end];
    default:
      return tf32 && peak.tfloat32 !== null ? peak.tfloat32 * share : peak.float32 * FLOAT32_MATRIX[end];
  }
}

/**
 * Share of the speed that is left where a side is no multiple of 16 bytes: tensor cores are then fed element by element
 * (NVIDIA, "Matrix Multiplication Background User's Guide": tensor core requirements; arXiv 2401.14489 has products by
 * vocabularies of 50257 and 50304 words, among others).
 */
const MISALIGNED: Range = [0.4, 0.8];

function isAligned({ rows, columns, inner, dtype, convolution }: Products): boolean {
  const elements = 16 / ELEMENT_BYTES[dtype];
  return convolution !== undefined || [rows, columns, inner].every((side) => side % elements === 0);
}

/** Channels of a group below which a convolution is not made a matrix product: its windows are read one by one. */
const DIRECT_CHANNELS = 8;
/** Times that such a kernel moves its bytes: neighbouring windows overlap, and caches hold a part of them. */
const DIRECT_TRAFFIC: Range = [4, 1];
/**
 * Times that a convolution in the channels-first order moves its bytes: tensor cores want the channels last, so both sides
 * are turned around, read and written once more, at half the pace of a copy; windows of one element can do without on one
 * side.
 */
const TURNED_TRAFFIC: Range = [5, 2];

function productSeconds(
  products: Products,
  device: Device,
  end: End,
  { tf32 }: Modes,
): { arithmetic: number; bytes: number } | null {
  const { count, rows, columns, inner, dtype, bytes, convolution } = products;
  const direct = convolution !== undefined && Math.min(columns, inner) < DIRECT_CHANNELS;
  const rate = matrixRate(device, dtype, end, tf32 || convolution !== undefined);
  if (rate === null) return null;
  const flops = 2 * count * rows * columns * inner;
  if (direct) return { arithmetic: 0, bytes: bytes * DIRECT_TRAFFIC[end] };
  const turned = convolution === "channels-first" && dtype !== "float32" ? TURNED_TRAFFIC[end] : 1;
  const aligned = ELEMENT_BYTES[dtype] > 2 || isAligned(products) ? 1 : MISALIGNED[end];
  return {
    arithmetic: flops / (rate * aligned * filled(products, multiprocessors(device))[end]),
    bytes: bytes * turned,
  };
}

/**
 * Share of kernels and bytes between products that is left where norms, rotary embeddings and activations are fused as far as
 * the compiler fuses them in the captured code (of Llama's layers: half in forward, a third in backward).
 */
const FUSED = 0.4;

/** Kernels that are neither products nor attention, and what they move. */
function otherKernels(pass: Pass, end: End, { ownCode }: Modes): { kernels: number; bytes: number } {
  const { kernels, elementBytes, sparedKernels, sparedBytes } = pass;
  const left = ownCode ? FUSED : 1;
  const others = kernels - pass.products.reduce((sum, { times }) => sum + times, 0);
  // The fast end has the packages that a model's code uses where it finds them.
  return end === 1
    ? { kernels: left * (others - sparedKernels), bytes: left * (elementBytes - sparedBytes) }
    : { kernels: others, bytes: elementBytes };
}

/** Seconds of matrix products alone, those of the optimizer's step. */
export function productsSeconds(products: readonly Products[], device: Device, end: End, modes: Modes): number {
  let seconds = 0;
  for (const one of products) {
    const found = productSeconds(one, device, end, modes);
    const waits = (found?.bytes ?? 0) / (device.bandwidth * BANDWIDTH[end]);
    seconds += one.times * Math.max(found?.arithmetic ?? 0, waits, KERNEL_SECONDS[end]);
  }
  return seconds;
}

/** null where nothing is known of the card. */
export function kernelSeconds(pass: Pass, device: Device, end: End, modes: Modes): KernelSeconds | null {
  const bandwidth = device.bandwidth * BANDWIDTH[end];
  if (device.peak === null || bandwidth <= 0) return null;
  let compute = 0;
  let memory = 0;
  let moved = 0;
  let products = 0;
  const book = (arithmetic: number, bytes: number, times: number): void => {
    const waits = bytes / bandwidth;
    if (arithmetic >= waits) compute += arithmetic * times;
    else memory += waits * times;
    moved += bytes * times;
  };
  for (const one of pass.products) {
    // The fast end has the packages that a model's code uses where it finds them.
    if (one.spared && end === 1) continue;
    const found = productSeconds(one, device, end, modes);
    if (found === null) return null;
    book(found.arithmetic, found.bytes, one.times);
    products += one.times;
  }
  const attention = (device.peak.bfloat16 ?? device.peak.float16) * achieved(device).attention[end];
  book(pass.attentionFlops / attention, pass.attentionBytes, 1);
  const { kernels, bytes } = otherKernels(pass, end, modes);
  return {
    compute,
    memory: memory + bytes / bandwidth + (kernels + products) * KERNEL_SECONDS[end],
    bytes: moved + bytes,
    launches: products + kernels,
  };
}
