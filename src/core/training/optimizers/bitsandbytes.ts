/**
 * bitsandbytes optimizers: 8-bit states in blocks of 256 with a float32 maximum each, 32-bit states for small tensors and
 * (through the Trainer's override) for embeddings; paged states live in managed memory.
 * Sources: bitsandbytes/optim/{optimizer,adamw,lion,rmsprop,ademamix}.py, transformers/trainer_optimizer.py.
 */
import { table } from "../../../terms/table";
import { numel } from "../../engine/shape";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { type OptimizerFactory, state, withGradient } from "./types";

interface Variant {
  readonly bits: 8 | 32;
  /** Moments kept per parameter, and how many of them share the first buffer. */
  readonly states: 1 | 2;
  readonly firstRows?: 2;
  readonly paged?: true;
}

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

const bitsandbytes =
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

const adam8 = bitsandbytes({ bits: 8, states: 2 });
const lion8 = bitsandbytes({ bits: 8, states: 1 });

/** Factories by the name `optim` uses. */
export const BITSANDBYTES_OPTIMIZERS: Readonly<Record<string, OptimizerFactory>> = table({
  adamw_bnb_8bit: adam8,
  adamw_8bit: adam8,
  paged_adamw_8bit: bitsandbytes({ bits: 8, states: 2, paged: true }),
  paged_adamw_32bit: bitsandbytes({ bits: 32, states: 2, paged: true }),
  paged_adamw: bitsandbytes({ bits: 32, states: 2, paged: true }),
  lion_8bit: lion8,
  lion_32bit: bitsandbytes({ bits: 32, states: 1 }),
  lion: bitsandbytes({ bits: 32, states: 1 }),
  paged_lion_8bit: bitsandbytes({ bits: 8, states: 1, paged: true }),
  paged_lion_32bit: bitsandbytes({ bits: 32, states: 1, paged: true }),
  paged_lion: bitsandbytes({ bits: 32, states: 1, paged: true }),
  rmsprop_bnb: bitsandbytes({ bits: 32, states: 1 }),
  rmsprop_bnb_32bit: bitsandbytes({ bits: 32, states: 1 }),
  rmsprop_bnb_8bit: lion8,
  ademamix: bitsandbytes({ bits: 32, states: 2, firstRows: 2 }),
  ademamix_8bit: bitsandbytes({ bits: 8, states: 2, firstRows: 2 }),
  paged_ademamix_32bit: bitsandbytes({ bits: 32, states: 2, firstRows: 2, paged: true }),
  paged_ademamix_8bit: bitsandbytes({ bits: 8, states: 2, firstRows: 2, paged: true }),
});
