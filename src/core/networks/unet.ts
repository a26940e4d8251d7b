/**
 * nnU-Net's networks: a U-Net of plain convolutions, or one whose encoder has residual blocks. Source:
 * dynamic_network_architectures (architectures/unet.py and building_blocks: simple_conv_blocks.py, residual.py,
 * residual_encoders.py, plain_conv_encoder.py, unet_decoder.py).
 */
import type { GraphWriter, Value } from "./writer";

/** Lists have one entry per stage, the full resolution first, unless said otherwise. */
export interface UNet {
  readonly residual: boolean;
  readonly inputChannels: number;
  /** Channels of every head. */
  readonly outputChannels: number;
  /** Voxels per side. */
  readonly patch: readonly number[];
  readonly features: readonly number[];
  readonly kernels: readonly (readonly number[])[];
  readonly strides: readonly (readonly number[])[];
  /** Convolutions of a plain encoder's stages, or residual blocks. */
  readonly blocks: readonly number[];
  /** Convolutions of the decoder's stages, the lowest resolution first. */
  readonly decoder: readonly number[];
  readonly convBias: boolean;
}

/** A convolution as the network's blocks have it. */
interface Convolution {
  readonly from: number;
  readonly to: number;
  readonly kernel: readonly number[];
  readonly stride?: readonly number[];
  readonly bias: boolean;
}

/** The network on one batch. */
export class UNetWriter {
  private readonly sides: number;
  private readonly norm: string;

  constructor(
    private readonly graph: GraphWriter,
    private readonly net: UNet,
  ) {
    this.sides = net.patch.length;
    this.norm = `InstanceNorm${this.sides}d`;
  }

  /** @returns logits of every resolution but the lowest, the full one first */
  forward(input: Value): Value[] {
    const { graph, net } = this;
    const skips: Value[] = [];
    let x = net.residual ? this.stem(input) : input;
    for (let stage = 0; stage < net.features.length; stage++) {
      x = net.residual ? this.residualStage(x, stage) : this.plainStage(x, stage);
      skips.push(x);
    }
    const stages = net.features.length - 1;
    // The decoder's modules are made list by list; parameters are known before values.
    const steps = Array.from({ length: stages }, (_, k) => ({ k, to: stages - 1 - k }));
    const decoders = steps.map(({ k, to }) => this.decoderStage(k, to));
    const upsamplers = steps.map(({ k, to }) => this.upsampler(k, to));
    const heads = steps.map(({ k, to }) => this.head(k, to));
    const logits: Value[] = [];
    for (const { k, to } of steps) {
      const raised = upsamplers[k]?.(x) ?? x;
      const joined = graph.op("cat", [[raised, skips[to] ?? x], 1]);
      graph.drop(raised);
      x = decoders[k]?.(joined) ?? joined;
      logits.unshift(heads[k]?.(x) ?? x);
    }
    return logits;
  }

  private stem(input: Value): Value {
    const { inputChannels, features, kernels, convBias } = this.net;
    const [to = 1] = features;
    return this.block("encoder.stem.convs.0", {
      from: inputChannels,
      to,
      kernel: kernels[0] ?? [],
      bias: convBias,
    })(input);
  }

  private plainStage(input: Value, stage: number): Value {
    const { net } = this;
    let x = input;
    for (let k = 0; k < (net.blocks[stage] ?? 0); k++)
      x = this.block(`encoder.stages.${stage}.0.convs.${k}`, this.first(stage, k))(x);
    return x;
  }

  /** Convolution `k` of a stage: the first of a plain stage takes what the stage before gave, and its stride. */
  private first(stage: number, k: number): Convolution {
    const { features, kernels, strides, inputChannels, convBias } = this.net;
    const to = features[stage] ?? 1;
    const before = stage === 0 ? inputChannels : (features[stage - 1] ?? 1);
    const kernel = kernels[stage] ?? [];
    return k > 0
      ? { from: to, to, kernel, bias: convBias }
      : { from: before, to, kernel, stride: strides[stage] ?? [], bias: convBias };
  }

  private residualStage(input: Value, stage: number): Value {
    let x = input;
    for (let k = 0; k < (this.net.blocks[stage] ?? 0); k++) x = this.residualBlock(x, stage, k);
    return x;
  }

