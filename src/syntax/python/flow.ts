/**
 * The way a module's statements run, without running them: what each name is bound to where it is used, what never runs
 * (`if False:`, what stands behind a `return`), in which order calls are made and under which conditions. Functions are gone
 * through where they are called first; branches whose condition is not known are both gone through, and what they bind is
 * joined after them. `try` succeeds.
 */

import type { SyntaxNode, Tree } from "@lezer/common";
import { type Message, say } from "../../words/message";
import { MAX_DEPTH } from "../text";
import { assignment, putInto, updated } from "./assignments";
import { attempt, branches, cases, choice, context, generators, loop, whileLoop } from "./control";
import { Dead } from "./dead";
import { type Binding, type Changes, Names, Scope } from "./names";
import { childNamed, childrenNamed, childrenOf, span } from "./nodes";
import { parametersOf } from "./parameters";
import type { Guard, Mark, Walking, Way } from "./walking";

/** Where in the run something happens. */
export interface Reached {
  readonly order: number;
  readonly guards: readonly Guard[];
  /** In a function that nothing here calls. */
  readonly deferred: boolean;
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

export class Flow implements Walking {
  private readonly dead = new Dead();
  private readonly uses = new Map<number, readonly Binding[]>();
  private readonly reached = new Map<string, Reached>();
  private readonly functions = new Map<number, Function>();
  private readonly methods = new Map<string, Function[]>();
  private readonly returned = new Map<number, SyntaxNode[]>();
  scope = new Scope(null);
  readonly dotted = new Names();
  alive = true;
  guards: readonly Guard[] = [];
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

  isDead(node: { readonly from: number; readonly to: number }): boolean {
    return this.dead.has(node);
  }

  block(node: SyntaxNode): void {
    for (const child of childrenOf(node)) this.statement(child);
  }

  holds(test: SyntaxNode): boolean | undefined {
    return this.decide(test, this);
  }

  dies(node: SyntaxNode): void {
    this.dead.add(span(node));
  }

  private statement(node: SyntaxNode): void {
    if (!this.alive) {
      if (node.name !== ":" && node.name !== "Comment") this.dies(node);
      return;
    }
    if (++this.depth <= MAX_DEPTH) this.run(node);
    this.depth--;
  }

  private readonly statements: Readonly<Record<string, (node: SyntaxNode) => void>> = {
    AssignStatement: (node) => assignment(this, node),
    UpdateStatement: (node) => {
      this.expression(node);
      this.rebind(node.firstChild, say("open.augmented"));
    },
    IfStatement: (node) => branches(this, node),
    ForStatement: (node) => loop(this, node),
    WhileStatement: (node) => whileLoop(this, node),
    TryStatement: (node) => attempt(this, node),
    WithStatement: (node) => context(this, node),
    MatchStatement: (node) => cases(this, node),
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
      const call = node.firstChild?.name === "CallExpression" ? node.firstChild : null;
      if (call !== null) updated(this, call);
      const callee = call?.firstChild ?? null;
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

  bind(name: SyntaxNode, binding: Binding): void {
    const text = this.slice(name);
    if (name.name === "VariableName") this.scope.names.set(text, [binding]);
    else if (name.name === "MemberExpression" && DOTTED.test(text)) this.dotted.set(text, [binding]);
    else if (name.name === "MemberExpression" && binding.element === undefined) putInto(this, name, binding.expression);
  }

  rebind(name: SyntaxNode | null, reason: Message): void {
    if (name !== null) this.bind(name, { expression: null, reason, span: span(name) });
  }

  begin(): Mark {
    return { names: this.scope.names.mark(), dotted: this.dotted.mark() };
  }

  take({ names, dotted }: Mark): Way {
    return { names: this.scope.names.take(names), dotted: this.dotted.take(dotted), alive: this.alive };
  }

  join(ways: readonly Way[]): void {
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

  get past(): Way {
    return { names: NO_CHANGES, dotted: NO_CHANGES, alive: this.alive };
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

  expression(node: SyntaxNode): void {
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
    ConditionalExpression: (node) => choice(this, node),
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
    else if (COMPREHENSION.test(node.name)) this.within(node, () => generators(this, node));
    else for (const child of childrenOf(node)) this.expression(child);
  }

  /** Names that only an expression has. */
  private within(node: SyntaxNode, names: () => void): void {
    const outer = this.scope;
    this.scope = new Scope(outer);
    names();
    for (const child of childrenOf(node)) this.expression(child);
    this.scope = outer;
  }

  private use(node: SyntaxNode): void {
    const text = this.slice(node);
    const bindings = node.name === "VariableName" ? this.scope.find(text) : this.dotted.get(text);
    if (bindings !== undefined) this.uses.set(node.from * 4096 + Math.min(node.to - node.from, 4095), bindings);
  }

  mark(node: SyntaxNode): void {
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

  slice(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}
