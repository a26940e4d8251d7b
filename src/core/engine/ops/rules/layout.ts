/** Views, copies, and elements in other places. */

import { table } from "../../../../terms/table";
import { piecesOf } from "../../pieces";
import { broadcast, numel } from "../../shape";
import type { Tensor } from "../../tensor";
import type { Torch } from "../../torch";
import type { Argument, Arguments, Rule } from "../arguments";
import * as arithmetic from "../arithmetic";
import * as layout from "../layout";
import { padWithItself } from "../pooling";
import { asStrided, slidingWindows } from "../strided";

/** The same elements in other places (`roll`, `flip`): the gradient is put back by the same operator. */
const rearranged =
  (operator: string): Rule =>
  (torch, args) => {
    const self = args.tensor(0);
    const node = torch.record("RearrangeBackward0", [self], (torch, [gradient]) => [
      gradient ? arithmetic.elementwise(torch, operator, [gradient]) : null,
    ]);
    return torch.attach(node, arithmetic.elementwise(torch, operator, [self]));
  };

/** `pad` by its mode: a constant stands around, or the values themselves are repeated. */
const padded: Rule = (torch, args) => {
  const [mode, amounts] = [args.get(2, "mode"), args.numbers(1)];
  const own = mode === "reflect" || mode === "replicate";
  return own ? padWithItself(torch, args.tensor(0), amounts, mode) : layout.pad(torch, args.tensor(0), amounts);
};

/** `tile`: `repeat` of as many dimensions as there are at least (aten/src/ATen/native/TensorShape.cpp). */
const tiled: Rule = (torch, args) => {
  const [self, times] = [args.tensor(0), args.numbers(1, "dims")];
  return layout.repeat(torch, self, [...Array.from({ length: self.rank - times.length }, () => 1), ...times]);
};

const concatenated: Rule = (torch, args) => layout.cat(torch, args.tensors(0), args.number(1, 0, "dim"));

/** Rows below one another, single ones among them (aten/src/ATen/native/TensorShape.cpp, vstack: `atleast_2d`). */
function stackedRows(torch: Torch, args: Arguments): Tensor {
  const rows = args.tensors(0).map((one) => (one.rank < 2 ? layout.unsqueeze(torch, one, 0) : one.retain()));
  const out = layout.cat(torch, rows, 0);
  for (const one of rows) one.release();
  return out;
}

function chunk(torch: Torch, args: Arguments): Tensor[] {
  const self = args.tensor(0);
  const dim = args.number(2, 0, "dim");
  const size = self.size(dim);
  const each = Math.ceil(size / args.number(1, 1));
  return layout.split(torch, self, piecesOf(torch, size, each), dim);
}

function split(torch: Torch, args: Arguments): Tensor[] {
  const self = args.tensor(0);
  const dim = args.number(2, 0, "dim");
  const given = args.get(1);
  if (Array.isArray(given)) return layout.split(torch, self, given.map(Number), dim);
  return layout.split(torch, self, piecesOf(torch, self.size(dim), Number(given)), dim);
}

function maybeNumber(value: Argument | undefined): number | null {
  return typeof value === "number" ? value : null;
}

function flatten(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const wrap = (dim: number): number => (dim < 0 ? dim + self.rank : dim);
  const from = wrap(args.number(1, 0, "start_dim"));
  const to = wrap(args.number(2, -1, "end_dim"));
  if (from === to) return self.retain();
  const sizes = [...self.sizes.slice(0, from), numel(self.sizes.slice(from, to + 1)), ...self.sizes.slice(to + 1)];
  return layout.reshape(torch, self, sizes);
}

function unflatten(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const dim = args.number(1, 0);
  const k = dim < 0 ? dim + self.rank : dim;
  const inner = args.numbers(2);
  const known = inner.filter((size) => size !== -1).reduce((a, b) => a * b, 1);
  const sizes = inner.map((size) => (size === -1 ? self.sizes[k]! / known : size));
  return layout.view(torch, self, [...self.sizes.slice(0, k), ...sizes, ...self.sizes.slice(k + 1)]);
}

