/**
 * bitsandbytes optimizers: 8-bit states in blocks of 256 with a float32 maximum each, 32-bit states for small tensors and
 * (through the Trainer's override) for embeddings; paged states live in managed memory.
 * Sources: bitsandbytes/optim/{optimizer,adamw,lion,rmsprop,ademamix}.py, transformers/trainer_optimizer.py.
 */
import type { Ways } from "../../../terms/optimizers";
import { numel } from "../../engine/shape";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { type OptimizerFactory, state, withGradient } from "./types";

type Variant = Ways["bitsandbytes"];

const BLOCK = 256;
const MIN_8BIT_ELEMENTS = 4096;
/** Tensors from this size on are paged (`get_state_buffer`). */
const PAGED_ELEMENTS = 100_000;
/** Entries of a quantization map (`create_dynamic_map`). */
const MAP_ENTRIES = 256;

function buffer(torch: Torch, variant: Variant, parameter: Tensor, rows: number, dtype: "float32" | "uint8"): void {
  const sizes = rows === 1 ? parameter.sizes : [rows, ...parameter.sizes];
  if (variant.paged && parameter.elements >= PAGED_ELEMENTS)
    torch.managedBytes += numel(sizes) * (dtype === "uint8" ? 1 : 4);
  else state(torch, "zeros_like", sizes, dtype);
}

export const bitsandbytes =
  (variant: Variant): OptimizerFactory =>
  (_, groups, args) => {
    // The Trainer registers the weight of every `nn.Embedding` (transformers/trainer.py, `create_optimizer`), which is found
    // among the parameters by identity (bitsandbytes/optim/optimizer.py, `check_overrides`): one tied to a head, too.
    const overrides = args["embeddings_in_32_bits"] !== "False";
    const seen = new Set<Tensor>();
    let mapped = false;
    const rows = variant.firstRows ?? 1;
    const initialise = (torch: Torch, parameter: Tensor): void => {
      const overridden = overrides && parameter.isTable;
      const eight = variant.bits === 8 && parameter.elements >= MIN_8BIT_ELEMENTS && !overridden;
      if (!eight) {
        for (let k = 0; k < variant.states; k++) buffer(torch, variant, parameter, k === 0 ? rows : 1, "float32");
        return;
      }
      if (!mapped) {
        mapped = true;
        for (let k = 0; k < variant.states; k++) state(torch, "_to_copy", [MAP_ENTRIES], "float32");
      }
      for (let k = 0; k < variant.states; k++) buffer(torch, variant, parameter, k === 0 ? rows : 1, "uint8");
      const blocks = Math.ceil(parameter.elements / BLOCK);
      for (let k = 0; k < variant.states; k++)
        state(torch, "zeros", k === 0 && rows > 1 ? [rows, blocks] : [blocks], "float32");
    };
    return {
      step(torch) {
        for (const group of groups)
          for (const parameter of withGradient(group)) {
            if (seen.has(parameter)) continue;
            seen.add(parameter);
            initialise(torch, parameter);
          }
      },
    };
  };
