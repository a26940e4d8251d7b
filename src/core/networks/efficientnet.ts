/**
 * EfficientNet from its config's lists and coefficients (transformers/models/efficientnet/modeling_efficientnet.py): stages of
 * inverted bottlenecks, as wide and as deep as two coefficients make them.
 */
import * as z from "zod/mini";
import type { FamilyGraphs } from "../graph/types";
import type { ModelConfig } from "../training/run";
import { GraphWriter, type Value, writtenGraphs } from "./writer";

/** `model_type` of a run's model whose graph is made from EfficientNet's config. */
export const EFFICIENTNET = "efficientnet";

const listed = (...values: number[]) => z._default(z.array(z.number()), values);

/** Keys and defaults as in `EfficientNetConfig`. */
const configSchema = z.looseObject({
  num_channels: z._default(z.number(), 3),
  width_coefficient: z._default(z.number(), 2),
  depth_coefficient: z._default(z.number(), 3.1),
  depth_divisor: z._default(z.number(), 8),
  kernel_sizes: listed(3, 3, 5, 3, 5, 5, 3),
  in_channels: listed(32, 16, 24, 40, 80, 112, 192),
  out_channels: listed(16, 24, 40, 80, 112, 192, 320),
  depthwise_padding: listed(),
  strides: listed(1, 2, 2, 2, 1, 2, 1),
  num_block_repeats: listed(1, 2, 2, 3, 3, 4, 1),
  expand_ratios: listed(1, 6, 6, 6, 6, 6, 6),
  squeeze_expansion_ratio: z._default(z.number(), 0.25),
  hidden_act: z._default(z.string(), "swish"),
  hidden_dim: z._default(z.number(), 2560),
  pooling_type: z._default(z.literal("mean"), "mean"),
  dropout_rate: z._default(z.number(), 0.5),
  drop_connect_rate: z._default(z.number(), 0.2),
});

type Config = z.infer<typeof configSchema>;

/** One inverted bottleneck. */
interface Block {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly wide: number;
  readonly squeezed: number;
  readonly kernel: number;
  readonly stride: number;
  /** Zeros before and behind each side where the stride skips pixels. */
  readonly padding: readonly [number, number];
  /** Rate at which the block is dropped where its input is added to its result, else null. */
  readonly dropRate: number | null;
}

/** `round_filters`: channels in whole divisors, never a tenth below what the coefficient asks for. */
function rounded(config: Config, channels: number): number {
  const { depth_divisor: divisor } = config;
  const wanted = channels * config.width_coefficient;
  const whole = Math.max(divisor, Math.floor(Math.trunc(wanted + divisor / 2) / divisor) * divisor);
  return whole < 0.9 * wanted ? whole + divisor : whole;
}

/** Blocks of all stages in their order (`EfficientNetEncoder.__init__`). */
function blocksOf(config: Config): Block[] {
  const repeats = config.num_block_repeats.map((count) => Math.ceil(config.depth_coefficient * count));
  const total = repeats.reduce((sum, count) => sum + count, 0);
  const blocks: Block[] = [];
  repeats.forEach((count, stage) => {
    const to = rounded(config, config.out_channels[stage] ?? 0);
    for (let k = 0; k < count; k++) {
      const number = blocks.length;
      const from = k > 0 ? to : rounded(config, config.in_channels[stage] ?? 0);
      const ratio = config.expand_ratios[stage] ?? 1;
      const kernel = config.kernel_sizes[stage] ?? 3;
      const stride = k > 0 ? 1 : (config.strides[stage] ?? 1);
      const half = Math.floor(kernel / 2);
      blocks.push({
        path: `efficientnet.encoder.blocks.${number}`,
        from,
        to,
        wide: from * ratio,
        squeezed: Math.max(1, Math.trunc(from * config.squeeze_expansion_ratio)),
        kernel,
        stride,
        padding: [config.depthwise_padding.includes(number) ? half : half - 1, half],
        dropRate: stride === 1 && k > 0 ? (config.drop_connect_rate * number) / total : null,
      });
    }
  });
  return blocks;
}

