/** Layers of torch's that a script makes, and their sizes. */
import type { SyntaxNode } from "@lezer/common";
import { ACTIVATIONS, type LayerSize, type OwnLayer } from "../../terms/own-loss";
import type { Collector } from "./collect";
import { unquote } from "./literals";
import { argumentsOf, childNamed, childrenNamed, childrenOf } from "./nodes";
import { Unread, unlessUnread } from "./unread";
import type { Evaluator } from "./values";

const OF_TORCH = /^torch\.nn\.(?:modules\.\w+\.)?(\w+)$/;
/** Modules that compute losses have no weights. */
const LOSSES = /Loss$/;
const POOLS_TO_ONE: ReadonlySet<string> = new Set(["AdaptiveMaxPool1d", "AdaptiveAvgPool1d"]);
const OF_CONFIG = /(?:^|\.)config\.(\w{1,60})$/;
/** A size of another module (`model.fc.in_features`). */
const OF_MODULE = /^[\w.]{1,200}\.(?:in|out)_(?:features|channels)$/;
/** Calls that make a tensor of the sizes that they are given, and of those one that has none. */
const FILLED = /^torch\.(?:zeros|ones|empty|rand|randn|full)$/;
const SCALAR = /^torch\.tensor$/;
const MOST_STEPS = 8;
/** Layers that are put in the place of one module; more are left. */
const MOST_PUT = 200;
/** Modules that a list is made of. */
const MOST_HELD = 64;

