/**
 * What a micro-batch computes from what, noted while it runs eagerly, so that its events can be rewritten to those of
 * compiled code (`rewrite.ts`).
 */

import { NO_LAYER } from "../folding/label";
import type { Node } from "../node";
import { type Tensor, tensorBytes } from "../tensor";
import type { Torch } from "../torch";
import { isLoop, isRecomputed } from "./operators";

/** Blocks are rounded up to so many bytes. */
const BLOCK = 512;
/** Rows of an attention mask are aligned to so many elements. */
const COLUMNS = 16;

/** One operator: blocks of the ledger it reads and makes. */
export interface Operation {
  /** A loop that may run inside its readers'. */
  readonly loop: boolean;
  /** A loop that the partitioner may run again in backward. */
  readonly recomputed: boolean;
  /** Backward of an operator of the forward. */
  readonly backward: boolean;
  /** Outside of what is compiled. */
  readonly eager: boolean;
  readonly reads: number[];
  readonly makes: number[];
  /** Events of the ledger when it began, and when it was done. */
  readonly begin: number;
  end: number;
}

/** What of a model is compiled. */
export interface CompiledParts {
  /**
   * Whether fused attention is given a mask of (sequences, 1, tokens, tokens): code that is traced cannot look whether a batch
   * has padding (transformers/masking_utils.py, is_tracing).
   */
  readonly masks: boolean;
  /** The model is one function, and its loss with it; otherwise each layer is one. */
  readonly whole: boolean;
  /** Head and loss are compiled. */
  readonly loss: boolean;
}

export class Tape {
  readonly operations: Operation[] = [];
  /** Blocks that code around the compiled function holds: the model's outputs. */
  readonly returned = new Set<number>();
  /** Blocks that are added to parameters' gradients. */
  readonly gradients = new Set<number>();
  private readonly made = new Map<Node, Operation>();
  /** Casts by what they read: the same cast again is the first one's result (torch/_functorch/compile_utils.py, fx_graph_cse). */
  private readonly casts = new Map<string, number>();
  /** Whether backward has begun: what is recorded now is computed again, in operators of its own. */
  private again = false;
  private readonly castOf = new Map<Operation, Tensor | null>();
  /** Blocks that only eager code makes, by the block that stands for them. */
  readonly same = new Map<number, number>();
  /** The additive mask of the micro-batch, made once. */
  mask: Tensor | null = null;

  constructor(readonly parts: CompiledParts) {}

  /** Whether code of a layer (`NO_LAYER` for none), or of head and loss, is compiled. */
  compiles(layer: number, logits: boolean): boolean {
    return this.parts.whole || layer !== NO_LAYER || (logits && this.parts.loss);
  }

  /** An operator of the forward (or of a recomputation) begins. */
  recorded(node: Node, inputs: readonly (Tensor | null)[], begin: number): void {
    const eager = !this.compiles(node.layer, node.logits);
    const operation: Operation = {
      loop: !eager && isLoop(node.name),
      recomputed: !eager && isRecomputed(node.name),
      backward: false,
      eager,
      reads: this.blocksOf(inputs),
      makes: [],
      begin,
      end: begin,
    };
    this.made.set(node, operation);
    this.operations.push(operation);
    if (!eager && node.name === "ToCopyBackward0") this.castOf.set(operation, inputs[0] ?? null);
  }

  /** One of its results is there. */
  result(node: Node, output: Tensor): void {
    const operation = this.made.get(node);
    const { id } = output.storage;
    if (operation === undefined || id < 0) return;
    operation.end = output.ledger.eventCount;
    const first = this.sameCast(operation, output);
    if (first !== null) {
      this.same.set(id, first);
      this.operations.splice(this.operations.lastIndexOf(operation), 1);
      return;
    }
    if (!operation.reads.includes(id) && !operation.makes.includes(id)) operation.makes.push(id);
  }

  /** The block of an earlier cast of the same tensor; null where this is the first, or of a part of a block. */
  private sameCast(operation: Operation, { dtype, sizes, ledger, storage }: Tensor): number | null {
    const source = this.castOf.get(operation) ?? null;
    const read = operation.reads[0];
    if (source === null || read === undefined) return null;
    if (tensorBytes(source.sizes, source.dtype) + BLOCK <= ledger.bytes[read]!) return null;
    const key = [this.again, read, dtype, ...sizes, "of", ...source.sizes, ...source.strides].join(" ");
    const first = this.casts.get(key);
    if (first === undefined) this.casts.set(key, storage.id);
    return first ?? null;
  }

  /** The backward of a node ran. */
  ran(
    node: Node,
    gradients: readonly (Tensor | null)[],
    saved: readonly Tensor[],
    results: readonly (Tensor | null | undefined)[],
    begin: number,
    end: number,
  ): void {
    this.again = true;
    const reads = this.blocksOf([...gradients, ...saved]);
    const makes = this.blocksOf(results).filter((id) => !reads.includes(id));
    const eager = !this.compiles(node.layer, node.logits);
    this.operations.push({
      loop: !eager && isLoop(node.name),
      recomputed: false,
      backward: true,
      eager,
      reads,
      makes,
      begin,
      end,
    });
  }

  /** Two gradients of one tensor were added. */
  summed(node: Node, first: Tensor, second: Tensor, sum: Tensor): void {
    const reads = this.blocksOf([first, second]);
    const makes = this.blocksOf([sum]).filter((id) => !reads.includes(id));
    const loop = this.compiles(node.layer, node.logits);
    const end = sum.ledger.eventCount;
    this.operations.push({ loop, recomputed: false, backward: true, eager: !loop, reads, makes, begin: end, end });
  }

  /** A parameter that has a gradient got another one. */
  added(gradient: Tensor): void {
    for (const id of this.blocksOf([gradient])) this.gradients.add(id);
  }

  /** What the model hands to the code around it. */
  returns(outputs: readonly Tensor[]): void {
    for (const id of this.blocksOf(outputs)) this.returned.add(id);
  }

  /** The additive mask, as fused attention wants it. */
  maskFor(torch: Torch, query: Tensor, keys: number): Tensor {
    const columns = Math.ceil(keys / COLUMNS) * COLUMNS;
    this.mask ??= torch.empty("where", [query.size(0), 1, query.size(2), columns], query.dtype);
    return this.mask;
  }

  finish(): void {
    this.mask?.release();
    this.mask = null;
  }

  private blocksOf(tensors: readonly (Tensor | null | undefined)[]): number[] {
    const ids = new Set<number>();
    for (const tensor of tensors) {
      const id = tensor?.storage.id ?? -1;
      if (id >= 0) ids.add(this.same.get(id) ?? id);
    }
    return [...ids];
  }
}
