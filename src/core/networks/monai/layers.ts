/**
 * The layers that MONAI's networks are made of. Source: monai/networks/blocks/{convolutions,acti_norm}.py, layers/{factories,utils}.py
 * (MONAI 1.6). A layer's parameters are known when it is made, in the order of its modules; called, it writes its forward.
 */
import type { GraphWriter, Value } from "../writer";

/** Writes a forward; what it is given stays its caller's. */
export type Layer = (x: Value) => Value;

/** An activation or a norm by its name, with what it is told. */
export interface Told {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** What the blocks of a network share. */
export interface Style {
  readonly act: Told | null;
  readonly norm: Told | null;
  readonly dropout: number | null;
  readonly bias: boolean;
  /** Norm, dropout and activation by their letters, in the order they run (`adn_ordering`). */
  readonly order: string;
}

export interface Convolution {
  readonly from: number;
  readonly to: number;
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  /** Nothing follows it. */
  readonly alone?: boolean;
  readonly transposed?: boolean;
  readonly bias?: boolean;
  /** By side, where it is not what keeps the size (`same_padding`). */
  readonly padding?: readonly number[];
  /** What a transposed one's result is longer, where it is not a step less one (`stride_minus_kernel_padding`). */
  readonly added?: readonly number[];
}

/** Activations without parameters, by the operator; names as in `Act`, in lower case. */
const PLAIN: ReadonlyMap<string, string> = new Map([
  ["relu", "relu"],
  ["leakyrelu", "leaky_relu"],
  ["elu", "elu"],
  ["gelu", "gelu"],
  ["mish", "mish"],
  ["sigmoid", "sigmoid"],
  ["tanh", "tanh"],
]);
const INTO: ReadonlySet<string> = new Set(["relu", "leaky_relu"]);
const NORMS: ReadonlySet<string> = new Set(["instance", "batch", "group"]);

/** Whether the layers of a style are among those that are known. */
export function isKnown({ act, norm }: Style): boolean {
  const acts = act === null || act.name === "prelu" || PLAIN.has(act.name);
  const into = act?.options["inplace"] !== true || INTO.has(PLAIN.get(act.name) ?? "");
  return acts && into && (norm === null || NORMS.has(norm.name));
}

export class Layers {
  constructor(
    readonly graph: GraphWriter,
    readonly sides: number,
    private readonly style: Style,
  ) {}

  /** Layers one after the other, as `nn.Sequential` calls them: what lies between two is let go of. */
  sequence(layers: readonly Layer[]): Layer {
    return (input) => {
      let x = input;
      for (const layer of layers) {
        const next = layer(x);
        if (next !== x && x !== input) this.graph.drop(x);
        x = next;
      }
      return x;
    };
  }

  /** `Convolution`: with what follows it, unless it stands alone. */
  block(path: string, convolution: Convolution): Layer {
    const convolve = this.convolution(`${path}.conv`, convolution);
    return convolution.alone === true
      ? convolve
      : this.sequence([convolve, ...this.after(`${path}.adn`, convolution.to)]);
  }

  /** `ADN`. */
  private after(path: string, channels: number): Layer[] {
    const { act, norm, dropout, order } = this.style;
    return [...order].flatMap((letter) => {
      if (letter === "N") return norm === null ? [] : [this.norm(`${path}.N`, channels, norm)];
      if (letter === "A") return act === null ? [] : [this.activation(`${path}.A`, act)];
      return dropout === null ? [] : [this.dropout(`${path}.D`, dropout)];
    });
  }

  convolution(path: string, convolution: Convolution): Layer {
    const { from, to, kernel, stride, transposed = false, bias } = convolution;
    const { graph, sides } = this;
    const module = `Conv${transposed ? "Transpose" : ""}${sides}d`;
    const weight = graph.parameter(`${path}.weight`, [...(transposed ? [from, to] : [to, from]), ...kernel], module);
    const shift = (bias ?? this.style.bias) ? graph.parameter(`${path}.bias`, [to], module) : null;
    const padding = [...(convolution.padding ?? kernel.map((side) => (side - 1) / 2))];
    const added = [...(convolution.added ?? stride.map((step) => step - 1))];
    return (x) => {
      graph.scope(path);
      return transposed
        ? graph.op(`conv_transpose${sides}d`, [x, weight, shift, [...stride], padding, added])
        : graph.op(`conv${sides}d`, [x, weight, shift, [...stride], padding, kernel.map(() => 1)]);
    };
  }

