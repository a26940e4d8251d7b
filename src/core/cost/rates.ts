/** Which share of a card's peaks training kernels reach, as `[slow, fast]` bounds. Data, with where it comes from. */

import { table } from "../../terms/table";
import type { Device } from "../hardware/types";
import type { Product } from "../report/operators";
import type { Links } from "../training/run";

export type Range = readonly [slow: number, fast: number];

export interface Achieved {
  /** 16-bit matrix products that fill the card, of the dense peak. */
  readonly matrix: Range;
  /** Attention kernels (SDPA, FlashAttention), of the same peak. */
  readonly attention: Range;
}

/**
 * The fast bound of `matrix` is the best product that searches over many shapes found, in TFLOP/s: Bekman, "Machine Learning
 * Engineering", compute/accelerator (A100 SXM 271, A100 PCIe 253, H100 SXM 795, B200 1745, MI325X 785, MI300X 668), and
 * github.com/mag-/gpu_benchmark (RTX 3090 78, A10G 70, A5000 94, L4 91, L40S 252, RTX 4090 178, RTX 6000 Ada 279,
 * RTX 4000 Ada 83, H100 PCIe 500, GH200 843). The slow bound is what ordinary large shapes are left with when all of the
 * card runs at its power limit: on A100 the products of transformers' layers reach 60 to 80 % of the peak where their sizes
 * are multiples of 64 (Anthony et al., arXiv 2401.14489, figures 5 and 7), on H100 random data costs another tenth of the
 * clock, and full cards in ordinary loops clock lower than benchmarks do. What shapes of few tiles lose is counted for each product apart. Attention: FlashAttention-2 reaches 73 % of A100's
 * peak forward and 63 % backward at head size 128 (arXiv 2307.08691), but 35–40 % of H100's, the first FlashAttention half
 * of that, and FlashAttention-3 75 % (arXiv 2407.08608).
 */
const ACHIEVED: Readonly<Record<string, Achieved>> = table({
  pascal: { matrix: [0.5, 0.85], attention: [0.1, 0.3] },
  volta: { matrix: [0.5, 0.8], attention: [0.1, 0.35] },
  turing: { matrix: [0.5, 0.9], attention: [0.1, 0.4] },
  ampere: { matrix: [0.56, 0.87], attention: [0.3, 0.65] },
  ada: { matrix: [0.52, 0.8], attention: [0.25, 0.6] },
  hopper: { matrix: [0.5, 0.8], attention: [0.2, 0.55] },
  blackwell: { matrix: [0.48, 0.78], attention: [0.2, 0.5] },
  cdna1: { matrix: [0.35, 0.65], attention: [0.1, 0.3] },
  cdna2: { matrix: [0.4, 0.72], attention: [0.15, 0.4] },
  cdna3: { matrix: [0.33, 0.58], attention: [0.12, 0.35] },
  cdna4: { matrix: [0.38, 0.68], attention: [0.15, 0.4] },
  rdna3: { matrix: [0.35, 0.75], attention: [0.1, 0.35] },
  rdna4: { matrix: [0.35, 0.75], attention: [0.1, 0.35] },
  gcn5: { matrix: [0.35, 0.75], attention: [0.1, 0.3] },
  apple: { matrix: [0.45, 0.85], attention: [0.1, 0.4] },
  gaudi: { matrix: [0.5, 0.95], attention: [0.2, 0.5] },
  xe: { matrix: [0.35, 0.7], attention: [0.1, 0.35] },
});
/** GeForce cards clock above the boost that their peaks are stated at: 3090 and 4090 exceed them by a tenth. */
const GEFORCE: Readonly<Record<string, Achieved>> = table({
  ampere: { matrix: [0.72, 1.08], attention: [0.3, 0.7] },
  ada: { matrix: [0.72, 1.06], attention: [0.3, 0.75] },
  blackwell: { matrix: [0.65, 1], attention: [0.3, 0.7] },
});
const UNKNOWN: Achieved = { matrix: [0.4, 0.85], attention: [0.15, 0.5] };

/**
 * Cards whose power limit holds them further back than their generation: sustained products of T4 are 20–35 TFLOP/s; cards
 * in PCIe slots have three quarters of the power of those on boards, or less.
 */
