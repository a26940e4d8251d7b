/**
 * What forward keeps for backward: a minimum cut between what cannot be computed again and what backward reads. Source:
 * torch/_functorch/partitioners.py (solve_min_cut: should_ban_recomputation, get_node_weight, ban_if_used_far_apart).
 */
import { FlowGraph, UNCUT } from "./cut";
import type { Operation } from "./tape";

/** A result so many times smaller than what is read is a reduction, which is not made again. */
const REDUCTION = 4;
/** Bias towards values near their use in backward, per operator, up to so many. */
const FAR = 1.1;
const FARTHEST = 100;

export interface Forward {
  readonly operations: readonly Operation[];
  /** Bytes of a block; null where it was there before the micro-batch, and so is free to keep. */
  readonly bytesOf: (block: number) => number | null;
  /** Blocks that backward reads; true where an operator with buffers of its own does. */
  readonly needed: ReadonlyMap<number, boolean>;
}

/** @returns the blocks that are kept */
export function keptBlocks({ operations, bytesOf, needed }: Forward): Set<number> {
  const makers = new Map<number, Operation>();
  const readers = new Map<number, Operation[]>();
  for (const operation of operations) {
    for (const id of operation.makes) if (!makers.has(id)) makers.set(id, operation);
    for (const id of operation.reads) {
      const list = readers.get(id);
      if (list === undefined) readers.set(id, [operation]);
      else list.push(operation);
    }
  }
  const blocks = [...new Set([...makers.keys(), ...readers.keys(), ...needed.keys()])].filter(
    (id) => bytesOf(id) !== null,
  );
  const far = distances(operations, needed);
  const apart = usedFarApart(operations, readers);
  const index = new Map(blocks.map((id, k) => [id, 2 + 2 * k]));
  const graph = new FlowGraph(2 + 2 * blocks.length);
  for (const id of blocks) {
    const inside = index.get(id)!;
    const bytes = bytesOf(id)!;
    const maker = makers.get(id);
    const loops = (readers.get(id) ?? []).every(({ loop }) => loop);
    const weight = bytes * FAR ** Math.max(1, Math.min(FARTHEST, far.get(id) ?? FARTHEST));
    graph.connect(inside, inside + 1, Math.round(loops && maker?.loop ? 2 * weight : weight));
    if (needed.has(id)) graph.connect(inside + 1, 1, UNCUT);
    const read = maker?.reads.reduce((sum, source) => sum + (bytesOf(source) ?? 0), 0) ?? 0;
    const banned =
      maker === undefined ||
      !maker.recomputed ||
      apart.has(maker) ||
      needed.get(id) === true ||
      bytes * REDUCTION < read;
    if (banned) graph.connect(0, inside, UNCUT);
    for (const source of maker?.reads ?? []) {
      const from = index.get(source);
      if (from !== undefined && source !== id) graph.connect(from + 1, inside, UNCUT);
    }
  }
  const reachable = graph.reachable(0, 1);
  return new Set(blocks.filter((id) => reachable[index.get(id)!] === 1 && reachable[index.get(id)! + 1] === 0));
}

/** Operators between a block and its first use in backward (`dist_from_bw`). */
function distances(operations: readonly Operation[], needed: ReadonlyMap<number, boolean>): Map<number, number> {
  const far = new Map<number, number>();
  for (const id of needed.keys()) far.set(id, 1);
  for (let k = operations.length - 1; k >= 0; k--) {
    const { reads, makes } = operations[k]!;
    const next = 1 + Math.min(...makes.map((id) => far.get(id) ?? FARTHEST), FARTHEST);
    for (const id of reads) far.set(id, Math.min(far.get(id) ?? FARTHEST, next));
  }
  return far;
}

/**
 * Loops that read a value again after an operator with buffers of its own read what another reader made of it: they are
 * not run again (`ban_if_used_far_apart`). It is what keeps the sums of a residual stream.
 */
function usedFarApart(
  operations: readonly Operation[],
  readers: ReadonlyMap<number, readonly Operation[]>,
): Set<Operation> {
  const order = new Map(operations.map((operation, k) => [operation, k]));
  const banned = new Set<Operation>();
  for (const users of readers.values()) {
    if (users.length < 2) continue;
    const last = Math.max(...users.map((user) => order.get(user)!));
    const first = firstOwnBuffers(users, last, order, readers);
    for (const user of users) if (user.loop && order.get(user)! > first) banned.add(user);
  }
  return banned;
}

/** Place of the first operator with buffers of its own that follows from `users`, no later than `last`. */
function firstOwnBuffers(
  users: readonly Operation[],
  last: number,
  order: ReadonlyMap<Operation, number>,
  readers: ReadonlyMap<number, readonly Operation[]>,
): number {
  const seen = new Set<Operation>(users);
  const pending = users.map((operation) => ({ operation, fused: true }));
  pending.sort((a, b) => order.get(b.operation)! - order.get(a.operation)!);
  while (pending.length > 0) {
    const { operation, fused } = pending.pop()!;
    if (!fused) return order.get(operation)!;
    for (const id of operation.makes)
      for (const next of readers.get(id) ?? []) {
        const place = order.get(next)!;
        if (seen.has(next) || place > last) continue;
        seen.add(next);
        let at = pending.length;
        while (at > 0 && order.get(pending[at - 1]!.operation)! < place) at--;
        pending.splice(at, 0, { operation: next, fused: operation.loop && next.loop });
      }
  }
  return last;
}
