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

export interface SavedHandle {
  /** Gives an owned tensor. */
  unpack(): Tensor;
  /** The saved variable goes away. */
  drop(): void;
}

export type SavedVariable = { readonly tensor: Tensor } | { readonly handle: SavedHandle };

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

export interface Edge {
  readonly node: Node;
  readonly index: number;
}

/** Sizes and dtype of an input, which its gradient is cast and summed to (`InputMetadata`). */
export interface InputMetadata {
  readonly sizes: readonly number[];
  readonly dtype: Tensor["dtype"];
}

export interface Node {
  readonly name: string;
  readonly sequence: number;
  readonly edges: readonly (Edge | null)[];
  saved: SavedVariable[];
  /** Metadata of the outputs this node made, filled as they are made. */
  readonly outputs: InputMetadata[];
  backward: BackwardFunction;
  references: number;
  /** Scope and kind its backward's allocations are booked on. */
  readonly scope: string;
  readonly logits: boolean;
  /** Layer whose forward made it (see `region.ts`). */
  readonly layer: number;
  /** The leaf this node accumulates into (AccumulateGrad). */
  readonly leaf: Tensor | null;
  /** What a Python function's context refers to besides saved variables: it goes with the node, not with its backward. */
  held?: readonly Tensor[];
}

/** Frees what a node saved. */
export function releaseSaved(node: Node): void {
  const saved = node.saved;
  node.saved = [];
  for (const variable of saved) {
    if ("tensor" in variable) variable.tensor.release();
    else variable.handle.drop();
  }
}

/** Lets go of a node; deletion walks the graph with a list, as deep graphs would overflow the stack. */
export function releaseNode(node: Node): void {
  const pending = [node];
  while (pending.length > 0) {
    const current = pending.pop()!;
    if (--current.references > 0) continue;
    releaseSaved(current);
    for (const tensor of current.held ?? []) tensor.release();
    if (current.leaf !== null) {
      current.leaf.accumulator = null;
      current.leaf.release();
    }
    for (const edge of current.edges) if (edge !== null) pending.push(edge.node);
  }
}