const POWER_LIMITED: Readonly<Record<string, Achieved>> = table({
  "Tesla T4": { matrix: [0.3, 0.6], attention: [0.08, 0.3] },
  "NVIDIA L4": { matrix: [0.38, 0.75], attention: [0.15, 0.45] },
  "NVIDIA L40S": { matrix: [0.45, 0.72], attention: [0.2, 0.5] },
  "NVIDIA A2": { matrix: [0.35, 0.65], attention: [0.15, 0.4] },
  "NVIDIA A100-PCIE-40GB": { matrix: [0.5, 0.82], attention: [0.25, 0.6] },
  "NVIDIA A100 80GB PCIe": { matrix: [0.5, 0.82], attention: [0.25, 0.6] },
  "NVIDIA A800 80GB PCIe": { matrix: [0.5, 0.82], attention: [0.25, 0.6] },
  "NVIDIA H100 PCIe": { matrix: [0.4, 0.66], attention: [0.2, 0.45] },
});

export function achieved(device: Device): Achieved {
  const own = POWER_LIMITED[device.name] ?? (/GeForce/.test(device.name) ? GEFORCE[device.architecture] : undefined);
  return own ?? ACHIEVED[device.architecture] ?? UNKNOWN;
}

/** float32 products on the vector units come close to their (low) peak everywhere. */
export const FLOAT32_MATRIX: Range = [0.65, 0.92];

/**
 * 8-bit products against 16-bit ones of the same shape, of the double peak: the operands arrive half as large but a tile is
 * done in half the time, so less of it is hidden. torchao's microbenchmark on H100 (torchao/float8/README.md) has products
 * speed up by up to 1.8 without the casts, and by less than one where they are small.
 */
export const FLOAT8_SHARE: Range = [0.75, 0.92];

/** Share of memory bandwidth that element-wise kernels reach: large copies come to about nine tenths. Assumed. */
export const BANDWIDTH: Range = [0.7, 0.92];

/** Share of a switch's or a bridge's bandwidth that collectives reach, from small buckets to large ones. Assumed. */
const LINK: Range = [0.45, 0.85];

/**
 * The same over PCIe: of 31.5 GB/s of the fourth generation NCCL counts 24 between cards of one processor and 10 from one
 * processor's to the other's (topology in nccl-tests issue 307, eight RTX 4090).
 */
const PCIE_LINK: Range = [0.32, 0.76];

/** Cards whose bridges link two of them; what goes further takes PCIe. Others are linked all with all. */
const BRIDGED = /PCI|NVL|RTX|TITAN|Quadro|A[34]0$/;

/** What links the cards of one machine when so many take part: peak, bytes per second, and the share collectives reach. */
export function linkOf(
  device: Device,
  cards: number,
  told: Links = {},
): { readonly peak: number; readonly share: Range } {
  const { name, peerBandwidth, hostBandwidth } = device;
  const own = peerBandwidth > hostBandwidth && (told.gpus === "linked" || cards <= 2 || !BRIDGED.test(name));
  if (typeof told.gpus === "number") return { peak: told.gpus, share: told.gpus > hostBandwidth ? LINK : PCIE_LINK };
  return own && told.gpus !== "host"
    ? { peak: peerBandwidth, share: LINK }
    : { peak: Math.min(peerBandwidth, hostBandwidth), share: PCIE_LINK };
}

/** Share of host-link bandwidth that copies reach: pageable memory at the slow end, pinned at the fast one. Assumed. */
export const HOST_LINK: Range = [0.5, 0.85];

/**
 * Bytes per second that a ring over several machines moves: NCCL spreads its rings over all network cards of a machine,
 * so it is their sum (nccl-tests, PERFORMANCE.md: bus bandwidth). Machines with linked data-centre GPUs have four cards
 * of 100 to eight of 400 Gbit/s; others one of 25 to 200.
 */
export function network(device: Device, { machines }: Links = {}): Range {
  if (machines !== undefined) return [machines * LINK[0], machines * LINK[1]];
  return device.peerBandwidth >= LINKED ? [40e9, 330e9] : [3e9, 22e9];
}

/** Bytes per second between GPUs above which they are linked by a switch or bridges rather than by PCIe. */
const LINKED = 150e9;

