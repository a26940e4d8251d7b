/**
 * Half-precision parameters with one float32 copy that the optimizer steps on, and buffers that all gradients are added into:
 * Megatron's optimizer (sharded with `--use-distributed-optimizer`) and nanotron's accumulator (sharded in ZeRO stage 1).
 * Sources: megatron/core/distributed/{distributed_data_parallel,param_and_grad_buffer}.py,
 * megatron/core/optimizer/{optimizer,distrib_optimizer}.py, nanotron/optim/gradient_accumulator.py.
 */
import type { DType } from "../../engine/dtype";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { MainParametersSpec } from "../run";
import { flattenParameters } from "./deepspeed/parameters";
import { elements, ghost, NO_HOST, reserve, type Strategy } from "./strategy";

const MAIN: DType = "float32";
/** Elements that a parameter begins at a multiple of, and the buffer ends at one of, where it is spread. */
const PARAMETER_START = 64;
const BUFFER_END = 128;
const EXPERT = /(?:^|\.)experts\./;

const padded = (count: number, divisor: number): number => Math.ceil(count / divisor) * divisor;

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** Parameters side by side in the order of backward (`_ParamAndGradBuffer`), spread over `ranks`. */
interface Buffer {
  readonly elements: number;
  /** Elements of each parameter that are this rank's, the first of `ranks`. */
  readonly own: readonly { readonly tensor: Tensor; readonly count: number }[];
}

function bufferOf(parameters: readonly Tensor[], ranks: number, sharded: boolean): Buffer {
  let end = 0;
  const places = parameters.toReversed().map((tensor) => {
    const start = sharded ? padded(end, PARAMETER_START) : end;
    end = start + tensor.elements;
    return { tensor, start, end };
  });
  if (!sharded) return { elements: end, own: parameters.map((tensor) => ({ tensor, count: tensor.elements })) };
  const divisor = (ranks * BUFFER_END) / greatestCommonDivisor(ranks, BUFFER_END);
  const whole = padded(end, divisor);
  const share = whole / ranks;
  const own = places.flatMap(({ tensor, start, end: last }) => {
    const count = Math.min(last, share) - start;
    return count > 0 ? [{ tensor, count }] : [];
  });
  return { elements: whole, own };
}

/** `expertShare`: ranks that one copy of the experts is split over, of those that one of the other weights is. */
export function mainParameters(spec: MainParametersSpec, ranks: number, expertShare: number): Strategy {
  /** This rank's part of the float32 copy, by the parameter it is of. */
  const counts = new Map<Tensor, number>();
  let shards: Tensor[] = [];
  const spread = (torch: Torch, trained: readonly Tensor[], over: number): void => {
    if (trained.length === 0) return;
    const buffer = bufferOf(trained, over, spec.sharded);
    // Parameters become parts of a buffer of their own where it is spread.
    if (spec.sharded) flattenParameters(torch, trained, buffer.elements, spec.dtype);
    reserve(torch, "main_grad", buffer.elements, spec.gradientDtype, "gradients");
    for (const { tensor, count } of buffer.own) counts.set(tensor, count);
  };
  return {
    parameterDtype: spec.dtype,
    keepsAutocast: false,
    shardsParameters: false,
    host: NO_HOST,
    // Experts have a buffer of their own, spread over the ranks that hold the same ones.
    prepare(torch, parameters) {
      const trained = parameters.filter((parameter) => parameter.requiresGradFlag);
      const isExpert = ({ name }: Tensor): boolean => expertShare !== 1 && EXPERT.test(name ?? "");
      spread(
        torch,
        trained.filter((parameter) => !isExpert(parameter)),
        ranks,
      );
      spread(torch, trained.filter(isExpert), Math.max(1, Math.floor(ranks / expertShare)));
    },
    // `param.main_grad.add_(param.grad)`, and the gradient is let go.
    leafHook(leaf) {
      leaf.grad?.release();
      leaf.grad = null;
    },
    // `shard_main_param`: a tensor for each.
    optimizerGroups(torch, groups) {
      const own = groups.map((group) =>
        group.flatMap((tensor) => {
          const count = counts.get(tensor);
          if (count === undefined) return [];
          const shard = reserve(torch, "main_param", count, MAIN, "optimizer");
          shard.requiresGradFlag = true;
          return [shard];
        }),
      );
      shards = own.flat();
      return own;
    },
    // `main_grad.float()` is the buffer itself when it is float32, a copy otherwise.
    beforeStep(torch) {
      for (const shard of shards)
        shard.grad =
          spec.gradientDtype === MAIN
            ? ghost(torch, shard.sizes, MAIN)
            : reserve(torch, "main_grad_float", elements([shard]), MAIN, "gradients");
    },
    afterStep() {
      for (const shard of shards) {
        shard.grad?.release();
        shard.grad = null;
      }
    },
  };
}
