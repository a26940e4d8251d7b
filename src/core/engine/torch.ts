/**
 * The state a step runs in: gradient mode, autocast with its weight-cast cache, saved-tensor hooks, the module the
 * running code belongs to. Operators (`ops/`) are functions over it.
 */

import type { ComponentKind } from "../report/estimate";
import type { Product } from "../report/operators";
import { NO_QUIRKS, type Quirks, type Routing } from "../training/specs/quirks";
import type { Tape } from "./compiled/tape";
import type { DType } from "./dtype";
import { ELEMENT_BYTES, isFloating } from "./dtype";
import { NO_LAYER } from "./folding/label";
import { NO_ROUND, type Rounds } from "./folding/rounds";
import { Kept } from "./kept";
import { NO_KERNEL, type Work } from "./labels";
import type { Ledger } from "./ledger";
import type { ModuleHooks } from "./module-hooks";
import type { LeafHook } from "./node";
import {
  type BackwardFunction,
  Edge,
  extended,
  Node,
  type Place,
  releaseNode,
  type SavedHandle,
  type SavedTensorHooks,
} from "./node";
import { type Note, tell, type Watcher } from "./notes";
import type { Ring } from "./ops/ring-attention";
import type { AllocationPolicy } from "./selective";
import { preservedStrides, type Sizes } from "./shape";
import { hostTensor, Storage, sameView, Tensor, tensorBytes } from "./tensor";
import { Trail } from "./trail";

/** Sequence number of AccumulateGrad nodes: they run as soon as they are ready (UINT64_MAX in PyTorch). No run has as many nodes. */
const FIRST = 2 ** 31 - 1;
const NO_EDGES: readonly null[] = [];
const runsNothing: BackwardFunction = () => [];

const NOTHING: readonly unknown[] = [];

/** Rows shared out among experts that run one by one; factors of two dtypes, which PyTorch refuses on a device; a loss of a script's own that was not run. */
export type Noticed = "shared-rows" | "exchanged-rows" | "mixed-dtypes" | "loss";

/** Who wants to know which parameters are in use. */
export interface UsageHooks {
  enter?(torch: Torch, layer: number, backward: boolean): void;
  leave?(torch: Torch, layer: number, backward: boolean): void;
  enterModule?(torch: Torch, path: string, elements: number): void;
  leaveModule?(torch: Torch, path: string, atOnce?: boolean): void;
}

export class Torch {
  gradEnabled = true;
  /** Ranks that share every sequence; null: each has its own. */
  ring: Ring | null = null;
  /** Ranks that exchange their tokens for heads around attention. */
  headExchange = 1;
  /** `module.training`: false during evaluation, when nothing is dropped or recomputed. */
  training = true;
  /** Autocast's dtype, or null outside any region. */
  autocastDtype: DType | null = null;
  /** False inside `torch.autocast(enabled=False)`. */
  autocastEnabled = false;
  /** Innermost last. */
  readonly hooks: SavedTensorHooks[] = [];
  /** Module path the running instruction belongs to. */
  scope = "";
  /** Inside the head or the loss: allocations are booked as logits-and-loss. */
  logits = false;
  /** Label of the repeated layer that runs now. */
  layer = NO_LAYER;
  /** Label of the round of a loop inside a layer that runs now. */
  round = NO_ROUND;
  /** Leaves rounds out; null where all are run. */
  rounds: Rounds | null = null;
  /** Every storage made meanwhile, where blocks are to be numbered anew; null: nobody asks. */
  made: Storage[] | null = null;
  /** Lets go of what the loop's names, or one of them, held of the micro-batch before; null: nothing is held, or it was let go of. */
  rebinds: ((name?: string) => void) | null = null;
  /** Kind of new allocations; set by the phase (activations in forward, temporaries in backward, …). */
  kind: ComponentKind = "activations";

