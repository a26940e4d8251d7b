/**
 * Attention over tokens that are spread over ranks, each of which attends with some of the heads: tokens are exchanged for heads
 * before it and back after it. Ranks that are more than the heads of keys have these as often as it takes. Sources:
 * deepspeed/runtime/sequence_parallel/ulysses_sp.py (UlyssesSPAttentionHF), deepspeed/sequence/layer.py (_dim_zero_all_to_all).
 */
import { say } from "../../../words/message";
import { NotModelled } from "../not-modelled";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { AttentionOperands } from "./attention";
import { contiguous, permute, reshape, transpose } from "./layout";

/** What a chain of views and copies is made of, each given up as the next is there. */
function through(tensor: Tensor, ...steps: readonly ((tensor: Tensor) => Tensor)[]): Tensor {
  let now = tensor.retain();
  for (const step of steps) {
    const next = step(now);
    now.release();
    now = next;
  }
  return now;
}

/**
 * Every rank's part for every other, along the first dimension; as many rows come as go. So is `all_to_all_single` of torch
 * (torch/csrc/distributed/c10d/Functional.cpp, AllToAllSingle).
 */
export function allToAll(torch: Torch, tensor: Tensor): Tensor {
  const sent = (torch: Torch, whole: Tensor): Tensor => {
    const { kind } = torch;
    torch.kind = "communication";
    const got = torch.empty("all_to_all_single", whole.sizes, whole.dtype);
    torch.kind = kind;
    return got;
  };
  const node = torch.record("DimZeroAllToAllBackward", [tensor], (torch, [gradient]) => {
    if (!gradient) return [null];
    const whole = contiguous(torch, gradient);
    const got = sent(torch, whole);
    whole.release();
    return [got];
  });
  return torch.attach(node, sent(torch, tensor));
}

/** `torch.cat` of the pieces of a split in another order, both ways (megatron/core/transformer/moe/moe_utils.py, sort_chunks_by_idxs). */
export function sortChunks(torch: Torch, tensor: Tensor): Tensor {
  const copied = (of: Tensor): Tensor => torch.empty("cat", of.sizes, of.dtype);
  const node = torch.record("CatBackward0", [tensor], (_, [gradient]) => [gradient ? copied(gradient) : null]);
  return torch.attach(node, copied(tensor));
}

/** Heads that come `times` one after the other (`repeat_interleave`). */
function repeated(torch: Torch, tensor: Tensor, times: number): Tensor {
  const [tokens, batch, heads, width] = tensor.sizes as [number, number, number, number];
  const node = torch.record("RepeatInterleaveBackward0", [tensor], (torch, [gradient]) => [
    gradient ? torch.empty("sum", tensor.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(node, torch.empty("repeat_interleave", [tokens, batch, heads * times, width], tensor.dtype));
}

/** All tokens of this rank's heads, as (tokens, batch, heads, width). */
function gatherTokens(torch: Torch, tensor: Tensor, degree: number): Tensor {
  const [batch, heads, tokens, width] = tensor.sizes as [number, number, number, number];
  const times = Math.max(1, Math.floor(degree / heads));
  const own = (heads * times) / degree;
  if (!Number.isInteger(own)) throw new NotModelled(say("engine.exchanged-heads", { degree, heads }));
  return through(
    tensor,
    (x) => permute(torch, x, [2, 0, 1, 3]),
    (x) => (times === 1 ? x.retain() : repeated(torch, x, times)),
    (x) => reshape(torch, x, [tokens, batch, degree, own, width]),
    (x) => permute(torch, x, [2, 0, 1, 3, 4]),
    (x) => contiguous(torch, x),
    (x) => allToAll(torch, x),
    (x) => reshape(torch, x, [degree * tokens, batch, own, width]),
  );
}

/** This rank's tokens of all heads, laid out as the model expects them of its attention: (batch, heads, tokens, width). */
function gatherHeads(torch: Torch, context: Tensor, degree: number): Tensor {
  const [batch, tokens, heads, width] = context.sizes as [number, number, number, number];
  const own = tokens / degree;
  return through(
    context,
    (x) => permute(torch, x, [1, 0, 2, 3]),
    (x) => reshape(torch, x, [tokens, batch, heads * width]),
    (x) => reshape(torch, x, [degree, own, batch, heads * width]),
    (x) => contiguous(torch, x),
    (x) => allToAll(torch, x),
    (x) => permute(torch, x, [1, 2, 0, 3]),
    (x) => reshape(torch, x, [own, batch, degree * heads * width]),
    (x) => permute(torch, x, [1, 0, 2]),
    (x) => reshape(torch, x, [batch, own, degree * heads, width]),
    (x) => transpose(torch, x, 1, 2),
  );
}

/** Attention by `run` over all tokens of this rank's heads. */
export function exchanging(
  torch: Torch,
  operands: AttentionOperands,
  degree: number,
  run: (torch: Torch, operands: AttentionOperands) => Tensor,
): Tensor {
  const given = [operands.query, operands.key, operands.value];
  const [batch, , tokens] = operands.query.sizes as [number, number, number, number];
  const positions = Array.from({ length: degree }, () => torch.empty("empty_like", [batch, tokens], "int64"));
  positions.push(torch.empty("cat", [batch, tokens * degree], "int64"));
  const byTokens = given.map((tensor) => gatherTokens(torch, tensor, degree));
  const [query, key, value] = byTokens.map((tensor) => {
    const turned = permute(torch, tensor, [1, 2, 0, 3]);
    tensor.release();
    const own = contiguous(torch, turned);
    turned.release();
    return own;
  }) as [Tensor, Tensor, Tensor];
  // Masks are of this rank's tokens alone, and are dropped: positions say what is causal.
  const out = run(torch, { ...operands, query, key, value, mask: null, causal: true });
  const turned = transpose(torch, out, 1, 2);
  out.release();
  const context = contiguous(torch, turned);
  turned.release();
  const own = gatherHeads(torch, context, degree);
  for (const tensor of [context, query, key, value, ...positions]) tensor.release();
  return own;
}
