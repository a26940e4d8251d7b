/**
 * What a step of one's own does with gradients behind its first backward (adversarial training: weights are saved and changed, the
 * same batch goes through the model again, weights are put back). Methods of the script's own classes are gone through where they
 * are called, loops over `range` as often as they run.
 */
import type { SyntaxNode } from "@lezer/common";
import type { StepAction } from "../../terms/step-actions";
import type { Collector } from "./collect";
import { unquote } from "./literals";
import { argumentsOf, childNamed, childrenNamed, childrenOf } from "./nodes";
import {
  alternates,
  computed,
  type Frame,
  given,
  type Instance,
  isMadeBehind,
  type Known,
  type Noted,
  nameOf,
  namesIn,
  type Slice,
} from "./step-values";
import { Unread, unlessUnread } from "./unread";

/** What is gone through at most: statements, and the parts of their expressions. */
const MOST_STATEMENTS = 4000;
const MOST_PARTS = 200_000;
const MOST_ROUNDS = 32;
const DEEPEST = 8;
const OF_PARAMETERS = /\.(?:named_parameters|parameters)\(\)$/;
const BACKWARD = /(?:^|\.)(?:manual_)?backward$/;
const ZERO = /(?:^|\.)zero_grad$/;
const FORWARD = /(?:^|\.)(?:compute_loss|\w{0,40}model|net)$/;
const CLONE = /(?:^|\.)clone$/;
const EMPTY = /^(?:\{\s{0,9}\}|\[\s{0,9}\]|dict\(\)|list\(\)|None)$/;

/**
 * What stands behind the first pass of a round; undefined: it takes gradients once, or does what is not read.
 *
 * @param around the loop or the function that is one round
 */
export function stepActions(around: SyntaxNode, found: Collector, slice: Slice): readonly StepAction[] | undefined {
  return unlessUnread(() => new Walker(found, slice).step(around));
}

class Walker {
  private readonly noted: { readonly action: Noted; readonly maybe: boolean }[] = [];
  private readonly outside = new Map<string, Known>();
  private statements = 0;
  private parts = 0;
  private depth = 0;
  private maybe = 0;
  private made = 0;

  constructor(
    private readonly found: Collector,
    private readonly slice: Slice,
  ) {}

  step(around: SyntaxNode): readonly StepAction[] | undefined {
    const type = around.parent?.parent?.name === "ClassDefinition" ? around.parent.parent : null;
    const self = type === null ? undefined : { type, attributes: new Map<string, Known>(), id: "self" };
    const before = this.made;
    const names = new Map<string, Known>();
    this.body(childNamed(around, "Body"), { names, self });
    const first = this.noted.findIndex(({ action }) => action.do === "pass");
    const last = this.noted.findLastIndex(({ action }) => action.do === "pass");
    if (first === last) return undefined;
    const within = this.noted.slice(first + 1);
    // What depends on something else is known not to stand between passes alone.
    if (this.noted.slice(first, last + 1).some(({ maybe }) => maybe)) throw new Unread();
    const between = this.noted.slice(first + 1, last + 1).map(({ action }) => action);
    if (!alternates(between)) throw new Unread();
    const actions = within.flatMap(({ action, maybe }) => (maybe || action.do === "forward" ? [] : [action]));
    const after = actions.slice(actions.findLastIndex((action) => action.do === "pass") + 1);
    const inside = actions.slice(0, actions.length - after.length);
    // What objects that the step has made itself keep goes when it returns.
    const own = new Set(
      [...names.values()].flatMap((value) =>
        typeof value === "object" && isMadeBehind(value, before) ? value.id : [],
      ),
    );
    const gone = actions.flatMap((action): StepAction[] =>
      action.do === "keep" && own.has(action.into.split(".", 1)[0] ?? "") ? [{ do: "forget", from: action.into }] : [],
    );
    return [...inside, ...after.filter((action) => action.do !== "zero"), ...gone];
  }

  private note(action: Noted): void {
    this.noted.push({ action, maybe: this.maybe > 0 });
  }

