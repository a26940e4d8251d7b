/**
 * A module of a script's own around a model that it loads or is given, or beside it: its layers of torch's, modules of the script's own
 * inside of it, and what its `forward` computes.
 */
import type { SyntaxNode } from "@lezer/common";
import type { LayerSize, LossFunction, OwnLayer, OwnModule, OwnParts } from "../../terms/own-loss";
import type { Collector } from "./collect";
import { functionsIn } from "./loss-functions";
import { childNamed, childrenNamed } from "./nodes";
import { bodyOf, LayerReader, type LayerScope } from "./own-layers";
import { functionTree } from "./own-loss";
import { argumentNode, parametersOf } from "./parameters";
import { Unread, unlessUnread } from "./unread";
import type { Evaluator } from "./values";

const LOADS = /\.(?:from_pretrained|from_config)$/;
/** What is loaded beside a model. */
const BESIDE = /(?:Config|Tokenizer|TokenizerFast|Processor|FeatureExtractor)\.from_pretrained$/;
/** Models of transformers by their classes. */
const MADE = /(?:^|\.)[A-Z]\w{0,80}(?:For[A-Z]\w{1,80}|LMHeadModel|Model)$/;
/** What a module is put somewhere by, and stays itself. */
const MOVES = /^(?:to|cuda|train|eval|float|requires_grad_)$/;
/** Classes inside of one another. */
const DEEPEST = 4;
/** Modules that one may have: lists of lists grow without end. */
const MOST_MODULES = 512;
const NOTHING_GIVEN: LayerScope["given"] = new Map();

/** A class as it is made somewhere. */
interface Made {
  /** The models that it loads, or is given and calls, by their paths. */
  readonly bodies: readonly string[];
  readonly layers: readonly OwnLayer[];
  readonly forwards: Readonly<Record<string, LossFunction>>;
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly keepsStates: boolean;
  readonly forward: LossFunction;
}

/** What a class's `__init__` makes, as it is read. */
interface Inside {
  readonly loaded: string[];
  /** Where it loads none, the model is what it was given and calls. */
  readonly handed: string[];
  readonly layers: OwnLayer[];
  readonly forwards: Record<string, LossFunction>;
  readonly lists: Record<string, readonly string[]>;
  /** The model is loaded with `output_hidden_states=True`. */
  keepsStates: boolean;
}

/** What a class of the script is as a module around one model that it loads or is given; undefined: it is none, or has what is not read. */
export function ownModuleOf(
  type: SyntaxNode,
  found: Collector,
  evaluator: Evaluator,
): Omit<OwnModule, "outside"> | undefined {
  return unlessUnread(() => {
    const made = new Reader(found, evaluator).class(type, "self", NOTHING_GIVEN, 0);
    const [body, ...others] = made?.bodies ?? [];
    if (made === undefined || body === undefined || others.length > 0) return undefined;
    const { forward, ...parts } = partsOf(made);
    const states = made.keepsStates ? { keepsStates: true as const } : {};
    return { body, ...states, ...parts, forward, ...functionsIn([forward, parts], found, evaluator) };
  });
}

/** Modules beside the model that a tree calls by the names which the script binds them to; undefined: there are none. */
export function partsCalled(tree: unknown, found: Collector, evaluator: Evaluator): OwnParts | undefined {
  const text = JSON.stringify(tree);
  const names = new Set([...text.matchAll(/"call":\{"name":"(\w{1,80})"\}/g)].map(([, name = ""]) => name));
  const reader = new Reader(found, evaluator);
  const parts = [...names].flatMap((name) => {
    const bound = found.assigned.filter((one) => evaluator.slice(one.name) === name);
    const [made, ...others] = bound.flatMap(({ value }) => reader.made(value) ?? []);
    return (made === undefined || others.length > 0 ? undefined : unlessUnread(() => reader.beside(made, name))) ?? [];
  });
  return parts.length === 0
    ? undefined
    : {
        layers: parts.flatMap(({ layers }) => layers),
        forwards: Object.assign({}, ...parts.map(({ forwards }) => forwards)),
        ...(parts.some(({ lists }) => lists !== undefined) && {
          lists: Object.assign({}, ...parts.map(({ lists }) => lists)),
        }),
      };
}

class Reader {
  private readonly torch: LayerReader;
  private modules = 0;

  constructor(
    private readonly found: Collector,
    private readonly evaluator: Evaluator,
  ) {
    this.torch = new LayerReader(found, evaluator);
  }

  /** The call that makes a module, behind those that put it somewhere. */
  made(value: SyntaxNode): SyntaxNode | undefined {
    let node: SyntaxNode | null = value;
    while (node?.name === "CallExpression") {
      const callee: SyntaxNode | null = node.firstChild;
      const method = callee?.name === "MemberExpression" ? callee.lastChild : null;
      const receiver: SyntaxNode | null = callee?.firstChild ?? null;
      if (method === null || receiver?.name !== "CallExpression" || !MOVES.test(this.slice(method))) return node;
      node = receiver;
    }
    return undefined;
  }

