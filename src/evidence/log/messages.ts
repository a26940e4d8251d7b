/**
 * What says that memory ran out, by whom it is said. Wordings are those of the libraries' sources: PyTorch's caching allocator
 * (c10/cuda/CUDACachingAllocator.cpp, 1.0 to 2.11), its MPS allocator (aten/src/ATen/mps/MPSAllocator.mm), cuBLAS and cuDNN
 * through ATen, NCCL (include/alloc.h), XLA's BFC allocator, vLLM (v1/core/kv_cache_utils.py, worker/utils.py), bitsandbytes.
 */
import { table } from "../../terms/table";
import { type PrintedSize, printedSize, sizeAfter, sizeBefore } from "./sizes";

/** Who ran out, and of what. */
export type Kind =
  /** The framework's own allocator asked the driver for a segment and got none. */
  | "allocator"
  /** The driver refused something that no tensor is: a context, a workspace, a kernel's stack, managed memory. */
  | "driver"
  /** A library's handle or workspace (cuBLAS, cuDNN). */
  | "library"
  /** NCCL's buffers. */
  | "communication"
  /** vLLM has no room for its key-value cache. */
  | "cache"
  /** A compiled program (XLA) needs more than there is. */
  | "compiled"
  /** The host's memory. */
  | "host";

export interface Other {
  readonly pid: number;
  readonly size: PrintedSize;
}

/** Everything that a message says. */
export interface Said {
  readonly kind: Kind;
  readonly backend: "cuda" | "hip" | "xpu" | "mps" | "xla" | "host";
  /** The message on one line. */
  readonly message: string;
  /** The segment asked for (not the tensor: the allocator rounds up). */
  readonly requested: PrintedSize | null;
  readonly device: number | null;
  readonly total: PrintedSize | null;
  readonly free: PrintedSize | null;
  /** What this process may use (`set_per_process_memory_fraction`). */
  readonly allowed: PrintedSize | null;
  /** Of this process, context included. */
  readonly process: PrintedSize | null;
  readonly others: readonly Other[];
  /** Of the framework's tensors. */
  readonly allocated: PrintedSize | null;
  /** Reserved by the framework and not in use. */
  readonly idle: PrintedSize | null;
  /** vLLM: tokens asked for and tokens that there is room for. */
  readonly tokens: { readonly wanted: number; readonly room: number } | null;
}

interface Marker {
  /** Text that begins the message. */
  readonly text: string;
  readonly kind: Kind;
  readonly backend: Said["backend"];
  /** Text that must stand near, where `text` alone is said of other things. */
  readonly near?: string;
}

