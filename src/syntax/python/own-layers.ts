/** Layers of torch's that a script makes, and their sizes. */
import type { SyntaxNode } from "@lezer/common";
import type { LayerSize, OwnLayer } from "../../terms/own-loss";
import type { Collector } from "./collect";
import { argumentsOf, childNamed, childrenNamed, childrenOf } from "./nodes";
import type { Evaluator } from "./values";

/** A module holds something that is not read. */
export class Unread extends Error {}

const OF_TORCH = /^torch\.nn\.(?:modules\.\w+\.)?(\w+)$/;
/** Modules that compute losses have no weights. */
const LOSSES = /Loss$/;
const ACTIVATIONS: ReadonlySet<string> = new Set(["ReLU", "GELU", "Tanh", "Sigmoid", "SiLU"]);
const OF_CONFIG = /(?:^|\.)config\.(\w{1,60})$/;
/** Calls that make a tensor of the sizes that they are given, and of those one that has none. */
const FILLED = /^torch\.(?:zeros|ones|empty|rand|randn|full)$/;
const SCALAR = /^torch\.tensor$/;
const MOST_STEPS = 8;

/** Where a layer is made: the body that binds names to sizes, and what the parameters of that are given. */
export interface LayerScope {
  readonly body: SyntaxNode | null;
  readonly given: ReadonlyMap<string, () => LayerSize>;
}

/** A call's arguments by their places and by their names. */
interface Arguments {
  readonly places: readonly SyntaxNode[];
  readonly keywords: ReadonlyMap<string, SyntaxNode>;
}

export class LayerReader {
  constructor(
    private readonly found: Collector,
    private readonly evaluator: Evaluator,
  ) {}

  slice(node: SyntaxNode): string {
    return this.evaluator.slice(node);
  }

  /** What a body binds, one name to one value each. */
  assigned(body: SyntaxNode | null): (readonly [string, SyntaxNode])[] {
    return childrenNamed(body, "AssignStatement").flatMap((node) => {
      const [target, sign, value, ...more] = childrenOf(node).filter(({ name }) => name !== "Comment");
      return sign?.name === "AssignOp" && target !== undefined && value !== undefined && more.length === 0
        ? [[this.slice(target), value] as const]
        : [];
    });
  }

  /** What a call calls, by its full name where an import binds it. */
  fullName(callee: SyntaxNode): string {
    const [root = "", ...rest] = this.slice(callee).split(".");
    return [this.found.bound.get(root) ?? root, ...rest].join(".");
  }

  /** Layers of a module of torch's that is called; none: it has no weights and is no layer; undefined: it is none of torch's. */
  layers(path: string, call: SyntaxNode, scope: LayerScope): OwnLayer[] | undefined {
    const callee = call.firstChild;
    const kind = callee === null ? undefined : OF_TORCH.exec(this.fullName(callee))?.[1];
    if (kind === undefined) return undefined;
    if (LOSSES.test(kind)) return [];
    const given = this.arguments(call);
    const { places, keywords } = given;
    const size = (place: number, name: string): LayerSize => {
      const node = places[place] ?? keywords.get(name);
      if (node === undefined) throw new Unread();
      return this.size(node, scope);
    };
    const isOff = (name: string): boolean => keywords.has(name) && this.slice(keywords.get(name)!) === "False";
    switch (kind) {
      case "Sequential":
        return places.flatMap((one, k) => {
          const inside = one.name === "CallExpression" ? this.layers(`${path}.${k}`, one, scope) : undefined;
          if (inside === undefined) throw new Unread();
          return inside;
        });
      case "Parameter":
        return [{ path, kind, sizes: this.shape(places[0], scope), bias: false }];
      case "Linear": {
        const bias = places[2] ?? keywords.get("bias");
        const sizes = [size(0, "in_features"), size(1, "out_features")];
        return [{ path, kind, sizes, bias: bias === undefined || this.slice(bias) !== "False" }];
      }
      case "Embedding":
        return [{ path, kind, sizes: [size(0, "num_embeddings"), size(1, "embedding_dim")], bias: false }];
      case "LayerNorm":
        if (isOff("elementwise_affine")) throw new Unread();
        return [{ path, kind, sizes: [size(0, "normalized_shape")], bias: !keywords.has("bias") }];
    }
    if (kind === "Dropout" || kind === "Identity" || ACTIVATIONS.has(kind))
      return [{ path, kind, sizes: [], bias: false }];
    throw new Unread();
  }