/**
 * Seconds that the host needs for one kernel: in forward Python runs the module and its operators, views and all; backward is
 * the autograd engine's, without Python. Assumed: 5 microseconds on a fast core, four times that on an old or busy one.
 */
export const FORWARD_LAUNCH: Range = [20e-6, 5e-6];
export const BACKWARD_LAUNCH: Range = [12e-6, 3e-6];

/** Seconds that even the smallest kernel keeps the card: its launch, and the tail in which it empties. */
export const KERNEL_SECONDS: Range = [3.5e-6, 1.5e-6];

/** Seconds per micro-batch of the training loop itself: fetching and copying the batch, callbacks, bookkeeping. Assumed. */
export const LOOP_SECONDS: Range = [4e-3, 0.5e-3];

/**
 * Seconds for one billion parameters of Adam on a machine's host cores (ZeRO-Offload, arXiv 2101.06840, table 4: DeepSpeed's
 * takes 0.22 to 0.26 s, PyTorch's own 1.4 to 1.5 s). Launchers leave each rank one core unless told otherwise
 * (torch/distributed/run.py, OMP_NUM_THREADS): DeepSpeed's pull request 7474 has less than 1 s on two ranks, the ablation on
 * A800 that the tests hold the model against 2.5 to 3 s on eight.
 */
export const HOST_ADAM_SECONDS: Range = [2.8, 0.22];

/** Bytes per second of one machine's NVMe (ZeRO-Infinity, arXiv 2104.07857: up to 25 GB/s over many drives). */
export const NVME: Range = [3e9, 14e9];

/** float32 lanes of a multiprocessor and its clock under boost, by generation: what its float32 peak is made of. */
const MULTIPROCESSOR: Readonly<Record<string, readonly [lanes: number, hertz: number]>> = table({
  pascal: [64, 1.4e9],
  volta: [64, 1.53e9],
  turing: [64, 1.6e9],
  ampere: [128, 1.7e9],
  ada: [128, 2.5e9],
  hopper: [128, 1.9e9],
  blackwell: [128, 2.3e9],
});
/** Data-centre Ampere has half the lanes of the consumer's, and a lower clock. */
const GA100 = /A100|A800|A30/;

/** Multiprocessors (compute units) of a card, within a fifth; of other makers' cards as of a large one. */
export function multiprocessors({ name, architecture, peak }: Device): number {
  const [lanes, hertz] = GA100.test(name) ? [64, 1.41e9] : (MULTIPROCESSOR[architecture] ?? [128, 2e9]);
  return Math.max(1, (peak?.float32 ?? 2e13) / (2 * lanes * hertz));
}

/** Sides of the tiles that a multiprocessor computes at a time, in kernels for large and for small products. */
const LARGE_TILE = [128, 256] as const;
const SMALL_TILE = [64, 64] as const;
/** How fast kernels of small tiles are against those of large ones: they read each operand four times as often. */
const SMALL_TILE_SPEED: Range = [0.5, 0.9];
/** A summed side is cut into pieces of at least this length. */
const SUM_PIECE = 512;

/**
 * Share of a card that a product keeps busy: its result is cut into tiles, and the last wave of them leaves multiprocessors
 * without work (NVIDIA, "Matrix Multiplication Background User's Guide": tile and wave quantization). The slow end cuts the result
 * only; the fast end the summed side too, where there are few tiles.
 */
export function filled({ count, rows, columns, inner }: Product, units: number): Range {
  const long = Math.max(1, rows, columns);
  const short = Math.max(1, Math.min(rows, columns));
  const busy = ([a, b]: readonly [number, number], pieces: number): number => {
    const tiles = Math.ceil(short / a) * Math.ceil(long / b) * count;
    const used = (long * short * count) / (tiles * a * b);
    const filling = (tiles * pieces) / units;
    return used * (pieces > 1 ? Math.min(1, filling) : filling / Math.ceil(filling));
  };
  const pieces = Math.max(1, Math.floor(inner / SUM_PIECE));
  const best = (cut: number, end: 0 | 1): number =>
    Math.max(busy(LARGE_TILE, cut), busy(SMALL_TILE, cut) * SMALL_TILE_SPEED[end]);
  const slow = best(1, 0);
  return [slow, Math.max(best(1, 1), best(pieces, 1), slow)];
}