  /** Two convolutions beside the input, which is averaged and widened where the stage begins (`BasicBlockD`). */
  private residualBlock(input: Value, stage: number, k: number): Value {
    const { graph, net } = this;
    const path = `encoder.stages.${stage}.blocks.${k}`;
    const to = net.features[stage] ?? 1;
    const from = k > 0 ? to : (net.features[Math.max(0, stage - 1)] ?? 1);
    const kernel = net.kernels[stage] ?? [];
    const stride = k > 0 ? [] : (net.strides[stage] ?? []);
    const strided = stride.some((step) => step !== 1);
    const first = this.block(`${path}.conv1`, { from, to, kernel, stride, bias: net.convBias });
    const second = this.normed(`${path}.conv2`, { from: to, to, kernel, bias: net.convBias });
    const widened =
      from === to
        ? null
        : this.normed(`${path}.skip.${strided ? 1 : 0}`, { from, to, kernel: kernel.map(() => 1), bias: false });
    let residual = input;
    if (strided) residual = graph.op(`avg_pool${this.sides}d`, [residual, [...stride], [...stride]]);
    if (widened !== null) {
      const pooled = residual;
      residual = widened(pooled);
      if (strided) graph.drop(pooled);
    }
    const out = second(first(input));
    graph.scope(path);
    graph.into("add_", out, residual);
    graph.into("leaky_relu_", out);
    if (residual !== input) graph.drop(residual);
    return out;
  }

  private decoderStage(k: number, to: number): (x: Value) => Value {
    const { features, kernels, decoder, convBias } = this.net;
    const width = features[to] ?? 1;
    const blocks = Array.from({ length: decoder[k] ?? 0 }, (_, n) =>
      this.block(`decoder.stages.${k}.convs.${n}`, {
        from: n === 0 ? 2 * width : width,
        to: width,
        kernel: kernels[to] ?? [],
        bias: convBias,
      }),
    );
    return (x) => blocks.reduce((value, block) => block(value), x);
  }

  private upsampler(k: number, to: number): (x: Value) => Value {
    const { graph, net } = this;
    const [below = 1, width = 1] = [net.features[to + 1], net.features[to]];
    const stride = net.strides[to + 1] ?? [];
    const path = `decoder.transpconvs.${k}`;
    const module = `ConvTranspose${this.sides}d`;
    const weight = graph.parameter(`${path}.weight`, [below, width, ...stride], module);
    const bias = net.convBias ? graph.parameter(`${path}.bias`, [width], module) : null;
    return (x) => {
      graph.scope(path);
      return graph.op(`conv_transpose${this.sides}d`, [x, weight, bias, [...stride]]);
    };
  }

  private head(k: number, to: number): (x: Value) => Value {
    const { features, outputChannels } = this.net;
    const kernel = this.net.patch.map(() => 1);
    return this.convolution(`decoder.seg_layers.${k}`, {
      from: features[to] ?? 1,
      to: outputChannels,
      kernel,
      bias: true,
    });
  }

  /** Convolution, norm, activation (`ConvDropoutNormReLU`). */
  private block(path: string, convolution: Convolution): (x: Value) => Value {
    const normed = this.normed(path, convolution);
    return (x) => {
      const out = normed(x);
      this.graph.into("leaky_relu_", out);
      return out;
    };
  }

  private normed(path: string, convolution: Convolution): (x: Value) => Value {
    const { graph } = this;
    const convolve = this.convolution(`${path}.conv`, convolution);
    const weight = graph.parameter(`${path}.norm.weight`, [convolution.to], this.norm);
    const bias = graph.parameter(`${path}.norm.bias`, [convolution.to], this.norm);
    return (x) => {
      const convolved = convolve(x);
      graph.scope(`${path}.norm`);
      const out = graph.op("instance_norm", [convolved, weight, bias]);
      graph.drop(convolved);
      return out;
    };
  }

  private convolution(path: string, { from, to, kernel, stride, bias }: Convolution): (x: Value) => Value {
    const { graph } = this;
    const module = `Conv${this.sides}d`;
    const weight = graph.parameter(`${path}.weight`, [to, from, ...kernel], module);
    const added = bias ? graph.parameter(`${path}.bias`, [to], module) : null;
    const steps = stride === undefined || stride.length === 0 ? kernel.map(() => 1) : [...stride];
    const padding = kernel.map((side) => Math.floor((side - 1) / 2));
    return (x) => {
      graph.scope(path);
      return graph.op(`conv${this.sides}d`, [x, weight, added, steps, padding, kernel.map(() => 1)]);
    };
  }
}
