/**
 * DistributedDataParallel: every rank keeps everything, and the gradient buckets hold all gradients a second time
 * (`gradient_as_bucket_view` is off in the Trainer). Source: torch/nn/parallel/distributed.py,
 * accelerate/utils/dataclasses.py (DistributedDataParallelKwargs).
 */
import { elements, NO_HOST, reserve, type Strategy } from "./strategy";

export function distributedDataParallel(): Strategy {
  return {
    parameterDtype: null,
    keepsAutocast: true,
    shardsParameters: false,
    prepare(torch, parameters) {
      const trained = parameters.filter((parameter) => parameter.requiresGradFlag);
      const byDtype = new Map(trained.map(({ dtype }) => [dtype, trained.filter((other) => other.dtype === dtype)]));
      for (const [dtype, list] of byDtype) reserve(torch, "ddp_buckets", elements(list), dtype, "communication");
    },
    optimizerGroups: (_, groups) => groups,
    host: NO_HOST,
  };
}

/** One device: nothing changes. */
export function singleDevice(): Strategy {
  return {
    parameterDtype: null,
    keepsAutocast: true,
    shardsParameters: false,
    prepare() {},
    optimizerGroups: (_, groups) => groups,
    host: NO_HOST,
  };
}