  /**
   * Set when a recomputation has everything it needs: the rest of the segment runs without allocating, as PyTorch
   * leaves it by an exception there.
   */
  halted = false;
  /** Selective checkpointing of the running segment. */
  policy: AllocationPolicy | null = null;
  /** What the run's release of PyTorch does differently. */
  quirks: Quirks = NO_QUIRKS;
  /** Which experts rows go to where those run one by one. */
  routing: Routing = "even";
  /** What an estimate has to say of the run. */
  readonly noticed = new Set<Noticed>();
  /** An optimizer steps inside backward, in a pass that is simulated once and repeated. */
  stepsInPass = false;
  /** Told of every parameter whose gradient appears; installed by the parallel strategies. */
  leafHook: LeafHook | undefined = undefined;
  /** Told of what happens beside the events; installed by strategies that work in hooks. */
  watcher: Watcher | null = null;
  /** Which modules run; null where nobody asks. */
  trail: Trail | null = null;
  /** Stands for `torch.nn.functional.linear`; null: it is PyTorch's own. */
  linear: ((torch: Torch, input: Tensor, weight: Tensor, bias: Tensor | null) => Tensor) | null = null;
  /** Notes go into the ledger: what runs now is a region that will be played. */
  recordsNotes = false;

  /** Runs at the end of the running backward (`Variable._execution_engine.queue_callback`); null outside of one. */
  finalCallbacks: (() => void)[] | null = null;

  /** Of the repeats that are counted next, the number of the first. */
  firstRepeat = 0;

  /** The loss takes logits of which every GPU has a part of each row. */
  splitsLogits = false;
  /** How many ways a tensor is split over GPUs that share one model; installed by tensor parallelism. */
  share: ((sizes: Sizes, kind?: ComponentKind) => number) | undefined = undefined;
  /** Told when a repeated layer or a module outside the layers is used; installed by the parallel strategies. */
  usage: UsageHooks | undefined = undefined;
  /** Hooks of the trained model's modules, for those that adapters put inside of them. */
  modules: ModuleHooks | undefined = undefined;
  /** Index in the model of each layer label. */
  readonly layerIndices = new Map<number, number>();
  /** Bytes of CUDA managed memory (paged optimizer states), which the allocator's statistics do not see. */
  managedBytes = 0;

  /** Views of tensors that a loop over pictures has split, until its last round has taken its own. */
  readonly parts = new Map<Tensor, readonly Tensor[]>();
  /** What modules keep to their next forward. */
  readonly kept = new Kept();

  /** Notes what is computed from what, where the model is compiled. */
  tape: Tape | null = null;

  /** Bytes that each layer's saved tensors take in host memory during one pass. */
  readonly offloaded = new Map<number, number>();
  /** The most that a whole pass's saved tensors take in pinned host memory. */
  offloadedPeak = 0;

  /** Bytes that the kernel which has begun reads, and what it multiplies; its first result takes them. */
  private launchedReads = NO_KERNEL;
  private launchedWork: Work | null = null;
  private lastOperator = "";

  private sequence = 0;
  private readonly castCache = new Map<Tensor, Tensor>();

  constructor(readonly ledger: Ledger) {}

  /**
   * Allocates a tensor; `operator` is the dispatcher name shown in the event stream.
   *
   * @param strides null: row by row
   */
  empty(operator: string, sizes: Sizes, dtype: DType, strides: Sizes | null = null): Tensor {
    const bytes = tensorBytes(sizes, dtype);
    if (bytes === 0 || this.halted) return hostTensor(this.ledger, sizes, dtype);
    const kept = this.policy?.instead(operator);
    if (kept !== undefined) return kept;
    const kind = this.logits ? "logits-and-loss" : this.kind;
    const own = this.share === undefined ? bytes : Math.ceil(bytes / this.share(sizes, kind));
    const work = this.launchedWork;
    const id = this.ledger.allocate(own, operator, kind, this.scope, this.takeKernel(operator, own), work);
    const storage = new Storage(id);
    this.made?.push(storage);
    const tensor = new Tensor(this.ledger, storage, sizes, strides, dtype);
    this.policy?.made(operator, tensor);
    return tensor;
  }

