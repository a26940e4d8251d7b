/**
 * Mamba 1's mixer as one autograd function, as `mamba_ssm` has it: MambaInnerFn (mamba_ssm/ops/selective_scan_interface.py, version 2.3)
 * from the convolution to the last product. It keeps its input laid out by channels, the small product, the scan's result and its states
 * between chunks; the convolution and the time steps are made again in backward. What the scan itself makes:
 * csrc/selective_scan/selective_scan.cpp.
 */
import type { DType } from "../dtype";
import type { Sizes } from "../shape";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { gradientOf, Locals, multiply } from "./autograd-function";

/** Operands of the function. */
export interface SelectiveScan {
  /** The first product's result, channels before tokens. */
  readonly input: Tensor;
  readonly kernel: Tensor;
  readonly kernelBias: Tensor | null;
  /** Weights of the product that gives time steps and what is written and read, of that of the time steps, and of the last. */
  readonly small: Tensor;
  readonly times: Tensor;
  readonly product: Tensor;
  readonly productBias: Tensor | null;
  /** All float32. */
  readonly decay: Tensor;
  readonly skip: Tensor;
  readonly timeBias: Tensor;
  /** Time steps, and what is written and read, are normed; Falcon Mamba's are. */
  readonly normed: boolean;
}

/** Tokens between two states that are kept (selective_scan.cpp, `n_chunks`). */
const CHUNK = 2048;

function shapesOf({ input, small, times, decay }: SelectiveScan) {
  const [batch, both, tokens] = input.sizes as [number, number, number];
  const inner = both / 2;
  const state = decay.size(1);
  const rows = batch * tokens;
  return {
    batch,
    both: [batch, both, tokens],
    inner: [batch, inner, tokens],
    rows: [rows, inner],
    product: [rows, small.size(0)],
    shared: [batch, 1, state, tokens],
    states: [batch, inner, Math.ceil(tokens / CHUNK), 2 * state],
    rank: [rows, times.size(1)],
    sums: [rows],
  } satisfies Readonly<Record<string, Sizes | number>>;
}

type Shapes = ReturnType<typeof shapesOf>;

/** A norm over the rows of `rows`, which goes: the result is laid out as the rows were before. */
function normed(locals: Locals, rows: Tensor, { sums }: Shapes): Tensor {
  const result = locals.make("_layer_norm_fwd", rows.sizes, rows.dtype);
  locals.drop(locals.make("_layer_norm_fwd", sums, "float32"), rows);
  const again = locals.make("clone", rows.sizes, rows.dtype);
  locals.drop(result);
  return again;
}

/** The same of what goes when it was laid out by rows. */
function normedInPlace(locals: Locals, from: Tensor, shapes: Shapes): Tensor {
  const rows = locals.make("clone", from.sizes, from.dtype);
  locals.drop(from);
  return normed(locals, rows, shapes);
}

/** Time steps of every channel, from a part of the small product. */
function timeSteps(torch: Torch, locals: Locals, shapes: Shapes, dtype: DType, norms: boolean): Tensor {
  multiply(torch, shapes.inner, shapes.rank[1]!, dtype);
  const steps = locals.make("mm", shapes.inner, dtype);
  return norms ? normedInPlace(locals, steps, shapes) : steps;
}

