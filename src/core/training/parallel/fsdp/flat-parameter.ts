/** A unit's parameters as one: its shard on this rank, and its whole while the unit is gathered (torch/distributed/fsdp/_flat_param.py, FlatParamHandle). */
import { type DType, ELEMENT_BYTES } from "../../../engine/dtype";
import { SIDE_STREAMS } from "../../../engine/labels";
import { type Node, releaseNode } from "../../../engine/node";
import { alias, type Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { ghost, onStream, reserve, type Whole } from "../strategy";

export interface FlatParameterOptions {
  /** Every parameter begins at 16 bytes, and the end is padded to equal shards (`use_orig_params`). */
  readonly aligned: boolean;
  readonly compute: DType | null;
  readonly onHost: boolean;
  /** Dtype of the shard as it was loaded, which lies there until the unit is resharded for the first time; null: it does not. */
  readonly loaded: DType | null;
}

/** Bytes that a parameter's beginning is aligned to (`_FLAT_PARAM_ALIGNMENT`). */
const ALIGNMENT = 16;

/** A parameter, or padding before one. */
interface Part {
  readonly elements: number;
  readonly parameter: Tensor | null;
}

export class FlatParameter {
  readonly trained: boolean;
  /** The unsharded parameter, a leaf; it has memory only while it is gathered. */
  readonly whole: Tensor;
  /** What is there all the time. */
  readonly shard: Tensor;
  readonly shardElements: number;
  /** The sum of its gradient that this rank keeps, until it is handed to the shard (`_saved_grad_shard`). */
  savedGradient: Tensor | null = null;
  /** Gradients of the pieces while they are the unsharded ones' names. */
  private hasViews = false;
  private readonly parts: readonly Part[];
  /** What of each parameter lies in this rank's shard; null: nothing. */
  readonly pieces = new Map<Tensor, Tensor | null>();
  private split: Node | null = null;
  private onDevice: Tensor | null = null;
  private asLoaded: Tensor | null;
  private wasReduced = false;
  /** It is whole by a context of its own (`summon_full_params`). */
  private isSummoned = false;
  /** The parameters' names are views of the whole (`_use_unsharded_views`). */
  isSeenWhole = false;

  constructor(
    torch: Torch,
    readonly parameters: readonly Tensor[],
    readonly own: DType,
    private readonly ranks: number,
    private readonly options: FlatParameterOptions,
  ) {
    this.trained = parameters.some(({ requiresGradFlag }) => requiresGradFlag);
    this.parts = partsOf(parameters, options.aligned ? ALIGNMENT / ELEMENT_BYTES[own] : 0, ranks);
    const total = this.parts.reduce((sum, part) => sum + part.elements, 0);
    this.shardElements = Math.ceil(total / ranks);
    this.whole = ghost(torch, [total], this.gatheredDtype);
    this.whole.requiresGradFlag = this.trained;
    this.whole.name = `${parameters[0]!.name ?? ""}.flat`;
    const { loaded } = options;
    this.asLoaded = loaded && reserve(torch, "flat_shard", this.shardElements, loaded, "weights");
    this.shard = options.onHost
      ? ghost(torch, [this.shardElements], own)
      : reserve(torch, "flat_shard", this.shardElements, own, "weights");
    this.shard.requiresGradFlag = this.trained;
    this.describe(this.shard, parameters[0]!);
    this.shard.pattern = `${parameters[0]!.pattern ?? ""}.flat`;
    this.cut();
    for (const { storage } of parameters) {
      if (storage.id >= 0) torch.ledger.free(storage.id);
      storage.id = -1;
    }
  }

  private describe(piece: Tensor, { name, pattern, layer }: Tensor): void {
    piece.name = name;
    piece.pattern = pattern;
    piece.layer = layer;
  }

  /** The first rank's pieces: of every parameter what of it lies in the first shard. */
  private cut(): void {
    let at = 0;
    for (const { elements, parameter } of this.parts) {
      const own = Math.min(elements, this.shardElements - at);
      at += elements;
      if (parameter === null) continue;
      if (own <= 0) {
        this.pieces.set(parameter, null);
        continue;
      }
      const piece = alias(this.shard, [own], null);
      piece.requiresGradFlag = parameter.requiresGradFlag;
      this.describe(piece, parameter);
      piece.isTable = parameter.isTable;
      this.pieces.set(parameter, piece);
    }
  }

  get gatheredDtype(): DType {
    return this.options.compute ?? this.own;
  }

  /** Gathered in another dtype than it rests in (`_uses_param_mixed_precision`). */
  private get isMixed(): boolean {
    return this.gatheredDtype !== this.own;
  }

  /** The shard as it was loaded is there. */
  get isNamedAsLoaded(): boolean {
    return this.asLoaded !== null;
  }

  get isUnsharded(): boolean {
    return this.whole.storage.id >= 0;
  }

  /**
   * Casts the shard, gathers the whole, and lets go of the cast (`pre_unshard`, `unshard`, `post_unshard`), on a stream of its own
   * (torch/distributed/fsdp/_runtime_utils.py, `_unshard`).
   */
  unshard(torch: Torch): void {
    onStream(torch, SIDE_STREAMS.gathering, () => this.unshardThere(torch));
  }

  private unshardThere(torch: Torch): void {
    const { options } = this;
    this.isSeenWhole = true;
    if (this.isSummoned) return;
    // A shard on the host is sent again even where its whole is here.
    if (this.isUnsharded) {
      if (options.onHost && this.isMixed) this.sent(torch)?.release();
      return;
    }
    const sent = this.sent(torch);
    this.receive(torch);
    // Pieces are views of what was sent of the shard (`flat_param_to`), until they are the shard's again.
    if (options.onHost && options.aligned && !this.isMixed) this.onDevice = sent;
    else sent?.release();
  }

  /** Its whole is here, however it came. */
  receive(torch: Torch): void {
    const { gatheredDtype, shardElements, ranks, shard } = this;
    const isShard = ranks === 1 && !this.isMixed && !this.options.onHost;
    const whole = isShard ? shard : reserve(torch, "all_gather", shardElements * ranks, gatheredDtype, "communication");
    this.point(whole.storage.id);
  }

  /** What is gathered of the shard, where that is not the shard itself: in the dtype of mixed precision, from the host. */
  private sent(torch: Torch): Tensor | null {
    const { shardElements, own, gatheredDtype, options } = this;
    const copy = (): Tensor => reserve(torch, "to", shardElements, own, "communication");
    if (!this.isMixed) return options.onHost ? copy() : null;
    if (this.ranks === 1) return null;
    // `_use_low_precision_shard` has its place first, then what is copied into it.
    const low = reserve(torch, "_mp_shard", shardElements, gatheredDtype, "communication");
    if (options.onHost) copy().release();
    return low;
  }

  /** The parameters are what a block holds, or have no memory (-1). */
  private point(block: number): void {
    this.whole.storage.id = block;
    for (const { storage } of this.parameters) storage.id = block;
  }

  /**
   * `_use_unsharded_views`: parameters are views that gradients flow through into the flat one.
   *
   * @param complete runs once its gradient is
   */
  useViews(torch: Torch, complete: (torch: Torch) => void): void {
    this.dropViews();
    const { gradEnabled } = torch;
    torch.gradEnabled = true;
    const { parts, whole } = this;
    const node = torch.record("SplitWithSizesBackward0", [whole], (torch, gradients) => [
      joined(torch, gradients, parts, whole),
    ]);
    torch.gradEnabled = gradEnabled;
    if (node === null) return;
    node.references++;
    this.split = node;
    torch.gradientNode(whole).accumulated = complete;
    for (const [k, { elements, parameter }] of parts.entries()) {
      node.outputs.push({ sizes: parameter?.sizes ?? [elements], dtype: whole.dtype });
      if (parameter === null) continue;
      parameter.node = node;
      parameter.outputIndex = k;
    }
  }

  private dropViews(): void {
    const { split } = this;
    if (split === null) return;
    this.split = null;
    for (const parameter of this.parameters) parameter.node = null;
    releaseNode(split);
  }

  /**
   * The whole in the dtype it rests in, beside what of it had to be put together first.
   *
   * @param joined 1: this rank's part is made of pieces (`_allgather_orig_param_states`), 0: it is there already
   */
  gatherForSaving(torch: Torch, joined: 0 | 1): void {
    const { own, ranks, shardElements, options } = this;
    if (ranks === 1 && !options.onHost) return;
    const sent = options.onHost || joined ? reserve(torch, "to", shardElements, own, "communication") : null;
    if (ranks > 1) reserve(torch, "all_gather", shardElements * ranks, own, "communication").release();
    sent?.release();
  }

  /** The whole in the dtype it rests in (`_force_full_precision`), on the stream of what computes. */
  private summon(torch: Torch): Tensor {
    const { own, ranks, shardElements, options } = this;
    const sent = options.onHost ? reserve(torch, "to", shardElements, own, "communication") : null;
    if (ranks === 1) return sent ?? this.shard.retain();
    const whole = reserve(torch, "all_gather", shardElements * ranks, own, "communication");
    sent?.release();
    return whole;
  }

  /** The same for hooks that gather it in another dtype beside it; in its own they find it there, and let go of it. */
  summonBeside(torch: Torch): Whole {
    if (this.isMixed) return this.summon(torch);
    this.unshard(torch);
    return { release: () => this.free(torch) };
  }

  /** The same, as what is called finds it. */
  summonToRead(torch: Torch): Whole {
    this.free(torch);
    const whole = this.summon(torch);
    this.point(whole.storage.id);
    this.read(this.own);
    this.isSummoned = true;
    return {
      release: () => {
        this.isSummoned = false;
        this.read(this.gatheredDtype);
        this.point(-1);
        whole.release();
      },
    };
  }

  /**
   * The sum of a step's gradients while the wrapper around the model is not called: pieces have let go of it, the flat parameter has not
   * (`_reset_flat_param_grad_info_if_needed`).
   */
  leftGradient(torch: Torch): Whole | null {
    const { options, shardElements, own, wasReduced } = this;
    if (!wasReduced || !options.aligned || options.onHost) return null;
    return reserve(torch, "reduce_scatter", shardElements, own, "gradients");
  }

  /** The parameters' dtype is that of the memory they name. */
  private read(dtype: DType): void {
    for (const parameter of this.parameters) parameter.dtype = dtype;
  }

  free(torch: Torch): void {
    if (this.isSummoned) return;
    this.isSeenWhole = false;
    if (!this.isUnsharded) return;
    this.asLoaded?.release();
    this.asLoaded = null;
    if (this.whole.storage.id !== this.shard.storage.id) torch.ledger.free(this.whole.storage.id);
    this.point(-1);
    this.onDevice?.release();
    this.onDevice = null;
  }

  /**
   * `_use_unsharded_grad_views`: the pieces' gradients become views of the whole one. Each is made like its piece first, and
   * what was made goes at once.
   */
  useGradientViews(torch: Torch): void {
    if (this.hasViews || this.options.onHost) return;
    this.hasViews = true;
    for (const piece of this.pieces.values())
      if (piece !== null) reserve(torch, "empty_like", piece.elements, piece.dtype, "gradients").release();
  }

  /** `prepare_gradient_for_optim`, and the pieces' gradients as views of it. */
  handOver(flatOptimizer: boolean): void {
    const { savedGradient } = this;
    this.hasViews = false;
    if (savedGradient === null) return;
    this.savedGradient = null;
    this.wasReduced = true;
    // The optimizer reads the copy on the host (`_cpu_grad`).
    if (this.options.onHost) {
      savedGradient.release();
      return;
    }
    if (flatOptimizer) {
      this.shard.grad?.release();
      this.shard.grad = savedGradient;
      return;
    }
    for (const piece of this.pieces.values()) {
      if (piece === null || !piece.requiresGradFlag) continue;
      piece.grad?.release();
      piece.grad = alias(savedGradient, piece.sizes, null);
    }
    savedGradient.release();
  }

  /** Gradients of earlier micro-batches, which the next ones are added to. */
  get accumulated(): Tensor | null {
    const pieces = [this.shard, ...this.pieces.values()];
    return pieces.find((piece) => piece?.grad != null)?.grad ?? null;
  }

  /** Nothing of it is gathered. */
  rest(torch: Torch): void {
    this.dropViews();
    this.free(torch);
  }
}

/** `_init_flat_param_and_metadata`. */
function partsOf(parameters: readonly Tensor[], aligned: number, ranks: number): Part[] {
  const parts: Part[] = [];
  let total = 0;
  const pad = (multiple: number): void => {
    const rest = multiple <= 0 ? 0 : total % multiple;
    if (rest === 0) return;
    parts.push({ elements: multiple - rest, parameter: null });
    total += multiple - rest;
  };
  for (const parameter of parameters) {
    pad(aligned);
    parts.push({ elements: parameter.elements, parameter });
    total += parameter.elements;
  }
  if (aligned > 0) pad(ranks);
  return parts;
}

/** `split_with_sizes_backward`: gradients end to end, zeros where there is none. */
function joined(
  torch: Torch,
  gradients: readonly (Tensor | null)[],
  parts: readonly Part[],
  whole: Tensor,
): Tensor | null {
  if (gradients.every((gradient) => gradient === null)) return null;
  const zeros = parts.map((part, k) =>
    (gradients[k] ?? null) === null ? torch.empty("zeros", [part.elements], whole.dtype) : null,
  );
  // A gradient that does not lie row by row is copied before it is flattened (`ViewBackward0`).
  const copies = gradients.map((gradient) =>
    gradient !== null && gradient !== undefined && !gradient.contiguous
      ? torch.empty("clone", gradient.sizes, gradient.dtype)
      : null,
  );
  const result = torch.empty("cat", whole.sizes, whole.dtype);
  for (const tensor of [...zeros, ...copies]) tensor?.release();
  return result;
}
