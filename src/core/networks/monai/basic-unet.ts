/** MONAI's `BasicUNet`: five levels of two convolutions (monai/networks/nets/basic_unet.py, 1.6). */
import * as z from "zod/mini";
import type { GraphWriter, Value } from "../writer";
import { isKnown, type Layer, Layers } from "./layers";
import { count, told as named, sidesOf, toldOf } from "./options";

const schema = z.object({
  spatial_dims: z._default(z.int().check(z.minimum(2), z.maximum(3)), 3),
  in_channels: z._default(count, 1),
  out_channels: z._default(count, 2),
  features: z._default(z.array(count).check(z.length(6)), [32, 32, 64, 128, 256, 32]),
  act: named,
  norm: named,
  bias: z._default(z.boolean(), true),
  dropout: z._default(z.number(), 0),
  upsample: z._default(z.literal("deconv"), "deconv"),
});

/** Writes the network that the arguments make; null where they make none that is known. */
export function basicUnet(graph: GraphWriter, given: unknown): Layer | null {
  const read = schema.safeParse(given);
  if (!read.success) return null;
  const { data: told } = read;
  const { features, spatial_dims: sides } = told;
  const style = {
    act: toldOf(told.act, ["leakyrelu", { negative_slope: 0.1, inplace: true }]),
    norm: toldOf(told.norm, ["instance", { affine: true }]),
    dropout: told.dropout,
    bias: told.bias,
    order: "NDA",
  };
  if (!isKnown(style)) return null;
  const layers = new Layers(graph, sides, style);
  const [three, two, one] = [3, 2, 1].map((size) => sidesOf(size, sides)) as [number[], number[], number[]];
  const twice = (path: string, from: number, to: number): Layer =>
    layers.sequence(
      [0, 1].map((k) =>
        layers.block(`${path}.conv_${k}`, { from: k === 0 ? from : to, to, kernel: three, stride: one }),
      ),
    );
  const width = (level: number): number => features[level] ?? 1;
  const first = twice("conv_0", told.in_channels, width(0));
  const downs = [1, 2, 3, 4].map((level) =>
    layers.sequence([
      layers.halved(`down_${level}.max_pooling`),
      twice(`down_${level}.convs`, width(level - 1), width(level)),
    ]),
  );
  const none = two.map(() => 0);
  const ups = [4, 3, 2, 1].map((level) => {
    const path = `upcat_${level}`;
    const from = width(level);
    // The last one keeps its channels (`halves`).
    const to = level === 1 ? from : Math.floor(from / 2);
    const raising = { from, to, kernel: two, stride: two, transposed: true, bias: true, padding: none, added: none };
    const raise = layers.convolution(`${path}.upsample.deconv`, raising);
    const convs = twice(`${path}.convs`, width(level - 1) + to, level === 1 ? width(5) : width(level - 1));
    return (x: Value, beside: Value): Value => {
      const raised = raise(x);
      graph.scope(path);
      // Padding to the encoder's sides is a copy where they are the same already.
      const padded = graph.op("replication_pad_like", [raised, beside]);
      graph.drop(raised);
      const both = layers.joined(beside, padded);
      const out = convs(both);
      graph.drop(both, padded);
      return out;
    };
  });
  const last = layers.convolution("final_conv", {
    from: width(5),
    to: told.out_channels,
    kernel: one,
    stride: one,
    bias: true,
  });
  return (input) => {
    const levels = [first(input)];
    for (const down of downs) levels.push(down(levels.at(-1) as Value));
    const raised: Value[] = [];
    let x = levels.at(-1) as Value;
    for (const [k, up] of ups.entries()) {
      x = up(x, levels[3 - k] as Value);
      raised.push(x);
    }
    const out = last(x);
    graph.drop(...levels, ...raised);
    return out;
  };
}
