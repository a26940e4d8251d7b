/** A module of a script's own around a model that it loads or is given: its layers of torch's, and what its `forward` computes. */
import type { SyntaxNode } from "@lezer/common";
import type { LayerSize, OwnLayer, OwnModule } from "../../terms/own-loss";
import type { Collector } from "./collect";
import { functionsIn } from "./loss-functions";
import { argumentsOf, childNamed, childrenNamed, childrenOf } from "./nodes";
import { functionTree } from "./own-loss";
import type { Evaluator } from "./values";

const LOADS = /\.(?:from_pretrained|from_config)$/;
/** Models of transformers by their classes. */
const MADE = /(?:^|\.)[A-Z]\w{0,80}(?:For[A-Z]\w{1,80}|LMHeadModel|Model)$/;
const OF_TORCH = /^torch\.nn\.(?:modules\.\w+\.)?(\w+)$/;
/** Modules that compute losses have no weights. */
const LOSSES = /Loss$/;
const ACTIVATIONS: ReadonlySet<string> = new Set(["ReLU", "GELU", "Tanh", "Sigmoid"]);
const OF_CONFIG = /(?:^|\.)config\.(\w{1,60})$/;
const MOST_STEPS = 8;

/** The class holds something that is not read. */
class Unread extends Error {}

/** What a class of the script is as a module around one model that it loads or is given; undefined: it is none, or has what is not read. */
export function ownModuleOf(
  type: SyntaxNode,
  found: Collector,
  evaluator: Evaluator,
): Omit<OwnModule, "outside"> | undefined {
  try {
    return new Reader(found, evaluator).read(type);
  } catch (error) {
    if (error instanceof Unread) return undefined;
    throw error;
  }
}

class Reader {
  constructor(
    private readonly found: Collector,
    private readonly evaluator: Evaluator,
  ) {}

  read(type: SyntaxNode): Omit<OwnModule, "outside"> | undefined {
    const methods = childrenNamed(childNamed(type, "Body"), "FunctionDefinition");
    const named = (name: string) => methods.find((one) => this.slice(childNamed(one, "VariableName") ?? one) === name);
    const [init, forward] = [named("__init__"), named("forward")];
    if (init === undefined || forward === undefined) return undefined;
    const loaded: string[] = [];
    // Where it loads none, the model is what it was given and calls.
    const given: string[] = [];
    const layers: OwnLayer[] = [];
    const parameters = new Set(
      childrenNamed(childNamed(init, "ParamList"), "VariableName").map((one) => this.slice(one)),
    );
    const calls = this.slice(forward);
    for (const [target, value] of this.assigned(init)) {
      const callee = value.name === "CallExpression" ? value.firstChild : null;
      if (!target.startsWith("self.")) continue;
      if (callee === null) {
        if (parameters.has(this.slice(value)) && calls.includes(`${target}(`)) given.push(target);
      } else if (LOADS.test(this.slice(callee)) || this.isOfTransformers(callee)) loaded.push(target);
      else layers.push(...this.layers(target, value, callee, init));
    }
    const [body, ...others] = loaded.length > 0 ? loaded : given;
    const tree = functionTree(forward, (one) => this.slice(one), this.found.bound);
    if (body === undefined || others.length > 0 || tree === undefined) return undefined;
    return { body, layers, forward: tree, ...functionsIn(tree, this.found, this.evaluator) };
  }

  /** Whether a call makes a model from its config (`BertModel(config)`). */
  private isOfTransformers(callee: SyntaxNode): boolean {
    const name = this.slice(callee);
    return MADE.test(name) && /^transformers\b/.test(this.found.bound.get(name.split(".", 1)[0] ?? "") ?? "");
  }

  private slice(node: SyntaxNode): string {
    return this.evaluator.slice(node);
  }

  private assigned(init: SyntaxNode): (readonly [string, SyntaxNode])[] {
    return childrenNamed(childNamed(init, "Body"), "AssignStatement").flatMap((node) => {
      const [target, sign, value, ...more] = childrenOf(node).filter(({ name }) => name !== "Comment");
      return sign?.name === "AssignOp" && target !== undefined && value !== undefined && more.length === 0
        ? [[this.slice(target), value] as const]
        : [];
    });
  }

  /** Layers of a module of torch's that is called; none of what has no weights and is no layer. */
  private layers(path: string, call: SyntaxNode, callee: SyntaxNode, init: SyntaxNode): OwnLayer[] {
    const written = this.slice(callee);
    const [root = "", ...rest] = written.split(".");
    const kind = OF_TORCH.exec([this.found.bound.get(root) ?? root, ...rest].join("."))?.[1];
    if (kind === undefined || LOSSES.test(kind)) return [];
    const parts = argumentsOf(call);
    const places: SyntaxNode[] = [];
    const keywords = new Map<string, SyntaxNode>();
    for (let k = 0; k < parts.length; k++)
      if (parts[k + 1]?.name === "AssignOp" && parts[k + 2] !== undefined) {
        keywords.set(this.slice(parts[k]!), parts[k + 2]!);
        k += 2;
      } else places.push(parts[k]!);
    const size = (place: number, name: string): LayerSize => {
      const node = places[place] ?? keywords.get(name);
      if (node === undefined) throw new Unread();
      return this.size(node, init);
    };
    if (kind === "Sequential")
      return places.flatMap((one, k) => {
        if (one.name !== "CallExpression" || one.firstChild === null) throw new Unread();
        return this.layers(`${path}.${k}`, one, one.firstChild, init);
      });
    const bias = keywords.get("bias");
    if (kind === "Linear")
      return [
        {
          ...{ path, kind, sizes: [size(0, "in_features"), size(1, "out_features")] },
          bias: (places[2] ?? bias) === undefined || this.slice((places[2] ?? bias)!) !== "False",
        },
      ];
    if (kind === "LayerNorm") return [{ path, kind, sizes: [size(0, "normalized_shape")], bias: bias === undefined }];
    if (kind === "Dropout" || kind === "Identity" || ACTIVATIONS.has(kind))
      return [{ path, kind, sizes: [], bias: false }];
    throw new Unread();
  }

  /** A number, or a key of the loaded model's config, as many times. */
  private size(node: SyntaxNode, init: SyntaxNode, steps = 0): LayerSize {
    const known = this.evaluator.evaluate(node);
    if (known.kind === "scalar" && typeof known.value === "number") return known.value;
    const key = OF_CONFIG.exec(this.slice(node))?.[1];
    if (key !== undefined) return { config: key, times: 1 };
    if (steps >= MOST_STEPS) throw new Unread();
    const [left, sign, right] = childrenOf(node);
    if (node.name === "BinaryExpression" && sign !== undefined && this.slice(sign) === "*") {
      const [a, b] = [this.size(left!, init, steps + 1), this.size(right!, init, steps + 1)];
      if (typeof a === "number") return typeof b === "number" ? a * b : { ...b, times: a * b.times };
      if (typeof b === "number") return { ...a, times: a.times * b };
      throw new Unread();
    }
    const value = this.assigned(init).find(([name]) => name === this.slice(node))?.[1];
    if (value === undefined) throw new Unread();
    return this.size(value, init, steps + 1);
  }
}
