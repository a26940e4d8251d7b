/** MONAI's `DynUNet`, nnU-Net's network by its lists (monai/networks/nets/dynunet.py, blocks/dynunet_block.py, 1.6). */
import * as z from "zod/mini";
import type { GraphWriter, Value } from "../writer";
import { isKnown, type Layer, Layers, type Style, type Told } from "./layers";
import { count, told as named, sidesOf, sizes, toldOf } from "./options";

const schema = z.object({
  spatial_dims: z.int().check(z.minimum(2), z.maximum(3)),
  in_channels: count,
  out_channels: count,
  kernel_size: z.array(sizes).check(z.minLength(3), z.maxLength(12)),
  strides: z.array(sizes),
  upsample_kernel_size: z.array(sizes),
  filters: z.nullish(z.array(count)),
  dropout: z.nullish(z.literal(0)),
  norm_name: named,
  act_name: named,
  deep_supervision: z.optional(z.literal(false)),
  deep_supr_num: z.optional(z.number()),
  res_block: z._default(z.boolean(), false),
  trans_bias: z._default(z.boolean(), false),
});

/** Channels of one level that nobody states, up to the most (`DynUNet.__init__`). */
const FIRST_FILTERS = 32;
const MOST_FILTERS: Readonly<Record<number, number>> = { 2: 512, 3: 320 };

class Writer {
  private readonly layers: Layers;

  constructor(
    private readonly graph: GraphWriter,
    private readonly told: z.infer<typeof schema>,
    private readonly filters: readonly number[],
    private readonly act: Told,
    private readonly norm: Told,
    style: Style,
  ) {
    this.layers = new Layers(graph, told.spatial_dims, style);
  }

  /** `get_conv_layer`, whose padding depends on the stride, too. */
  private convolution(
    path: string,
    from: number,
    to: number,
    kernel: readonly number[],
    stride: readonly number[],
  ): Layer {
    const padding = kernel.map((side, k) => Math.trunc((side - (stride[k] ?? 1) + 1) / 2));
    return this.layers.convolution(`${path}.conv`, { from, to, kernel, stride, padding });
  }

  /** `UnetBasicBlock`, or `UnetResBlock`. */
  block(path: string, from: number, to: number, level: number, strided: boolean): Layer {
    const { layers, graph, told } = this;
    const sides = told.spatial_dims;
    const kernel = sidesOf(told.kernel_size[level] ?? 3, sides);
    const one = sidesOf(1, sides);
    const stride = strided ? sidesOf(told.strides[level] ?? 1, sides) : one;
    const first = this.convolution(`${path}.conv1`, from, to, kernel, stride);
    const second = this.convolution(`${path}.conv2`, to, to, kernel, one);
    const act = layers.activation(`${path}.lrelu`, this.act);
    const norms = [1, 2].map((k) => layers.norm(`${path}.norm${k}`, to, this.norm)) as [Layer, Layer];
    if (!told.res_block || path.endsWith("conv_block"))
      return layers.sequence([first, norms[0], act, second, norms[1], act]);
    const changes = from !== to || stride.some((step) => step !== 1);
    const third = changes ? this.convolution(`${path}.conv3`, from, to, one, stride) : null;
    const beside = third === null ? null : layers.sequence([third, layers.norm(`${path}.norm3`, to, this.norm)]);
    const body = layers.sequence([first, norms[0], act, second, norms[1]]);
    return (x) => {
      const out = body(x);
      const residual = beside === null ? x : beside(x);
      graph.scope(path);
      graph.into("add_", out, residual);
      const active = act(out);
      if (active !== out) graph.drop(out);
      if (residual !== x) graph.drop(residual);
      return active;
    };
  }

  private up(path: string, level: number): (x: Value, beside: Value) => Value {
    const { layers, graph, told } = this;
    const [from = 1, to = 1] = [this.filters[level], this.filters[level - 1]];
    const kernel = sidesOf(told.upsample_kernel_size[level - 1] ?? 2, told.spatial_dims);
    const none = kernel.map(() => 0);
    const raising = { from, to, kernel, stride: kernel, transposed: true, padding: none, added: none };
    const raise = layers.convolution(`${path}.transp_conv.conv`, { ...raising, bias: told.trans_bias });
    const refine = this.block(`${path}.conv_block`, 2 * to, to, level, false);
    return (x, beside) => {
      const raised = raise(x);
      graph.scope(path);
      const both = layers.joined(raised, beside);
      graph.drop(raised);
      const out = refine(both);
      graph.drop(both);
      return out;
    };
  }

  network(): Layer {
    const { graph, told, filters } = this;
    const last = filters.length - 1;
    const width = (level: number): number => filters[level] ?? 1;
    const input = this.block("input_block", told.in_channels, width(0), 0, true);
    const downs = Array.from({ length: last - 1 }, (_, k) =>
      this.block(`downsamples.${k}`, width(k), width(k + 1), k + 1, true),
    );
    const bottom = this.block("bottleneck", width(last - 1), width(last), last, true);
    const ups = Array.from({ length: last }, (_, k) => this.up(`upsamples.${k}`, last - k));
    const one = sidesOf(1, told.spatial_dims);
    const final = this.layers.convolution("output_block.conv.conv", {
      ...{ from: width(0), to: told.out_channels, bias: true },
      ...{ kernel: one, stride: one },
    });
    /** `DynUNetSkipLayer`: what lies below is held until the layer is done. */
    const level = (at: number, x: Value): Value => {
      const down = (at === 0 ? input : downs[at - 1])?.(x) ?? x;
      const below = at === last - 1 ? bottom(down) : level(at + 1, down);
      const out = ups[last - 1 - at]?.(below, down) ?? below;
      graph.drop(down, below);
      return out;
    };
    return (x) => {
      const features = level(0, x);
      const out = final(features);
      graph.drop(features);
      return out;
    };
  }
}

/** Writes the network that the arguments make; null where they make none that is known. */
export function dynunet(graph: GraphWriter, given: unknown): Layer | null {
  const read = schema.safeParse(given);
  if (!read.success) return null;
  const { data: told } = read;
  const levels = told.strides.length;
  const most = MOST_FILTERS[told.spatial_dims] ?? FIRST_FILTERS;
  const own = told.strides.map((_, k) => Math.min(FIRST_FILTERS * 2 ** k, most));
  const filters = told.filters == null ? own : told.filters.slice(0, levels);
  const act = toldOf(told.act_name, ["leakyrelu", { inplace: true, negative_slope: 0.01 }]);
  const norm = toldOf(told.norm_name, ["instance", { affine: true }]);
  const style: Style = { act, norm, dropout: null, bias: false, order: "" };
  const fits = told.kernel_size.length === levels && filters.length === levels;
  if (!fits || told.upsample_kernel_size.length !== levels - 1 || act === null || norm === null) return null;
  // A PReLU would be one of a block's two activations, and the same.
  if (!isKnown(style) || act.name === "prelu") return null;
  return new Writer(graph, told, filters, act, norm, style).network();
}
