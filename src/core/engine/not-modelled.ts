import { type Message, say } from "../../words/message";

/** Something the graph needs and the engine does not know. */
export class NotModelled extends Error {
  constructor(readonly reason: Message) {
    super(reason.id);
  }
}

/** A config's numbers give sizes that PyTorch refuses: no library runs it, and the config is at fault. */
export class ImpossibleSizes extends NotModelled {}

/** Sizes that a script writes out itself are such, whatever else of it is not followed. */
export class RefusedSizes extends ImpossibleSizes {}

/** Throws that sizes cannot be; sizes that are no numbers are not shown. */
export function refuseSizes(sizes: readonly number[], reason: Message): never {
  throw new ImpossibleSizes(sizes.every(Number.isFinite) ? reason : say("engine.sizes"));
}
