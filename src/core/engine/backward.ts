/**
 * The backward pass: nodes in order of readiness and sequence number, gradients summed where they meet, saved
 * variables freed as each node finishes. Source: torch/csrc/autograd/{engine.cpp,input_buffer.cpp},
 * torch/csrc/autograd/functions/accumulate_grad.h.
 */
import { say } from "../../words/message";
import type { Node } from "./node";
import { FREED, releaseNode, releaseSaved, Task } from "./node";
import { NotModelled } from "./not-modelled";
import { add, sumTo } from "./ops/arithmetic";
import { clone } from "./ops/layout";
import { isDense, sameSizes } from "./shape";
import { alias, type Tensor } from "./tensor";
import type { Torch } from "./torch";

/** Node of a reentrant checkpoint. */
export const CHECKPOINT = "CheckpointFunctionBackward";

/** Binary max-heap by sequence number. */
class ReadyQueue {
  private readonly heap: Task[] = [];

  get size(): number {
    return this.heap.length;
  }

  push(task: Task): void {
    const heap = this.heap;
    let at = heap.push(task) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.node.sequence >= task.node.sequence) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = task;
  }

  pop(): Task {
    const heap = this.heap;
    const top = heap[0]!;
    const last = heap.pop()!;
    if (heap.length > 0) {
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= heap.length) break;
        if (child + 1 < heap.length && heap[child + 1]!.node.sequence > heap[child]!.node.sequence) child++;
        if (heap[child]!.node.sequence <= last.node.sequence) break;
        heap[at] = heap[child]!;
        at = child;
      }
      heap[at] = last;
    }
    return top;
  }
}

/**
 * `torch.autograd.backward(roots, gradients)`. Root tensors are borrowed; gradients are owned by the call.
 */
export function backward(torch: Torch, roots: readonly Tensor[], gradients: readonly Tensor[]): void {
  const wasEnabled = torch.gradEnabled;
  const outerScope = torch.scope;
  const outerLogits = torch.logits;
  const outerLayer = torch.layer;
  const outerRound = torch.round;
  let layer = outerLayer;
  const outermost = torch.finalCallbacks === null;
  torch.finalCallbacks ??= [];
  torch.gradEnabled = false;
  const rootNodes: Node[] = [];
  for (const root of roots) if (root.node !== null) rootNodes.push(root.node);
  const tasks = tasksOf(rootNodes);
  const ready = new ReadyQueue();
  // The engine holds the graph's roots until it is done with them.
  for (const node of rootNodes) node.references++;
  roots.forEach((root, k) => {
    const gradient = gradients[k]!;
    if (root.node === null) {
      gradient.release();
      return;
    }
    deliver(torch, root.node.task!, root.outputIndex, gradient);
  });
  for (const { task } of new Set(rootNodes)) if (task?.missing === 0) ready.push(task);
  const { trail } = torch;
  trail?.beginBackward();
  while (ready.size > 0) {
    const task = ready.pop();
    const node = task.node;
    torch.scope = node.scope;
    torch.logits = node.logits;
    if (node.leaf !== null) {
      for (const hook of node.hooks ?? []) hook(torch);
      const gradient = task.buffer[0];
      task.buffer[0] = null;
      if (!gradient) continue;
      trail?.reach(node.leaf);
      const appeared = accumulate(torch, node.leaf, gradient);
      node.accumulated?.(torch);
      if (node.leaf.name === null) continue;
      if (appeared) torch.leafHook?.(node.leaf, torch);
      torch.note({ kind: "gradient", leaf: node.leaf });
      continue;
    }
    if (node.layer !== layer) {
      torch.enterLayer(node.layer, true);
      layer = node.layer;
    }
    if (node.round !== torch.round) torch.enterRound(node.round);
    // What stands for a checkpointed segment is outside the modules that it runs again.
    if (node.name === CHECKPOINT) trail?.leaveBackward();
    else trail?.enterBackward(node.scope);
    const results = evaluate(torch, task);
    for (let k = 0; k < node.edges.length; k++) {
      const edge = node.edges[k];
      const result = results[k] ?? null;
      if (edge === null || edge === undefined) {
        result?.release();
        continue;
      }
      const next = edge.node.task!;
      if (result !== null) deliver(torch, next, edge.index, result);
      if (--next.missing === 0) ready.push(next);
    }
  }
  trail?.endBackward();
  for (const { node, outer } of tasks) node.task = outer;
  for (const node of rootNodes) releaseNode(node);
  torch.gradEnabled = wasEnabled;
  torch.scope = outerScope;
  torch.logits = outerLogits;
  if (torch.round !== outerRound) torch.enterRound(outerRound);
  if (layer !== outerLayer) torch.enterLayer(outerLayer, true);
  if (!outermost) return;
  for (const callback of torch.finalCallbacks) callback();
  torch.finalCallbacks = null;
}

