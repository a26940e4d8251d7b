/**
 * Linear layers of Transformer Engine under `fp8_autocast`: input and weight are cast to 8 bits, with a transposed copy each
 * where the card multiplies in one layout only (before Blackwell). Backward keeps the input's 8-bit copy (the transposed one)
 * and both of the weight. Weights, gradients, optimizer and everything between the layers stay as they are.
 * Sources: transformer_engine/pytorch/module/linear.py (_linear_forward_impl, _linear_backward), tensor/storage/
 * float8_tensor_storage.py (update_usage), cpp_extensions/gemm.py (get_cublas_workspace), quantization.py (DelayedScaling).
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { numel, type Sizes } from "../../engine/shape";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";

/** What decides how the library multiplies. */
export interface EngineOptions {
  /** Cards from Blackwell on multiply in every layout: no transposed copies. */
  readonly transposes: boolean;
  /** The weights' copies stay from one micro-batch to the next (`is_first_microbatch`, as Megatron calls it). */
  readonly cachesWeights: boolean;
}

/** Largest values of the last steps of each tensor: three in forward, two in backward (amax_history_len 1024). */
const HISTORY: readonly (readonly number[])[] = [
  [1024, 3],
  [1024, 2],
];
const MIB = 1 << 20;

/** cuBLAS workspace of the library's own, which lives in PyTorch's pool. */
export function engineWorkspace(torch: Torch, architecture: string): void {
  const hopper = architecture === "hopper" || architecture === "blackwell";
  stay(torch, [hopper ? 32 * MIB + 1024 : 4 * MIB], "uint8");
}

function stay(torch: Torch, sizes: readonly number[], dtype: "uint8" | "float32" | "float8"): Tensor {
  const tensor = torch.empty("empty", sizes, dtype);
  torch.ledger.relabel(tensor.storage.id, "buffers");
  return tensor;
}

/** Copies of a weight for forward and backward. */
function copies(torch: Torch, weight: Tensor, transposed: boolean, make = torch.empty.bind(torch)): Tensor[] {
  const [outputs = 0, inputs = 0] = weight.sizes;
  const own = make("quantize", [outputs, inputs], "float8");
  return transposed ? [own, make("quantize", [inputs, outputs], "float8")] : [own];
}

/** Forward of `te.Linear`; its scales and histories are made with it. */
export function engineLinear(
  torch: Torch,
  weight: Tensor,
  bias: Tensor | null,
  { transposes, cachesWeights }: EngineOptions,
): ModuleForward {
  for (const sizes of HISTORY) stay(torch, sizes, "float32");
  const cached = cachesWeights
    ? copies(torch, weight, transposes, (_, sizes) => stay(torch, sizes, "float8"))
    : undefined;
  const [outputs = 0, inputs = 0] = weight.sizes;
  return (torch, x) => {
    const rows = numel(x.sizes) / inputs;
    const dtype = torch.autocasting ? torch.autocastDtype! : x.dtype;
    const node = torch.record("_LinearBackward", [x, weight, bias], (torch, [gradient], _, node) => {
      if (!gradient) return [null, null, null];
      const biasGradient = node.edges[2] ? torch.empty("sum", [outputs], gradient.dtype) : null;
      torch.launchOn([gradient]);
      const gradient8 = [torch.empty("quantize", [rows, outputs], "float8")];
      if (transposes && node.edges[1]) gradient8.push(torch.empty("quantize", [outputs, rows], "float8"));
      const gemm = (sizes: Sizes, height: number, columns: number, inner: number): Tensor => {
        torch.multiply(sizes, { count: 1, rows: height, columns, inner, dtype: "float8" });
        return torch.empty("gemm", sizes, dtype);
      };
      const left = node.edges[0] ? gemm(x.sizes, rows, inputs, outputs) : null;
      const right = node.edges[1] ? gemm([outputs, inputs], outputs, inputs, rows) : null;
      for (const tensor of gradient8) tensor.release();
      return [left, right, biasGradient];
    });
    torch.launchOn([x]);
    const input8 = torch.empty("quantize", [rows, inputs], "float8");
    const turned = node?.edges[1] && transposes ? torch.empty("quantize", [inputs, rows], "float8") : null;
    const weight8 = cached ?? copies(torch, weight, transposes && node?.edges[0] != null);
    const result = [...x.sizes.slice(0, -1), outputs];
    torch.multiply(result, { count: 1, rows, columns: outputs, inner: inputs, dtype: "float8" });
    const out = torch.attach(node, torch.empty("gemm", result, dtype));
    if (node?.edges[1]) torch.save(node, turned ?? input8);
    input8.release();
    turned?.release();
    if (cached !== undefined) return out;
    if (node !== null) for (const tensor of weight8) torch.save(node, tensor);
    for (const tensor of weight8) tensor.release();
    return out;
  };
}
