import type { Message } from "../../words/message";

/** Something the graph needs and the engine does not know. */
export class NotModelled extends Error {
  constructor(readonly reason: Message) {
    super(reason.id);
  }
}