/** The tasks of every node behind the roots, each with how many nodes deliver to it. */
function tasksOf(roots: readonly Node[]): readonly Task[] {
  const pass: Task[] = [];
  const visit = (node: Node): Task => {
    const { task } = node;
    if (task !== null && task.pass === pass) return task;
    const own = new Task(node, pass, task);
    node.task = own;
    pass.push(own);
    return own;
  };
  for (const root of roots) visit(root);
  for (let k = 0; k < pass.length; k++)
    for (const edge of pass[k]!.node.edges) if (edge !== null) visit(edge.node).missing++;
  return pass;
}

/** `InputBuffer::add`: the first gradient is kept, later ones are added. */
function deliver(torch: Torch, task: Task, index: number, gradient: Tensor): void {
  const old = task.buffer[index];
  if (old === null || old === undefined) {
    task.buffer[index] = gradient;
    return;
  }
  const scope = torch.scope;
  const logits = torch.logits;
  torch.scope = task.node.scope;
  torch.logits = task.node.logits;
  const sum = add(torch, old, gradient);
  torch.tape?.summed(task.node, old, gradient, sum);
  task.buffer[index] = sum;
  torch.scope = scope;
  torch.logits = logits;
  old.release();
  gradient.release();
}

function evaluate(torch: Torch, task: Task): (Tensor | null)[] {
  const { node, buffer } = task;
  // torch/csrc/autograd/saved_variable.cpp, SavedVariable::unpack: a reentrant checkpoint's own pass has been here.
  if (node.saved === FREED) throw new NotModelled(say("engine.backward-twice"));
  if (node.hooks !== undefined) for (const hook of node.hooks) hook(torch);
  const saved = node.saved.map((variable) => variable.unpack());
  torch.scope = node.scope;
  torch.logits = node.logits;
  torch.launchOn(buffer, saved);
  const begin = torch.ledger.eventCount;
  const results = node.backward(torch, buffer, saved, node);
  for (const tensor of saved) tensor.release();
  // validate_outputs: gradients take the shape and dtype of what they are gradients of.
  for (let k = 0; k < results.length; k++) {
    const edge = node.edges[k];
    let result = results[k];
    if (!result || !edge) continue;
    const wanted = edge.node.outputs[edge.index]!;
    if (!sameSizes(result.sizes, wanted.sizes)) {
      const summed = sumTo(torch, result, wanted.sizes);
      result.release();
      result = summed;
    }
    if (result.dtype !== wanted.dtype) {
      const cast = torch.toCopy(result, wanted.dtype);
      result.release();
      result = cast;
    }
    results[k] = result;
  }
  torch.tape?.ran(node, buffer, saved, results, begin, torch.ledger.eventCount);
  for (let k = 0; k < buffer.length; k++) {
    buffer[k]?.release();
    buffer[k] = null;
  }
  releaseSaved(node);
  return results;
}

/** AccumulateGrad; true when a gradient appeared. The first gradient is taken over (or copied when its layout differs), later ones are added in place. */
function accumulate(torch: Torch, leaf: Tensor, gradient: Tensor): boolean {
  if (leaf.grad !== null) {
    torch.tape?.added(gradient);
    gradient.release();
    return false;
  }
  const obeys = isDense(leaf.sizes, leaf.strides) ? sameLayout(gradient, leaf) : gradient.contiguous;
  // Stolen only when nobody else refers to it, neither the tensor nor (through a view) its storage.
  if (gradient.references === 1 && obeys) {
    leaf.grad = alias(gradient, leaf.sizes, gradient.strides);
    torch.ledger.takeovers.push({ event: torch.ledger.eventCount, id: gradient.storage.id });
  } else {
    leaf.grad = clone(torch, gradient, leaf.strides);
  }
  gradient.release();
  if (leaf.name !== null) torch.ledger.relabel(leaf.grad.storage.id, "gradients");
  return true;
}

/** Whether strides agree but for those of one-element dimensions, as the layout contract compares them. */
function sameLayout({ sizes, strides }: Tensor, other: Tensor): boolean {
  const { strides: wanted } = other;
  for (let k = 0; k < sizes.length; k++) if (sizes[k] !== 1 && strides[k] !== wanted[k]) return false;
  return true;
}
