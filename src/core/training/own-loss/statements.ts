/**
 * Statements and expressions of a loss that a script wrote itself: its names hold what they are bound to until the function returns,
 * as Python's do.
 */
import type { LossExpression, LossFunction, LossIndex, LossStatement, OwnLoss } from "../../../terms/own-loss";
import { isTensor } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { batchNames, namesPart, partOf, withoutParts } from "./batch";
import { operator } from "./calling";
import { computed, dotted } from "./expressions";
import { binary, signed } from "./functions";
import { partNamed } from "./lists";
import { sliced } from "./slices";
import { bounded, held, Inputs, letGo, Named, NotFollowed, numberOf, Outputs, tensorOf, type Value } from "./values";

export type Call = Extract<LossExpression, { readonly call: LossExpression }>;

/** Parts of outputs by their places in a tuple; those of a batch have none. */
function placesOf(object: Inputs | Outputs): readonly string[] {
  return object instanceof Outputs ? [...object.parts.keys()] : [];
}

/** How many classes or words the model tells apart, as scripts ask for it. */
const CLASSES = /(?:^|\.)(?:num_labels|vocab_size|num_classes|n_classes)$/;
const WITHOUT_GRADIENTS = /^torch\.(?:no_grad|inference_mode|autograd\.no_grad)$/;
const AUTOCASTS = /autocast$/;

/** Parts of what chooses along a dimension gives (`torch.max(x, dim=1).values`). */
const CHOSEN: readonly string[] = ["values", "indices"];

/** Functions of a script inside one another. */
const DEEPEST = 8;
/** Rounds of loops in one loss: what has more takes longer to follow than anybody waits. */
const MOST_ROUNDS = 256;

export abstract class Statements {
  private names = new Map<string, Value>();
  /** Functions of the script that run inside one another. */
  private depth = 0;
  /** Names of whole batches. */
  private batches: ReadonlySet<string> | null = null;
  /** Rounds of its loops so far, those inside of others each time. */
  private rounds = 0;
  /** Classes of the logits that a model gave last. */
  protected classes: number | null = null;
  /** The way to the module of the script's own that runs, which it calls `self`; null: none does. */
  protected self: string | null = null;

  constructor(
    protected readonly torch: Torch,
    protected readonly loss: OwnLoss,
  ) {}

  /** What a call gives, owned. */
  protected abstract call(expression: Call): Value;

  /** A weight of the script's own by the way to it. */
  protected abstract ownWeight(path: string): Tensor | undefined;

  /** Modules that one of the script's own holds for loops over them; undefined: it is none that does. */
  protected abstract modulesIn(path: string): Value | undefined;

  /** The way to what a module's own code, or the loop, calls by a name; null: it is called by something else. */
  protected ownPath(expression: LossExpression): string | null {
    const path = dotted(expression);
    const isOfSelf = path?.startsWith("self.") === true;
    if (path === null || isOfSelf !== (this.self !== null)) return null;
    return this.self === null ? path : `${this.self}${path.slice("self".length)}`;
  }

  bind(name: string, value: Value): void {
    const before = this.names.get(name);
    this.names.set(name, value);
    letGo(before);
    // What the round before had bound to the name is gone now.
    if (this.depth === 0 && this.loss.keepsNames === true) this.torch.rebinds?.(name);
  }

  protected bindings(): Iterable<readonly [string, Value]> {
    return this.names;
  }

  /** A statement that nothing depends on: where it is not followed, its names are as they were. */
  protected tried(statement: LossStatement): void {
    const { gradEnabled, autocastEnabled } = this.torch;
    try {
      letGo(this.statement(statement));
    } catch (error) {
      if (!(error instanceof NotFollowed)) throw error;
      this.torch.gradEnabled = gradEnabled;
      this.torch.autocastEnabled = autocastEnabled;
    }
  }

  end(): void {
    for (const value of this.names.values()) letGo(value);
    this.names.clear();
  }

  /** Runs statements; what is returned, owned, or undefined. */
  body(statements: readonly LossStatement[]): Value | undefined {
    for (const statement of statements) {
      const returned = this.statement(statement);
      if (returned !== undefined) return returned;
    }
    return undefined;
  }

