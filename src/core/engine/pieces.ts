/** Lengths of the pieces that something is cut into. They are as many as a config's numbers say, so there is a bound. */
import { say } from "../../words/message";
import { ImpossibleSizes } from "./not-modelled";
import type { Torch } from "./torch";

/** Pieces of `each`, the last with what is left; none of nothing. */
export function piecesOf(torch: Torch, length: number, each: number): number[] {
  if (length <= 0) return [];
  if (!(each >= 1)) throw new ImpossibleSizes(say("engine.sizes"));
  const count = Math.ceil(length / each);
  torch.ledger.checkAllocations(count);
  return Array.from({ length: count }, (_, k) => Math.min(each, length - k * each));
}

/** `count` times the same. */
export function repeated<T>(torch: Torch, count: number, make: (index: number) => T): T[] {
  if (!(count >= 0)) throw new ImpossibleSizes(say("engine.sizes"));
  torch.ledger.checkAllocations(count);
  return Array.from({ length: count }, (_, index) => make(index));
}
