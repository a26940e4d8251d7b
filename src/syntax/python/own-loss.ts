/** The body of a function as a tree of what it computes; a function that does something else than that has none. */
import type { SyntaxNode } from "@lezer/common";
import type { LossExpression, LossFunction, LossIndex, LossStatement } from "../../terms/own-loss";
import { MAX_DEPTH } from "../text";
import { unquote } from "./literals";
import { childNamed, childrenOf } from "./nodes";
import { bare, movedBatch, statementsOf } from "./statement-parts";
import { Unread, unlessUnread } from "./unread";

/** Longer functions are not read. */
const MAX_NODES = 2000;
const SIGNS = /^(?:-|\+|~|not)$/;

/** @param bound what names that imports bind stand for */
export function functionTree(
  node: SyntaxNode,
  slice: (node: SyntaxNode) => string,
  bound: ReadonlyMap<string, string>,
): LossFunction | undefined {
  return new Reader(slice, bound).read((reader) => reader.function(node));
}

/** An expression as such a tree. */
export function expressionTree(
  node: SyntaxNode,
  slice: (node: SyntaxNode) => string,
  bound: ReadonlyMap<string, string>,
): LossExpression | undefined {
  return new Reader(slice, bound).read((reader) => reader.expression(node, 0));
}

/** What a loop's round does. */
export interface RoundTree {
  /** Up to the call that takes the gradients, which gives what it is called on. */
  readonly body: readonly LossStatement[];
  /** Behind it, as far as it is read. */
  readonly behind: readonly LossStatement[];
}

/**
 * The statements of a loop's round; undefined: one of those up to the call that takes the gradients is not read.
 *
 * @param body the loop's, or that of the function which is one round
 * @param backward the call
 */
export function roundTree(
  body: SyntaxNode,
  backward: SyntaxNode,
  slice: (node: SyntaxNode) => string,
  bound: ReadonlyMap<string, string>,
): RoundTree | undefined {
  const reader = new Reader(slice, bound);
  return reader.read(() => {
    const behind: LossStatement[] = [];
    return { body: reader.round(body, backward, behind, 0), behind };
  });
}

