/** What the parts of the evaluator ask of it. */
import type { SyntaxNode } from "@lezer/common";
import type { Message } from "../../words/message";
import type { Entry, LocatedNode, PythonCall, ScalarNode, Span, UnknownNode } from "../tree";
import type { Collector } from "./collect";
import type { Flow } from "./flow";
import type { Parameter } from "./parameters";

/** What a call is given. */
export interface Arguments {
  readonly positional: readonly LocatedNode[];
  readonly entries: readonly Entry[];
}

export interface Evaluating {
  readonly text: string;
  readonly flow: Flow;
  readonly found: Collector;
  /** Those of namespaces, whose values are known from elsewhere in the module (`args.x`). */
  readonly attributes: ReadonlyMap<string, LocatedNode>;
  /** A parameter has a value only where every call gives the same. */
  readonly strict: boolean;
  evaluate(node: SyntaxNode, depth?: number): LocatedNode;
  /** A value where some names stand for what a round of a loop gives them. */
  inRound(node: SyntaxNode, rounds: ReadonlyMap<string, LocatedNode>, depth?: number): LocatedNode;
  arguments(list: SyntaxNode, depth: number): Arguments;
  /** A call by a name, with its arguments; null: what is called has none. */
  call(node: SyntaxNode): PythonCall | null;
  /** `**mapping`, as far as there is room for it. */
  spread(value: LocatedNode, entries: Entry[]): void;
  /** Notes work beside the values that are looked through; whether there has been too much. */
  spend(work: number): boolean;
  /** What an object has; undefined: it is no mapping, and of no class of the module. */
  fields(value: LocatedNode, depth: number): readonly Entry[] | undefined;
  /** A field of an object that a class of the module was called for, or of the class itself. */
  field(object: SyntaxNode, name: string, depth: number): LocatedNode | undefined;
  /** The value that the first call of its function gives a parameter, where one does and it can be known, else its default. */
  parameter(parameter: Parameter, node: SyntaxNode, depth: number): LocatedNode;
  /** What a file of data that a call reads has in it, where it is known. */
  dataRead(node: SyntaxNode, depth: number): LocatedNode | undefined;
  /** The value seen from where the name is used; its own place stays as `source`. */
  moved(value: LocatedNode, node: SyntaxNode): LocatedNode;
  scalar(node: SyntaxNode, value: ScalarNode["value"]): ScalarNode;
  unknown(node: SyntaxNode, reason: Message): UnknownNode;
  unknownAt(at: Span, reason: Message): UnknownNode;
  slice(node: SyntaxNode): string;
}