  private body(node: SyntaxNode | null, frame: Frame): void {
    for (const statement of node === null ? [] : childrenOf(node)) {
      if (++this.statements > MOST_STATEMENTS) throw new Unread();
      this.statement(statement, frame);
    }
  }

  private statement(node: SyntaxNode, frame: Frame): void {
    switch (node.name) {
      case "ForStatement":
        this.loop(node, frame);
        return;
      case "IfStatement":
        this.choice(node, frame);
        return;
      case "WithStatement":
      case "TryStatement":
        for (const body of childrenNamed(node, "Body").slice(0, 1)) this.body(body, frame);
        return;
      case "WhileStatement":
        this.open(() => {
          this.body(childNamed(node, "Body"), frame);
        });
        return;
      case "AssignStatement":
        this.assigned(node, frame);
        return;
      case "FunctionDefinition":
      case "ClassDefinition":
        return;
      default:
        this.calls(node, frame);
    }
  }

  /** What may run or not, or more than once. */
  private open(run: () => void): void {
    this.maybe++;
    run();
    this.maybe--;
  }

  private loop(node: SyntaxNode, frame: Frame): void {
    const children = childrenOf(node).filter(({ name }) => name !== "Comment");
    const at = children.findIndex(({ name }) => name === "in");
    const over = children[at + 1];
    const body = childNamed(node, "Body");
    const targets = children
      .slice(1, at)
      .flatMap((one) => namesIn(one))
      .map(this.slice);
    if (over === undefined || body === null) return;
    if (OF_PARAMETERS.test(this.slice(over))) {
      this.body(body, { ...frame, parameter: { names: targets, named: [] } });
      return;
    }
    const range = /^range\(/.test(this.slice(over)) ? argumentsOf(over) : [];
    const count = range.length === 1 ? this.known(range[0]!, frame) : undefined;
    if (typeof count !== "number") {
      this.open(() => {
        this.body(body, frame);
      });
      return;
    }
    if (count > MOST_ROUNDS) throw new Unread();
    for (let round = 0; round < count; round++) {
      frame.names.set(targets[0] ?? "", round);
      this.body(body, frame);
    }
  }

  private choice(node: SyntaxNode, frame: Frame): void {
    const children = childrenOf(node).filter(({ name }) => name !== "Comment");
    const ways = children.flatMap((child, k) =>
      child.name !== "Body" ? [] : [{ body: child, test: children[k - 1]?.name === "else" ? null : children[k - 1] }],
    );
    for (const { body, test } of ways) {
      const holds = test == null ? true : this.known(test, frame);
      if (holds === false) continue;
      if (holds === true) {
        this.body(body, frame);
        return;
      }
      // Of a parameter it picks some, by their names; that they are trained and have gradients is so.
      if (frame.parameter !== undefined && test != null) {
        const { parameter } = frame;
        this.body(body, {
          ...frame,
          parameter: { ...parameter, named: [...parameter.named, ...this.texts(test, frame)] },
        });
        return;
      }
      this.open(() => {
        this.body(body, frame);
      });
    }
  }

  /** Texts that a condition asks of a parameter's name: `"emb." in name`. */
  private texts(test: SyntaxNode, frame: Frame): string[] {
    const found: string[] = [];
    test.cursor().iterate(({ name, node }) => {
      if (name !== "BinaryExpression") return;
      const [left, sign, right] = childrenOf(node);
      const asks = sign !== undefined && this.slice(sign) === "in" && right !== undefined;
      if (!asks || left === undefined || this.slice(right) !== frame.parameter?.names[0]) return;
      const text = this.known(left, frame);
      if (typeof text !== "string") throw new Unread();
      found.push(text);
    });
    return found;
  }

  private assigned(node: SyntaxNode, frame: Frame): void {
    const children = childrenOf(node).filter(({ name }) => !/^(?:,|TypeDef|Comment)$/.test(name));
    const at = children.findIndex(({ name }) => name === "AssignOp");
    const values = children.slice(at + 1);
    const targets = children.slice(0, Math.max(at, 0));
    if (targets.length === values.length)
      for (const [k, target] of targets.entries()) this.binds(target, values[k]!, frame);
    else this.calls(node, frame);
  }

  private binds(target: SyntaxNode, value: SyntaxNode, frame: Frame): void {
    const copy = this.copyIn(value, frame);
    if (copy === undefined) this.calls(value, frame);
    const name = this.slice(target);
    const place = this.place(name, frame);
    if (copy !== undefined) {
      // A plain name holds one parameter's copy until it is bound to the next one's.
      const holds = target.name !== "VariableName" || value.name !== "CallExpression";
      if (holds) this.note({ do: "keep", into: place, ...copy });
      return;
    }
    const taken = frame.parameter?.names.some((one) => name === `${one}.grad` || name === `${one}.data`) === true;
    const from = this.place(this.slice(value), frame);
    if (taken && this.noted.some(({ action }) => action.do === "keep" && action.into === from))
      this.note({ do: name.endsWith(".grad") ? "restore" : "forget", from });
    else if (
      EMPTY.test(this.slice(value)) &&
      this.noted.some(({ action }) => "into" in action && action.into === place)
    )
      this.note({ do: "forget", from: place });
    const said = this.known(value, frame);
    if (target.name === "VariableName") frame.names.set(name, said);
    else if (name.startsWith("self.")) frame.self?.attributes.set(name.slice(5), said);
  }

  /** A copy of a parameter or of its gradient, also of all in a dictionary (`{n: p.clone() for n, p in model.named_parameters()}`). */
  private copyIn(
    value: SyntaxNode,
    frame: Frame,
  ): { of: "weights" | "gradients"; named: readonly string[] } | undefined {
    if (/^(?:Dictionary|Array)ComprehensionExpression$/.test(value.name)) {
      const text = this.slice(value);
      if (!text.includes(".clone()") || !/\.(?:named_parameters|parameters)\(\)/.test(text)) return undefined;
      const over = childrenOf(value);
      const at = over.findIndex(({ name }) => name === "for");
      const end = over.findIndex(({ name }) => name === "in");
      const names = over
        .slice(at + 1, end)
        .flatMap(namesIn)
        .map(this.slice);
      return {
        of: /\.grad\b.{0,20}\.clone\(/.test(text) ? "gradients" : "weights",
        named: this.texts(value, { ...frame, parameter: { names, named: [] } }),
      };
    }
    const callee = value.name === "CallExpression" ? value.firstChild : null;
    if (callee === null || frame.parameter === undefined || !CLONE.test(this.slice(callee))) return undefined;
    const object = this.slice(callee.firstChild ?? callee);
    const { names, named } = frame.parameter;
    if (!names.some((name) => object === name || object.startsWith(`${name}.`))) return undefined;
    return { of: /\.grad\b/.test(object) ? "gradients" : "weights", named };
  }

  /** Where something is kept, by the object that keeps it: `self.backup[name]` of one of the script's. */
  private place(text: string, { self }: Frame): string {
    const name = text.replace(/\[.*$/s, "");
    return name.startsWith("self.") ? `${self?.id ?? "self"}.${name.slice(5)}` : `.${name}`;
  }

  /** Calls in an expression, inner ones first. */
  private calls(node: SyntaxNode, frame: Frame): void {
    if (++this.parts > MOST_PARTS) throw new Unread();
    for (const child of childrenOf(node)) if (child.name !== "LambdaExpression") this.calls(child, frame);
    if (node.name === "CallExpression") this.called(node, frame);
  }

  private called(node: SyntaxNode, frame: Frame): void {
    const callee = node.firstChild;
    if (callee === null) return;
    const name = this.slice(callee);
    const own = this.method(callee, frame);
    if (BACKWARD.test(name)) this.note({ do: "pass" });
    else if (ZERO.test(name)) this.note({ do: "zero" });
    else if (own !== undefined) this.enter(own.node, own.self, node, frame);
    else if (FORWARD.test(name)) this.note({ do: "forward" });
  }

  /** What of the script is called: a method of an object that it makes, or a function. */
  private method(callee: SyntaxNode, frame: Frame): { node: SyntaxNode; self: Instance | undefined } | undefined {
    if (callee.name === "VariableName") {
      const node = this.found.functionNodes.find(
        (one) => one.parent?.name === "Script" && nameOf(one, this.slice) === this.slice(callee),
      );
      return node && { node, self: undefined };
    }
    const name = this.slice(callee.lastChild ?? callee);
    const object = callee.firstChild === null ? undefined : this.object(callee.firstChild, frame);
    const body = childNamed(object?.type, "Body");
    const node = childrenNamed(body, "FunctionDefinition").find((one) => nameOf(one, this.slice) === name);
    return node && { node, self: object };
  }

  private object(node: SyntaxNode, frame: Frame): Instance | undefined {
    const text = this.slice(node);
    const value = text === "self" ? frame.self : this.known(node, frame);
    return typeof value === "object" ? value : undefined;
  }

  private enter(node: SyntaxNode, self: Instance | undefined, call: SyntaxNode, frame: Frame): void {
    if (this.depth >= DEEPEST) throw new Unread();
    this.depth++;
    this.body(childNamed(node, "Body"), {
      names: given(node, call, this.slice, (one) => this.known(one, frame)),
      self,
    });
    this.depth--;
  }

  /** A number, a text, a truth or an object of the script's; undefined where it is something else. */
  private known(node: SyntaxNode, frame: Frame): Known {
    const parts = childrenOf(node).filter(({ name }) => !/^(?:[()]|Comment)$/.test(name));
    const [first, second, third] = parts;
    switch (node.name) {
      case "Number":
        return Number(this.slice(node).replaceAll("_", ""));
      case "String":
        return unquote(this.slice(node));
      case "Boolean":
        return this.slice(node) === "True";
      case "ParenthesizedExpression":
        return first && this.known(first, frame);
      case "VariableName":
        return frame.names.has(this.slice(node)) ? frame.names.get(this.slice(node)) : this.bound(this.slice(node));
      case "MemberExpression": {
        const name = this.slice(node);
        if (!/^self\.\w+$/.test(name)) return undefined;
        const own = frame.self?.attributes;
        return own?.has(name.slice(5)) === true ? own.get(name.slice(5)) : this.bound(name);
      }
      case "UnaryExpression": {
        const value = second && this.known(second, frame);
        if (value === undefined || first === undefined) return undefined;
        return this.slice(first) === "not" ? !value : typeof value === "number" ? -value : undefined;
      }
      case "BinaryExpression":
        if (first === undefined || second === undefined || third === undefined || parts.length > 3) return undefined;
        return computed(this.slice(second), this.known(first, frame), this.known(third, frame));
      case "CallExpression":
        return first && this.instance(first, node, frame);
      default:
        return undefined;
    }
  }

  /** An object that a call of a class of the script makes. */
  private instance(callee: SyntaxNode, call: SyntaxNode, frame: Frame): Instance | undefined {
    const type = callee.name === "VariableName" ? this.found.classNamed(this.slice(callee)) : undefined;
    if (type === undefined || this.depth >= DEEPEST) return undefined;
    const made: Instance = { type, attributes: new Map(), id: `made${this.made++}` };
    const init = childrenNamed(childNamed(type, "Body"), "FunctionDefinition").find(
      (one) => nameOf(one, this.slice) === "__init__",
    );
    if (init !== undefined) this.enter(init, made, call, frame);
    return made;
  }

  /** What a name outside of the step is bound to, where that is once. */
  private bound(name: string): Known {
    if (this.outside.has(name)) return this.outside.get(name);
    this.outside.set(name, undefined);
    const all = this.found.assigned.filter((one) => this.slice(one.name) === name);
    const [only] = all;
    const value =
      only === undefined || all.length > 1 ? undefined : this.known(only.value, { names: new Map(), self: undefined });
    this.outside.set(name, value);
    return value;
  }
}