/** Longest first where one begins as another does. */
const MARKERS: readonly Marker[] = [
  { text: "CUDA out of memory.", kind: "allocator", backend: "cuda" },
  { text: "HIP out of memory.", kind: "allocator", backend: "hip" },
  { text: "XPU out of memory.", kind: "allocator", backend: "xpu" },
  { text: "MPS backend out of memory", kind: "allocator", backend: "mps" },
  { text: "Allocation on device", kind: "allocator", backend: "cuda", near: "would exceed allowed memory" },
  { text: "CUDA error: out of memory", kind: "driver", backend: "cuda" },
  { text: "HIP error: out of memory", kind: "driver", backend: "hip" },
  { text: "bytes on host: CUDA_ERROR_OUT_OF_MEMORY", kind: "host", backend: "host" },
  { text: "CUDA_ERROR_OUT_OF_MEMORY", kind: "driver", backend: "cuda" },
  { text: "cudaErrorMemoryAllocation", kind: "driver", backend: "cuda" },
  { text: "cuda runtime error (2)", kind: "driver", backend: "cuda" },
  { text: "cudaMalloc failed: out of memory", kind: "driver", backend: "cuda" },
  { text: "Error out of memory at line", kind: "driver", backend: "cuda" },
  { text: "CUBLAS_STATUS_ALLOC_FAILED", kind: "library", backend: "cuda" },
  { text: "CUDNN_STATUS_ALLOC_FAILED", kind: "library", backend: "cuda" },
  { text: "HIPBLAS_STATUS_ALLOC_FAILED", kind: "library", backend: "hip" },
  { text: "NCCL WARN Cuda failure", kind: "communication", backend: "cuda", near: "out of memory" },
  { text: "Cuda failure 2 'out of memory'", kind: "communication", backend: "cuda" },
  { text: "Cuda failure 'out of memory'", kind: "communication", backend: "cuda" },
  { text: "Failed to CUDA calloc", kind: "communication", backend: "cuda" },
  { text: "RESOURCE_EXHAUSTED: Out of memory", kind: "compiled", backend: "xla" },
  { text: "Ran out of memory in memory space hbm", kind: "compiled", backend: "xla" },
  { text: "RESOURCE_EXHAUSTED: Attempting to", kind: "compiled", backend: "xla" },
  { text: "OOM when allocating tensor with shape", kind: "allocator", backend: "xla" },
  { text: "No available memory for the cache blocks", kind: "cache", backend: "cuda" },
  {
    text: "is larger than the maximum number of tokens that can be stored in KV cache",
    kind: "cache",
    backend: "cuda",
  },
  { text: "To serve at least one request with the model", kind: "cache", backend: "cuda" },
  { text: "is less than desired GPU memory utilization", kind: "cache", backend: "cuda" },
  { text: "DefaultCPUAllocator: can't allocate memory", kind: "host", backend: "host" },
  { text: "DefaultCPUAllocator: not enough memory", kind: "host", backend: "host" },
  { text: "Unable to allocate", kind: "host", backend: "host", near: "for an array with shape" },
];

/** What a line begins to say; undefined where it says nothing of memory that ran out. */
export function markerIn(text: string): { readonly kind: Kind; readonly at: number } | undefined {
  const found = marked(text);
  return found && { kind: found.marker.kind, at: found.at };
}

function marked(text: string): { marker: Marker; at: number } | undefined {
  for (const marker of MARKERS) {
    const at = text.indexOf(marker.text);
    if (at >= 0 && (marker.near === undefined || text.includes(marker.near))) return { marker, at };
  }
  return undefined;
}

/** Sizes by the words that stand before (`after`) or behind them. */
const SIZES: readonly {
  readonly field: "requested" | "total" | "free" | "allowed" | "process" | "allocated" | "idle";
  readonly after?: string;
  readonly before?: string;
}[] = [
  { field: "requested", after: "Tried to allocate" },
  { field: "requested", after: "trying to allocate" },
  { field: "requested", after: "Out of memory allocating" },
  { field: "requested", after: "you tried to allocate" },
  { field: "requested", after: "CUDA calloc" },
  { field: "requested", after: "CUDA calloc async" },
  { field: "requested", after: "Unable to allocate" },
  { field: "requested", after: "Attempting to reserve" },
  { field: "requested", after: "Attempting to allocate" },
  { field: "requested", after: "memory space hbm. Used" },
  { field: "total", before: "total capacity" },
  { field: "total", after: "total capacity of" },
  { field: "total", after: "total capacty of" },
  { field: "total", after: "max allowed:" },
  { field: "free", before: "is free" },
  { field: "free", before: "free;" },
  { field: "allowed", before: "allowed;" },
  { field: "process", after: "this process has" },
  { field: "allocated", before: "already allocated" },
  { field: "allocated", before: "is allocated by PyTorch" },
  { field: "allocated", before: "allocated by PyTorch" },
  { field: "allocated", after: "MPS allocated:" },
  { field: "idle", before: "is reserved by PyTorch but unallocated" },
  { field: "idle", before: "reserved by PyTorch but unallocated" },
  // Up to 1.3: cached and not allocated.
  { field: "idle", before: "cached)" },
];

