/** What gathering a group's shards and reducing its gradients allocate. Source: torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py. */
import type { DType } from "../../../engine/dtype";
import { SIDE_STREAMS } from "../../../engine/labels";
import { alias, type Tensor } from "../../../engine/tensor";
import type { Torch } from "../../../engine/torch";
import { onStream, reserve } from "../strategy";
import type { ShardedParameter } from "./parameter";
import type { ShardingPolicy } from "./policy";

/**
 * `foreach_all_gather`: shards are cast into one block, which is copied into the rank's place of what is gathered, on a stream of its
 * own (`FSDPCommContext.get_all_gather_streams`).
 */
export function allGather(...given: Parameters<typeof gatherTogether>): Tensor {
  return onStream(given[0], SIDE_STREAMS.gathering, () => gatherTogether(...given));
}

function gatherTogether(
  torch: Torch,
  parameters: readonly ShardedParameter[],
  ranks: number,
  { cpuOffload }: ShardingPolicy,
): Tensor {
  const inputs = cpuOffload ? fromHost(torch, parameters) : castTogether(torch, parameters, ranks);
  const [first] = parameters;
  const uniform = parameters.every(({ gatheredDtype }) => gatheredDtype === first!.gatheredDtype);
  const total = parameters.reduce(
    (sum, parameter) => sum + (uniform ? parameter.inputElements(ranks) : parameter.inputBytes(ranks)),
    0,
  );
  const output = reserve(torch, "all_gather", total * ranks, uniform ? first!.gatheredDtype : "uint8", "communication");
  for (const input of inputs) input.release();
  return output;
}

/** `_get_param_all_gather_inputs`: all shards that are cast, in one block. */
function castTogether(torch: Torch, parameters: readonly ShardedParameter[], ranks: number): Tensor[] {
  const cast = parameters.filter(({ castDtype }) => castDtype !== null);
  if (cast.length === 0) return [];
  const total = cast.reduce((sum, parameter) => sum + parameter.inputElements(ranks), 0);
  return [reserve(torch, "_foreach_copy_", total, cast[0]!.castDtype!, "communication")];
}

/** `FSDPParam.all_gather_inputs`: shards on the host are sent one by one, then cast. */
function fromHost(torch: Torch, parameters: readonly ShardedParameter[]): Tensor[] {
  return parameters.map(({ own, padded, castDtype }) => {
    const sent = reserve(torch, "to", padded, own, "communication");
    if (castDtype === null) return sent;
    const cast = reserve(torch, "_to_copy", padded, castDtype, "communication");
    sent.release();
    return cast;
  });
}

/** What a reduction leaves behind. */
export interface Reduction {
  /** What was scattered: alive until the next group's reduction (`ReduceScatterState`). */
  readonly input: Tensor;
  /** What was summed over the copies of hybrid sharding: alive until backward is over (`AllReduceState`). */
  readonly allReduced: Tensor | null;
}

/**
 * `foreach_reduce`: gradients are copied into one block and let go; what this rank keeps of the sum is cast to the shards' dtype,
 * and their gradients are parts of it.
 *
 * @param gradients owned, in the order of `parameters`
 * @param reduced told of every shard whose gradient is there
 */
export function reduceScatter(
  torch: Torch,
  parameters: readonly ShardedParameter[],
  gradients: readonly Tensor[],
  { ranks, replicas, reduceDtype, cpuOffload, dividesApart }: ShardingPolicy,
  reduced: (shard: Tensor) => void,
): Reduction {
  const inOrder = ranks > 1 ? ordered(torch, parameters, gradients) : gradients;
  const total = parameters.reduce((sum, { padded }) => sum + padded, 0);
  const dtype: DType = reduceDtype ?? gradients[0]!.dtype;
  const input = reserve(torch, "chunk_cat", total * ranks, dtype, "communication");
  // `unsharded_grads.clear()`; a loop's variable still names the last.
  for (const gradient of inOrder) if (gradient !== gradients.at(-1)) gradient.release();
  const { own } = parameters[0]!;
  const { output, allReduced } = onStream(torch, SIDE_STREAMS.reducing, () => {
    const sum = reserve(torch, "reduce_scatter", total, dtype, "gradients");
    // Of one rank alone the quotient is copied.
    if (ranks === 1 && dividesApart === true) reserve(torch, "div", total, dtype, "communication").release();
    const allReduced = replicas > 1 ? sum.retain() : null;
    if (dtype === own) return { output: sum, allReduced };
    const output = reserve(torch, "_to_copy", total, own, "gradients");
    sum.release();
    return { output, allReduced };
  });
  for (const { shard } of parameters) {
    if (cpuOffload) continue;
    // The gradient of an earlier micro-batch is added to in place.
    shard.grad ??= alias(output, shard.sizes, null);
    reduced(shard);
  }
  output.release();
  gradients.at(-1)!.release();
  return { input, allReduced };
}

/**
 * Gradients of what is not sharded along its rows are copied into the order of the ranks; the parts of one before are named until
 * the next one's are cut, and those of the last to the end. What is given is owned, but for the last.
 */
function ordered(
  torch: Torch,
  parameters: readonly ShardedParameter[],
  gradients: readonly Tensor[],
): readonly Tensor[] {
  let named: Tensor | null = null;
  const copies: Tensor[] = [];
  for (const [k, gradient] of gradients.entries()) {
    if (parameters[k]!.dimension === 0) {
      copies.push(gradient);
      continue;
    }
    named?.release();
    named = gradient === gradients.at(-1) ? null : gradient;
    copies.push(reserve(torch, "cat", gradient.elements, gradient.dtype, "communication"));
  }
  named?.release();
  return copies;
}