  private statement(statement: LossStatement): Value | undefined {
    if ("returned" in statement) return this.value(statement.returned);
    if ("forget" in statement) {
      letGo(this.names.get(statement.forget));
      this.names.delete(statement.forget);
      return undefined;
    }
    if ("when" in statement) return this.body(this.holds(statement.when) ? statement.body : statement.otherwise);
    if ("inside" in statement) return this.within(statement.inside, statement.body);
    if ("each" in statement) {
      this.over(statement.over, statement.each, () => {
        if (this.body(statement.body) !== undefined) throw new NotFollowed();
      });
      return undefined;
    }
    if (this.appends(statement.value)) return undefined;
    const { names } = statement;
    const value = this.value(statement.value);
    const [only, ...more] = names;
    if (only === undefined) letGo(value);
    else if (more.length === 0) this.bind(only, value);
    else if (value instanceof Inputs) for (const name of names) this.bind(name, this.unpacked(value, name, names));
    else {
      if (!Array.isArray(value) || value.length !== names.length) throw new NotFollowed();
      for (const [k, name] of names.entries()) this.bind(name, value[k] as Value);
    }
    return undefined;
  }

  /** What one of several names for a batch's parts is bound to, owned. */
  private unpacked(value: Inputs, name: string, names: readonly string[]): Value {
    if (!namesPart(value, name)) return this.beside(value, name);
    this.batches ??= batchNames(this.loss);
    return this.batches.has(name) ? withoutParts(value, names) : partOf(value, name);
  }

  /** Does something for each element of a list, which names hold then, and of the last one behind it, as Python's do. */
  private over(over: LossExpression, names: readonly string[], run: () => void): void {
    const list = this.value(over);
    if (!Array.isArray(list)) throw new NotFollowed();
    for (const element of list as readonly Value[]) {
      const parts = names.length === 1 ? [element] : element;
      if (!Array.isArray(parts) || parts.length !== names.length) throw new NotFollowed();
      for (const [k, name] of names.entries()) this.bind(name, held(parts[k] as Value));
      if (++this.rounds > MOST_ROUNDS) throw new NotFollowed();
      run();
    }
    letGo(list);
  }

  /** `list.append(value)` on a list that a name holds. */
  private appends(expression: LossExpression): boolean {
    if (!("call" in expression) || !("attribute" in expression.call) || expression.call.attribute !== "append")
      return false;
    const { of } = expression.call;
    const list = "name" in of ? this.names.get(of.name) : undefined;
    const [value, ...more] = expression.args;
    if (!("name" in of) || !Array.isArray(list) || value === undefined || more.length > 0) return false;
    this.names.set(of.name, bounded([...list, this.value(value)]));
    return true;
  }

  /** A list of what is made of each element of another. */
  private listed({ listed, names, over }: Extract<LossExpression, { readonly listed: LossExpression }>): Value {
    const made: Value[] = [];
    const outer = names.map((name) => [name, this.names.get(name)] as const);
    for (const name of names) this.names.delete(name);
    this.over(over, names, () => made.push(this.value(listed)));
    // Its names are its own.
    for (const [name, before] of outer) {
      letGo(this.names.get(name));
      if (before === undefined) this.names.delete(name);
      else this.names.set(name, before);
    }
    return bounded(made);
  }

  /** One of the batches that a loader gives beside each other: one that is shorter is another. */
  private beside(value: Inputs, name: string): Value {
    const { lengths = {} } = this.loss;
    const length = Object.hasOwn(lengths, name) ? lengths[name] : undefined;
    const isLonger = (tensor: Tensor): boolean => length !== undefined && tensor.rank === 2 && tensor.size(1) > length;
    if (length === undefined || ![...value.tensors.values()].some(isLonger)) return held(value);
    const cut = (tensor: Tensor): Tensor =>
      isLonger(tensor) ? this.torch.empty("zeros", [tensor.size(0), length], tensor.dtype) : tensor.retain();
    return new Inputs(new Map([...value.tensors].map(([key, tensor]) => [key, cut(tensor)])), true);
  }

  private within(context: LossExpression, body: readonly LossStatement[]): Value | undefined {
    const name = "call" in context ? dotted(context.call) : null;
    const { torch } = this;
    const { gradEnabled, autocastEnabled } = torch;
    if (name !== null && WITHOUT_GRADIENTS.test(name)) torch.gradEnabled = false;
    else if (name !== null && AUTOCASTS.test(name) && torch.autocastDtype !== null) torch.autocastEnabled = true;
    else throw new NotFollowed();
    const returned = this.body(body);
    torch.gradEnabled = gradEnabled;
    if (autocastEnabled !== torch.autocastEnabled) torch.clearCastCache();
    torch.autocastEnabled = autocastEnabled;
    return returned;
  }