/** Whether a message is worded as 1.0 to 1.3 did. */
export function saysCached(message: string): boolean {
  return message.includes(" cached)");
}

/** A figure no card has is an overflow: drivers of WSL say 17179869184 GiB. */
const LARGEST = 2 ** 50;

function sizesIn(text: string): Partial<Record<(typeof SIZES)[number]["field"], PrintedSize>> {
  const found: Partial<Record<(typeof SIZES)[number]["field"], PrintedSize>> = {};
  for (const { field, after, before } of SIZES) {
    if (found[field] !== undefined) continue;
    const size = after === undefined ? sizeBefore(text, before ?? "") : sizeAfter(text, after);
    if (size !== undefined && size.bytes < LARGEST) found[field] = size;
  }
  const reserved = sizeBefore(text, "reserved in total by PyTorch");
  if (found.idle === undefined && reserved !== undefined && found.allocated !== undefined)
    found.idle = {
      bytes: Math.max(0, reserved.bytes - found.allocated.bytes),
      within: reserved.within + found.allocated.within,
    };
  return found;
}

/** Bytes of an element, by TensorFlow's names (tensorflow/core/framework/types.proto). */
const ELEMENT: Readonly<Record<string, number>> = table({
  float: 4,
  half: 2,
  bfloat16: 2,
  double: 8,
  int32: 4,
  int64: 8,
  bool: 1,
});
const SHAPED = /tensor with shape\[([\d,]{1,120})\] and type (\w{1,16})/;

/** The size of the tensor that a message describes by its sides. */
function shapedSize(text: string): PrintedSize | null {
  const [, sides = "", type = ""] = SHAPED.exec(text) ?? [];
  const bytes = sides.split(",").reduce((product, side) => product * Number(side), ELEMENT[type] ?? Number.NaN);
  return bytes > 0 && bytes < LARGEST ? { bytes, within: 0 } : null;
}

const OTHER = /Process (\d+) has ([\d.]+) (bytes|[KMGT]iB) memory in use/g;
const DEVICE = /\bGPU (\d{1,3})\b|\bdevice (\d{1,3})\b/;
/** The whole number right after some words; undefined where there is none. */
function numberAfter(text: string, phrase: string): number | undefined {
  const at = text.indexOf(phrase);
  const digits = at < 0 ? undefined : /^\d{1,12}/.exec(text.slice(at + phrase.length))?.[0];
  return digits === undefined ? undefined : Number(digits);
}

/** vLLM: tokens of the longest sequence, and of those that there is room for. */
function tokensIn(text: string): Said["tokens"] {
  const wanted = numberAfter(text, "max seq len (");
  const room = numberAfter(text, "stored in KV cache (") ?? numberAfter(text, "estimated maximum model length is ");
  return wanted === undefined || room === undefined ? null : { wanted, room };
}

/**
 * Reads one message.
 *
 * @param text from its beginning on, on one line; what follows it may be there
 */
export function readMessage(text: string): Said | undefined {
  const found = marked(text);
  if (found === undefined) return undefined;
  const { marker } = found;
  const sizes = sizesIn(text);
  const device = DEVICE.exec(text);
  const others = [...text.matchAll(OTHER)].flatMap(([, pid, number = "", unit]) => {
    const size = printedSize(number, unit);
    return size === undefined || size.bytes >= LARGEST ? [] : [{ pid: Number(pid), size }];
  });
  return {
    kind: marker.kind,
    backend: marker.backend,
    message: text.slice(0, 600).trim(),
    requested: sizes.requested ?? shapedSize(text),
    device: device === null ? null : Number(device[1] ?? device[2]),
    total: sizes.total ?? null,
    free: sizes.free ?? null,
    allowed: sizes.allowed ?? null,
    process: sizes.process ?? null,
    others,
    allocated: sizes.allocated ?? null,
    idle: sizes.idle ?? null,
    tokens: tokensIn(text),
  };
}
