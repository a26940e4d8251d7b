/**
 * Mamba 2's scan as one autograd function, as `mamba_ssm` has it: MambaSplitConv1dScanCombinedFn (mamba_ssm/ops/triton/ssd_combined.py,
 * version 2.3), which splits, convolves, scans by chunks, norms and multiplies by the last weight. It keeps its input and the scan's
 * result; all else is made again in backward. What its kernels sum up in pieces of a few kilobytes is left out.
 */
import type { DType } from "../dtype";
import type { Sizes } from "../shape";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { gradientOf, Locals, multiply } from "./autograd-function";
import { MULTIPROCESSORS } from "./liger";

/** Operands of the function. */
export interface StateSpace {
  /** The first product's result: gate, what is convolved, time steps. */
  readonly input: Tensor;
  readonly kernel: Tensor;
  readonly kernelBias: Tensor | null;
  readonly timeBias: Tensor;
  /** Of each head, float32. */
  readonly decay: Tensor;
  readonly skip: Tensor;
  /** Of the gated norm; null: the scan is gated itself. */
  readonly norm: Tensor | null;
  readonly product: Tensor;
  /** Tokens of a chunk. */
  readonly chunk: number;
  /** Groups of heads that share what is read and written. */
  readonly groups: number;
}

/** Rows that a program of the last sum takes at least (ssd_chunk_scan.py, `_chunk_scan_bwd_ddAcs_stable`). */
const ROWS = 32;

/** Shapes of what the kernels make. */
function shapesOf({ input, kernel, skip, chunk, groups }: StateSpace) {
  const [batch, tokens, width] = input.sizes as [number, number, number];
  const heads = skip.size(0);
  const convolved = kernel.size(0);
  const inner = width - convolved - heads;
  const state = (convolved - inner) / groups / 2;
  const chunks = Math.ceil(tokens / chunk);
  // How many heads a program sums up: enough programs for every multiprocessor (ssd_chunk_state.py, `_chunk_state_bwd_db`).
  const shared = heads / groups;
  const each = Math.max(1, Math.min(Math.ceil((batch * chunks * heads) / MULTIPROCESSORS), shared));
  const pieces = Math.ceil(shared / each);
  return {
    convolved: [batch, convolved, tokens],
    times: [batch, tokens, heads],
    decays: [batch, heads, chunks, chunk],
    decayRows: [batch, heads, chunks, Math.ceil(chunk / ROWS), chunk],
    states: [batch, chunks, heads, (inner / heads) * state],
    last: [batch, heads, (inner / heads) * state],
    scores: [batch, chunks, groups, chunk, chunk],
    scoresInPieces: [batch, chunks, pieces, groups, chunk, chunk],
    read: [batch, tokens, groups, state],
    readInPieces: [batch, tokens, pieces, groups, state],
    inner: [batch, tokens, inner],
    sums: [groups * batch * tokens],
    normInPieces: [Math.ceil(MULTIPROCESSORS / groups), inner],
  } satisfies Readonly<Record<string, Sizes>>;
}

type Shapes = ReturnType<typeof shapesOf>;

/** The convolution; rows that are no multiple of 8 long are laid out anew for it (ssd_combined.py, `ensure_stride`). */
function convolve(locals: Locals, shapes: Shapes, { input }: StateSpace): void {
  const apart = input.size(2) % 8 === 0 ? null : locals.make("clone", shapes.convolved, input.dtype);
  locals.make("causal_conv1d_fwd", shapes.convolved, input.dtype);
  if (apart !== null) locals.drop(apart);
}

/** `_mamba_chunk_scan_combined_fwd`: the result before the gate, and with the gate where the scan has it. */
function scan(torch: Torch, locals: Locals, shapes: Shapes, dtype: DType, gated: boolean): readonly Tensor[] {
  locals.make("_chunk_cumsum_fwd", shapes.decays, "float32");
  locals.make("_chunk_cumsum_fwd", shapes.decays, "float32");
  const states = locals.make("_chunk_state_fwd", shapes.states, "float32");
  locals.make("_state_passing_fwd", shapes.states, dtype);
  locals.make("_state_passing_fwd", shapes.last, "float32");
  locals.drop(states);
  const scores = locals.make("_bmm_chunk_fwd", shapes.scores, "float32");
  const made = Array.from({ length: gated ? 2 : 1 }, () => torch.empty("_chunk_scan_fwd", shapes.inner, dtype));
  locals.drop(scores);
  return made;
}

