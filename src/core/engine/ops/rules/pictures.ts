/** Operators of pictures: pooling, resizing, windows, parts. */

import { table } from "../../../../terms/table";
import type { Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import type { Arguments, Rule } from "../arguments";
import * as pictures from "../pictures";
import * as pooling from "../pooling";

/** Told the sides, or (the `vec` overload) how many times as long they are. */
const interpolation =
  (operator: string): Rule =>
  (torch, args) => {
    const [x, target] = [args.tensor(0), args.numbers(1)];
    const scales = target.length > 0 ? [] : args.numbers(3);
    const sides = scales.map((scale, k) => Math.floor(x.size(2 + k) * scale));
    return pictures.interpolate(torch, x, target.length > 0 ? target : sides, operator);
  };

/** The `vec` overload, which F.interpolate calls: told the sides, or how many times as long they are. */
const nearest =
  (operator: string): Rule =>
  (torch, args) =>
    pictures.repeatNearest(torch, args.tensor(0), args.numbers(1), args.numbers(2), operator);

/** What both kinds of pooling begin with. */
function windowOf(args: Arguments): Pick<pooling.Window, "kernel" | "stride" | "padding"> {
  return { kernel: args.numbers(1), stride: args.numbers(2), padding: args.numbers(3) };
}

function averagePool(torch: Torch, args: Arguments, pool = pooling.averagePool): Tensor {
  return pool(torch, args.tensor(0), {
    ...windowOf(args),
    dilation: [],
    ceiling: args.flag(4, "ceil_mode"),
  });
}

const largest =
  (pool = pooling.maxPool): Rule =>
  (torch, args) =>
    pool(torch, args.tensor(0), {
      ...windowOf(args),
      dilation: args.numbers(4),
      ceiling: args.flag(5, "ceil_mode"),
    });

const attentionByParts =
  (eager: boolean): Rule =>
  (torch, args) =>
    pictures.attentionByParts(torch, {
      query: args.tensor(0),
      key: args.tensor(1),
      value: args.tensor(2),
      pictures: args.number(4, 1),
      window: args.number(5, 0),
      merge: args.number(6, 1),
      heard: args.get(3) === "stretches",
      eager,
    });

export const PICTURES: Readonly<Record<string, Rule>> = table({
  unbind_cat: (t, a) => pictures.unbindCat(t, a.tensor(0)),
  picture_part: (t, a) => pictures.picturePart(t, a.tensor(0), a.number(1, 1), a.number(2, 0), a.number(3, 0)),
  split_cat: (t, a) => pictures.splitCat(t, a.tensor(0), a.number(1, 1)),
  attention_by_parts: attentionByParts(false),
  eager_attention_by_parts: attentionByParts(true),
  upsample_nearest1d: nearest("upsample_nearest1d"),
  upsample_nearest2d: nearest("upsample_nearest2d"),
  upsample_nearest3d: nearest("upsample_nearest3d"),
  upsample_bilinear2d: interpolation("upsample_bilinear2d"),
  _upsample_bilinear2d_aa: interpolation("_upsample_bilinear2d_aa"),
  upsample_bicubic2d: interpolation("upsample_bicubic2d"),
  upsample_linear1d: interpolation("upsample_linear1d"),
  upsample_trilinear3d: interpolation("upsample_trilinear3d"),
  grid_sampler: (t, a) => pictures.sampleAtPlaces(t, a.tensor(0), a.tensor(1)),
  max_pool1d: largest(pooling.poolOfRows(pooling.maxPool)),
  max_pool2d: largest(),
  max_pool3d: largest(),
  avg_pool1d: (t, a) => averagePool(t, a, pooling.poolOfRows(pooling.averagePool)),
  avg_pool2d: averagePool,
  avg_pool3d: averagePool,
  replication_pad_like: (t, a) => pooling.padLike(t, a.tensor(0), a.tensor(1)),
  im2col: (t, a) => {
    const [kernel, dilation, padding, stride] = [a.numbers(1), a.numbers(2), a.numbers(3), a.numbers(4)];
    return pooling.windowsInColumns(t, a.tensor(0), { kernel, dilation, padding, stride, ceiling: false });
  },
  col2im: (t, a) => pooling.columnsToPicture(t, a.tensor(0), a.numbers(1), a.numbers(2)),
  adaptive_avg_pool1d: (t, a) => pooling.adaptiveAveragePool(t, a.tensor(0), a.numbers(1)),
  adaptive_avg_pool2d: (t, a) => pooling.adaptiveAveragePool(t, a.tensor(0), a.numbers(1)),
  pixel_unshuffle: (t, a) => pooling.pixelShuffle(t, a.tensor(0), 1 / a.number(1, 1, "downscale_factor")),
  pixel_shuffle: (t, a) => pooling.pixelShuffle(t, a.tensor(0), a.number(1, 1, "upscale_factor")),
});