function repeatInterleave(torch: Torch, args: Arguments): Tensor {
  const self = args.tensor(0);
  const times = args.number(1, 1);
  const dim = args.number(2, 0, "dim");
  const k = dim < 0 ? dim + self.rank : dim;
  const sizes = self.sizes.map((size, d) => (d === k ? size * times : size));
  const node = torch.record("RepeatInterleaveBackward0", [self], (torch, [gradient]) => [
    gradient ? torch.empty("sum", self.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(node, torch.empty("clone", sizes, self.dtype));
}

function unfold(torch: Torch, args: Arguments): Tensor {
  return slidingWindows(torch, args.tensor(0), args.number(1, 0), [args.number(2, 1), args.number(3, 1)]);
}

/** The order of axes after some of them are moved. */
function moved(rank: number, from: readonly number[], to: readonly number[]): number[] {
  const place = (axis: number): number => (axis < 0 ? axis + rank : axis);
  const order = new Array<number | undefined>(rank).fill(undefined);
  for (const [k, axis] of from.entries()) order[place(to[k] ?? 0)] = place(axis);
  const rest = order.map((_, axis) => axis).filter((axis) => !order.includes(axis));
  return order.map((axis) => axis ?? rest.shift() ?? 0);
}

/** Views of each tensor along an axis of its own; by `xy` the first two change places (aten/src/ATen/native/TensorShape.cpp, meshgrid). */
const meshgrid: Rule = (t, a) => {
  const given = a.tensors(0);
  const swapped = a.get(1, "indexing") === "xy" && given.length > 1;
  const axes = given.map((_, k) => (swapped && k < 2 ? 1 - k : k));
  const sizes = axes.map((axis) => given[axis]?.sizes[0] ?? 1);
  return given.map((tensor, k) => {
    const row = layout.view(
      t,
      tensor,
      sizes.map((_, axis) => (axis === axes[k] ? -1 : 1)),
    );
    const whole = layout.expand(t, row, sizes);
    row.release();
    return whole;
  });
};

export const LAYOUT: Readonly<Record<string, Rule>> = table({
  broadcast_tensors: (t, a) => {
    const given = a.tensors(0);
    const sizes = given.reduce<readonly number[]>((all, tensor) => broadcast(all, tensor.sizes), []);
    return given.map((tensor) => layout.expand(t, tensor, sizes));
  },
  meshgrid,
  view: (t, a) => layout.view(t, a.tensor(0), a.numbers(1)),
  _unsafe_view: (t, a) => layout.unsafeView(t, a.tensor(0), a.numbers(1)),
  reshape: (t, a) => layout.reshape(t, a.tensor(0), a.numbers(1)),
  view_as: (t, a) => layout.view(t, a.tensor(0), a.tensor(1).sizes),
  flatten,
  unflatten,
  permute: (t, a) => layout.permute(t, a.tensor(0), a.numbers(1)),
  transpose: (t, a) => layout.transpose(t, a.tensor(0), a.number(1, 0), a.number(2, 1)),
  // The axes that are moved stand where they are sent, the others in their order (aten/src/ATen/native/TensorShape.cpp, movedim).
  movedim: (t, a) => layout.permute(t, a.tensor(0), moved(a.tensor(0).rank, a.numbers(1), a.numbers(2))),
  swapaxes: (t, a) => layout.transpose(t, a.tensor(0), a.number(1, 0), a.number(2, 1)),
  t: (t, a) => layout.transpose(t, a.tensor(0), 0, 1),
  as_strided: (t, a) => asStrided(t, a.tensor(0), a.numbers(1), a.numbers(2)),
  mT: (t, a) => layout.transpose(t, a.tensor(0), -1, -2),
  numpy_T: (t, a) =>
    layout.permute(
      t,
      a.tensor(0),
      a.tensor(0).sizes.map((_, k) => a.tensor(0).rank - 1 - k),
    ),
  expand: (t, a) => layout.expand(t, a.tensor(0), a.numbers(1)),
  broadcast_to: (t, a) => layout.expand(t, a.tensor(0), a.numbers(1)),
  expand_as: (t, a) => layout.expand(t, a.tensor(0), a.tensor(1).sizes),
  unsqueeze: (t, a) => layout.unsqueeze(t, a.tensor(0), a.number(1, 0)),
  unsqueeze_: (t, a) => layout.unsqueeze(t, a.tensor(0), a.number(1, 0)),
  squeeze: (t, a) => layout.squeeze(t, a.tensor(0), a.positional.length > 1 ? a.numbers(1) : null),
  slice: (t, a) =>
    layout.slice(t, a.tensor(0), a.number(1, 0), maybeNumber(a.get(2)), maybeNumber(a.get(3)), a.number(4, 1)),
  narrow: (t, a) => layout.slice(t, a.tensor(0), a.number(1, 0), a.number(2, 0), a.number(2, 0) + a.number(3, 0)),
  select: (t, a) => layout.select(t, a.tensor(0), a.number(1, 0)),
  chunk,
  split,
  split_with_sizes: split,
  tensor_split: chunk,
  unbind: (t, a) => layout.unbind(t, a.tensor(0), a.number(1, 0, "dim")),
  cat: concatenated,
  concatenate: concatenated,
  concat: (t, a) => layout.cat(t, a.tensors(0), a.number(1, 0, "dim")),
  // Along the second dimension, or the only one (aten/src/ATen/native/TensorShape.cpp, hstack).
  hstack: (t, a) => layout.cat(t, a.tensors(0), a.tensors(0)[0]!.sizes.length > 1 ? 1 : 0),
  vstack: stackedRows,
  stack: (t, a) => layout.stack(t, a.tensors(0), a.number(1, 0, "dim")),
  pad: padded,
  constant_pad_nd: (t, a) => layout.pad(t, a.tensor(0), a.numbers(1)),
  contiguous: (t, a) => layout.contiguous(t, a.tensor(0)),
  clone: (t, a) => layout.clone(t, a.tensor(0)),
  detach: (_, a) => layout.detach(a.tensor(0)),
  alias: (t, a) => layout.aliased(t, a.tensor(0)),
  lift_fresh: (_, a) => a.tensor(0).retain(),
  flip: rearranged("flip"),
  roll: rearranged("roll"),
  repeat: (t, a) => layout.repeat(t, a.tensor(0), a.numbers(1)),
  tile: tiled,
  repeat_interleave: repeatInterleave,
  unfold,
});
