/**
 * RoAd: what a layer gives is turned in groups, each number with one half a group away, by angles and lengths that are trained.
 * Source: peft/tuners/road/layer.py (Linear.forward, _prepare_cols, _apply_road); its variants differ in numbers as few as the outputs.
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { add, mul } from "../../engine/ops/arithmetic";
import { repeat, reshape, select, stack } from "../../engine/ops/layout";
import { unary } from "../../engine/ops/unary";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, type BaseLayer, castInput, done, parameter } from "./layer";

/** Numbers that are turned together (`group_size`). */
const GROUP = 64;

export function road(torch: Torch, _: AdapterSpec, base: BaseLayer): AdapterLayer {
  const count = base.outputs / 2;
  const [theta, alpha] = ["theta", "alpha"].map((name) =>
    parameter(torch, `${base.path}.road_${name}`, [count], base.dtype),
  ) as [Tensor, Tensor];
  const forward: ModuleForward = (torch, input) => {
    const made = base.forward(torch, input);
    const x = done(castInput(torch, made, theta.dtype), made);
    const angles = twice(torch, theta);
    const lengths = twice(torch, alpha);
    const cosines = unary(torch, "cos", angles);
    const sines = unary(torch, "sin", angles);
    const first = mul(torch, lengths, cosines);
    const second = done(mul(torch, lengths, sines), angles, lengths, cosines, sines);
    const grouped = reshape(torch, x, [x.elements / GROUP, 2, GROUP / 2]);
    const ahead = select(torch, grouped, 1);
    const behind = select(torch, grouped, 1);
    const negative = unary(torch, "neg", behind);
    const both = done(stack(torch, [negative, ahead], 1), negative);
    const turned = done(reshape(torch, both, x.sizes), both);
    const kept = mul(torch, x, first);
    const moved = mul(torch, turned, second);
    const sum = done(add(torch, kept, moved), kept, moved, turned, grouped, ahead, behind, first, second);
    return done(castInput(torch, sum, input.dtype), sum, x);
  };
  return { parameters: [theta, alpha], forward };
}

/** Each group's numbers, for both of its halves. */
function twice(torch: Torch, numbers: Tensor): Tensor {
  const groups = reshape(torch, numbers, [(2 * numbers.elements) / GROUP, GROUP / 2]);
  const all = done(repeat(torch, groups, [2, 1]), groups);
  return done(reshape(torch, all, [2 * numbers.elements]), all);
}
