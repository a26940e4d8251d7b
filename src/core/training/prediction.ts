/** A forward without gradients, simulated once and played as often as it runs. */
import type { DType } from "../engine/dtype";
import { FOLDS, type Fold, nextFold } from "../engine/folding/plan";
import { recordRegion } from "../engine/folding/region";
import type { Region } from "../engine/folding/unroller";
import { hostTensor, type Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import { forward, type PassFactory } from "./forward";
import type { Strategy } from "./parallel";

/** What a batch's forward leaves behind: a region to play, and which of its holders holds the loss and each further output. */
export interface Prediction {
  readonly region: Region;
  readonly holders: readonly Tensor[];
  /** Index of the holder per output of the graph; outputs that share a storage share a holder. */
  readonly outputs: readonly number[];
}

/** Simulates one forward and takes its events back. */
export function predict(
  torch: Torch,
  passes: PassFactory,
  batch: readonly Tensor[],
  autocast: DType | null,
  strategy: Strategy,
  /** Whether what it gathers is let go with it. */
  rests = true,
): Prediction {
  for (let fold: Fold | null = FOLDS[0]; fold !== null; ) {
    const state = torch.ledger.state();
    const folded = passes(fold);
    // A cache has every layer's, which only layers that are run make.
    const pass = folded.keptCache === undefined ? folded : passes("none");
    strategy.beginPass?.(torch);
    const outputs = torch.asRegion(() => forward(torch, pass, batch, autocast, null));
    if (rests) strategy.endPass?.(torch);
    // What the outputs keep of keys and values goes with them, when `prediction_step` returns.
    const left = [...outputs, ...(pass.keptCache?.() ?? [])];
    const storages = [...new Set(left.map(({ storage }) => storage))];
    // A region hands over what is left as the gradients of holders.
    const holders = storages.map((storage) => {
      const output = left.find((tensor) => tensor.storage === storage)!;
      const holder = hostTensor(torch.ledger, output.sizes, output.dtype);
      holder.grad = output;
      return holder;
    });
    const region = recordRegion(torch.ledger, state, pass.foldings, holders, () => undefined);
    torch.ledger.rewind(state);
    for (const holder of holders) holder.grad = null;
    if (region !== null) return { region, holders, outputs: outputs.map(({ storage }) => storages.indexOf(storage)) };
    fold = nextFold(fold, pass.foldings);
  }
  throw new Error("the events of a forward cannot be followed");
}

/** What the last play of a forward left, owned by the caller: one tensor per holder. */
export function taken({ holders }: Prediction): Tensor[] {
  return holders.map((holder) => {
    const tensor = holder.grad!;
    holder.grad = null;
    return tensor;
  });
}