/** A module that stands in another, which is gone over: its name there, the call that makes it, and what that is given. */
export interface HeldModule {
  readonly name: string;
  readonly node: SyntaxNode;
  readonly scope: LayerScope;
}

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

  /** Whether a call is given a keyword as `True`. */
  isOn(call: SyntaxNode, name: string): boolean {
    const node = this.arguments(call).keywords.get(name);
    return node !== undefined && this.slice(node) === "True";
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
      case "Conv1d":
        return [this.convolution(path, kind, given, scope)];
      case "Conv2d":
        return [this.planarConvolution(path, kind, given, scope)];
      case "BatchNorm1d":
        if (isOff("affine") || isOff("track_running_stats")) throw new Unread();
        return [{ path, kind, sizes: [size(0, "num_features")], bias: true }];
      case "LayerNorm":
        if (isOff("elementwise_affine")) throw new Unread();
        return [{ path, kind, sizes: [size(0, "normalized_shape")], bias: !keywords.has("bias") }];
    }
    if (POOLS_TO_ONE.has(kind)) {
      // A window over all that stands there; others have their own sizes.
      if (size(0, "output_size") !== 1) throw new Unread();
      return [{ path, kind, sizes: [], bias: false }];
    }
    if (ACTIVATIONS.has(kind) && this.isOn(call, "inplace"))
      return [{ path, kind, sizes: [], bias: false, options: [1] }];
    if (kind === "Dropout" || kind === "Identity" || ACTIVATIONS.has(kind))
      return [{ path, kind, sizes: [], bias: false }];
    throw new Unread();
  }

  /** A convolution along rows: its weight's sizes, and how it goes over them (torch/nn/modules/conv.py, `Conv1d`). */
  private convolution(path: string, kind: string, { places, keywords }: Arguments, scope: LayerScope): OwnLayer {
    const number = (place: number, name: string, standard?: number): LayerSize => {
      const node = places[place] ?? keywords.get(name);
      if (node !== undefined) return this.size(node, scope);
      if (standard === undefined) throw new Unread();
      return standard;
    };
    const [inside, out, window] = ["in_channels", "out_channels", "kernel_size"].map((name, k) => number(k, name));
    const options = [number(3, "stride", 1), number(4, "padding", 0), number(5, "dilation", 1)];
    const known = options.filter((one) => typeof one === "number");
    if (known.length < options.length || number(6, "groups", 1) !== 1) throw new Unread();
    const bias = places[7] ?? keywords.get("bias");
    const hasBias = bias === undefined || this.slice(bias) !== "False";
    return { path, kind, sizes: [out!, inside!, window!], bias: hasBias, options: known };
  }

  /** A convolution over pictures whose windows are as high as wide (torch/nn/modules/conv.py, `Conv2d`). */
  private planarConvolution(path: string, kind: string, { places, keywords }: Arguments, scope: LayerScope): OwnLayer {
    const node = (place: number, name: string) => places[place] ?? keywords.get(name);
    const size = (place: number, name: string): LayerSize => {
      const found = node(place, name);
      if (found === undefined) throw new Unread();
      return this.size(found, scope);
    };
    const side = (place: number, name: string, standard?: number): number => {
      const found = node(place, name);
      const known = found === undefined ? standard : this.side(found, scope);
      if (known === undefined) throw new Unread();
      return known;
    };
    const [inside, out, window] = [size(0, "in_channels"), size(1, "out_channels"), side(2, "kernel_size")];
    const options = [side(3, "stride", 1), side(4, "padding", 0), side(5, "dilation", 1), side(6, "groups", 1)];
    const mode = node(8, "padding_mode");
    if (options[3] !== 1 || (mode !== undefined && unquote(this.slice(mode)) !== "zeros")) throw new Unread();
    const bias = node(7, "bias");
    const hasBias = bias === undefined || this.slice(bias) !== "False";
    return { path, kind, sizes: [out, inside, window, window], bias: hasBias, options };
  }

  /** A number, or the one that stands twice in a tuple; undefined: it is neither. */
  private side(node: SyntaxNode, scope: LayerScope): number | undefined {
    const known = this.evaluator.evaluate(node);
    if (known.kind !== "list") {
      const one = this.size(node, scope);
      return typeof one === "number" ? one : undefined;
    }
    const [first, second, ...more] = known.items.map((item) => (item.kind === "scalar" ? item.value : undefined));
    return typeof first === "number" && first === second && more.length === 0 ? first : undefined;
  }

  /** What stands in a module that holds others for loops over them; undefined: it is none that does. */
  held(call: SyntaxNode, scope: LayerScope): readonly HeldModule[] | undefined {
    const callee = call.firstChild;
    const kind = callee === null ? undefined : OF_TORCH.exec(this.fullName(callee))?.[1];
    if (kind !== "ModuleList" && kind !== "ModuleDict") return undefined;
    const [list, ...more] = this.arguments(call).places;
    if (list === undefined || more.length > 0) throw new Unread();
    const inside = childrenOf(list).filter(({ name }) => !/^(?:[()[\]{},:]|Comment)$/.test(name));
    if (kind === "ModuleList" && list.name === "ArrayExpression")
      return inside.map((node, k) => ({ name: String(k), node, scope }));
    if (
      kind === "ModuleDict" &&
      list.name === "DictionaryExpression" &&
      inside.every((one, k) => k % 2 === 1 || one.name === "String")
    )
      return inside.flatMap((node, k) =>
        k % 2 === 0 ? [] : [{ name: unquote(this.slice(inside[k - 1]!)), node, scope }],
      );
    const [node, word, name, sign, over, ...rest] = inside;
    const isPlain = word?.name === "for" && sign?.name === "in" && over !== undefined && rest.length === 0;
    if (kind !== "ModuleList" || !/Comprehension/.test(list.name) || !isPlain || node === undefined) throw new Unread();
    return this.numbers(over, scope).map((value, k) => ({
      name: String(k),
      node,
      scope: { ...scope, given: new Map([...scope.given, [this.slice(name!), () => value]]) },
    }));
  }

  /** The numbers of a list, or of a range. */
  private numbers(over: SyntaxNode, scope: LayerScope): readonly LayerSize[] {
    const known = this.evaluator.evaluate(over);
    if (known.kind === "list")
      return known.items.map((item) => {
        if (item.kind !== "scalar" || typeof item.value !== "number") throw new Unread();
        return item.value;
      });
    const callee = over.name === "CallExpression" ? over.firstChild : null;
    const [count, ...more] = callee !== null && this.slice(callee) === "range" ? this.arguments(over).places : [];
    const end = count === undefined || more.length > 0 ? undefined : this.size(count, scope);
    if (typeof end !== "number" || !(end >= 1 && end <= MOST_HELD)) throw new Unread();
    return Array.from({ length: end }, (_, k) => k);
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
    if (known.kind === "scalar" && typeof known.value === "number") return sizeOf(known.value);
    const key = OF_CONFIG.exec(name)?.[1];
    if (key !== undefined) return { config: key, times: 1 };
    if (OF_MODULE.test(name)) return { config: name, times: 1 };
    if (steps >= MOST_STEPS) throw new Unread();
    if (node.name === "CallExpression" && /^len\(/.test(name)) {
      const [list] = this.arguments(node).places;
      const all = list && this.evaluator.evaluate(list);
      if (all?.kind === "list") return all.items.length;
    }
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

/** Stands for what has no end (`nn.Linear(768, 1e400)`), which no message holds: torch takes neither. */
const NO_SIZE = Number.MAX_VALUE;

function sizeOf(value: number): number {
  return Number.isFinite(value) ? value : NO_SIZE;
}

/** How many times a size of another's is taken. */
function times(size: Exclude<LayerSize, number>, count: number): LayerSize {
  const all = count * size.times;
  if (!Number.isFinite(all)) throw new Unread();
  return { ...size, times: all };
}

function combined(a: LayerSize, b: LayerSize, sign: string): LayerSize {
  if (a === NO_SIZE || b === NO_SIZE) return NO_SIZE;
  if (sign === "*") {
    if (typeof a === "number") return typeof b === "number" ? sizeOf(a * b) : times(b, a);
    if (typeof b === "number") return times(a, b);
  }
  if ((sign === "//" || sign === "/") && typeof b === "number" && b > 0)
    return typeof a === "number" ? Math.floor(a / b) : { ...a, times: a.times / b };
  throw new Unread();
}

/** Layers of torch's that a value makes in the place of a module of a model's; undefined: it makes none, or others. */
export function layersPut(
  path: string,
  value: SyntaxNode,
  found: Collector,
  evaluator: Evaluator,
): readonly OwnLayer[] | undefined {
  if (value.name !== "CallExpression") return undefined;
  const layers = unlessUnread(() =>
    new LayerReader(found, evaluator).layers(path, value, { body: null, given: new Map() }),
  );
  return layers === undefined || layers.length === 0 || layers.length > MOST_PUT ? undefined : layers;
}

/** The statements of a class's `__init__`, or of a function. */
export function bodyOf(node: SyntaxNode | undefined): SyntaxNode | null {
  return childNamed(node, "Body");
}