  private holds(test: LossExpression): boolean {
    if ("operator" in test) {
      const { operator: sign, left, right } = test;
      if (sign === "and") return this.holds(left) && this.holds(right);
      if (sign === "or") return this.holds(left) || this.holds(right);
      if (sign === "in" || sign === "not in") {
        const text = this.value(left);
        const within = this.value(right);
        if (typeof text !== "string" || !(within instanceof Inputs)) throw new NotFollowed();
        return within.tensors.has(text) === (sign === "in");
      }
      if (sign === "is" || sign === "is not") {
        const value = this.value(left);
        if (!("value" in right) || right.value !== null || value instanceof Named) throw new NotFollowed();
        letGo(value);
        return (value === null) === (sign === "is");
      }
    }
    if ("sign" in test && test.sign === "not") return !this.holds(test.operand);
    const value = this.value(test);
    letGo(value);
    if (typeof value !== "boolean" && typeof value !== "number" && value !== null) throw new NotFollowed();
    return Boolean(value);
  }

  /** A value, owned. */
  protected value(expression: LossExpression): Value {
    if ("listed" in expression) return this.listed(expression);
    if ("value" in expression) return "each" in expression ? this.each(expression) : expression.value;
    if ("name" in expression) return this.named(expression.name);
    if ("items" in expression) {
      const { keys } = expression;
      const items = bounded(expression.items.map((item) => this.value(item)));
      return keys === undefined || !Array.isArray(items) || !items.every(isTensor) || items.length === 0
        ? items
        : new Inputs(new Map(items.map((item, k) => [keys[k] ?? "", item])), true);
    }
    if ("call" in expression) return this.call(expression);
    if ("attribute" in expression) return this.attribute(expression);
    if ("at" in expression) return this.item(expression.of, expression.at);
    if ("test" in expression) return this.value(this.holds(expression.test) ? expression.yes : expression.no);
    if ("operator" in expression) {
      if (/^(?:in|not in|is|is not|and|or)$/.test(expression.operator)) return this.holds(expression);
      return this.consuming([this.scalar(expression.left), this.scalar(expression.right)], ([left, right]) =>
        binary(this.torch, expression.operator, left!, right!),
      );
    }
    if ("sign" in expression)
      return this.consuming([this.value(expression.operand)], ([operand]) =>
        signed(this.torch, expression.sign, operand!),
      );
    throw new NotFollowed();
  }

  /** Values of operators: numbers of the trainer's that nobody knows weigh nothing. */
  protected scalar(expression: LossExpression): Value {
    const value = this.value(expression);
    return value instanceof Named && !/^torch\b/.test(value.path) ? 1 : value;
  }

  /** What is made of values that nothing names afterwards. */
  protected consuming(values: readonly Value[], make: (values: readonly Value[]) => Value): Value {
    const made = computed(() => make(values));
    for (const value of values) letGo(value);
    return made;
  }

  private named(name: string): Value {
    const own = this.names.get(name);
    if (own !== undefined) return held(own);
    const outside = this.outside(name);
    return outside === undefined ? new Named(name) : this.value(outside);
  }

  /** What a name outside of the function is bound to. */
  private outside(name: string): LossExpression | undefined {
    const all = this.self !== null ? (this.loss.module?.outside ?? {}) : this.loss.outside;
    return Object.hasOwn(all, name) ? all[name] : undefined;
  }