/** `_mamba_chunk_scan_combined_bwd`, its results in blocks that the caller has. */
function scanBackward(locals: Locals, shapes: Shapes, dtype: DType, gated: boolean): void {
  locals.make("clone", shapes.times, dtype);
  const float = (operator: string, sizes: Sizes): Tensor => locals.make(operator, sizes, "float32");
  float("_chunk_cumsum_fwd", shapes.decays);
  float("_chunk_cumsum_fwd", shapes.decays);
  float("_bmm_chunk_fwd", shapes.scores);
  const own = float("_chunk_state_fwd", shapes.states);
  const passed = float("_state_passing_fwd", shapes.states);
  float("_state_passing_fwd", shapes.last);
  locals.drop(own);
  if (gated) {
    locals.make("_chunk_scan_bwd_dz", shapes.inner, dtype);
    locals.make("_chunk_scan_bwd_dz", shapes.inner, dtype);
  }
  const gradients = float("_chunk_scan_bwd_dstates", shapes.states);
  locals.make("_state_passing_bwd", shapes.states, dtype);
  if (dtype === "float32") locals.drop(gradients);
  else {
    locals.make("_state_passing_bwd", shapes.states, dtype);
    locals.drop(gradients, passed);
  }
  float("_chunk_scan_chunk_state_bwd_dx", shapes.decays);
  for (const operator of ["_chunk_state_bwd_db", "_chunk_scan_bwd_dC"]) {
    float(operator, shapes.decays);
    const pieces = float(operator, shapes.readInPieces);
    float("sum", shapes.read);
    locals.drop(pieces);
  }
  const pieces = float("_chunk_scan_bwd_dcb", shapes.scoresInPieces);
  float("sum", shapes.scores);
  locals.drop(pieces);
  float("flip", shapes.decays);
  const rows = float("_chunk_scan_bwd_ddAcs_stable", shapes.decayRows);
  float("sum", shapes.decays);
  locals.drop(rows);
}

/** The whole function: forward now, backward when its gradient comes. */
export function stateSpace(torch: Torch, operands: StateSpace): Tensor {
  const { input, kernel, kernelBias, timeBias, decay, skip, norm, product } = operands;
  const shapes = shapesOf(operands);
  const { dtype } = input;
  const compute = torch.autocasting ? torch.autocastDtype! : dtype;
  const gated = norm === null;
  const parameters = [kernel, kernelBias, timeBias, decay, skip, norm];
  const node = torch.record(
    "MambaSplitConv1dScanCombinedFnBackward",
    [input, ...parameters, product],
    (torch, [gradient], _, node) => {
      if (!gradient) return [];
      const locals = new Locals(torch);
      const again = locals.make("empty", shapes.inner, dtype);
      convolve(locals, shapes, operands);
      const own = torch.empty("empty_like", input.sizes, dtype);
      locals.make("empty_like", shapes.convolved, dtype);
      multiply(torch, shapes.inner, product.size(0), compute);
      locals.make("linear", shapes.inner, compute);
      if (!gated) {
        locals.make("_layer_norm_bwd", shapes.inner, dtype);
        const pieces = locals.make("_layer_norm_bwd", shapes.normInPieces, "float32");
        locals.drop(pieces);
      }
      scanBackward(locals, shapes, dtype, gated);
      multiply(torch, product.sizes, shapes.inner[0]! * shapes.inner[1]!, again.dtype);
      const ofProduct = torch.empty("bmm", product.sizes, compute);
      const gradients = [own, ...parameters.map((one) => gradientOf(torch, one))];
      locals.return();
      // What comes back in another dtype than the weight's is cast by autograd (torch/csrc/autograd/engine.cpp, validate_outputs).
      const cast = node.edges.at(-1) && compute !== product.dtype ? gradientOf(torch, product) : null;
      if (cast !== null) ofProduct.release();
      const all = [...gradients, cast ?? ofProduct];
      return all.map((one, k) => {
        if (node.edges[k]) return one;
        one?.release();
        return null;
      });
    },
  );
  const locals = new Locals(torch);
  convolve(locals, shapes, operands);
  const [result, ungated = result] = scan(torch, locals, shapes, dtype, gated) as [Tensor, Tensor?];
  const normed = gated ? null : locals.make("_layer_norm_fwd", shapes.inner, dtype);
  const sums = gated ? null : torch.empty("_layer_norm_fwd", shapes.sums, "float32");
  const weight = product.dtype === compute ? product.retain() : torch.empty("_to_copy", product.sizes, compute);
  multiply(torch, [...shapes.inner.slice(0, 2), product.size(0)], shapes.inner[2]!, compute);
  const out = torch.attach(node, torch.empty("linear", [...shapes.inner.slice(0, 2), product.size(0)], compute));
  if (normed !== null) locals.drop(normed);
  if (node !== null) {
    for (const tensor of [input, kernel, kernelBias]) if (tensor !== null) torch.save(node, tensor);
    torch.save(node, ungated);
    for (const tensor of [decay, skip, timeBias, norm, sums, weight]) if (tensor !== null) torch.save(node, tensor);
  }
  for (const tensor of new Set([result, ungated])) tensor.release();
  sums?.release();
  weight.release();
  locals.return();
  return out;
}