/** Calls whose result nothing of a loss is made of. */
const IDLE =
  /(?:^|\.)(?:zero_grad|step|update|train|eval|append|print|log\w{0,20}|info|set_\w{1,40}|synchronize|empty_cache)\(/;

class Reader {
  private nodes = 0;

  constructor(
    private readonly slice: (node: SyntaxNode) => string,
    private readonly bound: ReadonlyMap<string, string>,
  ) {}

  read<T>(how: (reader: Reader) => T): T | undefined {
    return unlessUnread(() => how(this));
  }

  function(node: SyntaxNode): LossFunction {
    const list = bare(childNamed(node, "ParamList"));
    const parameters = list.flatMap((child, k) => {
      const named = child.name === "VariableName" && !/^(?:AssignOp|TypeDef)$/.test(list[k - 1]?.name ?? "");
      return named ? [this.slice(child)] : [];
    });
    const defaults = parameters.flatMap((name) => {
      const at = list.findIndex((child) => child.name === "VariableName" && this.slice(child) === name);
      const after = list.slice(at + 1).filter((child) => child.name !== "TypeDef");
      return after[0]?.name === "AssignOp" && after[1] !== undefined
        ? [[name, this.expression(after[1], 0)] as const]
        : [];
    });
    return {
      parameters: parameters.filter((name) => name !== "self"),
      ...(defaults.length === 0 ? {} : { defaults: Object.fromEntries(defaults) }),
      body: this.body(childNamed(node, "Body"), 0),
    };
  }

  /** @param behind gets what stands behind the call */
  round(body: SyntaxNode | null, backward: SyntaxNode, behind: LossStatement[], depth: number): LossStatement[] {
    if (body === null || depth > MAX_DEPTH) throw new Unread();
    const made: LossStatement[] = [];
    const all = statementsOf(body);
    for (const [k, statement] of all.entries()) {
      const isLast = statement.from <= backward.from && statement.to >= backward.to;
      if (!isLast) {
        if (!this.isIdle(statement)) made.push(...this.statement(statement, depth + 1));
        continue;
      }
      if (statement.name === "WithStatement") {
        const [, context] = bare(statement);
        const inner = this.round(childNamed(statement, "Body"), backward, behind, depth + 1);
        behind.push(...this.asFarAsRead(all.slice(k + 1), depth));
        const casts = context !== undefined && /autocast\(/.test(this.slice(context));
        return [...made, ...(casts ? [{ inside: this.expression(context, depth), body: inner }] : inner)];
      }
      if (statement.name !== "ExpressionStatement") throw new Unread();
      const returned = this.stepped(backward, depth);
      behind.push(...this.asFarAsRead(all.slice(k + 1), depth));
      return [...made, { returned }];
    }
    throw new Unread();
  }

  /** What binds names, of statements that nothing of the loss depends on. */
  private asFarAsRead(statements: readonly SyntaxNode[], depth: number): LossStatement[] {
    return statements.flatMap((statement) => {
      const binds = statement.name === "AssignStatement" || statement.name === "WithStatement";
      if (this.isIdle(statement) || !(binds || statement.name === "DeleteStatement")) return [];
      return this.read((reader) => reader.statement(statement, depth + 1)) ?? [];
    });
  }

  /** What the gradients are taken of: `loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`. */
  private stepped(backward: SyntaxNode, depth: number): LossExpression {
    const [given] = bare(childNamed(backward, "ArgList"));
    const object = backward.firstChild?.firstChild ?? null;
    if (given !== undefined && given.name !== "VariableName") return this.expression(given, depth);
    const called = object?.name === "CallExpression" && /\.scale$/.test(this.slice(object.firstChild ?? object));
    const [scaled] = called ? bare(childNamed(object, "ArgList")) : [];
    const loss = given ?? scaled ?? object;
    if (loss === null) throw new Unread();
    return this.expression(loss, depth);
  }

  /** Whether a statement does nothing that a loss is made of. */
  private isIdle(statement: SyntaxNode): boolean {
    const text = this.slice(statement);
    if (statement.name === "ExpressionStatement" || statement.name === "UpdateStatement")
      return IDLE.test(text) || /\.item\(\)/.test(text);
    // Rates that are set group by group.
    if (statement.name === "ForStatement")
      return /\bparam_groups\s{0,9}:/.test(text) && !/\(/.test(text.split("=")[0] ?? "");
    return statement.name === "IfStatement" && !/(?:^|[^=!<>])=(?!=)/.test(text);
  }

  private body(node: SyntaxNode | null, depth: number): LossStatement[] {
    if (node === null || depth > MAX_DEPTH) throw new Unread();
    return statementsOf(node).flatMap((statement) => this.statement(statement, depth + 1));
  }

  private statement(node: SyntaxNode, depth: number): LossStatement[] {
    const children = bare(node);
    switch (node.name) {
      case "AssignStatement":
        return this.assigned(children, depth);
      case "UpdateStatement": {
        const [target, operator, value] = children;
        if (target?.name !== "VariableName" || operator === undefined || value === undefined) throw new Unread();
        const left = this.expression(target, depth);
        const sign = this.slice(operator).replace(/=$/, "");
        return [{ names: [this.slice(target)], value: { operator: sign, left, right: this.expression(value, depth) } }];
      }
      case "ReturnStatement": {
        const [, ...values] = children;
        return [{ returned: this.several(values, depth) }];
      }
      case "ExpressionStatement": {
        const [only] = children;
        // A text that says what the function does.
        if (only === undefined || only.name === "String") return [];
        return [{ names: [], value: this.expression(only, depth) }];
      }
      case "WithStatement": {
        const [, context, ...rest] = children;
        const body = childNamed(node, "Body");
        if (context === undefined || rest.some(({ name }) => name !== "Body")) throw new Unread();
        return [{ inside: this.expression(context, depth), body: this.body(body, depth) }];
      }
      case "IfStatement":
        return [this.condition(children, depth)];
      case "ForStatement":
        return [this.loop(children, depth)];
      case "DeleteStatement":
        return children.slice(1).map((name) => ({ forget: this.slice(name) }));
      case "PassStatement":
      case "AssertStatement":
        return [];
      default:
        throw new Unread();
    }
  }

  /** A loop that goes through to its end. */
  private loop(children: readonly SyntaxNode[], depth: number): LossStatement {
    const at = children.findIndex(({ name }) => name === "in");
    const [over, body, ...more] = children.slice(at + 1);
    if (over === undefined || body?.name !== "Body" || more.length > 0) throw new Unread();
    const moved = movedBatch(children.slice(1, at), over, body, this.slice);
    if (moved !== undefined) {
      const call = { of: { name: moved.name }, attribute: moved.method };
      return { names: [moved.name], value: { ...this.call(moved.call, depth), call } as LossExpression };
    }
    const each = this.targets(children.slice(1, at));
    return { each, over: this.expression(over, depth), body: this.body(body, depth) };
  }

  /** Names that each element is bound to: one, or those of its parts. */
  private targets(nodes: readonly SyntaxNode[]): string[] {
    const parts = nodes.flatMap((node) => (/^(?:Tuple|Parenthesized)/.test(node.name) ? bare(node) : [node]));
    if (parts.some(({ name }) => name !== "VariableName") || parts.length === 0) throw new Unread();
    return parts.map((part) => this.slice(part));
  }

  private condition([, test, body, ...rest]: readonly SyntaxNode[], depth: number): LossStatement {
    if (test === undefined || body === undefined || depth > MAX_DEPTH) throw new Unread();
    const [word, next] = rest;
    const otherwise =
      word === undefined
        ? []
        : word.name === "else"
          ? this.body(next ?? null, depth)
          : [this.condition(rest, depth + 1)];
    return { when: this.expression(test, depth), body: this.body(body, depth), otherwise };
  }

  private assigned(children: readonly SyntaxNode[], depth: number): LossStatement[] {
    const at = children.findIndex(({ name }) => name === "AssignOp");
    const targets = children.slice(0, at).filter(({ name }) => name !== "TypeDef");
    if (at < 1 || children.slice(at + 1).some(({ name }) => name === "AssignOp")) throw new Unread();
    const [target] = targets;
    const parts =
      targets.length === 1 && /^(?:Tuple|Parenthesized|Array)/.test(target?.name ?? "") ? bare(target!) : targets;
    if (parts.some(({ name }) => name !== "VariableName")) throw new Unread();
    return [{ names: parts.map((part) => this.slice(part)), value: this.several(children.slice(at + 1), depth) }];
  }

  /** One value, or a tuple without its brackets. */
  private several(nodes: readonly SyntaxNode[], depth: number): LossExpression {
    const [only] = nodes;
    if (only === undefined) throw new Unread();
    return nodes.length === 1
      ? this.expression(only, depth)
      : { items: nodes.map((node) => this.expression(node, depth)) };
  }

  expression(node: SyntaxNode, depth: number): LossExpression {
    if (depth > MAX_DEPTH || ++this.nodes > MAX_NODES) throw new Unread();
    const children = bare(node);
    const [first, second, third] = children;
    const inner = (one: SyntaxNode | undefined): LossExpression => {
      if (one === undefined) throw new Unread();
      return this.expression(one, depth + 1);
    };
    switch (node.name) {
      case "VariableName": {
        const name = this.slice(node);
        return { name: this.bound.get(name) ?? name };
      }
      case "Number":
        return { value: Number(this.slice(node).replaceAll("_", "")) };
      case "String":
        return { value: unquote(this.slice(node)) };
      case "Boolean":
        return { value: this.slice(node) === "True" };
      case "None":
        return { value: null };
      case "ParenthesizedExpression":
        return inner(first);
      case "TupleExpression":
      case "ArrayExpression":
        return { items: children.map(inner) };
      case "DictionaryExpression": {
        // Keys stand before the colons, which are left out.
        const items = children.filter((_, k) => k % 2 === 1).map(inner);
        const named = children.filter((_, k) => k % 2 === 0);
        return named.some(({ name }) => name !== "String")
          ? { items }
          : { items, keys: named.map((key) => unquote(this.slice(key))) };
      }
      case "MemberExpression": {
        if (childNamed(node, "[") !== null) return { of: inner(first), at: this.indices(node, depth + 1) };
        return { of: inner(first), attribute: this.slice(node.lastChild ?? node) };
      }
      case "UnaryExpression": {
        const sign = first === undefined ? "" : this.slice(first);
        if (!SIGNS.test(sign)) throw new Unread();
        return { sign, operand: inner(second) };
      }
      case "BinaryExpression": {
        const words = children.slice(1, -1).map((one) => this.slice(one));
        return { operator: words.join(" "), left: inner(first), right: inner(children.at(-1)) };
      }
      case "ConditionalExpression":
        return { test: inner(third), yes: inner(first), no: inner(children.at(-1)) };
      case "CallExpression":
        return this.call(node, depth + 1);
      case "ArrayComprehensionExpression": {
        const at = children.findIndex(({ name }) => name === "in");
        const over = children[at + 1];
        if (second?.name !== "for" || over === undefined || children.length > at + 2) throw new Unread();
        return { listed: inner(first), names: this.targets(children.slice(2, at)), over: inner(over) };
      }
      case "DictionaryComprehensionExpression":
        return this.each(children, depth + 1);
      default:
        throw new Unread();
    }
  }

  private call(node: SyntaxNode, depth: number): LossExpression {
    const [callee] = bare(node);
    const list = bare(childNamed(node, "ArgList"));
    if (callee === undefined) throw new Unread();
    const args: LossExpression[] = [];
    const keywords: [string, LossExpression][] = [];
    const spread: LossExpression[] = [];
    for (let k = 0; k < list.length; k++) {
      const part = list[k]!;
      const value = list[k + 1];
      if (part.name === "**" && value !== undefined) {
        spread.push(this.expression(value, depth));
        k++;
      } else if (value?.name === "AssignOp" && list[k + 2] !== undefined) {
        keywords.push([this.slice(part), this.expression(list[k + 2]!, depth)]);
        k += 2;
      } else args.push(this.expression(part, depth));
    }
    return { call: this.expression(callee, depth), args, keywords, spread };
  }

  private indices(node: SyntaxNode, depth: number): LossIndex[] {
    const all = childrenOf(node).filter(({ name }) => name !== "Comment");
    const inside = all.slice(all.findIndex(({ name }) => name === "[") + 1, -1);
    const parts: SyntaxNode[][] = [[]];
    for (const one of inside)
      if (one.name === ",") parts.push([]);
      else parts.at(-1)?.push(one);
    return parts
      .filter((part) => part.length > 0)
      .map((part): LossIndex => {
        const at = part.findIndex(({ name }) => name === ":");
        const [only] = part;
        if (at < 0) {
          if (only === undefined || part.length > 1) throw new Unread();
          return only.name === "Ellipsis" || this.slice(only) === "..."
            ? "..."
            : { index: this.expression(only, depth) };
        }
        if (part.filter(({ name }) => name === ":").length > 1 || part.length > 3) throw new Unread();
        const [from, to] = [part[at - 1], part[at + 1]];
        const bound = (one: SyntaxNode | undefined) => (one === undefined ? null : this.expression(one, depth));
        return { from: bound(from), to: bound(to) };
      });
  }

  /** `{k: v for k, v in inputs.items() if k != "labels"}` */
  private each(children: readonly SyntaxNode[], depth: number): LossExpression {
    const [key, , ...rest] = childrenOf(children[0]?.parent ?? children[0]!).filter(
      ({ name }) => !/^(?:[{},]|Comment)$/.test(name),
    );
    const at = rest.findIndex(({ name }) => name === "in");
    const [value, , first, second] = rest;
    const over = rest[at + 1];
    const test = rest[at + 3];
    if (at !== 4 || over?.name !== "CallExpression" || rest.length > at + 4) throw new Unread();
    const named = [key, value, first, second, over.firstChild?.firstChild].every((one) => one != null);
    if (!named || !this.slice(over).endsWith(".items()")) throw new Unread();
    const item = this.slice(second!);
    const excluded = test === undefined ? null : /^\w+ != ["'](\w+)["']$/.exec(this.slice(test))?.[1];
    if (this.slice(key!) !== this.slice(first!) || excluded === undefined) throw new Unread();
    return {
      each: this.expression(over.firstChild!.firstChild!, depth),
      key: this.slice(first!),
      item,
      value: this.expression(value!, depth),
      without: excluded,
    };
  }
}
