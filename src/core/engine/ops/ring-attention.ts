/**
 * Attention over tokens that are spread over ranks: keys and values come by from all of them in turn, and what each turn gives is
 * merged in float32. Every rank has a piece from the sequence's head and one from its tail, so that causality leaves half of
 * each turn: of keys from ranks before it the head, of queries for those behind it the tail. Source:
 * torch/distributed/tensor/experimental/_context_parallel/_attention.py (_templated_ring_attention, its backward, _SDPAMerger).
 */
import { say } from "../../../words/message";
import { NotModelled } from "../not-modelled";
import { preservedStrides } from "../shape";
import { alias, type Tensor } from "../tensor";
import type { Torch } from "../torch";
import { elementwise } from "./arithmetic";
import type { AttentionKernel } from "./attention";
import { contiguous, reshape, slice } from "./layout";

/** Ranks that share every sequence, as one of them sees it. */
export interface Ring {
  readonly degree: number;
  readonly rank: number;
  /** All keys and values are gathered at once, or handed on from rank to rank (`set_rotate_method`). */
  readonly rotation: "allgather" | "alltoall";
}

/** Keys and values on their way around: what this rank has of the others'. */
class Rotation {
  private buffer: Tensor | null = null;
  private turns = 0;

  constructor(
    private readonly torch: Torch,
    private readonly ring: Ring,
    private readonly gathers: boolean,
  ) {}

  /** Sends `pair`, which stays the caller's. */
  exchange(pair: Tensor): void {
    this.turns++;
    if (this.gathers && this.turns > 1) return;
    const { torch } = this;
    const { kind } = torch;
    torch.kind = "communication";
    const made = this.gathers
      ? torch.empty("all_gather_into_tensor", [pair.elements * this.ring.degree], pair.dtype)
      : torch.empty("all_to_all_single", pair.sizes, pair.dtype);
    torch.kind = kind;
    this.buffer?.release();
    this.buffer = made;
  }

  /** What came in, in the place of tensors of the same sizes, which are given up. */
  instead(of: readonly Tensor[]): Tensor[] {
    const sizes = of.map((tensor) => tensor.sizes);
    release(of);
    return sizes.map((one) => alias(this.buffer!, one, null));
  }

  /** The block itself, given up. */
  take(): Tensor {
    const { buffer } = this;
    this.buffer = null;
    return buffer!;
  }

  end(): void {
    this.buffer?.release();
  }
}

/** `torch.cat([a.flatten(), b.flatten()])`. */
function joined(torch: Torch, a: Tensor, b: Tensor): Tensor {
  const flat = [a, b].map((tensor) => reshape(torch, tensor, [-1]));
  const pair = torch.empty("cat", [a.elements + b.elements], a.dtype);
  release(flat);
  return pair;
}

function release(tensors: Iterable<Tensor | null>): void {
  for (const tensor of tensors) tensor?.release();
}

/** The first or the second half of the tokens. */
function half(torch: Torch, tensor: Tensor, which: 0 | 1): Tensor {
  const middle = Math.ceil(tensor.size(2) / 2);
  return which === 0 ? slice(torch, tensor, 2, 0, middle) : slice(torch, tensor, 2, middle, tensor.size(2));
}

/** What of queries and of keys a turn multiplies. */
type Share = "all" | "first-keys" | "last-queries";

function shareOf(turn: number, { rank }: Ring, causal: boolean): Share {
  if (turn === 0 || !causal) return "all";
  return turn <= rank ? "first-keys" : "last-queries";
}

/** The result so far, and the logarithms of its sums. */
interface Merged {
  readonly out: Tensor;
  readonly sums: Tensor;
}

/** `block` and `sums`, which stay the caller's, in what is there already, which is given up. */
function merge(torch: Torch, before: Merged | null, block: Tensor, sums: Tensor, partial: boolean): Merged {
  const raised = block.dtype === "float32" ? block.retain() : torch.toCopy(block, "float32");
  if (before === null) return { out: raised, sums: sums.retain() };
  const out = partial ? half(torch, before.out, 1) : before.out.retain();
  const lse = partial ? half(torch, before.sums, 1) : before.sums.retain();
  const chain = (name: string, inputs: readonly Tensor[], ...used: readonly Tensor[]): Tensor => {
    const made = elementwise(torch, name, inputs);
    release(used);
    return made;
  };
  const apart = chain("sub", [sums, lse]);
  const weight = chain("sigmoid", [apart], apart);
  const change = chain("sub", [out, raised]);
  const weighted = chain("mul", [change], weight, change);
  const newOut = chain("sub", [out, weighted], weighted);
  const back = chain("sub", [lse, sums]);
  const logarithm = chain("log_sigmoid_forward", [back], back);
  const newSums = chain("sub", [lse, logarithm], logarithm);
  release([out, lse]);
  if (!partial) {
    release([before.out, before.sums, raised]);
    return { out: newOut, sums: newSums };
  }
  const allSums = torch.empty("cat", before.sums.sizes, "float32");
  before.sums.release();
  const all = torch.empty("cat", before.out.sizes, "float32");
  release([before.out, newSums, newOut, raised]);
  return { out: all, sums: allSums };
}

function withoutGradients<T>(torch: Torch, body: () => T): T {
  const { gradEnabled } = torch;
  torch.gradEnabled = false;
  const result = body();
  torch.gradEnabled = gradEnabled;
  return result;
}

