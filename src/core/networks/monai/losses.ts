/**
 * MONAI's losses of segmentations, statement by statement: a name that a function has holds its tensor until the function returns.
 * Sources: monai/losses/{dice,focal_loss,utils}.py, networks/utils.py (one_hot), MONAI 1.6.
 */
import * as z from "zod/mini";
import type { Operand } from "../../graph/types";
import type { GraphWriter, Value } from "../writer";

const flag = z._default(z.boolean(), false);
const number = z.optional(z.number());

/** Arguments that are followed; with others a loss is not known. */
const schema = z.strictObject({
  name: z.enum(["DiceLoss", "DiceCELoss", "DiceFocalLoss"]),
  include_background: z._default(z.boolean(), true),
  to_onehot_y: flag,
  sigmoid: flag,
  softmax: flag,
  squared_pred: flag,
  jaccard: flag,
  batch: flag,
  reduction: z.optional(z.literal("mean")),
  smooth_nr: number,
  smooth_dr: number,
  lambda_dice: number,
  lambda_ce: number,
  lambda_focal: number,
  gamma: number,
});

export type Loss = z.infer<typeof schema>;

/** A loss as a script tells it; null where it is none that is known. */
export function lossOf(given: unknown): Loss | null {
  const read = schema.safeParse(given);
  return read.success ? read.data : null;
}

/** What a loss is taken of. */
interface Pair {
  readonly logits: Value;
  readonly target: Value;
}

/** The loss of logits of so many channels. */
export class LossWriter {
  constructor(
    private readonly graph: GraphWriter,
    private readonly told: Loss,
    private readonly channels: number,
    /** Of the pictures: samples, channels, sides. */
    private readonly shape: readonly (string | number)[],
  ) {}

  /** Channels of the labels: a class each where they are not numbers of classes. */
  get targets(): number {
    return this.told.to_onehot_y || this.channels === 1 || this.told.name === "DiceCELoss" ? 1 : this.channels;
  }

  of(pair: Pair): Value {
    this.graph.scope("loss");
    switch (this.told.name) {
      case "DiceLoss":
        return this.dice(pair, this.told.to_onehot_y);
      case "DiceCELoss":
        return this.sum([this.dice(pair, this.told.to_onehot_y), this.entropy(pair)]);
      case "DiceFocalLoss": {
        const spread = this.told.to_onehot_y && this.channels > 1;
        const target = spread ? this.oneHot(pair.target) : pair.target;
        const both = { logits: pair.logits, target };
        const loss = this.sum([this.dice(both, false), this.focal(both)]);
        if (spread) this.graph.drop(target);
        return loss;
      }
    }
  }

  private sum([dice, other]: readonly [Value, Value]): Value {
    const { graph } = this;
    const weighted = [dice, other].map((part) => graph.op("mul", [part, 1]));
    const total = graph.op("add", weighted);
    graph.drop(...weighted, dice, other);
    return total;
  }

  /** `one_hot`: zeros, with a one where the label says. */
  private oneHot(target: Value): Value {
    const { graph } = this;
    const [rows = 1, , ...sides] = this.shape;
    const size = (side: string | number): Operand => (typeof side === "number" ? side : `=${side}`);
    const zeros = graph.op("zeros", [[size(rows), this.channels, ...sides.map(size)]], { nograd: true });
    const indices = graph.op("to.dtype", [target, "$int64"], { nograd: true });
    graph.into("scatter_", zeros, 1, indices, 1);
    graph.drop(indices);
    return zeros;
  }

  /** Without the first channel, where the background is left out. */
  private foreground(value: Value): Value {
    const whole = this.told.include_background || this.channels === 1;
    return whole ? value : this.graph.op("slice.Tensor", [value, 1, 1, null]);
  }

  /** `DiceLoss.forward`. */
  private dice({ logits, target }: Pair, spreads: boolean): Value {
    const { graph, told, channels } = this;
    const locals: Value[] = [];
    const named = (value: Value, before: Value | null = null): Value => {
      // A name that is bound anew lets go of what it had, unless that is the caller's.
      if (before !== null && locals.includes(before) && value !== before) {
        graph.drop(before);
        locals.splice(locals.indexOf(before), 1);
      }
      if (value !== logits && value !== target && !locals.includes(value)) locals.push(value);
      return value;
    };
    let input = logits;
    if (told.sigmoid) input = named(graph.op("sigmoid", [input]), input);
    if (told.softmax && channels > 1) input = named(graph.op("softmax.int", [input, 1]), input);
    let truth = spreads && channels > 1 ? named(this.oneHot(target)) : target;
    truth = named(this.foreground(truth), truth);
    input = named(this.foreground(input), input);
    const [tp, fp, fn] = told.squared_pred ? this.squared(input, truth) : this.counted(input, truth);
    for (const value of [tp, fp, fn]) named(value);
    if (!told.jaccard) for (const value of [fp, fn]) graph.into("mul_", value, 0.5);
    const doubled = graph.op("mul", [tp, 2]);
    const numerator = named(graph.op("add", [doubled, 1e-5]));
    graph.drop(doubled);
    const some = graph.op("add", [tp, fp]);
    const all = graph.op("add", [some, fn]);
    graph.drop(some);
    const both = graph.op("mul", [all, 2]);
    graph.drop(all);
    const denominator = named(graph.op("add", [both, 1e-5]));
    graph.drop(both);
    const quotient = graph.op("div", [numerator, denominator]);
    const each = graph.op("rsub", [quotient, 1]);
    graph.drop(quotient);
    const mean = graph.op("mean", [each]);
    graph.drop(each, ...locals);
    return mean;
  }