  /**
   * A kernel begins that reads what it writes: the next tensor is written by it. Tensors made without one that begins are
   * taken for the same; under the same name in a row, for further outputs of one kernel.
   */
  launch(): void {
    this.launchedReads = NO_KERNEL;
    this.launchedWork = null;
    this.lastOperator = "";
  }

  /** A kernel begins that reads these tensors, each no further than it is stored; a list among them is read whole. */
  launchOn(tensors: readonly unknown[], more: readonly unknown[] = NOTHING): void {
    this.launchedReads = this.readBy(tensors) + this.readBy(more);
    this.launchedWork = null;
  }

  /** A kernel of attention begins, with so many FLOP in its products. */
  attend(tensors: readonly Tensor[], attention: number): void {
    this.launchedReads = this.readBy(tensors);
    this.launchedWork = { attention };
  }

  private readBy(tensors: readonly unknown[]): number {
    let reads = 0;
    for (const one of tensors) {
      if (one instanceof Tensor) reads += this.readable(one);
      else if (Array.isArray(one)) reads += this.readBy(one);
    }
    return reads;
  }

  private readable({ storage, sizes, dtype }: Tensor): number {
    return storage.id < 0 ? 0 : Math.min(tensorBytes(sizes, dtype), this.ledger.sizeOf(storage.id));
  }

  /** Bytes that the kernel of what is allocated reads, or `NO_KERNEL` for a further output of the one before. */
  private takeKernel(operator: string, bytes: number): number {
    const { launchedReads } = this;
    this.launchedReads = NO_KERNEL;
    this.launchedWork = null;
    const further = launchedReads === NO_KERNEL && operator === this.lastOperator;
    this.lastOperator = operator;
    return further || launchedReads !== NO_KERNEL ? launchedReads : bytes;
  }

  /**
   * A matrix product begins. GPUs that share one model split it: by columns where its result is split, else by what is
   * summed over.
   *
   * @param sizes of the result
   * @param reads bytes, where they are not those of the two factors
   */
  multiply(sizes: Sizes, product: Product, reads = factorBytes(product)): void {
    const byColumns = this.share?.(sizes) ?? 1;
    const bySum = byColumns > 1 ? 1 : (this.share?.([]) ?? 1);
    const split = byColumns * bySum;
    this.launchedReads = reads / split;
    this.launchedWork = {
      product:
        split === 1 ? product : { ...product, columns: product.columns / byColumns, inner: product.inner / bySum },
    };
  }

  /**
   * Starts recording an operator: a node when gradient mode is on and an input requires grad, else null.
   * Call before saving inputs and allocating outputs, as the generated autograd code does.
   */
  record(name: string, inputs: readonly (Tensor | null)[], backward: BackwardFunction): Node | null {
    if (!this.gradEnabled || this.halted) return null;
    for (const input of inputs) if (input?.base) this.refresh(input);
    let any = false;
    for (const input of inputs) if (input?.requiresGrad) any = true;
    if (!any) return null;
    const edges = new Array<Edge | null>(inputs.length);
    for (let k = 0; k < edges.length; k++) {
      const input = inputs[k];
      edges[k] = input?.requiresGrad ? this.edgeOf(input) : null;
    }
    const node = new Node(name, this.sequence++, edges, backward, this, null);
    this.tape?.recorded(node, inputs, this.ledger.eventCount);
    return node;
  }