  /** Sizes of the tensor that a weight is made of. */
  private shape(node: SyntaxNode | undefined, scope: LayerScope): LayerSize[] {
    if (node === undefined) throw new Unread();
    if (node.name === "BinaryExpression") {
      // `torch.ones([]) * 2.65`: a number changes no size.
      const [left, , right] = childrenOf(node);
      const [number, made] = left?.name === "Number" ? [left, right] : [right, left];
      if (number?.name === "CallExpression") throw new Unread();
      return this.shape(made, scope);
    }
    const callee = node.name === "CallExpression" ? node.firstChild : null;
    const name = callee === null ? "" : this.fullName(callee);
    const { places } = this.arguments(node);
    const [first] = places;
    if (SCALAR.test(name) && first !== undefined && first.name !== "ArrayExpression") return [];
    if (!FILLED.test(name) || first === undefined) throw new Unread();
    const isList = first.name === "ArrayExpression" || first.name === "TupleExpression";
    const sizes = isList ? childrenOf(first).filter(({ name: kind }) => !/^(?:[()[\],]|Comment)$/.test(kind)) : places;
    return sizes.map((one) => this.size(one, scope));
  }

  private arguments(call: SyntaxNode): Arguments {
    const parts = argumentsOf(call);
    const places: SyntaxNode[] = [];
    const keywords = new Map<string, SyntaxNode>();
    for (let k = 0; k < parts.length; k++)
      if (parts[k + 1]?.name === "AssignOp" && parts[k + 2] !== undefined) {
        keywords.set(this.slice(parts[k]!), parts[k + 2]!);
        k += 2;
      } else places.push(parts[k]!);
    return { places, keywords };
  }

  /** A number, or a key of the loaded model's config, as many times. */
  size(node: SyntaxNode, scope: LayerScope, steps = 0): LayerSize {
    const name = this.slice(node);
    const given = scope.given.get(name);
    if (given !== undefined) return given();
    const known = this.evaluator.evaluate(node);
    if (known.kind === "scalar" && typeof known.value === "number") return known.value;
    const key = OF_CONFIG.exec(name)?.[1];
    if (key !== undefined) return { config: key, times: 1 };
    if (steps >= MOST_STEPS) throw new Unread();
    const [left, sign, right] = childrenOf(node);
    if (node.name === "BinaryExpression" && sign !== undefined) {
      const [a, b] = [this.size(left!, scope, steps + 1), this.size(right!, scope, steps + 1)];
      return combined(a, b, this.slice(sign));
    }
    const value = this.assigned(scope.body).find(([target]) => target === name)?.[1] ?? this.bindingOf(name);
    if (value === undefined) throw new Unread();
    return this.size(value, scope, steps + 1);
  }

  /** What the module binds a name to, where it does so once. */
  private bindingOf(name: string): SyntaxNode | undefined {
    const [only, ...others] = this.found.assigned.filter((one) => this.slice(one.name) === name);
    return others.length === 0 ? only?.value : undefined;
  }
}

function combined(a: LayerSize, b: LayerSize, sign: string): LayerSize {
  if (sign === "*") {
    if (typeof a === "number") return typeof b === "number" ? a * b : { ...b, times: a * b.times };
    if (typeof b === "number") return { ...a, times: a.times * b };
  }
  if ((sign === "//" || sign === "/") && typeof b === "number" && b > 0)
    return typeof a === "number" ? Math.floor(a / b) : { ...a, times: a.times / b };
  throw new Unread();
}

/** The statements of a class's `__init__`, or of a function. */
export function bodyOf(node: SyntaxNode | undefined): SyntaxNode | null {
  return childNamed(node, "Body");
}
