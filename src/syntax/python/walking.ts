/** What the parts of the walk through a module's statements ask of it, and where it stands. */
import type { SyntaxNode } from "@lezer/common";
import type { Message } from "../../words/message";
import { MAX_GUARDS } from "./bounds";
import type { Binding, Changes, Names } from "./names";

/** A condition that is not known, and what it must be. */
export interface Guard {
  readonly test: SyntaxNode;
  readonly holds: boolean;
}

/** More conditions around something than anybody writes are not kept. */
export function guarded(guards: readonly Guard[], guard: Guard): readonly Guard[] {
  return guards.length < MAX_GUARDS ? [...guards, guard] : guards;
}

/** Where a way begins. */
export interface Mark {
  readonly names: number;
  readonly dotted: number;
}

/** What one of several ways has bound, and whether it comes through. */
export interface Way {
  readonly names: Changes;
  readonly dotted: Changes;
  readonly alive: boolean;
}

export interface Walking {
  /** Whether what stands here runs. */
  alive: boolean;
  /** Conditions around what stands here. */
  guards: readonly Guard[];
  /** The way on which nothing happens. */
  readonly past: Way;
  /** Names of the scope, and of its outer ones. */
  readonly scope: { readonly names: Names; find(name: string): readonly Binding[] | undefined };
  /** Bindings of attributes (`self.model`, `model.config.use_cache`) by their text. */
  readonly dotted: Names;
  /** The truth of a condition; undefined: it is not known. */
  holds(test: SyntaxNode): boolean | undefined;
  /** It never runs. */
  dies(node: SyntaxNode): void;
  begin(): Mark;
  /** Takes back what a way has bound. */
  take(mark: Mark): Way;
  /** Goes on with what the ways that come through have bound; where none does, nothing behind them runs. */
  join(ways: readonly Way[]): void;
  block(node: SyntaxNode): void;
  expression(node: SyntaxNode): void;
  bind(name: SyntaxNode, binding: Binding): void;
  rebind(name: SyntaxNode | null, reason: Message): void;
  /** Notes when it happens. */
  mark(node: SyntaxNode): void;
  slice(node: SyntaxNode): string;
}
