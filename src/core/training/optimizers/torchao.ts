/**
 * torchao's low-bit AdamW: codes, a float32 scale per block and a lookup table for each of two moments; tensors that are
 * small or not whole blocks keep plain states. The step is one compiled kernel per parameter shape, whose temporaries
 * the compiler decides and which are not counted. Source: torchao 0.18, optim/{adam,subclass_8bit,subclass_4bit}.py.
 */
import type { Ways } from "../../../terms/optimizers";
import { numel } from "../../engine/shape";
import type { Tensor } from "../../engine/tensor";
import { type OptimizerFactory, state, stateLike, withGradient } from "./types";

const SMALLEST_QUANTIZED = 4096;
/** `block_size` the Trainer asks for (transformers/trainer_optimizer.py). */
const BLOCK = 256;

export const lowBit =
  ({ bits }: Ways["torchao"]): OptimizerFactory =>
  (_, groups, args) => {
    const block = Number(args["block_size"] ?? BLOCK) || BLOCK;
    const seen = new Set<Tensor>();
    return {
      step(torch) {
        for (const parameter of groups.flatMap(withGradient)) {
          if (seen.has(parameter)) continue;
          seen.add(parameter);
          const elements = numel(parameter.sizes);
          for (let moment = 0; moment < 2; moment++) {
            if (elements < SMALLEST_QUANTIZED || elements % block !== 0) {
              stateLike(torch, parameter);
              continue;
            }
            state(torch, "zeros", [bits === 8 ? elements : elements / 2], "uint8");
            state(torch, "zeros", [elements / block], "float32");
            state(torch, "tensor", [2 ** bits], "float32");
          }
        }
      },
    };
  };
