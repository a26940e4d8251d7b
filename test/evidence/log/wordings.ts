/** Messages in the libraries' own wording, with the figures of a case. Sizes are written as the library prints them. */

interface Figures {
  readonly asked: string;
  readonly gpu?: number;
  readonly total: string;
  readonly free: string;
  readonly allocated: string;
  /** Reserved in total, up to 2.0; not in use since. */
  readonly pool: string;
  readonly process?: string;
  readonly others?: readonly (readonly [pid: number, size: string])[];
}

/** PyTorch 1.0 to 1.3. */
export function cached({ asked, gpu = 0, total, free, allocated, pool }: Figures): string {
  return `RuntimeError: CUDA out of memory. Tried to allocate ${asked} (GPU ${gpu}; ${total} total capacity; ${allocated} already allocated; ${free} free; ${pool} cached)`;
}

/** PyTorch 1.4 to 2.0. */
export function reserved({ asked, gpu = 0, total, free, allocated, pool }: Figures): string {
  return `torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate ${asked} (GPU ${gpu}; ${total} total capacity; ${allocated} already allocated; ${free} free; ${pool} reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF`;
}

/** PyTorch 2.1 and later; `capacty` is 2.1's spelling. */
export function unallocated(figures: Figures, backend = "CUDA", capacity = "capacity"): string {
  const { asked, gpu = 0, total, free, allocated, pool, process, others = [] } = figures;
  const processes = others.map(([pid, size]) => `Process ${pid} has ${size} memory in use. `).join("");
  const own = process === undefined ? "" : `Including non-PyTorch memory, this process has ${process} memory in use. `;
  return `torch.OutOfMemoryError: ${backend} out of memory. Tried to allocate ${asked}. GPU ${gpu} has a total ${capacity} of ${total} of which ${free} is free. ${processes}${own}Of the allocated memory ${allocated} is allocated by PyTorch, and ${pool} is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_${backend}_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)`;
}

/** FSDP's warning while it gathers a checkpoint (torch/distributed/fsdp/_state_dict_utils.py), around the allocator's message; up to 1.13 without a rank. */
export function uncloned(name: string, message: string, rank?: number): string {
  const bare = message.slice(message.indexOf("CUDA out of memory"));
  const on = rank === undefined ? "" : ` on rank ${rank}`;
  return `/usr/local/lib/python3.10/dist-packages/torch/distributed/fsdp/fully_sharded_data_parallel.py:2224: UserWarning: Failed to clone() tensor with name ${name}${on}. This may mean that this state_dict entry could point to invalid memory regions after returning from state_dict() call if this parameter is managed by FSDP. Please check clone implementation of ${name}. Error: ${bare}\n  warnings.warn(`;
}

export function mps(allocated: string, other: string, allowed: string, asked: string): string {
  return `RuntimeError: MPS backend out of memory (MPS allocated: ${allocated}, other allocations: ${other}, max allowed: ${allowed}). Tried to allocate ${asked} on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).`;
}

export function cacheTokens(wanted: number, room: number): string {
  return `ValueError: The model's max seq len (${wanted}) is larger than the maximum number of tokens that can be stored in KV cache (${room}). Try increasing \`gpu_memory_utilization\` or decreasing \`max_model_len\` when initializing the engine.`;
}

export const CUBLAS = "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`";
export const BARE =
  "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call.";
