/**
 * Device memory that no tensor holds: the CUDA context with the kernels loaded so far, library workspaces outside the
 * caching allocator, and NCCL's buffers. It differs with driver, CUDA and library versions, so it is a band.
 */
import { table } from "../../terms/table";

/** Bytes. `low` and `high` bound what was reported; `likely` is used for the single figure. */
export interface ByteBand {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

const MIB = 2 ** 20;
const band = (low: number, likely: number, high: number): ByteBand => ({
  low: low * MIB,
  likely: likely * MIB,
  high: high * MIB,
});

/**
 * Context and loaded kernels of one training process, in MiB, for CUDA 11.7 and newer, whose kernels load lazily
 * (pytorch#107667: ~300 MB; pytorch#109888: ~400 MB; before that 880 MiB on RTX 2080 Ti and 1490 MiB on RTX 3090,
 * pytorch#49877). The bare context grows with the number of multiprocessors because each has its own local-memory
 * and printf/heap areas: 250–300 MiB on small Turing and Ampere parts, 400–530 MiB on A100 and H100. A training step
 * also loads cuBLAS, cuDNN and attention kernels, 50–250 MiB. No public table exists for Blackwell: its band is wider.
 */
const CONTEXT: Readonly<Record<string, ByteBand>> = table({
  pascal: band(200, 330, 700),
  volta: band(300, 420, 800),
  turing: band(200, 330, 800),
  ampere: band(250, 470, 900),
  ada: band(280, 480, 900),
  hopper: band(400, 620, 1100),
  blackwell: band(400, 700, 1300),
  // ROCm: HIP runtime and code objects; hipBLASLt workspaces live in the allocator (below).
  cdna1: band(250, 500, 1200),
  cdna2: band(250, 600, 1400),
  cdna3: band(300, 800, 1800),
  cdna4: band(300, 900, 2000),
  rdna3: band(200, 450, 1200),
  rdna4: band(200, 450, 1200),
  // Metal: command buffers and compiled pipelines.
  apple: band(50, 200, 600),
  gaudi: band(500, 2000, 4000),
  xe: band(200, 600, 1500),
  unknown: band(250, 480, 1300),
});

/**
 * The same before CUDA 11.7, when all of PyTorch's kernels are loaded with the context: what was reported of the bare one
 * (880 MiB on RTX 2080 Ti and 1490 MiB on RTX 3090, pytorch#49877; 1343 MiB on V100, transformers' guide to one GPU;
 * 0.90 to 1.78 GiB on A100, Machine Learning Engineering, training/performance), and the step's own libraries above it.
 */
const EAGER: Readonly<Record<string, ByteBand>> = table({
  volta: band(1343, 1393, 1593),
  turing: band(880, 930, 1130),
  ampere: band(922, 1540, 2073),
});

/**
 * Whether a release of PyTorch loads kernels with the context: up to 1.12, built for CUDA 11.6 and older. Since 1.13 it
 * asks for lazy loading itself (torch/cuda/__init__.py, CUDA_MODULE_LOADING).
 */
function loadsKernelsEagerly(torch: string): boolean {
  const [major = 0, minor = 0] = torch.split(".").map((part) => Number.parseInt(part, 10) || 0);
  return major === 1 && minor < 13;
}

/**
 * NCCL's channels and buffers per process as soon as there is more than one rank: 4 MiB per channel, peer and protocol
 * (`NCCL_BUFFSIZE`), which comes to 200–500 MB per communicator on one node (arXiv 2411.06465 charges ~0.5 GB).
 */
const NCCL: ByteBand = band(150, 400, 1100);
const NO_BYTES: ByteBand = band(0, 0, 0);

/** Kernels of cuBLAS, cuDNN and attention that one run loads and another does not: 50–250 MiB (above). */
const OTHER_KERNELS = 250 * MIB;

/** What a receipt measured of one run, for another one on the same card: its kernels may be more, or fewer. */
export function measuredBand(bytes: number): ByteBand {
  return { low: Math.max(0, bytes - OTHER_KERNELS), likely: bytes, high: bytes + OTHER_KERNELS };
}

/**
 * Context of one process on a card of this architecture; unknown architectures get the widest NVIDIA band.
 *
 * @param torch version of PyTorch; a recent one when absent
 */
export function contextBand(architecture: string, torch?: string): ByteBand {
  const eager = torch !== undefined && loadsKernelsEagerly(torch) ? EAGER[architecture] : undefined;
  return eager ?? CONTEXT[architecture] ?? CONTEXT["unknown"] ?? NO_BYTES;
}

const MIB_32 = 32 * MIB;
/** `:4096:2:16:8`, cuBLAS's configuration that PyTorch picks before Hopper. */
const CUBLAS_DEFAULT = 4096 * 1024 * 2 + 16 * 1024 * 8;
const CUBLAS: Readonly<Record<string, number>> = table({
  hopper: MIB_32,
  blackwell: MIB_32,
  cdna1: MIB_32,
  cdna2: MIB_32,
  cdna3: 4 * MIB_32,
  cdna4: 4 * MIB_32,
  rdna3: MIB_32,
  rdna4: MIB_32,
  apple: 0,
  gaudi: 0,
  xe: 0,
});

/**
 * cuBLAS workspace that PyTorch allocates, through its caching allocator, per handle and stream
 * (aten/src/ATen/cuda/CublasHandlePool.cpp, `parseChosenWorkspaceSize`).
 */
export function blasWorkspaceBytes(architecture: string): number {
  return CUBLAS[architecture] ?? CUBLAS_DEFAULT;
}

/**
 * What `CUBLAS_WORKSPACE_CONFIG` asks for, in bytes: pairs of a size in KiB and a number of buffers (`:4096:2:16:8`);
 * undefined where it is not of that form, which PyTorch answers with its default.
 */
export function configuredWorkspaceBytes(config: string): number | undefined {
  const pairs = [...config.matchAll(/:(\d+):(\d+)/g)];
  if (pairs.length === 0) return undefined;
  return pairs.reduce((sum, [, size, count]) => sum + Number(size) * 1024 * Number(count), 0);
}

/** Handles of a training process: the main thread's and the autograd thread's, each with its own workspace. */
export const BLAS_HANDLES = 2;

/**
 * What a run's process holds besides the tensors of the simulated step: context, cuBLAS workspaces, communicator. To be
 * added to reserved memory as the engine gives it, which has no workspaces in it.
 *
 * @param worldSize ranks of the run; one rank has no communicator
 * @param software version of PyTorch (a recent one when absent), and bytes of a cuBLAS handle's workspace where the
 *   environment sets it
 */
export function overheadBand(
  architecture: string,
  worldSize: number,
  { torch, workspace = blasWorkspaceBytes(architecture) }: { torch?: string; workspace?: number | undefined } = {},
): ByteBand {
  const context = contextBand(architecture, torch);
  const collective = worldSize > 1 && architecture !== "apple" ? NCCL : NO_BYTES;
  const workspaces = BLAS_HANDLES * workspace;
  return {
    low: context.low + collective.low,
    likely: context.likely + collective.likely + workspaces,
    high: context.high + collective.high + workspaces,
  };
}