/** Writes the network's modules and its forward. */
class Writer {
  constructor(
    private readonly graph: GraphWriter,
    private readonly config: Config,
  ) {}

  /** A convolution without a bias, as a module that adapters know, and its norm; `input` is let go when `consumes`. */
  normed(conv: string, norm: string, x: Value, shape: readonly number[], stride: number, consumes: boolean): Value {
    this.graph.parameter(`${conv}.weight`, shape, "Conv2d");
    const padding = stride > 1 ? "valid" : "same";
    const raw = this.graph.call("Conv2d", conv, [x], {
      stride: [stride, stride],
      padding,
      dilation: [1, 1],
      groups: 1,
    });
    if (consumes) this.graph.drop(x);
    return this.norm(norm, raw, shape[0] ?? 0);
  }

  private norm(path: string, x: Value, channels: number): Value {
    const { graph } = this;
    const [weight, bias] = ["weight", "bias"].map((name) =>
      graph.parameter(`${path}.${name}`, [channels], "BatchNorm2d"),
    );
    const [mean, variance] = ["running_mean", "running_var"].map((name) =>
      graph.buffer(`${path}.${name}`, [channels], "BatchNorm2d"),
    );
    const count = graph.buffer(`${path}.num_batches_tracked`, [], "BatchNorm2d", "$int64");
    graph.scope(path);
    graph.count(count);
    const out = graph.op("batch_norm", [
      x,
      weight ?? null,
      bias ?? null,
      mean ?? null,
      variance ?? null,
      true,
      0.1,
      1e-3,
      true,
    ]);
    graph.drop(x);
    return out;
  }

  activated(path: string, x: Value): Value {
    const out = this.graph.call("Activation", path, [x], { fn: this.config.hidden_act });
    this.graph.drop(x);
    return out;
  }

  /** Every channel by itself, between zeros where the stride skips pixels; nothing of `x` is let go. */
  private depthwise(block: Block, x: Value): Value {
    const { graph } = this;
    const path = `${block.path}.depthwise_conv`;
    let padded = x;
    if (block.stride === 2) {
      const [before, behind] = block.padding;
      graph.scope(`${path}.depthwise_conv_pad`);
      padded = graph.op("pad", [x, [before, behind, before, behind], "constant", 0]);
    }
    const shape = [block.wide, 1, block.kernel, block.kernel];
    const weight = graph.parameter(`${path}.depthwise_conv.weight`, shape, "EfficientNetDepthwiseConv2d");
    graph.scope(`${path}.depthwise_conv`);
    const { stride } = block;
    const padding = stride === 2 ? "valid" : "same";
    const raw = graph.op("conv2d.padding", [padded, weight, null, [stride, stride], padding, [1, 1], block.wide]);
    if (padded !== x) graph.drop(padded);
    return this.activated(`${path}.depthwise_act`, this.norm(`${path}.depthwise_norm`, raw, block.wide));
  }

  /** What every channel is worth, from the mean of all of them. */
  private excited(block: Block, x: Value): Value {
    const { graph } = this;
    const path = `${block.path}.squeeze_excite`;
    graph.scope(`${path}.squeeze`);
    const mean = graph.op("adaptive_avg_pool2d", [x, [1, 1]]);
    const reduced = this.pointwise(`${path}.reduce`, mean, block.squeezed, block.wide);
    const raised = this.pointwise(
      `${path}.expand`,
      this.activated(`${path}.act_reduce`, reduced),
      block.wide,
      block.squeezed,
    );
    graph.scope(`${path}.act_expand`);
    const worth = graph.op("sigmoid", [raised]);
    graph.drop(raised);
    graph.scope(path);
    const out = graph.op("mul.Tensor", [x, worth]);
    graph.drop(worth, x);
    return out;
  }

  private pointwise(path: string, x: Value, to: number, from: number): Value {
    this.graph.parameter(`${path}.weight`, [to, from, 1, 1], "Conv2d");
    this.graph.parameter(`${path}.bias`, [to], "Conv2d");
    const attrs = { stride: [1, 1], padding: "same", dilation: [1, 1], groups: 1 };
    const out = this.graph.call("Conv2d", path, [x], attrs);
    this.graph.drop(x);
    return out;
  }

