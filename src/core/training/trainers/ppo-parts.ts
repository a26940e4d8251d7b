/** What PPO's loop is given, what its steps hold, and where that lies. */

import type { DType } from "../../engine/dtype";
import type { Fold } from "../../engine/folding/plan";
import type { Region } from "../../engine/folding/unroller";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { TrainerGraph } from "../../graph/types";
import type { BatchTensor } from "../forward";
import type { GenerationSpec, PpoSpec, RolloutSpec, TrainerSpec } from "../run";
import type { Pass } from "./pass";

/** The recorded parts of the loop. */
export interface PpoGraphs {
  readonly round: TrainerGraph;
  readonly score: TrainerGraph;
  readonly advantages: TrainerGraph;
}

export interface PpoOptions {
  readonly spec: TrainerSpec & { readonly rollout: RolloutSpec; readonly ppo: PpoSpec };
  readonly graphs: PpoGraphs;
  readonly microBatch: number;
  readonly accumulation: number;
  readonly autocast: DType | null;
  /** Dtype of the policy's logits as it gives them. */
  readonly logits: DType;
  readonly vocabulary: number;
  /** A pass of one part over `rows` completions. */
  readonly passOf: (graph: TrainerGraph, rows: number, fold: Fold) => Pass;
  readonly batchOf: (graph: TrainerGraph, rows: number) => readonly BatchTensor[];
  /** Dtypes of what the models without autocast give, by its name in the loop. */
  readonly dtypes: Readonly<Record<string, DType>>;
  /** Generates with the policy, on the phase in force; gives the bytes of its cache. */
  readonly generate: (spec: GenerationSpec) => number;
  readonly groups: readonly (readonly Tensor[])[];
  readonly trainable: readonly Tensor[];
}

/** The part of a file of losses that has PPO's loop; null where it is another's. */
export function ppoGraphs(trainers: readonly TrainerGraph[]): PpoGraphs | null {
  const of = (name: string): TrainerGraph | undefined => trainers.find(({ trainer }) => trainer === name);
  const [round, score, advantages] = [of("ppo"), of("ppo-score"), of("ppo-advantages")];
  return round === undefined || score === undefined || advantages === undefined ? null : { round, score, advantages };
}

/** A name of the loop's with what it holds. */
export interface Held {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly dtype: DType;
  /** An earlier name whose block it looks into. */
  readonly of: string | null;
  /** It has no block on the device: an index of the loop's. */
  readonly onHost: boolean;
}

/** What a micro-batch leaves for the optimizer's step and what looks at it afterwards. */
export interface Left {
  readonly region: Region;
  readonly held: readonly Held[];
  /** Bytes of states and cache that go with the policy's output. */
  readonly alongBytes: number;
}

/** Micro-batches that are not what others were before: the first two, the first of a later mini-batch, and the last. */
export function distinct(accumulation: number, perMiniBatch: number): number[] {
  const wanted = new Set([0, 1, perMiniBatch, perMiniBatch + 1, accumulation - 1]);
  return [...wanted].filter((micro) => micro < accumulation).sort((a, b) => a - b);
}

/** Names with the block each holds; several may look into one. */
export function heldNames(names: readonly string[], tensors: readonly Tensor[]): Held[] {
  const first = new Map<Tensor["storage"], string>();
  return tensors.flatMap((tensor, k): Held[] => {
    const name = names[k]!;
    const { storage, sizes, dtype } = tensor;
    if (storage.id < 0) return [{ name, sizes, dtype, of: null, onHost: true }];
    const of = first.get(storage) ?? null;
    if (of === null) first.set(storage, name);
    return [{ name, sizes, dtype, of, onHost: false }];
  });
}

/** Bytes that a tensor takes of the ledger. */
export function bytesOf(torch: Torch, sizes: readonly number[], dtype: DType): number {
  const before = torch.ledger.state();
  const { live } = torch.ledger;
  torch.empty("outputs", sizes, dtype);
  const bytes = torch.ledger.live - live;
  torch.ledger.rewind(before);
  return bytes;
}

/** Bytes freed at the end of a region, after its last block, which is a mark of its own. */
export function trailing({ script }: Region): number {
  const { events, bytes } = script;
  const last = events.findLastIndex((event) => event >= 0);
  const mark = events[last];
  let sum = 0;
  for (let k = last + 1; k < events.length; k++) {
    const local = ~events[k]!;
    if (local !== mark && local < bytes.length) sum += bytes[local]!;
  }
  return sum;
}

/** Outputs that hold device memory; their names go to `kept`. */
export function onDevice(pass: Pass, names: readonly string[], kept: string[]): Pass {
  return {
    ownsAutocast: true,
    get foldings() {
      return pass.foldings;
    },
    main(batch) {
      const outputs = pass.main(batch);
      kept.splice(0);
      outputs.forEach((output, k) => {
        if (output.storage.id >= 0) kept.push(names[k]!);
        else output.release();
      });
      return outputs.filter(({ storage }) => storage.id >= 0);
    },
  };
}