  /** A view whose base was written into since looks at the base's new history (torch/csrc/autograd/variable.cpp, VariableHooks::grad_fn). */
  refresh(view: Tensor): void {
    const { base } = view;
    if (base === null || base.references === 0 || base.writes === view.seenWrites || base.node === null) return;
    view.seenWrites = base.writes;
    const before = view.node;
    view.node = null;
    const node = this.record("AsStridedBackward0", [base], (torch, [gradient]) => [
      gradient ? torch.empty("as_strided_backward", base.sizes, gradient.dtype) : null,
    ]);
    this.attach(node, view);
    if (before !== null) releaseNode(before);
  }

  /** What a tensor's gradient is handed to: what made it, or what accumulates a leaf's. */
  gradientNode(tensor: Tensor): Node {
    return tensor.node ?? this.accumulator(tensor);
  }

  private edgeOf(input: Tensor): Edge {
    const node = this.gradientNode(input);
    node.references++;
    return new Edge(node, input.node === null ? 0 : input.outputIndex);
  }

  /** Saves a tensor for backward (through the hooks in force). */
  save(node: Node, tensor: Tensor): void {
    const { base } = tensor;
    if (base !== null && base.name !== null && this.watcher?.view !== undefined && this.hooks.length === 0)
      node.saved = extended(node.saved, this.savedView(tensor, base));
    else node.saved = extended(node.saved, this.hooks.at(-1)?.pack(tensor) ?? tensor.retain());
  }

  /** A view of a parameter is no leaf: its saved variable holds the memory that it was made over, whatever the parameter's name is given to later (torch/csrc/autograd/saved_variable.cpp). */
  private savedView(view: Tensor, leaf: Tensor): SavedHandle {
    view.retain();
    this.note({ kind: "view", leaf, saved: true });
    return {
      unpack: () => view.unpack(),
      release: () => {
        this.note({ kind: "view", leaf, saved: false });
        view.release();
      },
    };
  }

  /** Saves an output: its data without the graph, or the graph would hold itself. */
  saveOutput(node: Node, tensor: Tensor): void {
    this.tape?.result(node, tensor);
    node.saved = extended(node.saved, this.hooks.at(-1)?.pack(tensor) ?? sameView(tensor));
  }

  /** Notes that a saved tensor of the running layer waits in host memory. */
  offload(bytes: number): void {
    this.offloaded.set(this.layer, (this.offloaded.get(this.layer) ?? 0) + bytes);
  }

  /** Declares `tensor` an output of `node`. */
  attach(node: Node | null, tensor: Tensor): Tensor {
    if (node === null) return tensor;
    this.tape?.result(node, tensor);
    node.references++;
    tensor.node = node;
    tensor.outputIndex = node.outputs.length;
    node.outputs.push({ sizes: tensor.sizes, dtype: tensor.dtype });
    return tensor;
  }

  /** The leaf's AccumulateGrad node (torch/csrc/autograd/functions/accumulate_grad.cpp). */
  private accumulator(leaf: Tensor): Node {
    // The node keeps its leaf alive and the leaf only remembers its node.
    if (leaf.accumulator === null) {
      const place: Place = { scope: leaf.name ?? "", logits: false, layer: NO_LAYER, round: NO_ROUND };
      const node = new Node("AccumulateGrad", FIRST, NO_EDGES, runsNothing, place, leaf.retain());
      node.outputs.push({ sizes: leaf.sizes, dtype: leaf.dtype });
      leaf.accumulator = node;
    }
    return leaf.accumulator;
  }

  /** The following events belong to another layer (or, with `NO_LAYER`, to none). */
  enterLayer(label: number, backward: boolean): void {
    const before = this.layerIndices.get(this.layer);
    if (before !== undefined) this.usage?.leave?.(this, before, backward);
    this.layer = label;
    this.ledger.mark(label);
    const index = this.layerIndices.get(label);
    if (index !== undefined) this.usage?.enter?.(this, index, backward);
  }

  /** Installs who is told of notes. */
  watch(watcher: Watcher | null): void {
    this.watcher = watcher;
    this.trail = watcher?.module === undefined ? null : new Trail(this);
  }

