/**
 * The way a module's statements run, without running them: what each name is bound to where it is used, what never runs
 * (`if False:`, what stands behind a `return`), in which order calls are made and under which conditions. Functions are gone
 * through where they are called first; branches whose condition is not known are both gone through, and what they bind is
 * joined after them. `try` succeeds.
 */

import type { SyntaxNode, Tree } from "@lezer/common";
import { type Message, say } from "../../words/message";
import { MAX_DEPTH } from "../text";
import type { Span } from "../tree";
import { MAX_GUARDS, MAX_PUT } from "./bounds";
import { type Binding, type Changes, type Loop, Names } from "./names";
import { childNamed, childrenNamed, childrenOf, span } from "./nodes";
import { parametersOf } from "./parameters";

/** A condition that is not known, and what it must be. */
export interface Guard {
  readonly test: SyntaxNode;
  readonly holds: boolean;
}

/** Where in the run something happens. */
export interface Reached {
  readonly order: number;
  readonly guards: readonly Guard[];
  /** In a function that nothing here calls. */
  readonly deferred: boolean;
}

class Scope {
  readonly names = new Names();
  constructor(readonly parent: Scope | null) {}

  find(name: string): readonly Binding[] | undefined {
    return this.names.get(name) ?? this.parent?.find(name);
  }
}

/** Where a way begins. */
interface Mark {
  readonly names: number;
  readonly dotted: number;
}

/** What one of several ways has bound, and whether it comes through. */
interface Way {
  readonly names: Changes;
  readonly dotted: Changes;
  readonly alive: boolean;
}

const NO_CHANGES: Changes = new Map();

interface Function {
  readonly node: SyntaxNode;
  readonly scope: Scope;
  walked: boolean;
}

/** Functions gone through inside one another. */
const MAX_CALLS = 24;
/** Names that stand for one another. */
const MAX_ALIASES = 8;
const COMPREHENSION = /Comprehension/;
const DOTTED = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/;
/** Calls after which nothing runs. */
const ENDS = /^(?:sys\.exit|exit|quit|os\._exit)$/;

export class Flow {
  /** What never runs. */
  private readonly dead: Span[] = [];
  private sorted: { readonly of: number; readonly spans: readonly Span[] } | undefined;
  private readonly uses = new Map<number, readonly Binding[]>();
  private readonly reached = new Map<string, Reached>();
  private readonly functions = new Map<number, Function>();
  private readonly methods = new Map<string, Function[]>();
  private readonly returned = new Map<number, SyntaxNode[]>();
  private scope = new Scope(null);
  /** Bindings of attributes (`self.model`, `model.config.use_cache`) by their text. */
  private readonly dotted = new Names();
  private alive = true;
  private guards: readonly Guard[] = [];
  private order = 0;
  private depth = 0;
  private calls = 0;
  private inside: SyntaxNode | null = null;
  private deferred = false;

  /** @param decide the truth of a condition; undefined: it is not known */
  constructor(
    private readonly text: string,
    private readonly decide: (test: SyntaxNode, flow: Flow) => boolean | undefined,
  ) {}

  /** @param first where statements stand that run before the others: those of modules that are imported */
  walk(tree: Tree, first = Number.POSITIVE_INFINITY): void {
    const all = childrenOf(tree.topNode);
    for (const one of all) if (one.from >= first) this.statement(one);
    for (const one of all) if (one.from < first) this.statement(one);
    // What nothing here calls may be called from elsewhere, when all names are bound.
    this.alive = true;
    this.deferred = true;
    for (let waiting = this.unwalked(); waiting.length > 0; waiting = this.unwalked())
      for (const one of waiting) this.enter(one);
  }

  private unwalked(): Function[] {
    return [...this.functions.values()].filter(({ walked }) => !walked).sort((a, b) => a.node.from - b.node.from);
  }

  /** What a name or a dotted name is bound to where it stands; undefined: nothing here binds it. */
  bindingsAt({ from, to }: SyntaxNode): readonly Binding[] | undefined {
    return this.uses.get(from * 4096 + Math.min(to - from, 4095));
  }

  /** When a call or an assignment happens; undefined: it does not. */
  reachedAt({ from, to }: SyntaxNode): Reached | undefined {
    return this.reached.get(`${from}:${to}`);
  }

