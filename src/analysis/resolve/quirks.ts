/** Which quirks of their releases a run's libraries have. */
import type { ParallelSpec, Quirks } from "../../core/training/run";
import { holds, type Versions } from "../frameworks/versions";

interface Row {
  readonly quirk: keyof Quirks;
  readonly releases: string;
  /** Runs whose framework does it itself. */
  readonly except?: (parallel: ParallelSpec) => boolean;
}

const QUIRKS: readonly Row[] = [
  {
    // torch/nn/modules/module.py (zero_grad); DeepSpeed's engine and sharding let go of them on their own.
    quirk: "keepsGradients",
    releases: "torch<2",
    except: ({ deepspeed, fsdp }) => deepspeed !== null || fsdp !== null,
  },
  { quirk: "keepsSoftmaxInputs", releases: "torch<1.11" },
];

export function quirksOf(libraries: Versions, parallel: ParallelSpec): { readonly quirks?: Quirks } {
  const own = QUIRKS.filter(({ releases, except }) => holds(releases, libraries) && except?.(parallel) !== true);
  return own.length === 0 ? {} : { quirks: Object.fromEntries(own.map(({ quirk }) => [quirk, true])) };
}