  /** Something happens beside the events: whoever watches is told, now or where the region is played. */
  note(note: Note): void {
    if (this.watcher === null || this.halted) return;
    if (!this.recordsNotes) tell(this, this.watcher, note);
    else this.ledger.notes.push({ event: this.ledger.eventCount, layer: this.layer, note });
  }

  /** Runs what becomes a region. */
  asRegion<T>(body: () => T): T {
    const before = this.recordsNotes;
    this.recordsNotes = true;
    const result = body();
    this.recordsNotes = before;
    return result;
  }

  /** The following events belong to another round (or, with `NO_ROUND`, to none). */
  enterRound(label: number): void {
    this.round = label;
    this.ledger.markRound(label);
  }

  /** Whether operators see autocast now. */
  get autocasting(): boolean {
    return this.autocastEnabled && this.autocastDtype !== null;
  }

  /**
   * `cached_cast`: a copy in `dtype` where autocast wants one, else the tensor itself (owned either way). Casts of
   * float32 leaves that require grad are cached until the outermost region ends (aten/src/ATen/autocast_mode.cpp), and
   * part of the graph even where `no_grad` comes first, so that the weight gets its gradient from a later use.
   */
  autocast(tensor: Tensor, dtype: DType): Tensor {
    if (!isFloating(tensor.dtype) || tensor.dtype === "float64" || tensor.dtype === dtype) return tensor.retain();
    const cacheable =
      dtype === this.autocastDtype &&
      tensor.dtype === "float32" &&
      tensor.requiresGradFlag &&
      tensor.isLeaf &&
      !tensor.isView;
    if (cacheable) {
      const cached = this.castCache.get(tensor);
      if (cached !== undefined) return cached.retain();
    }
    const { gradEnabled } = this;
    if (cacheable) this.gradEnabled = true;
    const copy = this.toCopy(tensor, dtype);
    this.gradEnabled = gradEnabled;
    if (cacheable) this.castCache.set(tensor, copy.retain());
    return copy;
  }

  /**
   * Casts the operands of one operator, last first: the wrapper's cast calls are arguments of one C++ call, which the
   * compilers PyTorch is built with evaluate from right to left. The caller releases them.
   */
  castAll(dtype: DType, ...tensors: (Tensor | null)[]): (Tensor | null)[] {
    const cast = new Array<Tensor | null>(tensors.length).fill(null);
    for (let k = tensors.length - 1; k >= 0; k--) {
      const tensor = tensors[k] ?? null;
      cast[k] = tensor === null ? null : this.autocast(tensor, dtype);
    }
    return cast;
  }

  /** Leaves an outermost autocast region: the cached casts go. */
  clearCastCache(): void {
    for (const cast of this.castCache.values()) cast.release();
    this.castCache.clear();
  }

  /** `aten::_to_copy`, differentiable: the gradient is cast back. */
  toCopy(tensor: Tensor, dtype: DType, strides?: Sizes): Tensor {
    const differentiable = isFloating(dtype);
    const node = differentiable ? this.record("ToCopyBackward0", [tensor], castBack(tensor.dtype)) : null;
    this.launchOn([tensor]);
    const copy = this.empty("_to_copy", tensor.sizes, dtype, strides ?? preserved(tensor));
    return this.attach(node, copy);
  }
}

function factorBytes({ count, rows, columns, inner, dtype }: Product): number {
  return count * inner * (rows + columns) * ELEMENT_BYTES[dtype];
}

function preserved(tensor: Tensor): Sizes | null {
  return tensor.byRows ? null : preservedStrides(tensor.sizes, tensor.strides);
}

function castBack(dtype: DType): BackwardFunction {
  return (torch, [gradient]) => {
    if (gradient === null || gradient === undefined) return [null];
    return [gradient.dtype === dtype ? gradient.retain() : torch.toCopy(gradient, dtype)];
  };
}
