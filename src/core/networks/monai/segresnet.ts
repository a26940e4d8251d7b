/** MONAI's `SegResNet`: residual blocks whose norms stand first (monai/networks/nets/segresnet.py, blocks/segresnet_block.py, 1.6). */
import * as z from "zod/mini";
import type { GraphWriter, Value } from "../writer";
import { isKnown, type Layer, Layers, type Style, type Told } from "./layers";
import { count, told as named, sidesOf, toldOf } from "./options";

const schema = z.object({
  spatial_dims: z._default(z.int().check(z.minimum(2), z.maximum(3)), 3),
  init_filters: z._default(count, 8),
  in_channels: z._default(count, 1),
  out_channels: z._default(count, 2),
  dropout_prob: z.nullish(z.number()),
  act: named,
  norm: named,
  use_conv_final: z._default(z.boolean(), true),
  blocks_down: z._default(z.array(count).check(z.minLength(1), z.maxLength(8)), [1, 2, 2, 4]),
  blocks_up: z._default(z.array(count).check(z.maxLength(7)), [1, 1, 1]),
  upsample_mode: z._default(z.enum(["nontrainable", "deconv"]), "nontrainable"),
});

type Told_ = z.infer<typeof schema>;

class Writer {
  private readonly layers: Layers;

  constructor(
    private readonly graph: GraphWriter,
    private readonly told: Told_,
    private readonly act: Told,
    private readonly norm: Told,
    style: Style,
  ) {
    this.layers = new Layers(graph, told.spatial_dims, style);
  }

  /** One activation module serves all blocks: none of those that are known but PReLU has parameters. */
  private convolution(path: string, from: number, to: number, kernel = 3, stride = 1, bias = false): Layer {
    const sides = this.told.spatial_dims;
    return this.layers.convolution(`${path}.conv`, {
      ...{ from, to, bias },
      kernel: sidesOf(kernel, sides),
      stride: sidesOf(stride, sides),
    });
  }

  /** `ResBlock`. */
  private block(path: string, channels: number): Layer {
    const { layers, graph } = this;
    const norms = [1, 2].map((k) => layers.norm(`${path}.norm${k}`, channels, this.norm));
    const act = layers.activation(`${path}.act`, this.act);
    const convolutions = [1, 2].map((k) => this.convolution(`${path}.conv${k}`, channels, channels));
    const body = layers.sequence(norms.flatMap((norm, k) => [norm, act, convolutions[k] ?? act]));
    return (x) => {
      const out = body(x);
      graph.scope(path);
      graph.into("add_", out, x);
      return out;
    };
  }

  private up(path: string, from: number, to: number): Layer {
    const narrow = this.convolution(`${path}.0`, from, to, 1);
    if (this.told.upsample_mode === "nontrainable")
      return this.layers.sequence([narrow, this.layers.doubled(`${path}.1.upsample_non_trainable`)]);
    const two = sidesOf(2, this.told.spatial_dims);
    const none = two.map(() => 0);
    const raise = { from: to, to, kernel: two, stride: two, transposed: true, bias: true, padding: none, added: none };
    return this.layers.sequence([narrow, this.layers.convolution(`${path}.1.deconv`, raise)]);
  }

  /** Its modules in the order they are made, then its forward. */
  network(): Layer {
    const { told, layers, graph } = this;
    const { init_filters: filters, blocks_down: below, blocks_up: above } = told;
    const first = this.convolution("convInit", told.in_channels, filters);
    const downs = below.map((blocks, i) => {
      const width = filters * 2 ** i;
      const halving = i > 0 ? [this.convolution(`down_layers.${i}.0`, width / 2, width, 3, 2)] : [];
      const rest = Array.from({ length: blocks }, (_, k) => this.block(`down_layers.${i}.${k + 1}`, width));
      return layers.sequence([...halving, ...rest]);
    });
    const widths = above.map((_, i) => filters * 2 ** (above.length - i));
    const refined = above.map((blocks, i) =>
      layers.sequence(
        Array.from({ length: blocks }, (_, k) => this.block(`up_layers.${i}.${k}`, (widths[i] ?? 2) / 2)),
      ),
    );
    const raised = widths.map((width, i) => this.up(`up_samples.${i}`, width, width / 2));
    const final = told.use_conv_final
      ? [
          layers.norm("conv_final.0", filters, this.norm),
          layers.activation("conv_final.1", this.act),
          this.convolution("conv_final.2", filters, told.out_channels, 1, 1, true),
        ]
      : [];
    const last = layers.sequence(final);
    return (input) => {
      let x = first(input);
      const levels: Value[] = [];
      for (const down of downs) {
        const next = down(x);
        if (levels.length === 0 && next !== x) graph.drop(x);
        x = next;
        levels.unshift(x);
      }
      // The caller's name of the lowest level, and the list with all of them, last until the forward ends.
      let own = false;
      for (const [i, raise] of raised.entries()) {
        const up = raise(x);
        graph.scope("");
        const sum = graph.op("add.Tensor", [up, levels[i + 1] ?? up]);
        graph.drop(up, ...(own ? [x] : []));
        const next = refined[i]?.(sum) ?? sum;
        if (next !== sum) graph.drop(sum);
        x = next;
        own = true;
      }
      const out = last(x);
      if (own && out !== x) graph.drop(x);
      graph.drop(...levels);
      return out;
    };
  }
}

/** Writes the network that the arguments make; null where they make none that is known. */
export function segresnet(graph: GraphWriter, given: unknown): Layer | null {
  const read = schema.safeParse(given);
  if (!read.success) return null;
  const { data: told } = read;
  const act = toldOf(told.act, ["relu", { inplace: true }]);
  const norm = toldOf(told.norm, ["group", { num_groups: 8 }]);
  const style: Style = { act, norm, dropout: null, bias: false, order: "" };
  // One PReLU that every block shares, and channels that are dropped, are not followed.
  const known = act !== null && norm !== null && isKnown(style) && act.name !== "prelu" && told.dropout_prob == null;
  if (!known || told.blocks_up.length !== told.blocks_down.length - 1) return null;
  return new Writer(graph, told, act, norm, style).network();
}
