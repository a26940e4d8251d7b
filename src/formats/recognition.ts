/** How sure a format is that a document is its own, and why, as a person is told it. */
import { type Message, say } from "../words/message";

export interface Recognition {
  /** 0: no, 1: certain. */
  readonly confidence: number;
  readonly because: Message;
}

export const NOT_RECOGNISED: Recognition = { confidence: 0, because: say("because.nothing") };

/** It has these keys. */
export const has = (...keys: readonly string[]): Message =>
  say("because.has", { keys: keys.map((key) => `\`${key}\``).join(", ") });

/** It has so many keys that only this library has. */
export const hasKeys = (count: number, of: string): Message => say("because.keys", { count, of });

/** It has a key, and so many others of this library. */
export const hasWith = (key: string, count: number, of: string): Message => say("because.with", { key, count, of });

/** It has the keys of one of the library's groups or blocks. */
export const hasGroup = (of: string): Message => say("because.group", { of });

/** A command that passes so many of the library's options. */
export const passes = (count: number, of: string): Message => say("because.options", { count, of });

/** A command that overrides so many of the library's keys. */
export const sets = (count: number, of: string): Message => say("because.overrides", { count, of });

/** A command that starts this program. */
export const runs = (program: string): Message => say("because.runs", { program });

/** Code that builds what the library trains with. */
export const builds = (what: string): Message => say("because.builds", { what });

/** Code that trains with this library. */
export const trains = (library: string): Message => say("because.trains", { library });
