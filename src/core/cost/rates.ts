/** Which share of a card's peaks training kernels reach, as `[slow, fast]` bounds. Data, with where it comes from. */
import type { Device } from "../hardware/types";

export type Range = readonly [slow: number, fast: number];

export interface Achieved {
  /** 16-bit matrix products of training sizes, of the dense peak. */
  readonly matrix: Range;
  /** Attention kernels (SDPA, FlashAttention), of the same peak. */
  readonly attention: Range;
}

/**
 * The fast bound of `matrix` is the best product found by brute force (Bekman, "Machine Learning Engineering",
 * compute/accelerator: A100 SXM 87 %, A100 PCIe 81 %, H100 80 %, B200 78 %, MI355X 68 %, MI325X 60 %, MI300X 51 %,
 * Gaudi 2 97 %, Gaudi 3 74 %) less what real shapes lose against it; the slow bound is what narrow models and short
 * micro-batches are left with. Attention: FlashAttention-2 reaches 73 % of A100's peak forward and 63 % backward at head
 * size 128 (arXiv 2307.08691), but 35–40 % of H100's, and FlashAttention-3 75 % (arXiv 2407.08608). Parts that run
 * into their power limit (T4, L4) and consumer cards are by their generation's ratio of power to peak.
 */
const ACHIEVED: Readonly<Record<string, Achieved>> = {
  pascal: { matrix: [0.4, 0.8], attention: [0.1, 0.3] },
  volta: { matrix: [0.4, 0.78], attention: [0.1, 0.35] },
  turing: { matrix: [0.45, 0.85], attention: [0.1, 0.4] },
  ampere: { matrix: [0.58, 0.85], attention: [0.3, 0.65] },
  ada: { matrix: [0.5, 0.88], attention: [0.3, 0.7] },
  hopper: { matrix: [0.42, 0.76], attention: [0.25, 0.55] },
  blackwell: { matrix: [0.4, 0.75], attention: [0.2, 0.5] },
  cdna1: { matrix: [0.3, 0.65], attention: [0.1, 0.3] },
  cdna2: { matrix: [0.35, 0.72], attention: [0.15, 0.4] },
  cdna3: { matrix: [0.28, 0.55], attention: [0.12, 0.35] },
  cdna4: { matrix: [0.3, 0.65], attention: [0.15, 0.4] },
  rdna3: { matrix: [0.3, 0.7], attention: [0.1, 0.35] },
  rdna4: { matrix: [0.3, 0.7], attention: [0.1, 0.35] },
  gcn5: { matrix: [0.3, 0.7], attention: [0.1, 0.3] },
  apple: { matrix: [0.4, 0.8], attention: [0.1, 0.4] },
  gaudi: { matrix: [0.45, 0.85], attention: [0.2, 0.5] },
  xe: { matrix: [0.3, 0.65], attention: [0.1, 0.35] },
};
const UNKNOWN: Achieved = { matrix: [0.35, 0.8], attention: [0.15, 0.5] };

/** Cards held back by their power limit: sustained 16-bit products of T4 are 20–35 TFLOP/s, of L4 45–75. */
const POWER_LIMITED: Readonly<Record<string, Achieved>> = {
  "Tesla T4": { matrix: [0.25, 0.55], attention: [0.08, 0.3] },
  "NVIDIA L4": { matrix: [0.32, 0.65], attention: [0.15, 0.45] },
  "NVIDIA A2": { matrix: [0.3, 0.6], attention: [0.15, 0.4] },
};

export function achieved(device: Device): Achieved {
  return POWER_LIMITED[device.name] ?? ACHIEVED[device.architecture] ?? UNKNOWN;
}

/** float32 products on the vector units come close to their (low) peak everywhere. */
export const FLOAT32_MATRIX: Range = [0.6, 0.92];

/** Share of memory bandwidth that element-wise kernels reach: large copies come to about nine tenths. Assumed. */
export const BANDWIDTH: Range = [0.65, 0.92];

/** Share of a link's bandwidth that collectives reach, from small buckets to large ones. Assumed. */
export const LINK: Range = [0.45, 0.85];

/** Share of host-link bandwidth that copies reach: pageable memory at the slow end, pinned at the fast one. Assumed. */
export const HOST_LINK: Range = [0.5, 0.85];

/**
 * Bytes per second that a ring over several machines moves: NCCL spreads its rings over all network cards of a machine,
 * so it is their sum (nccl-tests, PERFORMANCE.md: bus bandwidth). Machines with linked data-centre GPUs have four cards
 * of 100 to eight of 400 Gbit/s; others one of 25 to 200.
 */
export function network(device: Device): Range {
  return device.peerBandwidth >= LINKED ? [40e9, 330e9] : [3e9, 22e9];
}

/** Bytes per second between GPUs above which they are linked by a switch or bridges rather than by PCIe. */
const LINKED = 150e9;

/** Seconds per launched kernel that the Python side of PyTorch needs; it shows only when the card waits for it. */
export const LAUNCH_SECONDS: Range = [13e-6, 4e-6];

/** Seconds per micro-batch of the training loop itself: fetching and copying the batch, callbacks, bookkeeping. Assumed. */
export const LOOP_SECONDS: Range = [4e-3, 0.5e-3];

/** Seconds for one billion parameters of Adam on host cores (ZeRO-Offload, arXiv 2101.06840, table 4: 0.2–0.25 s). */
export const HOST_ADAM_SECONDS: Range = [0.6, 0.2];

/** Bytes per second of one machine's NVMe (ZeRO-Infinity, arXiv 2104.07857: up to 25 GB/s over many drives). */
export const NVME: Range = [3e9, 14e9];
