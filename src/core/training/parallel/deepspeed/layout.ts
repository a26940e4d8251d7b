/**
 * Where each parameter lies in the flat buffers that DeepSpeed's optimizers make of the parameter groups, and what of them is
 * this rank's. Source: deepspeed/runtime/zero/stage_1_and_2.py (`__init__`, `_round_robin_reorder`, `get_partition_info`,
 * `average_tensor`).
 */
import type { Tensor } from "../../../engine/tensor";
import { elements } from "../strategy";

/** The first rank of the group: what its ranks hold differs by the parameters that lie across borders. */
const RANK = 0;
/** `nccl_start_alignment_factor`. */
const ALIGNMENT = 2;

/** A parameter in its group's flat buffer. */
export interface Member {
  readonly tensor: Tensor;
  readonly offset: number;
}

/** A parameter group as one flat buffer of `aligned` elements, `partition` of them this rank's. */
export interface FlatGroup {
  readonly index: number;
  readonly members: readonly Member[];
  readonly aligned: number;
  readonly partition: number;
  /** Parameters of which this rank has a part, with the elements of that part. */
  readonly own: readonly { readonly tensor: Tensor; readonly count: number }[];
}

/** In the order in which consecutive gradients belong to different ranks (`_round_robin_reorder`). */
function roundRobin(tensors: readonly Tensor[], ranks: number): Tensor[] {
  const dealt: Tensor[][] = [];
  tensors.forEach((tensor, k) => {
    const hand = dealt[k % ranks];
    if (hand === undefined) dealt.push([tensor]);
    else hand.push(tensor);
  });
  return dealt.flat();
}

/** A parameter with its place in the flat buffer of its group. */
export type Placed = Member & { readonly group: FlatGroup };

export function flatGroup(index: number, group: readonly Tensor[], ranks: number, dealt: boolean): FlatGroup {
  let offset = 0;
  const members = (dealt ? roundRobin(group, ranks) : group).map((tensor) => {
    const member = { tensor, offset };
    offset += tensor.elements;
    return member;
  });
  const alignment = ALIGNMENT * ranks;
  const aligned = Math.ceil(elements(group) / alignment) * alignment;
  const partition = Math.floor(aligned / ranks);
  const [start, end] = [RANK * partition, (RANK + 1) * partition];
  const own = members.flatMap(({ tensor, offset: at }) => {
    const count = Math.min(at + tensor.elements, end) - Math.max(at, start);
    return count > 0 ? [{ tensor, count }] : [];
  });
  return { index, members, aligned, partition, own };
}

/** Where every parameter of the groups lies. */
export function placesOf(groups: readonly FlatGroup[]): ReadonlyMap<Tensor, Placed> {
  return new Map(groups.flatMap((group) => group.members.map((member) => [member.tensor, { ...member, group }])));
}

/** Elements of a bucket that belong to one rank. */
export interface Slice {
  readonly count: number;
  readonly isOwn: boolean;
}

/**
 * A bucket's slices by the rank they belong to, those next to one another for the same rank as one; with `apart`,
 * this rank's stay apart, as each is added into a buffer of its own (`average_tensor`).
 */
export function slicesOf(bucket: readonly Placed[], apart: boolean): readonly Slice[] {
  const slices: Slice[] = [];
  let before = -1;
  for (const { tensor, offset, group } of bucket) {
    const end = offset + tensor.elements;
    for (let at = offset; at < end; ) {
      const rank = Math.floor(at / group.partition);
      const next = Math.min(end, (rank + 1) * group.partition);
      const joins = rank === before && !(apart && rank === RANK);
      const count = (joins ? (slices.pop()?.count ?? 0) : 0) + next - at;
      slices.push({ count, isOwn: rank === RANK });
      before = rank;
      at = next;
    }
  }
  return slices;
}