  /** A module beside the model; undefined: it is none, or holds a model itself. */
  beside(call: SyntaxNode, name: string): OwnParts | undefined {
    const scope = { body: null, given: NOTHING_GIVEN };
    const layers = this.torch.layers(name, call, scope);
    if (layers !== undefined) return layers.length > 0 ? { layers } : undefined;
    const made = this.ofClass(call, name, scope, 0);
    if (made === undefined || made.bodies.length > 0) return undefined;
    return { ...listsOf(made), layers: made.layers, forwards: { ...made.forwards, [name]: made.forward } };
  }

  /** A class of the script's that a call makes a module of. */
  private ofClass(call: SyntaxNode, path: string, scope: LayerScope, depth: number): Made | undefined {
    const type = call.firstChild === null ? undefined : this.found.classNamed(this.slice(call.firstChild));
    if (type === undefined) return undefined;
    const init = this.method(type, "__init__");
    const given = new Map<string, () => LayerSize>();
    for (const parameter of init === undefined ? [] : parametersOf(init, (one) => this.slice(one))) {
      const node = argumentNode(call, parameter, (one) => this.slice(one)) ?? parameter.standard;
      if (node !== null) given.set(parameter.name, () => this.torch.size(node, scope));
    }
    return this.class(type, path, given, depth + 1);
  }

  class(type: SyntaxNode, path: string, given: LayerScope["given"], depth: number): Made | undefined {
    const forward = this.method(type, "forward");
    if (forward === undefined) return undefined;
    if (depth > DEEPEST) throw new Unread();
    const init = this.method(type, "__init__");
    const scope = { body: bodyOf(init), given };
    const inside: Inside = { loaded: [], handed: [], layers: [], forwards: {}, lists: {}, keepsStates: false };
    const parameters = new Set(
      childrenNamed(childNamed(init, "ParamList"), "VariableName").map((one) => this.slice(one)),
    );
    const calls = this.slice(forward);
    for (const [target, value] of this.torch.assigned(scope.body)) {
      if (!target.startsWith("self.")) continue;
      const own = `${path}${target.slice("self".length)}`;
      if (value.name === "CallExpression") this.take(inside, own, value, scope, depth);
      else if (parameters.has(this.slice(value)) && calls.includes(`${target}(`)) inside.handed.push(own);
    }
    const tree = functionTree(forward, (one) => this.slice(one), this.found.bound);
    if (tree === undefined) throw new Unread();
    const { loaded, handed, ...parts } = inside;
    return { bodies: loaded.length > 0 ? loaded : handed, ...parts, forward: tree };
  }

  /** What a call makes is taken into a module under a name. */
  private take(inside: Inside, own: string, value: SyntaxNode, scope: LayerScope, depth: number): void {
    const callee = value.firstChild;
    if (callee === null) return;
    if (++this.modules > MOST_MODULES) throw new Unread();
    if (BESIDE.test(this.slice(callee))) return;
    if (LOADS.test(this.slice(callee)) || this.isOfTransformers(callee)) {
      inside.loaded.push(own);
      inside.keepsStates ||= this.torch.isOn(value, "output_hidden_states");
      return;
    }
    const held = this.torch.held(value, scope);
    if (held !== undefined) {
      inside.lists[own] = held.map(({ name }) => name);
      for (const one of held) {
        if (one.node.name !== "CallExpression") throw new Unread();
        this.take(inside, `${own}.${one.name}`, one.node, one.scope, depth);
      }
      return;
    }
    const made = this.ofClass(value, own, scope, depth);
    if (made === undefined) {
      inside.layers.push(...(this.torch.layers(own, value, scope) ?? []));
      return;
    }
    inside.loaded.push(...made.bodies);
    inside.keepsStates ||= made.keepsStates;
    inside.layers.push(...made.layers);
    Object.assign(inside.forwards, made.forwards, { [own]: made.forward });
    Object.assign(inside.lists, made.lists);
  }

  private method(type: SyntaxNode, name: string): SyntaxNode | undefined {
    return childrenNamed(childNamed(type, "Body"), "FunctionDefinition").find(
      (one) => this.slice(childNamed(one, "VariableName") ?? one) === name,
    );
  }

  /** Whether a call makes a model from its config (`BertModel(config)`). */
  private isOfTransformers(callee: SyntaxNode): boolean {
    const name = this.slice(callee);
    return MADE.test(name) && /^transformers\b/.test(this.found.bound.get(name.split(".", 1)[0] ?? "") ?? "");
  }

  private slice(node: SyntaxNode): string {
    return this.evaluator.slice(node);
  }
}

/** Without what it has none of. */
function partsOf(made: Made): OwnParts & { readonly forward: LossFunction } {
  const { layers, forwards, forward } = made;
  return { layers, ...(Object.keys(forwards).length === 0 ? {} : { forwards }), ...listsOf(made), forward };
}

function listsOf({ lists }: Made): Pick<OwnParts, "lists"> {
  return Object.keys(lists).length === 0 ? {} : { lists };
}
