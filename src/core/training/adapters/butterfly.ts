/**
 * BOFT: the input is turned by a block-diagonal matrix as wide as the input, which is made anew at every forward, and the
 * output is scaled. Without the compiled extension of peft there is one butterfly factor, whatever the config says; the
 * permutation beside it is a dense matrix all the same. Source: peft/tuners/boft/layer.py (BOFTLayer.update_layer,
 * cayley_batch, Linear.forward), torch/csrc/autograd/FunctionsManual.cpp (linalg_solve_backward).
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { add, mul, sub } from "../../engine/ops/arithmetic";
import { select, transpose, unsqueeze } from "../../engine/ops/layout";
import { bmmOperator, matmul, mmOperator } from "../../engine/ops/linear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { type AdapterLayer, type BaseLayer, buffer, castInput, done, parameter } from "./layer";

const DEFAULT_BLOCK = 4;

export function boft(torch: Torch, adapter: AdapterSpec, base: BaseLayer): AdapterLayer {
  const { inputs, outputs, path } = base;
  const size = adapter.blockSize ?? DEFAULT_BLOCK;
  const block = size > 0 ? size : Math.max(1, Math.floor(inputs / Math.max(1, adapter.blockCount ?? 1)));
  const blocks = Math.max(1, Math.floor(inputs / block));
  // A quantized model stays where it was loaded: the buffer that was made on the host is not moved with it.
  const onHost = base.format !== null;
  const permutation = onHost ? null : buffer(torch, [1, inputs, inputs], "float32");
  const turns = parameter(torch, `${path}.boft_R`, [1, blocks, block, block], base.dtype);
  const scale = parameter(torch, `${path}.boft_s`, [outputs, 1], base.dtype);
  const forward: ModuleForward = (torch, x) => {
    const identity = torch.empty("eye", [inputs, inputs], x.dtype);
    const ones = torch.empty("ones", [outputs, 1], x.dtype);
    const orthogonal = cayley(torch, turns, blocks, block);
    const wide = blockDiagonal(torch, orthogonal, inputs);
    const order =
      permutation === null
        ? torch.empty("_to_copy", [1, inputs, inputs], x.dtype)
        : castInput(torch, permutation, x.dtype);
    const diagonal = done(castInput(torch, wide, x.dtype), wide);
    const turned = transpose(torch, order, 1, 2);
    const first = done(bmmOperator(torch, diagonal, turned), turned);
    const batch = done(bmmOperator(torch, order, first), first);
    const matrix = select(torch, batch, 0);
    const product = done(mmOperator(torch, matrix, identity), identity);
    const scales = done(mul(torch, scale, ones), ones);
    const rotation = done(castInput(torch, product, x.dtype), product);
    const rotated = matmul(torch, x, rotation);
    let result = base.forward(torch, rotated);
    const { bias } = base;
    if (bias !== null) result = done(sub(torch, result, bias), result);
    const flat = select(torch, scales, 1);
    result = done(mul(torch, result, flat), result, flat);
    if (bias !== null) result = done(add(torch, result, bias), result);
    const out = done(castInput(torch, result, x.dtype), result);
    return done(out, rotation, scales, orthogonal, diagonal, order, batch, matrix, rotated);
  };
  return { parameters: [turns, scale], forward };
}

/** One orthogonal matrix per block: (I - S)(I + S)⁻¹ of the skew-symmetric part S. */
function cayley(torch: Torch, turns: Tensor, blocks: number, block: number): Tensor {
  const data = select(torch, turns, 0);
  const mirrored = transpose(torch, data, 1, 2);
  const difference = done(sub(torch, data, mirrored), mirrored, data);
  const skew = done(mul(torch, difference, 0.5), difference);
  const eye = torch.empty("eye", [block, block], "float32");
  const identity = done(unsqueeze(torch, eye, 0), eye);
  const left = add(torch, identity, skew);
  const right = sub(torch, identity, skew);
  const solution = solve(torch, left, right, blocks, block);
  return done(solution, left, right, skew, identity);
}

/** `linalg.solve(A, B, left=False)`: the factorisation of A stays for backward. */
function solve(torch: Torch, a: Tensor, b: Tensor, blocks: number, block: number): Tensor {
  const node = torch.record("LinalgSolveExBackward0", [a, b], (torch, [gradient]) => {
    if (!gradient) return [null, null];
    const ofB = torch.empty("linalg_lu_solve", b.sizes, gradient.dtype);
    const multiplied = torch.empty("bmm", a.sizes, gradient.dtype);
    const ofA = torch.empty("neg", a.sizes, gradient.dtype);
    multiplied.release();
    return [ofA, ofB];
  });
  const result = torch.attach(node, torch.empty("_linalg_solve_ex", b.sizes, b.dtype));
  const factors = torch.empty("_linalg_solve_ex", a.sizes, a.dtype);
  const pivots = torch.empty("_linalg_solve_ex", [blocks, block], "int32");
  const info = torch.empty("_linalg_solve_ex", [blocks], "int32");
  if (node !== null) {
    torch.save(node, a);
    torch.save(node, factors);
    torch.save(node, pivots);
    torch.saveOutput(node, result);
  }
  return done(result, factors, info, pivots);
}

/** `block_diag(*unbind(blocks))`, with the batch dimension back. */
function blockDiagonal(torch: Torch, blocks: Tensor, width: number): Tensor {
  const node = torch.record("BlockDiagBackward0", [blocks], (torch, [gradient]) => [
    gradient ? torch.empty("stack", blocks.sizes, gradient.dtype) : null,
  ]);
  return torch.attach(node, torch.empty("block_diag", [1, width, width], blocks.dtype));
}