  /** @param held the first block's input lives as long as the model's forward names it */
  block(block: Block, input: Value, held: boolean): Value {
    const { graph } = this;
    let x = input;
    if (block.wide !== block.from) {
      const path = `${block.path}.expansion`;
      const shape = [block.wide, block.from, 1, 1];
      x = this.activated(
        `${path}.expand_act`,
        this.normed(`${path}.expand_conv`, `${path}.expand_bn`, input, shape, 1, false),
      );
    }
    const filtered = this.depthwise(block, x);
    if (x !== input) graph.drop(x);
    const weighed = this.excited(block, filtered);
    const path = `${block.path}.projection`;
    const shape = [block.to, block.wide, 1, 1];
    const projected = this.normed(`${path}.project_conv`, `${path}.project_bn`, weighed, shape, 1, false);
    let out = projected;
    if (block.dropRate !== null) {
      graph.scope(`${path}.dropout`);
      const dropped = graph.op("dropout", [projected, block.dropRate, true]);
      graph.drop(projected);
      graph.scope(path);
      out = graph.op("add.Tensor", [dropped, input]);
      graph.drop(dropped);
    }
    graph.drop(weighed, ...(held ? [] : [input]));
    return out;
  }
}

/** The graph of a classifier's forward and loss; null where the config describes no EfficientNet. */
export function efficientnetGraphs(given: ModelConfig): FamilyGraphs | null {
  const read = configSchema.safeParse(given);
  if (!read.success) return null;
  const config = read.data;
  const graph = new GraphWriter();
  const writer = new Writer(graph, config);
  const pixels = graph.input("pixel_values", ["B", config.num_channels, "I", "I"], "$input");
  const labels = graph.input("labels", ["B"], "$int64");
  const path = "efficientnet.embeddings";
  const stem = rounded(config, 32);
  graph.scope(`${path}.padding`);
  const padded = graph.op("pad", [pixels, [0, 1, 0, 1], "constant", 0]);
  const shape = [stem, config.num_channels, 3, 3];
  const normed = writer.normed(`${path}.convolution`, `${path}.batchnorm`, padded, shape, 2, true);
  const embedded = writer.activated(`${path}.activation`, normed);
  let x = embedded;
  for (const block of blocksOf(config)) x = writer.block(block, x, x === embedded);
  const encoder = "efficientnet.encoder";
  const last = rounded(config, config.out_channels.at(-1) ?? 0);
  const top = [rounded(config, 1280), last, 1, 1];
  const raised = writer.normed(`${encoder}.top_conv`, `${encoder}.top_bn`, x, top, 1, true);
  const features = writer.activated(`${encoder}.top_activation`, raised);
  const { hidden_dim: width } = config;
  graph.scope("efficientnet.pooler");
  const pooled = graph.op("avg_pool2d", [features, [width, width], [width, width], [0, 0], true]);
  graph.scope("efficientnet");
  const flat = graph.op("reshape", [pooled, ["=B", width]]);
  graph.drop(pooled, embedded);
  graph.scope("dropout");
  const dropped = graph.op("dropout", [flat, config.dropout_rate, true]);
  graph.parameter("classifier.weight", ["num_labels", width], "Linear");
  graph.parameter("classifier.bias", ["num_labels"], "Linear");
  const logits = graph.call("Linear", "classifier", [dropped]);
  graph.scope("");
  const rows = graph.op("view", [logits, [-1, "=num_labels"]]);
  const classes = graph.op("view", [labels, [-1]]);
  const loss = graph.op("cross_entropy_loss", [rows, classes]);
  graph.drop(classes, rows, features, flat, dropped);
  return writtenGraphs(EFFICIENTNET, graph.graph("image-cls", [loss, logits]), {
    transformers: "5.17.0",
    defaults: { num_labels: 2 },
  });
}