  private attribute({ of, attribute }: { readonly of: LossExpression; readonly attribute: string }): Value {
    const path = dotted({ of, attribute });
    const own = this.self === null ? null : this.ownPath({ of, attribute });
    const weight = own === null ? undefined : this.ownWeight(own);
    if (weight !== undefined) return weight.retain();
    const inside = own === null ? undefined : this.modulesIn(own);
    if (inside !== undefined) return inside;
    if (path !== null && this.names.get(path.split(".", 1)[0] ?? "") === undefined) {
      const outside = this.outside(path);
      if (outside !== undefined) return this.value(outside);
    }
    if (path !== null && CLASSES.test(path) && this.classes !== null) return this.classes;
    return this.consuming([this.value(of)], ([object]) => {
      if (object instanceof Outputs) return this.part(object, attribute);
      if (object instanceof Inputs) return partOf(object, attribute);
      if (object instanceof Named) return new Named(`${object.path}.${attribute}`);
      if (Array.isArray(object) && object.length === 2 && CHOSEN.includes(attribute))
        return held(object[CHOSEN.indexOf(attribute)] as Value);
      if (!isTensor(object)) throw new NotFollowed();
      if (attribute === "shape") return [...object.sizes];
      if (attribute === "T") return operator(this.torch, "t", [object]);
      if (attribute === "device" || attribute === "dtype") return new Named(`torch.${object.dtype}`);
      throw new NotFollowed();
    });
  }

  protected part(outputs: Outputs, name: string): Value {
    if (name === "hidden_states") return outputs.states.map((state) => state.retain());
    const tensor = outputs.parts.get(name);
    if (tensor === undefined) throw new NotFollowed();
    return tensor.retain();
  }

  private item(of: LossExpression, at: readonly LossIndex[]): Value {
    return this.consuming([this.value(of)], ([object]) => {
      const [first] = at;
      const index =
        at.length === 1 && typeof first === "object" && "index" in first ? this.value(first.index) : undefined;
      if (object instanceof Inputs || object instanceof Outputs) {
        const name = typeof index === "number" ? placesOf(object)[index] : index;
        if (typeof name !== "string") throw new NotFollowed();
        return object instanceof Outputs ? this.part(object, name) : partOf(object, name);
      }
      if (Array.isArray(object) && at.length === 1 && typeof first === "object" && "from" in first)
        return held(object.slice(this.place(first.from), this.place(first.to)) as Value);
      const named =
        Array.isArray(object) && typeof index === "string" ? partNamed(object as readonly Value[], index) : undefined;
      if (named !== undefined) return named;
      if (Array.isArray(object) && (typeof index === "number" || index === "loss"))
        return held(object.at(index === "loss" ? 0 : index) as Value);
      return sliced(this.torch, tensorOf(object), at, (one) => this.value(one));
    });
  }

  /** An end of a slice of a list. */
  private place(bound: LossExpression | null): number | undefined {
    return bound === null ? undefined : numberOf(this.value(bound));
  }

  /** A batch with other tensors under its names. */
  private each(expression: Extract<LossExpression, { readonly each: LossExpression }>): Value {
    const over = this.value(expression.each);
    if (!(over instanceof Inputs)) throw new NotFollowed();
    const tensors = new Map<string, Tensor>();
    for (const [name, tensor] of over.tensors) {
      if (name === expression.without) continue;
      this.names.set(expression.item, tensor.retain());
      tensors.set(name, tensorOf(this.value(expression.value)));
      letGo(this.names.get(expression.item));
      this.names.delete(expression.item);
    }
    letGo(over);
    return new Inputs(tensors, true);
  }

  /**
   * A function of the script: its names go when it returns.
   *
   * @param self the way to the module whose code it is, which calls that `self`; what it is given is the caller's
   */
  protected ofScript(own: LossFunction, expression: Call, self = this.self): Value {
    if (expression.args.length > own.parameters.length || this.depth >= DEEPEST) throw new NotFollowed();
    const given = new Map<string, Value>();
    for (const one of expression.spread) {
      const all = this.value(one);
      if (!(all instanceof Inputs)) throw new NotFollowed();
      for (const [name, tensor] of all.tensors) if (own.parameters.includes(name)) given.set(name, tensor.retain());
      letGo(all);
    }
    for (const [k, one] of expression.args.entries()) given.set(own.parameters[k] ?? "", this.value(one));
    for (const [name, one] of expression.keywords) given.set(name, this.value(one));
    for (const name of own.parameters) {
      if (given.has(name)) continue;
      const standard = own.defaults?.[name];
      if (standard === undefined) throw new NotFollowed();
      given.set(name, this.value(standard));
    }
    const outer = { names: this.names, self: this.self };
    this.names = given;
    this.self = self;
    this.depth++;
    const returned = this.body(own.body);
    this.end();
    this.depth--;
    this.self = outer.self;
    this.names = outer.names;
    return returned ?? null;
  }
}
