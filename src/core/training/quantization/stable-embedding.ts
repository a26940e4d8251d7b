/**
 * bitsandbytes' embedding with a norm behind it, which litgpt puts in the place of a packed model's once the optimizer is made
 * (litgpt/finetune/lora.py, main). It is trained by autograd and known to no optimizer: its gradients are never let go.
 * Source: bitsandbytes/nn/modules.py, StableEmbedding.forward.
 */
import type { ModuleForward } from "../../engine/interpreter/options";
import { embedding } from "../../engine/ops/gathering";
import { layerNorm } from "../../engine/ops/nonlinear";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";

/** A weight that autograd gives a gradient. */
function weightOf(torch: Torch, sizes: readonly number[], dtype: Tensor["dtype"]): Tensor {
  const tensor = torch.empty("_to_copy", sizes, dtype);
  torch.ledger.relabel(tensor.storage.id, "weights");
  tensor.requiresGradFlag = true;
  return tensor;
}

/** The forward that takes the place of a table's; the table itself stays, as `main` still names it. */
export function stableEmbedding(torch: Torch, table: Tensor): ModuleForward {
  const [, width = 0] = table.sizes;
  const own = weightOf(torch, table.sizes, table.dtype);
  const weight = weightOf(torch, [width], table.dtype);
  const bias = weightOf(torch, [width], table.dtype);
  return (torch, input) => {
    const rows = embedding(torch, own, input);
    const out = layerNorm(torch, rows, [width], weight, bias);
    rows.release();
    return out;
  };
}
