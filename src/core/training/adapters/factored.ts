/**
 * Adapters whose update is a whole matrix built at every forward: LoHa's product of two low-rank products, LoKr's
 * Kronecker product. Sources: peft/tuners/loha/layer.py (HadaWeight), peft/tuners/lokr/layer.py, ATen's kron.
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { add, mul } from "../../engine/ops/arithmetic";
import { view } from "../../engine/ops/layout";
import { linear, matmul } from "../../engine/ops/linear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, type BaseLayer, castInput, done, parameter } from "./layer";

/** `result + F.linear(input, delta_weight)` (lycoris_utils.py). */
export function withDelta(base: BaseLayer, weight: (torch: Torch) => Tensor): ModuleForward {
  return (torch, input) => {
    const result = base.forward(torch, input);
    const delta = weight(torch);
    const x = castInput(torch, input, delta.dtype);
    const change = done(linear(torch, x, delta, null), x, delta);
    const sum = done(add(torch, result, change), change, result);
    return done(castInput(torch, sum, input.dtype), sum);
  };
}

type Factors = readonly [Tensor, Tensor, Tensor, Tensor];

/** `HadaWeight`: keeps its four factors only and multiplies them again in backward. */
function hadamard(torch: Torch, [w1a, w1b, w2a, w2b]: Factors): Tensor {
  const sizes = [w1a.size(0), w1b.size(1)];
  const node = torch.record("HadaWeightBackward", [w1a, w1b, w2a, w2b], (torch, [gradient]) => {
    if (!gradient) return [null, null, null, null];
    const scaled = mul(torch, gradient, 0.5);
    const side = (a: Tensor, b: Tensor, left: Tensor, right: Tensor, old: Tensor | null): [Tensor, Tensor, Tensor] => {
      const product = matmul(torch, a, b);
      const temp = done(mul(torch, scaled, product), product, old);
      const first = torch.empty("mm", left.sizes, temp.dtype);
      return [first, torch.empty("mm", right.sizes, temp.dtype), temp];
    };
    const [g1a, g1b, first] = side(w2a, w2b, w1a, w1b, null);
    const [g2a, g2b, second] = side(w1a, w1b, w2a, w2b, first);
    second.release();
    scaled.release();
    return [g1a, g1b, g2a, g2b];
  });
  if (node !== null) for (const factor of [w1a, w1b, w2a, w2b]) torch.save(node, factor);
  const { gradEnabled } = torch;
  torch.gradEnabled = false;
  const left = matmul(torch, w1a, w1b);
  const right = matmul(torch, w2a, w2b);
  const product = done(mul(torch, left, right), left, right);
  const scaled = done(mul(torch, product, 0.5), product);
  torch.gradEnabled = gradEnabled;
  return torch.attach(node, done(view(torch, scaled, sizes), scaled));
}

export function loha(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const make = (name: string, sizes: readonly number[]): Tensor =>
    parameter(torch, `${base.path}.hada_${name}`, sizes, base.dtype);
  const [rows, columns] = base.transposed ? [base.inputs, base.outputs] : [base.outputs, base.inputs];
  const factors: Factors = [
    make("w1_a", [rows, adapter.rank]),
    make("w1_b", [adapter.rank, columns]),
    make("w2_a", [rows, adapter.rank]),
    make("w2_b", [adapter.rank, columns]),
  ];
  return { parameters: factors, forward: withDelta(base, (t) => hadamard(t, factors)) };
}

/** Two factors of a width: near its root, or with one as close to `factor` as it divides. */
function factorization(dimension: number, factor: number): readonly [number, number] {
  if (factor > 0 && dimension % factor === 0) return [factor, dimension / factor];
  const limit = factor === -1 ? dimension : factor;
  let [small, large] = [1, dimension];
  const length = dimension + 1;
  while (small < large) {
    let next = small + 1;
    // Beyond the root come the pairs that there were, turned round.
    while (next * next <= dimension && dimension % next !== 0) next++;
    if (next * next > dimension || next + dimension / next > length || next > limit) break;
    [small, large] = [next, dimension / next];
  }
  return small > large ? [large, small] : [small, large];
}

/** A matrix of the Kronecker product: whole, or the product of two low-rank ones. */
interface KroneckerFactor {
  readonly parameters: readonly Tensor[];
  readonly value: (torch: Torch) => Tensor;
}

export function lokr(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const { rank, decomposeBoth = false, decomposeFactor = -1 } = adapter;
  const [inM, inN] = factorization(base.inputs, decomposeFactor);
  const [outL, outK] = factorization(base.outputs, decomposeFactor);
  const factor = (name: string, rows: number, columns: number, whole: boolean): KroneckerFactor => {
    const make = (suffix: string, sizes: readonly number[]): Tensor =>
      parameter(torch, `${base.path}.lokr_${name}${suffix}`, sizes, base.dtype);
    if (whole) {
      const w = make("", [rows, columns]);
      return { parameters: [w], value: () => w.retain() };
    }
    const a = make("_a", [rows, rank]);
    const b = make("_b", [rank, columns]);
    return { parameters: [a, b], value: (t) => matmul(t, a, b) };
  };
  const first = factor("w1", outL, inM, !(decomposeBoth && rank < Math.max(outL, inM) / 2));
  const second = factor("w2", outK, inN, rank >= Math.max(outK, inN) / 2);
  const weight = (t: Torch): Tensor => {
    const w1 = first.value(t);
    const w2 = second.value(t);
    const left = view(t, w1, [outL, 1, inM, 1]);
    const right = view(t, w2, [1, outK, 1, inN]);
    const product = done(mul(t, left, right), left, right);
    const kron = done(view(t, product, [base.outputs, base.inputs]), product);
    return done(mul(t, kron, 0.5), kron, w1, w2);
  };
  return { parameters: [...first.parameters, ...second.parameters], forward: withDelta(base, weight) };
}