/** The whole function: forward now, backward when its gradient comes. */
export function selectiveScan(torch: Torch, operands: SelectiveScan): Tensor {
  const {
    input,
    kernel,
    kernelBias,
    small,
    times,
    product,
    productBias,
    decay,
    skip,
    timeBias,
    normed: hasNorms,
  } = operands;
  const shapes = shapesOf(operands);
  const { dtype } = input;
  const compute = torch.autocasting ? torch.autocastDtype! : dtype;
  const several = shapes.batch > 1;
  const weights = [small, times, product];
  const parameters = [kernel, kernelBias, ...weights, productBias, decay, skip, timeBias];
  const node = torch.record("MambaInnerFnBackward", [input, ...parameters], (torch, [gradient], _, node) => {
    if (!gradient) return [];
    const locals = new Locals(torch);
    const float = (sizes: Sizes): Tensor => locals.make("zeros_like", sizes, "float32");
    locals.make("causal_conv1d_fwd", shapes.inner, dtype);
    timeSteps(torch, locals, shapes, dtype, hasNorms);
    for (const _ of hasNorms ? [0, 1] : []) normed(locals, locals.make("clone", shapes.shared, dtype), shapes);
    const own = torch.empty("empty_like", shapes.both, dtype);
    multiply(torch, shapes.inner, product.size(0), compute);
    locals.make("mm", shapes.inner, compute);
    locals.make("selective_scan", shapes.inner, dtype);
    let states = locals.make("selective_scan", shapes.inner, dtype);
    locals.make("selective_scan", shapes.inner, dtype);
    const ofDecay = gradientOf(torch, decay);
    const wide = [float(shapes.shared), float(shapes.shared)];
    const [ofSkip, ofTimeBias] = [gradientOf(torch, skip), gradientOf(torch, timeBias)];
    const read = dtype === "float32" ? wide : wide.map(() => locals.make("to", shapes.shared, dtype));
    if (read !== wide) locals.drop(...wide);
    const ofWeight = (sizes: Sizes, inner: number): Tensor => {
      multiply(torch, sizes, inner, compute);
      return torch.empty("bmm", sizes, compute);
    };
    const ofProduct = ofWeight(product.sizes, shapes.sums[0]!);
    locals.make("empty_like", shapes.product, dtype);
    for (const one of read) {
      const rows = locals.make("clone", shapes.shared, dtype);
      locals.drop(one, rows);
    }
    const ofTimes = ofWeight(times.sizes, shapes.sums[0]!);
    locals.drop(locals.make("bmm", shapes.rank, compute));
    if (several) {
      const byChannels = locals.make("clone", shapes.inner, dtype);
      locals.drop(states);
      states = byChannels;
    }
    const rows = several ? locals.make("clone", shapes.rows, dtype) : null;
    const ofSmall = ofWeight(small.sizes, shapes.sums[0]!);
    if (rows !== null) locals.drop(rows);
    const [ofKernel, ofKernelBias] = [kernel, kernelBias].map((one) => {
      const summed = one && torch.empty("zeros_like", one.sizes, "float32");
      if (summed === null || one?.dtype === "float32") return summed;
      const cast = gradientOf(torch, one);
      summed.release();
      return cast;
    });
    locals.return();
    // What comes back in another dtype than the weight's is cast by autograd (torch/csrc/autograd/engine.cpp, validate_outputs).
    const made = [ofSmall, ofTimes, ofProduct].map((one, k) => {
      if (one.dtype === weights[k]!.dtype || !node.edges[3 + k]) return one;
      const cast = gradientOf(torch, weights[k]!);
      one.release();
      return cast;
    });
    const ofBias = gradientOf(torch, productBias);
    const all = [own, ofKernel ?? null, ofKernelBias ?? null, ...made, ofBias, ofDecay, ofSkip, ofTimeBias];
    return all.map((one, k) => {
      if (node.edges[k]) return one;
      one?.release();
      return null;
    });
  });
  const locals = new Locals(torch);
  const cast = (weight: Tensor): Tensor =>
    weight.dtype === compute ? weight.retain() : torch.empty("_to_copy", weight.sizes, compute);
  const used = weights.map(cast);
  const bias = productBias && cast(productBias);
  const laidOut = torch.empty("clone", shapes.both, dtype);
  const convolved = locals.make("causal_conv1d_fwd", shapes.inner, dtype);
  const rows = several ? locals.make("clone", shapes.rows, dtype) : null;
  multiply(torch, shapes.product, shapes.rows[1]!, compute);
  const projected = torch.empty("linear", shapes.product, compute);
  if (rows !== null) locals.drop(rows);
  const steps = timeSteps(torch, locals, shapes, compute, false);
  let shared = [locals.make("clone", shapes.shared, compute), locals.make("clone", shapes.shared, compute)];
  let last = steps;
  if (hasNorms) {
    shared = shared.map((one) => normedInPlace(locals, one, shapes));
    last = normedInPlace(locals, steps, shapes);
  }
  const gated = locals.make("selective_scan", shapes.inner, dtype);
  const result = torch.empty("selective_scan", shapes.inner, dtype);
  const states = torch.empty("selective_scan", shapes.states, "float32");
  locals.drop(convolved, last);
  const [batch, , tokens] = shapes.inner as [number, number, number];
  const sizes = [batch, tokens, product.size(0)];
  multiply(torch, sizes, shapes.inner[1]!, compute);
  const out = torch.attach(node, torch.empty("linear", sizes, compute));
  locals.drop(gated);
  // What a function keeps is packed when its forward has returned (torch/csrc/autograd/python_function.cpp, process_outputs).
  if (node !== null) {
    for (const one of [
      laidOut,
      kernel,
      kernelBias,
      projected,
      ...used,
      decay,
      ...shared,
      skip,
      timeBias,
      states,
      result,
    ])
      if (one !== null) torch.save(node, one);
  }
  for (const one of [laidOut, projected, ...used, bias, result, states]) one?.release();
  locals.return();
  return out;
}
