/** Products of matrices and convolutions. */

import { table } from "../../../../terms/table";
import type { Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import type { Arguments, Rule } from "../arguments";
import * as convolutions from "../convolution";
import { allToAll, sortChunks } from "../head-exchange";
import * as liger from "../liger";
import * as linear from "../linear";
import * as sound from "../sound";
import { dot, mv } from "../vectors";

function convolution(torch: Torch, args: Arguments): Tensor {
  const padding = args.get(4, "padding");
  const weight = args.tensor(1);
  const same = padding === "same" ? weight.sizes.slice(2).map((k) => (k - 1) / 2) : args.numbers(4, "padding");
  return convolutions.convolution(torch, args.tensor(0), weight, args.maybeTensor(2, "bias"), [
    args.numbers(3, "stride"),
    same,
    args.numbers(5, "dilation"),
  ]);
}

function transposedConvolution(torch: Torch, args: Arguments): Tensor {
  const bias = args.maybeTensor(2, "bias");
  return convolutions.transposedConvolution(torch, args.tensor(0), args.tensor(1), bias, {
    stride: args.numbers(3, "stride"),
    padding: args.numbers(4, "padding"),
    added: args.numbers(5, "output_padding"),
    groups: args.number(6, 1, "groups"),
    dilation: args.numbers(7, "dilation"),
  });
}

export const PRODUCTS: Readonly<Record<string, Rule>> = table({
  linear: (t, a) => linear.linear(t, a.tensor(0), a.tensor(1), a.maybeTensor(2, "bias")),
  matmul: (t, a) => linear.matmul(t, a.tensor(0), a.tensor(1)),
  // Of the two autocast lowers only the first (aten/src/ATen/autocast_mode.h, AT_FORALL_LOWER_PRECISION_FP).
  mv: (t, a) => linear.lowered(t, [a.tensor(0), a.tensor(1)], ([x, y]) => mv(t, x!, y!)),
  dot: (t, a) => dot(t, a.tensor(0), a.tensor(1)),
  mm: (t, a) => linear.mmOperator(t, a.tensor(0), a.tensor(1)),
  bmm: (t, a) => linear.bmmOperator(t, a.tensor(0), a.tensor(1)),
  addmm: (t, a) => linear.addmmOperator(t, a.tensor(0), a.tensor(1), a.tensor(2)),
  baddbmm: (t, a) => linear.baddbmmOperator(t, a.tensor(0), a.tensor(1), a.tensor(2)),
  _grouped_mm: (t, a) => linear.groupedMm(t, a.tensor(0), a.tensor(1), a.maybeTensor(2, "offs")),
  linalg_solve_triangular: (t, a) => linear.solveTriangular(t, a.tensor(0), a.tensor(1)),
  // Rows of experts that other ranks hold.
  all_to_all_single: (t, a) => {
    t.noticed.add("exchanged-rows");
    return allToAll(t, a.tensor(0));
  },
  sort_chunks: (t, a) => sortChunks(t, a.tensor(0)),
  liger_gated_product: (t, a) => liger.ligerGatedProduct(t, a.tensor(0), a.tensor(1)),
  _weight_norm: (t, a) => sound.weightNorm(t, a.tensor(0), a.tensor(1)),
  conv1d: convolution,
  conv2d: convolution,
  conv3d: convolution,
  prelu: (t, a) => convolutions.prelu(t, a.tensor(0), a.tensor(1)),
  conv_transpose1d: transposedConvolution,
  conv_transpose2d: transposedConvolution,
  conv_transpose3d: transposedConvolution,
});