  /** Sides of a picture, and the batch where the loss is taken over all of it. */
  private get axes(): number[] {
    return [...(this.told.batch ? [0] : []), ...this.shape.slice(2).map((_, k) => 2 + k)];
  }

  /** `compute_tp_fp_fn` with sums. */
  private counted(input: Value, target: Value): [Value, Value, Value] {
    const { graph, axes } = this;
    const sum = (value: Value): Value => graph.op("sum.dim_IntList", [value, axes, false]);
    const product = graph.op("mul.Tensor", [input, target]);
    const tp = sum(product);
    graph.drop(product);
    const [fp, fn] = [input, target].map((value) => {
      const all = sum(value);
      const rest = graph.op("sub", [all, tp]);
      graph.drop(all);
      return rest;
    }) as [Value, Value];
    return [tp, fp, fn];
  }

  /** The same with squares (`squared_pred`). */
  private squared(input: Value, target: Value): [Value, Value, Value] {
    const { graph, axes } = this;
    const norm = (value: Value): Value => graph.op("linalg_vector_norm", [value, 2, axes, false]);
    const first = [norm(input), norm(target)];
    const between = graph.op("sub", [input, target]);
    const norms = [...first, norm(between)];
    graph.drop(between);
    const [predicted, truth, difference] = norms.map((value) => {
      const power = graph.op("pow", [value, 2]);
      graph.drop(value);
      return power;
    }) as [Value, Value, Value];
    const both = graph.op("add", [predicted, truth]);
    const less = graph.op("sub", [both, difference]);
    graph.drop(both);
    const tp = graph.op("div", [less, 2]);
    graph.drop(less);
    const fp = graph.op("sub", [predicted, tp]);
    const fn = graph.op("sub", [truth, tp]);
    graph.drop(predicted, truth, difference);
    return [tp, fp, fn];
  }

  /** `DiceCELoss.ce`, or `bce` of one channel. */
  private entropy({ logits, target }: Pair): Value {
    const { graph } = this;
    if (this.channels === 1) return graph.op("binary_cross_entropy_with_logits", [logits, target]);
    const one = graph.op("select", [target, 1, 0]);
    const indices = graph.op("to.dtype", [one, "$int64"]);
    graph.drop(one);
    const entropy = graph.op("cross_entropy_loss", [logits, indices]);
    graph.drop(indices);
    return entropy;
  }

  /** `FocalLoss.forward` with `sigmoid_focal_loss`. */
  private focal(pair: Pair): Value {
    const { graph } = this;
    const truth = this.foreground(pair.target);
    const cut = this.foreground(pair.logits);
    const input = graph.op("to.dtype", [cut, "$float32"]);
    if (cut !== pair.logits) graph.drop(cut);
    const product = graph.op("mul.Tensor", [input, truth]);
    const rest = graph.op("sub", [input, product]);
    graph.drop(product);
    const logarithm = graph.op("log_sigmoid", [input]);
    const entropy = graph.op("sub", [rest, logarithm]);
    graph.drop(rest, logarithm);
    const negated = graph.op("neg", [input]);
    const doubled = graph.op("mul", [truth, 2]);
    const signed = graph.op("sub", [doubled, 1]);
    graph.drop(doubled);
    const turned = graph.op("mul.Tensor", [negated, signed]);
    graph.drop(negated, signed);
    const inverse = graph.op("log_sigmoid", [turned]);
    graph.drop(turned);
    const scaled = graph.op("mul", [inverse, 2]);
    const factor = graph.op("exp", [scaled]);
    graph.drop(scaled);
    const loss = graph.op("mul.Tensor", [factor, entropy]);
    graph.drop(factor, entropy);
    graph.drop(inverse);
    const mean = graph.op("mean", [loss]);
    graph.drop(loss, input, ...(truth === pair.target ? [] : [truth]));
    return mean;
  }
}
