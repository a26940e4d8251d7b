/** Names and what they are bound to, on the several ways that a module may go. */
import type { SyntaxNode } from "@lezer/common";
import { type Message, say } from "../../words/message";
import type { Span } from "../tree";
import { MAX_BINDINGS } from "./bounds";
import type { Parameter } from "./parameters";

/** What a name is bound to. */
export interface Binding {
  /** null: bound in a way that gives no value. */
  readonly expression: SyntaxNode | null;
  readonly reason: Message;
  readonly span: Span;
  /** Which element of the expression's value, where it is unpacked. */
  readonly element?: number;
  readonly parameter?: Parameter;
  /** What was put into it after it was made: `name["key"] = value`; without a key, the call `name.update(…)`. */
  readonly items?: readonly { readonly key: SyntaxNode | null; readonly value: SyntaxNode }[];
  readonly function?: SyntaxNode;
  /** The class that it names. */
  readonly type?: SyntaxNode;
  readonly loop?: Loop;
}

/** A `for` loop around something that runs. */
export interface Loop {
  /** What it goes over. */
  readonly over: SyntaxNode;
  /** How many names its target has. */
  readonly targets: number;
}

type Bindings = readonly Binding[];

/** What one way has bound, beside what stood before it. */
export type Changes = ReadonlyMap<string, Bindings>;

/** A table whose changes since a mark can be taken back, so that a way costs what it binds and not what there is. */
export class Names {
  private readonly bound = new Map<string, Bindings>();
  private readonly log: (readonly [string, Bindings | undefined])[] = [];

  get(name: string): Bindings | undefined {
    return this.bound.get(name);
  }

  has(name: string): boolean {
    return this.bound.has(name);
  }

  set(name: string, bindings: Bindings): void {
    this.log.push([name, this.bound.get(name)]);
    this.bound.set(name, bindings);
  }

  mark(): number {
    return this.log.length;
  }

  /** Takes back what was bound since a mark, and says what it was. */
  take(mark: number): Changes {
    const changes = new Map<string, Bindings>();
    while (this.log.length > mark) {
      const [name, before] = this.log.pop() as readonly [string, Bindings | undefined];
      const now = this.bound.get(name);
      if (!changes.has(name) && now !== undefined) changes.set(name, now);
      if (before === undefined) this.bound.delete(name);
      else this.bound.set(name, before);
    }
    return changes;
  }

  /** Binds what one way has bound. */
  follow(changes: Changes): void {
    for (const [name, bindings] of changes) this.set(name, bindings);
  }

  /** Binds names to what any of the ways has left them at. */
  join(ways: readonly Changes[]): void {
    const touched = new Set(ways.flatMap((way) => [...way.keys()]));
    for (const name of touched) {
      const before = this.bound.get(name);
      const all = ways.flatMap((way) => {
        const own = way.get(name) ?? before;
        return own === undefined ? [] : [own];
      });
      this.set(name, together(all));
    }
  }
}

/** Bindings of several ways; so many that nobody would look through them are one that gives no value. */
function together(ways: readonly Bindings[]): Bindings {
  const [first = [], ...others] = ways;
  if (others.every((one) => one === first)) return first;
  const all = [...new Set(ways.flat())];
  const [one] = all;
  return one === undefined || all.length <= MAX_BINDINGS
    ? all
    : [{ expression: null, reason: say("open.twice"), span: one.span }];
}

/** Names of a function or of an expression, inside those of what it stands in. */
export class Scope {
  readonly names = new Names();
  constructor(readonly parent: Scope | null) {}

  find(name: string): readonly Binding[] | undefined {
    return this.names.get(name) ?? this.parent?.find(name);
  }
}
