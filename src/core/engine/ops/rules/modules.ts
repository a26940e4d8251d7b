/** Operators that modules are made of: embeddings, attention, softmax, dropout, norms; and what a module keeps or sets. */

import { table } from "../../../../terms/table";
import type { Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import type { Arguments, Rule } from "../arguments";
import * as attention from "../attention";
import * as gathering from "../gathering";
import * as layout from "../layout";
import * as liger from "../liger";
import * as nonlinear from "../nonlinear";
import * as pooling from "../pooling";
import { selectiveScan } from "../selective-scan";
import { stateSpace } from "../state-space";
import * as trl from "../trl";

function sdpa(torch: Torch, args: Arguments): Tensor {
  return attention.attention(torch, {
    query: args.tensor(0),
    key: args.tensor(1),
    value: args.tensor(2),
    mask: args.maybeTensor(3, "attn_mask"),
    dropout: args.number(4, 0, "dropout_p"),
    causal: args.flag(5, "is_causal"),
    groupedQuery: args.flag(7, "enable_gqa"),
  });
}

/**
 * A norm of its own for every head: the heads are split, normed and put together again (transformers/models/stablelm/
 * modeling_stablelm.py, StableLmLayerNormPerHead). Nothing happens where the model has none.
 */
function normByHead(torch: Torch, states: Tensor, weights: readonly Tensor[]): Tensor {
  if (weights.length === 0) return states.retain();
  const heads = layout.split(
    torch,
    states,
    weights.map(() => 1),
    1,
  );
  const normed = weights.map((weight, k) => nonlinear.layerNorm(torch, heads[k]!, weight.sizes, weight, null));
  const out = layout.cat(torch, normed, 1);
  for (const tensor of [...normed, ...heads]) tensor.release();
  return out;
}

export const MODULES: Readonly<Record<string, Rule>> = table({
  liger_rms_norm: (t, a) => liger.ligerRmsNorm(t, a.tensor(0), a.tensor(1)),
  mamba_split_conv1d_scan_combined: (t, a) =>
    stateSpace(t, {
      input: a.tensor(0),
      kernel: a.tensor(1),
      kernelBias: a.maybeTensor(2),
      timeBias: a.tensor(3),
      decay: a.tensor(4),
      skip: a.tensor(5),
      norm: a.maybeTensor(6),
      product: a.tensor(7),
      chunk: a.number(8, 1),
      groups: a.number(9, 1),
    }),
  mamba_inner: (t, a) =>
    selectiveScan(t, {
      input: a.tensor(0),
      kernel: a.tensor(1),
      kernelBias: a.maybeTensor(2),
      small: a.tensor(3),
      times: a.tensor(4),
      product: a.tensor(5),
      productBias: a.maybeTensor(6),
      decay: a.tensor(7),
      skip: a.tensor(8),
      timeBias: a.tensor(9),
      normed: a.get(10) === true,
    }),
  autocast_enter: trl.enterAutocast,
  autocast_exit: trl.leaveAutocast,
  embedding: (t, a) => gathering.embedding(t, a.tensor(0), a.tensor(1)),
  scaled_dot_product_attention: sdpa,
  softmax: (t, a) => nonlinear.softmax(t, a.tensor(0), a.dtype(2)),
  log_softmax: (t, a) => nonlinear.softmax(t, a.tensor(0), a.dtype(2), true),
  // What backwards of one's own call: dense, in the dtype that is asked for (aten/src/ATen/native/cuda/SoftMax.cu).
  _softmax_backward_data: (t, a) =>
    t.empty("_softmax_backward_data", a.tensor(0).sizes, a.dtype(3) ?? a.tensor(0).dtype),
  dropout: (t, a) => nonlinear.dropout(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false),
  native_dropout: (t, a) => nonlinear.dropout(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false),
  layer_norm: (t, a) =>
    nonlinear.layerNorm(t, a.tensor(0), a.numbers(1), a.maybeTensor(2, "weight"), a.maybeTensor(3, "bias")),
  layer_norm_by_head: (t, a) => normByHead(t, a.tensor(0), a.tensors(1)),
  rms_norm: (t, a) => nonlinear.rmsNorm(t, a.tensor(0), a.numbers(1), a.maybeTensor(2, "weight")),
  glu: (t, a) => nonlinear.gatedLinearUnit(t, a.tensor(0), a.number(1, -1, "dim")),
  group_norm: (t, a) =>
    nonlinear.groupNorm(t, a.tensor(0), a.number(1, 1), a.maybeTensor(2, "weight"), a.maybeTensor(3, "bias")),
  instance_norm: (t, a) => nonlinear.instanceNorm(t, a.tensor(0), a.maybeTensor(1, "weight"), a.maybeTensor(2, "bias")),
  batch_norm: (t, a) => nonlinear.batchNorm(t, a.tensor(0), a.maybeTensor(1, "weight"), a.maybeTensor(2, "bias")),
  feature_dropout: (t, a) =>
    pooling.dropoutOfChannels(t, a.tensor(0), a.number(1, 0, "p"), a.get(2, "train") !== false),
  keep: (t, a) => {
    if (!t.halted) t.kept.keep(`${t.scope}.${String(a.get(-1, "of"))}`, a.tensor(0));
    return [];
  },
  forget: (t, a) => {
    if (!t.halted) t.kept.forget(`${t.scope}.${String(a.get(-1, "of"))}`);
    return [];
  },
});
