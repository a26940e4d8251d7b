/**
 * Nodes of the autograd graph and the variables they save. Source: torch/csrc/autograd/{function.h,saved_variable.cpp}.
 */
import type { Tensor } from "./tensor";
import type { Torch } from "./torch";

/** `torch.autograd.graph.saved_tensors_hooks`: what is kept in place of a saved tensor. */
export interface SavedTensorHooks {
  /** Borrowed tensor in; the handle that is kept (and owns what it holds). */
  pack(tensor: Tensor): SavedHandle;
}

/** A saved variable: a tensor stands for itself. */
export interface SavedHandle {
  /** Gives an owned tensor. */
  unpack(): Tensor;
  /** The saved variable goes away. */
  release(): void;
}

export const NOTHING_SAVED: readonly SavedHandle[] = [];

/**
 * Backward of one node. Gradients are borrowed (null = undefined); results are owned, one per input, null where no
 * gradient is needed. `saved` are the unpacked saved tensors, borrowed, in the order they were saved.
 */
export type BackwardFunction = (
  torch: Torch,
  gradients: readonly (Tensor | null)[],
  saved: readonly Tensor[],
  node: Node,
) => (Tensor | null)[];

export class Edge {
  constructor(
    readonly node: Node,
    readonly index: number,
  ) {}
}

/** Sizes and dtype of an input, which its gradient is cast and summed to (`InputMetadata`). */
export interface InputMetadata {
  readonly sizes: readonly number[];
  readonly dtype: Tensor["dtype"];
}

/** A node's part in a backward pass. */
export class Task {
  /** One slot per output of the node (the inputs of its backward). */
  readonly buffer: (Tensor | null)[];
  /** Nodes that have not delivered yet. */
  missing = 0;

  /**
   * @param pass all tasks of the same pass
   * @param outer the node's part in the pass around this one: both may reach what accumulates a parameter's gradient
   */
  constructor(
    readonly node: Node,
    readonly pass: readonly Task[],
    readonly outer: Task | null,
  ) {
    this.buffer = new Array<Tensor | null>(Math.max(1, node.outputs.length)).fill(null);
  }
}

/** Where the code runs that makes a node. */
export interface Place {
  /** Scope and kind its backward's allocations are booked on. */
  readonly scope: string;
  readonly logits: boolean;
  /** Layer whose forward made it (see `folding/label.ts`). */
  readonly layer: number;
  /** Label of the round of a loop inside that layer. */
  readonly round: number;
}

/** A class, as objects that are written out as such are moved to where V8 collects rarely, and keep all that they refer to. */
export class Node implements Place {
  saved: readonly SavedHandle[] = NOTHING_SAVED;
  /** Metadata of the outputs this node made, filled as they are made. */
  readonly outputs: InputMetadata[] = [];
  references = 0;
  readonly scope: string;
  readonly logits: boolean;
  readonly layer: number;
  readonly round: number;
  /** What the running backward pass knows of it. */
  task: Task | null = null;
  /** Run when the gradients of what it made are there, before it is differentiated (`register_hook` on its outputs). */
  hooks?: readonly ((torch: Torch) => void)[];
  /** Runs once the gradient of the leaf it accumulates into is complete (`register_hook` on AccumulateGrad). */
  accumulated?: (torch: Torch) => void;
  /** What a Python function's context refers to besides saved variables: it goes with the node, not with its backward. */
  held?: readonly Tensor[];

  /** @param leaf the one this node accumulates into (AccumulateGrad) */
  constructor(
    readonly name: string,
    readonly sequence: number,
    readonly edges: readonly (Edge | null)[],
    public backward: BackwardFunction,
    place: Place,
    readonly leaf: Tensor | null,
  ) {
    this.scope = place.scope;
    this.logits = place.logits;
    this.layer = place.layer;
    this.round = place.round;
  }
}

/** What happens to a parameter's gradient when it appears (ZeRO's partitions, FSDP's shards). */
export type LeafHook = (leaf: Tensor, torch: Torch) => void;

/** In place of what a node had saved when it ran: a second pass that reaches it raises (`ERR_BACKWARD_TWICE`). */
export const FREED: readonly SavedHandle[] = [];

/** With one more at the end: few are saved, and a list that grows takes room for many. */
export function extended<T>(list: readonly T[], one: T): readonly T[] {
  return list.length === 0 ? [one] : list.length === 1 ? [list[0]!, one] : [...list, one];
}

/** Frees what a node saved; nodes that saved nothing run any number of times. */
export function releaseSaved(node: Node): void {
  const { saved } = node;
  if (saved.length > 0) node.saved = FREED;
  for (const variable of saved) variable.release();
}

/** Lets go of a node; deletion walks the graph with a list, as deep graphs would overflow the stack. */
export function releaseNode(node: Node): void {
  if (node.references > 1) {
    node.references--;
    return;
  }
  const pending = [node];
  while (pending.length > 0) {
    const current = pending.pop()!;
    if (--current.references > 0) continue;
    releaseSaved(current);
    if (current.held !== undefined) for (const tensor of current.held) tensor.release();
    if (current.leaf !== null) {
      current.leaf.accumulator = null;
      current.leaf.release();
    }
    for (const edge of current.edges) if (edge !== null) pending.push(edge.node);
  }
}
