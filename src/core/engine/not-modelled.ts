import type { Message } from "../../words/message";

/** Something the graph needs and the engine does not know. */
export class NotModelled extends Error {
  constructor(readonly reason: Message) {
    super(reason.id);
  }
}

/** A config's numbers give sizes that PyTorch refuses: no library runs it, and the config is at fault. */
export class ImpossibleSizes extends NotModelled {}