  norm(path: string, channels: number, { name, options }: Told): Layer {
    const { graph, sides } = this;
    const module = name === "group" ? "GroupNorm" : `${name === "batch" ? "BatchNorm" : "InstanceNorm"}${sides}d`;
    const affine = options["affine"] ?? name !== "instance";
    const [weight = null, bias = null] = affine
      ? ["weight", "bias"].map((part) => graph.parameter(`${path}.${part}`, [channels], module))
      : [];
    if (name === "group")
      return this.scoped(path, (x) => graph.op("group_norm", [x, Number(options["num_groups"]), weight, bias]));
    if (name === "instance") return this.scoped(path, (x) => graph.op("instance_norm", [x, weight, bias]));
    const [mean = null, variance = null] = ["running_mean", "running_var"].map((part) =>
      graph.buffer(`${path}.${part}`, [channels], module),
    );
    const count = graph.buffer(`${path}.num_batches_tracked`, [], module, "$int64");
    return this.scoped(path, (x) => {
      graph.count(count);
      return graph.op("batch_norm", [x, weight, bias, mean, variance, true, 0.1, 1e-5, true]);
    });
  }

  activation(path: string, { name, options }: Told): Layer {
    const { graph } = this;
    if (name === "prelu") {
      const weight = graph.parameter(`${path}.weight`, [1], "PReLU");
      return this.scoped(path, (x) => graph.op("prelu", [x, weight]));
    }
    const operator = PLAIN.get(name) ?? name;
    if (options["inplace"] !== true) return this.scoped(path, (x) => graph.op(operator, [x]));
    return this.scoped(path, (x) => {
      graph.into(`${operator}_`, x);
      return x;
    });
  }

  /** At a rate of zero nothing happens (aten/src/ATen/native/Dropout.cpp). */
  private dropout(path: string, rate: number): Layer {
    return rate === 0 ? (x) => x : this.scoped(path, (x) => this.graph.op("dropout", [x, rate, true]));
  }

  private scoped(path: string, layer: Layer): Layer {
    return (x) => {
      this.graph.scope(path);
      return layer(x);
    };
  }

  /** Of pictures of half the sides, the largest of each window. */
  halved(path: string): Layer {
    const two = Array.from({ length: this.sides }, () => 2);
    const none = two.map(() => 0);
    const ones = two.map(() => 1);
    return this.scoped(path, (x) => this.graph.op(`max_pool${this.sides}d`, [x, two, two, none, ones]));
  }

  /** Twice the sides, between the values there are. */
  doubled(path: string): Layer {
    const two = Array.from({ length: this.sides }, () => 2);
    const operator = this.sides === 3 ? "upsample_trilinear3d" : "upsample_bilinear2d";
    return this.scoped(path, (x) => this.graph.op(operator, [x, [], false, two]));
  }

  /** Both joined by their channels. */
  joined(first: Value, second: Value): Value {
    return this.graph.op("cat", [[first, second], 1]);
  }

  /** `ResidualUnit`: convolutions beside the input, which one brings to their size where it has another. */
  residual(path: string, units: number, convolution: Convolution, lastAlone = false): Layer {
    const { graph } = this;
    const { from, to, kernel, stride } = convolution;
    const ones = stride.map(() => 1);
    const count = Math.max(1, units);
    const blocks = Array.from({ length: count }, (_, k) =>
      this.block(`${path}.conv.unit${k}`, {
        from: k === 0 ? from : to,
        to,
        kernel,
        stride: k === 0 ? stride : ones,
        alone: lastAlone && k === count - 1,
      }),
    );
    const strided = stride.some((step) => step !== 1);
    const beside =
      strided || from !== to
        ? this.convolution(`${path}.residual`, { from, to, kernel: strided ? kernel : ones, stride })
        : null;
    const convolve = this.sequence(blocks);
    return (x) => {
      const kept = beside === null ? x : beside(x);
      const convolved = convolve(x);
      graph.scope(path);
      const out = graph.op("add.Tensor", [convolved, kept]);
      graph.drop(...(kept === x ? [] : [kept]), convolved);
      return out;
    };
  }
}