/** Sums that were padded (the memory-efficient kernel's) do not fit what they are merged with: torch stops there. */
function fitting(query: Tensor, made: ReturnType<AttentionKernel["forward"]>): typeof made {
  if (made[1].size(2) !== query.size(2)) throw new NotModelled(say("engine.ring-kernel"));
  return made;
}

/** The kernel, with keys and values of all ranks in the ring. */
export function around(kernel: AttentionKernel, ring: Ring): AttentionKernel {
  return {
    operator: kernel.operator,
    forward: (torch, query, key, value, causal) =>
      withoutGradients(torch, () => forward(torch, kernel, ring, [query, key, value], causal)),
    backward: (torch, query, key, value, causal) => backward(torch, kernel, ring, [query, key, value], causal),
  };
}

type Three = readonly [Tensor, Tensor, Tensor];

/** Query, key and value of a turn, owned. */
function turnOf(torch: Torch, query: Tensor, [key, value]: readonly Tensor[], share: Share): Three {
  switch (share) {
    case "all":
      return [query.retain(), key!.retain(), value!.retain()];
    case "first-keys":
      return [query.retain(), half(torch, key!, 0), half(torch, value!, 0)];
    case "last-queries":
      return [half(torch, query, 1), key!.retain(), value!.retain()];
  }
}

function forward(
  torch: Torch,
  kernel: AttentionKernel,
  ring: Ring,
  [query, key, value]: Three,
  causal: boolean,
): ReturnType<AttentionKernel["forward"]> {
  const rotation = new Rotation(torch, ring, ring.rotation === "allgather");
  let pair = [contiguous(torch, key), contiguous(torch, value)];
  let merged: Merged | null = null;
  let used: readonly Tensor[] = [];
  let made: readonly Tensor[] = [];
  for (let turn = 0; turn < ring.degree; turn++) {
    if (turn > 0) pair = rotation.instead(pair);
    if (turn < ring.degree - 1) {
      const sent = joined(torch, pair[0]!, pair[1]!);
      rotation.exchange(sent);
      sent.release();
    }
    const share = shareOf(turn, ring, causal);
    const now = turnOf(torch, query, pair, share);
    release(used);
    used = now;
    const next = fitting(now[0], kernel.forward(torch, ...now, causal && turn === 0));
    release(made);
    made = next;
    merged = merge(torch, merged, next[0], next[1], share === "last-queries");
  }
  const { out, sums } = merged!;
  const result = out.dtype === query.dtype ? out.retain() : torch.toCopy(out, query.dtype);
  out.release();
  rotation.end();
  const [last, lastSums, seed, offset] = made as ReturnType<AttentionKernel["forward"]>;
  release([last, lastSums, ...used, ...pair]);
  return [result, sums, seed, offset];
}

function zeros(torch: Torch, like: Tensor): Tensor {
  return torch.empty("zeros_like", like.sizes, "float32", preservedStrides(like.sizes, like.strides));
}

/** `tensor`, which is given up, with a half of it changed: put together anew. */
function updated(torch: Torch, tensor: Tensor): Tensor {
  const made = torch.empty("cat", tensor.sizes, tensor.dtype);
  tensor.release();
  return made;
}

function backward(
  torch: Torch,
  kernel: AttentionKernel,
  ring: Ring,
  [query, key, value]: Three,
  causal: boolean,
): [Tensor, Tensor, Tensor] {
  let gradQuery = zeros(torch, query);
  let grads = [zeros(torch, key), zeros(torch, value)];
  let pair = [contiguous(torch, key), contiguous(torch, value)];
  const rotation = new Rotation(torch, ring, ring.rotation === "allgather");
  const ofGradients = new Rotation(torch, ring, false);
  let sent: Tensor | null = null;
  let sentGradients: Tensor | null = null;
  let used: readonly Tensor[] = [];
  let made: readonly Tensor[] = [];
  for (let turn = 0; turn < ring.degree; turn++) {
    if (turn > 0) pair = rotation.instead(pair);
    if (turn < ring.degree - 1) {
      const next = joined(torch, pair[0]!, pair[1]!);
      sent?.release();
      sent = next;
      rotation.exchange(next);
    }
    const share = shareOf(turn, ring, causal);
    const now = turnOf(torch, query, pair, share);
    const [batch, heads, tokens] = now[0].sizes as [number, number, number, number];
    const kept =
      share === "last-queries" && batch * heads > 1 ? [torch.empty("clone", [batch, heads, tokens], "float32")] : [];
    release(used);
    used = [...now, ...kept];
    const next = kernel.backward(torch, ...now, causal && turn === 0);
    release(made);
    made = next;
    if (turn > 0) {
      sentGradients?.release();
      grads = ofGradients.instead(grads);
      if (share === "first-keys") grads = grads.map((gradient) => updated(torch, gradient));
    }
    const gathered = joined(torch, grads[0]!, grads[1]!);
    if (turn === 0) sentGradients?.release();
    sentGradients = gathered;
    ofGradients.exchange(gathered);
    if (share === "last-queries") gradQuery = updated(torch, gradQuery);
  }
  const own = gradQuery.dtype === query.dtype ? gradQuery.retain() : torch.toCopy(gradQuery, query.dtype);
  gradQuery.release();
  const came = ofGradients.take();
  const both = came.dtype === key.dtype ? came.retain() : torch.toCopy(came, key.dtype);
  release([sentGradients, ...grads, ...made, came, ...used, sent, ...pair]);
  rotation.end();
  const [ofKey, ofValue] = [key, value].map(({ sizes }) => alias(both, sizes, null)) as [Tensor, Tensor];
  both.release();
  return [own, ofKey, ofValue];
}