  /** What a function returns, one expression for each `return`. */
  returnsOf({ from }: SyntaxNode): readonly SyntaxNode[] {
    return this.returned.get(from) ?? [];
  }

  isDead({ from, to }: { readonly from: number; readonly to: number }): boolean {
    const spans = this.outermost();
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((spans[middle] as Span).start <= from) low = middle + 1;
      else high = middle;
    }
    const before = spans[low - 1];
    return before !== undefined && to <= before.end;
  }

  /** What never runs in the order of the text, without what stands in another that does not run. */
  private outermost(): readonly Span[] {
    if (this.sorted?.of !== this.dead.length) {
      const spans: Span[] = [];
      for (const one of this.dead.toSorted((a, b) => a.start - b.start || b.end - a.end))
        if (one.end > (spans.at(-1)?.end ?? -1)) spans.push(one);
      this.sorted = { of: this.dead.length, spans };
    }
    return this.sorted.spans;
  }

  private block(node: SyntaxNode): void {
    for (const child of childrenOf(node)) this.statement(child);
  }

  private statement(node: SyntaxNode): void {
    if (!this.alive) {
      if (node.name !== ":" && node.name !== "Comment") this.dead.push(span(node));
      return;
    }
    if (++this.depth <= MAX_DEPTH) this.run(node);
    this.depth--;
  }

  private readonly statements: Readonly<Record<string, (node: SyntaxNode) => void>> = {
    AssignStatement: (node) => this.assignment(node),
    UpdateStatement: (node) => {
      this.expression(node);
      this.rebind(node.firstChild, say("open.augmented"));
    },
    IfStatement: (node) => this.branches(node),
    ForStatement: (node) => this.loop(node),
    WhileStatement: (node) => this.whileLoop(node),
    TryStatement: (node) => this.attempt(node),
    WithStatement: (node) => this.context(node),
    MatchStatement: (node) => this.cases(node),
    FunctionDefinition: (node) => this.defined(node),
    ClassDefinition: (node) => this.definedClass(node),
    DecoratedStatement: (node) => this.block(node),
    StatementGroup: (node) => this.block(node),
    ReturnStatement: (node) => {
      this.expression(node);
      this.returns(node);
    },
    RaiseStatement: (node) => {
      this.expression(node);
      this.alive = false;
    },
    BreakStatement: () => this.ends(),
    ContinueStatement: () => this.ends(),
    DeleteStatement: (node) => {
      for (const part of childrenNamed(node, "MemberExpression")) this.expression(part);
      this.mark(node);
      for (const name of childrenNamed(node, "VariableName")) this.scope.names.set(this.slice(name), []);
    },
    ImportStatement: () => {},
    ScopeStatement: () => {},
    ExpressionStatement: (node) => {
      for (const child of childrenOf(node)) this.expression(child);
      const callee = node.firstChild?.name === "CallExpression" ? node.firstChild.firstChild : null;
      if (callee !== null && ENDS.test(this.slice(callee))) this.ends();
    },
  };

  private run(node: SyntaxNode): void {
    const statement = Object.hasOwn(this.statements, node.name) ? this.statements[node.name] : undefined;
    if (statement === undefined) this.expression(node);
    else statement(node);
  }

  /** Nothing behind it runs. */
  private ends(): void {
    this.alive = false;
  }

  private assignment(node: SyntaxNode): void {
    const sides: SyntaxNode[][] = [[]];
    for (const child of childrenOf(node)) {
      if (child.name === "AssignOp") sides.push([]);
      else if (child.name !== "TypeDef" && child.name !== "," && child.name !== "Comment") sides.at(-1)?.push(child);
    }
    const values = sides.at(-1) ?? [];
    if (sides.length < 2) return;
    for (const value of values) this.expression(value);
    this.mark(node);
    for (const targets of sides.slice(0, -1)) {
      const names = targets.flatMap((target) => (isSequence(target) ? itemsOf(target) : [target]));
      const unpacks = names.length > 1 || targets.some(isSequence);
      names.forEach((name, index) => {
        const own = !unpacks ? values[0] : values.length === names.length ? values[index] : values[0];
        const whole = !unpacks && values.length > 1;
        const element = unpacks && values.length !== names.length ? { element: index } : {};
        if (name.name === "MemberExpression") this.expression(name);
        this.bind(name, {
          expression: own === undefined || whole ? null : own,
          reason: say("open.unpacked"),
          span: span(name),
          ...element,
        });
      });
    }
  }

  private bind(name: SyntaxNode, binding: Binding): void {
    const text = this.slice(name);
    if (name.name === "VariableName") this.scope.names.set(text, [binding]);
    else if (name.name === "MemberExpression" && DOTTED.test(text)) this.dotted.set(text, [binding]);
    else if (name.name === "MemberExpression" && binding.element === undefined) this.putInto(name, binding.expression);
  }

  /** `name["key"] = value` */
  private putInto(target: SyntaxNode, value: SyntaxNode | null): void {
    const [object, bracket, key] = childrenOf(target);
    if (object?.name !== "VariableName" || bracket?.name !== "[" || key === undefined || value === null) return;
    const name = this.slice(object);
    const known = this.scope.find(name);
    if (key.name !== "String" || known === undefined || known.some(({ expression }) => expression === null)) return;
    const put = known.map((binding): Binding => {
      const items = [...(binding.items ?? []), { key, value }];
      return items.length > MAX_PUT
        ? { expression: null, reason: say("open.large"), span: binding.span }
        : { ...binding, items };
    });
    this.scope.names.set(name, put);
  }

  private rebind(name: SyntaxNode | null, reason: Message): void {
    if (name !== null) this.bind(name, { expression: null, reason, span: span(name) });
  }

  private begin(): Mark {
    return { names: this.scope.names.mark(), dotted: this.dotted.mark() };
  }

  /** Takes back what a way has bound. */
  private take({ names, dotted }: Mark): Way {
    return { names: this.scope.names.take(names), dotted: this.dotted.take(dotted), alive: this.alive };
  }

  /** Goes on with what the ways that come through have bound; where none does, nothing behind them runs. */
  private join(ways: readonly Way[]): void {
    const through = ways.filter(({ alive }) => alive);
    this.alive = through.length > 0;
    if (this.alive) {
      this.scope.names.join(through.map(({ names }) => names));
      this.dotted.join(through.map(({ dotted }) => dotted));
      return;
    }
    const last = ways.at(-1);
    if (last === undefined) return;
    this.scope.names.follow(last.names);
    this.dotted.follow(last.dotted);
  }

  /** The way on which nothing happens. */
  private get past(): Way {
    return { names: NO_CHANGES, dotted: NO_CHANGES, alive: this.alive };
  }

  private branches(node: SyntaxNode): void {
    const clauses: { test: SyntaxNode | null; body: SyntaxNode }[] = [];
    let test: SyntaxNode | null = null;
    for (const child of childrenOf(node)) {
      if (child.name === "Body") {
        clauses.push({ test, body: child });
        test = null;
      } else if (!/^(?:if|elif|else|Comment|⚠)$/.test(child.name)) test = child;
    }
    const { past, guards } = this;
    const ways: Way[] = [];
    let settled = false;
    for (const { test, body } of clauses) {
      if (settled) {
        this.dead.push(span(body));
        continue;
      }
      this.alive = past.alive;
      // What a test binds is bound on its own way alone.
      const mark = this.begin();
      if (test !== null) this.expression(test);
      const known = test === null ? true : this.decide(test, this);
      if (known === false) {
        this.take(mark);
        this.dead.push(span(body));
        continue;
      }
      const outside = this.guards;
      if (test !== null && known === undefined) this.guards = guarded(outside, { test, holds: true });
      this.block(body);
      ways.push(this.take(mark));
      this.guards = test !== null && known === undefined ? guarded(outside, { test, holds: false }) : outside;
      settled = known === true;
    }
    this.guards = guards;
    this.join(settled ? ways : [...ways, past]);
  }

  private loop(node: SyntaxNode): void {
    const children = childrenOf(node).filter(({ name }) => name !== "Comment");
    const at = children.findIndex(({ name }) => name === "in");
    const over = children[at + 1];
    const targets = children
      .slice(0, at)
      .filter(({ name }) => !/^(?:for|async|,|\*)$/.test(name))
      .flatMap((target) => (isSequence(target) ? itemsOf(target).flatMap(flat) : [target]));
    const bodies = childrenNamed(node, "Body");
    if (at < 0 || over === undefined || bodies[0] === undefined) return;
    this.expression(over);
    this.weaken(bodies[0]);
    const loop: Loop = { over, targets: targets.length };
    targets.forEach((name, element) => {
      this.bind(name, { expression: null, reason: say("open.loop"), span: span(name), loop, element });
    });
    this.repeated(bodies[0]);
    if (bodies[1] !== undefined) this.otherwise(bodies[0], bodies[1]);
  }

  /** `else` of a loop, which runs where no `break` has ended it. */
  private otherwise(body: SyntaxNode, clause: SyntaxNode): void {
    const { past } = this;
    const mark = this.begin();
    this.block(clause);
    if (breaks(body)) this.join([past, this.take(mark)]);
  }

  private whileLoop(node: SyntaxNode): void {
    const [body, clause] = childrenNamed(node, "Body");
    const test = childrenOf(node).find(({ name }) => name !== "while" && name !== "Comment");
    if (body === undefined) return;
    this.weaken(body);
    if (test !== undefined) this.expression(test);
    if (test !== undefined && this.decide(test, this) === false) this.dead.push(span(body));
    else this.repeated(body);
    if (clause !== undefined) this.otherwise(body, clause);
  }

  private repeated(body: SyntaxNode): void {
    const { past } = this;
    const mark = this.begin();
    this.block(body);
    // `break` and `continue` end a round, not what follows the loop.
    this.join([past, { ...this.take(mark), alive: true }]);
  }

  /** Names that a loop's body binds have, at its beginning, what they had before or what the round before left. */
  private weaken(body: SyntaxNode): void {
    const names = new Set<string>();
    body.cursor().iterate((cursor) => {
      if (cursor.name === "FunctionDefinition") return false;
      if (cursor.name === "AssignStatement")
        for (const child of childrenOf(cursor.node)) {
          if (child.name === "AssignOp") break;
          for (const one of flat(child)) names.add(this.slice(one));
        }
      if (cursor.name === "UpdateStatement" && cursor.node.firstChild !== null)
        names.add(this.slice(cursor.node.firstChild));
      return true;
    });
    for (const name of names) {
      const table = this.scope.names.has(name) ? this.scope.names : this.dotted;
      const known = table.get(name);
      if (known !== undefined)
        table.set(name, [...known, { expression: null, reason: say("open.twice"), span: span(body) }]);
    }
  }

  private attempt(node: SyntaxNode): void {
    let handler = false;
    for (const child of childrenOf(node)) {
      if (child.name === "except") handler = true;
      else if (child.name === "else" || child.name === "finally") handler = false;
      else if (child.name === "Body") {
        if (handler) this.dead.push(span(child));
        else this.block(child);
      }
    }
  }

  private context(node: SyntaxNode): void {
    const children = childrenOf(node);
    children.forEach((child, index) => {
      if (child.name === "Body") this.block(child);
      else if (children[index - 1]?.name === "as")
        this.bind(child, { expression: children[index - 2] ?? null, reason: say("open.context"), span: span(child) });
      else this.expression(child);
    });
  }

  private cases(node: SyntaxNode): void {
    const { past } = this;
    const ways: Way[] = [past];
    for (const child of childrenOf(node)) {
      if (child.name !== "MatchBody") {
        this.expression(child);
        continue;
      }
      for (const clause of childrenNamed(child, "MatchClause")) {
        this.alive = past.alive;
        const mark = this.begin();
        for (const body of childrenNamed(clause, "Body")) this.block(body);
        ways.push(this.take(mark));
      }
    }
    this.join(ways);
  }

  private defined(node: SyntaxNode): void {
    const name = childNamed(node, "VariableName");
    for (const parameter of parametersOf(node, (part) => this.slice(part)))
      if (parameter.standard !== null) this.expression(parameter.standard);
    this.functions.set(node.from, { node, scope: this.scope, walked: false });
    if (name !== null)
      this.bind(name, { expression: null, reason: say("open.function"), span: span(name), function: node });
  }

  private definedClass(node: SyntaxNode): void {
    const name = childNamed(node, "VariableName");
    const list = childNamed(node, "ArgList");
    if (list !== null) this.expression(list);
    const outer = this.scope;
    this.scope = new Scope(outer);
    const body = childNamed(node, "Body");
    if (body !== null) this.block(body);
    for (const one of this.functions.values())
      if (one.scope === this.scope) {
        // A method does not see the names of its class.
        this.functions.set(one.node.from, { ...one, scope: outer });
        const own = this.slice(childNamed(one.node, "VariableName") ?? one.node);
        const method = this.functions.get(one.node.from);
        if (method !== undefined) this.methods.set(own, [...(this.methods.get(own) ?? []), method]);
      }
    this.scope = outer;
    if (name !== null) this.bind(name, { expression: null, reason: say("open.class"), span: span(name), type: node });
  }

  private returns(node: SyntaxNode): void {
    const values = childrenOf(node).filter(({ name }) => !/^(?:return|,|Comment)$/.test(name));
    if (this.inside !== null && values.length > 0) {
      const known = this.returned.get(this.inside.from);
      if (known === undefined) this.returned.set(this.inside.from, [node]);
      else known.push(node);
    }
    // Outside of a function Python refuses it: what stands around it was not understood, and ends nothing.
    if (this.inside !== null) this.alive = false;
  }

  /** Goes through a function where it is called first. */
  private enter(one: Function): void {
    if (one.walked || this.calls >= MAX_CALLS) return;
    one.walked = true;
    const body = childNamed(one.node, "Body");
    if (body === null) return;
    const { scope, inside } = this;
    this.calls++;
    this.inside = one.node;
    this.scope = new Scope(one.scope);
    this.parameters(one.node);
    this.block(body);
    this.calls--;
    this.scope = scope;
    this.inside = inside;
    this.alive = true;
  }

  private parameters(node: SyntaxNode): void {
    for (const parameter of parametersOf(node, (part) => this.slice(part)))
      this.scope.names.set(parameter.name, [
        { expression: null, reason: say("open.parameter"), span: span(parameter.node), parameter },
      ]);
  }

  private expression(node: SyntaxNode): void {
    if (++this.depth > MAX_DEPTH) this.flatly(node);
    else this.evaluated(node);
    this.depth--;
  }

  private readonly expressions: Readonly<Record<string, (node: SyntaxNode) => void>> = {
    VariableName: (node) => this.use(node),
    CallExpression: (node) => this.called(node),
    Decorator: (node) => this.called(node),
    MemberExpression: (node) => {
      for (const child of childrenOf(node)) this.expression(child);
      this.use(node);
    },
    ArgList: (node) => {
      childrenOf(node).forEach((child, index, all) => {
        if (child.name !== "VariableName" || all[index + 1]?.name !== "AssignOp") this.expression(child);
      });
    },
    ConditionalExpression: (node) => this.choice(node),
    NamedExpression: (node) => {
      const [name, , value] = childrenOf(node);
      if (value !== undefined) this.expression(value);
      this.rebind(name ?? null, say("open.inline"));
    },
    LambdaExpression: (node) => this.within(node, () => this.parameters(node)),
    TypeDef: () => {},
    ParamList: () => {},
  };

  private evaluated(node: SyntaxNode): void {
    const own = Object.hasOwn(this.expressions, node.name) ? this.expressions[node.name] : undefined;
    if (own !== undefined) own(node);
    else if (COMPREHENSION.test(node.name)) this.within(node, () => this.generators(node));
    else for (const child of childrenOf(node)) this.expression(child);
  }

  /** `a if test else b`. */
  private choice(node: SyntaxNode): void {
    const [first, test, second] = childrenOf(node).filter(({ name }) => !/^(?:if|else|Comment)$/.test(name));
    if (first === undefined || test === undefined || second === undefined) return;
    this.expression(test);
    const known = this.decide(test, this);
    const { guards } = this;
    for (const [side, holds] of [
      [first, true],
      [second, false],
    ] as const) {
      if (known === !holds) {
        this.dead.push(span(side));
        continue;
      }
      this.guards = known === undefined ? guarded(guards, { test, holds }) : guards;
      this.expression(side);
    }
    this.guards = guards;
  }

  /** Names that only an expression has. */
  private within(node: SyntaxNode, names: () => void): void {
    const outer = this.scope;
    this.scope = new Scope(outer);
    names();
    for (const child of childrenOf(node)) this.expression(child);
    this.scope = outer;
  }

  private generators(node: SyntaxNode): void {
    const children = childrenOf(node);
    children.forEach((child, index) => {
      if (child.name !== "for") return;
      const end = children.findIndex(({ name }, k) => k > index && name === "in");
      const over = children[end + 1];
      if (end < 0 || over === undefined) return;
      const targets = children.slice(index + 1, end).flatMap(flat);
      targets.forEach((name, element) => {
        const loop: Loop = { over, targets: targets.length };
        this.bind(name, { expression: null, reason: say("open.loop"), span: span(name), loop, element });
      });
    });
  }

  private use(node: SyntaxNode): void {
    const text = this.slice(node);
    const bindings = node.name === "VariableName" ? this.scope.find(text) : this.dotted.get(text);
    if (bindings !== undefined) this.uses.set(node.from * 4096 + Math.min(node.to - node.from, 4095), bindings);
  }

  private mark(node: SyntaxNode): void {
    this.reached.set(`${node.from}:${node.to}`, {
      order: this.order++,
      guards: this.guards,
      deferred: this.deferred,
    });
  }

  private called(node: SyntaxNode): void {
    for (const child of childrenOf(node)) this.expression(child);
    this.mark(node);
    const callee = node.firstChild;
    if (callee === null || !this.alive) return;
    const one = this.functionCalled(callee);
    const known = one === undefined ? undefined : this.functions.get(one.from);
    if (known !== undefined) this.enter(known);
  }

  /** The function of the module that a callee means: by its name, a class's `__init__`, a method of `self` or of an object made here. */
  functionCalled(callee: SyntaxNode): SyntaxNode | undefined {
    if (callee.name === "VariableName") {
      const binding = this.standing(this.bindingsAt(callee));
      return binding?.function ?? this.method(binding?.type, "__init__");
    }
    const [object, dot, property] = callee.name === "MemberExpression" ? childrenOf(callee) : [];
    if (object === undefined || dot?.name !== "." || property === undefined) return undefined;
    const name = this.slice(property);
    if (/^(?:self|cls)$/.test(this.slice(object))) {
      const [only, ...others] = this.methods.get(name) ?? [];
      return others.length === 0 ? only?.node : undefined;
    }
    const made = object.name === "CallExpression" ? object : this.standing(this.bindingsAt(object))?.expression;
    const maker = made?.name === "CallExpression" ? made.firstChild : null;
    if (maker?.name !== "VariableName") return undefined;
    return this.method(this.standing(this.bindingsAt(maker))?.type, name);
  }

  /** The one binding that a name has, through names that stand for others. */
  private standing(bindings: readonly Binding[] | undefined): Binding | undefined {
    let [binding, ...others] = bindings ?? [];
    for (let step = 0; step < MAX_ALIASES && others.length === 0; step++) {
      if (binding?.expression?.name !== "VariableName" || binding.element !== undefined) return binding;
      [binding, ...others] = this.bindingsAt(binding.expression) ?? [];
    }
    return others.length === 0 ? binding : undefined;
  }

  private method(type: SyntaxNode | undefined, name: string): SyntaxNode | undefined {
    const own = childNamed(type, "Body");
    return type === undefined
      ? undefined
      : (this.methods.get(name) ?? []).find(
          ({ node: { from, to } }) => own !== null && from >= own.from && to <= own.to,
        )?.node;
  }

  /** What is nested too deeply: names and calls alone, without conditions. */
  private flatly(node: SyntaxNode): void {
    node.cursor().iterate((cursor) => {
      if (cursor.name === "VariableName") this.use(cursor.node);
      if (cursor.name === "CallExpression") this.mark(cursor.node);
    });
  }

  private slice(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}

/** Whether a `break` stands in a loop's body; one of a loop inside is taken for its own. */
function breaks(body: SyntaxNode): boolean {
  let found = false;
  body.cursor().iterate(({ name }) => {
    if (name === "BreakStatement") found = true;
    return name !== "FunctionDefinition" && name !== "ClassDefinition";
  });
  return found;
}

/** More conditions around something than anybody writes are not kept. */
function guarded(guards: readonly Guard[], guard: Guard): readonly Guard[] {
  return guards.length < MAX_GUARDS ? [...guards, guard] : guards;
}

function isSequence({ name }: SyntaxNode): boolean {
  return name === "TupleExpression" || name === "ArrayExpression";
}

function itemsOf(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node).filter(({ name }) => !/^(?:[()[\],]|Comment|\*)$/.test(name));
}

/** Names that a target binds. */
function flat(node: SyntaxNode): SyntaxNode[] {
  if (isSequence(node) || node.name === "ParenthesizedExpression") return itemsOf(node).flatMap(flat);
  return node.name === "VariableName" || node.name === "MemberExpression" ? [node] : [];
}
