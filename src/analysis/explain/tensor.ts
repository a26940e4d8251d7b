/** The tensor that found no room, by the run's own event stream. */

import { segmentBytes } from "../../core/allocator/segment";
import { type Allocation, allocationsLike, type Wanted } from "../../core/matching/allocations";
import type { TrainingRun } from "../../core/training/run";
import type { Failure } from "../../evidence/log/failures";
import type { RunAnalysis } from "../estimate/run-analysis";
import { exact, type Locale, t } from "../messages";
import { copyOf } from "./copy";
import type { TensorFound } from "./found";
import { shapeOf } from "./shape";
import { simulationOf } from "./simulation";
import { phasesInstead, wantedOf } from "./wanted";

/** Names of parameters that are said. */
const MOST_NAMES = 3;
/** A second tensor is said where it is nearly as likely. */
const CLOSE = 1;

const OF_PARAMETERS = ["weights", "adapters", "gradients", "optimizer"] as const;

/** Whether a tensor is as large as weights, not as a batch: what loading moves, what packed weights become for one product. */
function isOfWeights({ phase, operator }: Allocation): boolean {
  return phase === "load" || operator.startsWith("dequantize");
}

function whatOf(found: Allocation, run: TrainingRun, locale: Locale): string {
  const { kind, operator, bytes, parameters, phase } = found;
  if (phase === "load" && parameters.length > 0 && kind !== "adapters") return t(locale, "oom.what-weights");
  const known = OF_PARAMETERS.find((one) => one === kind && (kind !== "gradients" || parameters.length > 0));
  if (known !== undefined) return t(locale, `oom.what-${known}`);
  const shape = isOfWeights(found) ? undefined : shapeOf(bytes, run);
  return shape === undefined
    ? t(locale, "oom.what-operator", { operator })
    : t(locale, "oom.what-shape", { operator, shape });
}

function named(found: Allocation, run: TrainingRun, locale: Locale): string {
  const what = whatOf(found, run, locale);
  const bytes = exact(found.bytes);
  if (found.parameters.length > 0) {
    const more = found.parameters.length > MOST_NAMES ? ", …" : "";
    const parameters = found.parameters.slice(0, MOST_NAMES).join(", ") + more;
    return t(locale, "oom.tensor-parameter", { what, parameters, size: bytes });
  }
  if (found.scope === "") return t(locale, "oom.tensor-alone", { what, size: bytes });
  return t(locale, "oom.tensor", { what, module: found.scope, size: bytes });
}

/** Whether two candidates are told apart by what is said of them. */
function differs(a: Allocation, b: Allocation): boolean {
  return a.scope !== b.scope || a.operator !== b.operator;
}

function sentences(all: readonly Allocation[], failure: Failure, run: TrainingRun, locale: Locale): string[] {
  const [best] = all;
  if (best === undefined) return [];
  const said = [named(best, run, locale)];
  const close = all.filter((other) => differs(other, best) && best.score - other.score < CLOSE);
  const [next] = close;
  if (next !== undefined) {
    said.push(t(locale, "oom.tensor-likely", { count: close.length + 1 }));
    if (next.scope !== "")
      said.push(t(locale, "oom.tensor-or", { what: whatOf(next, run, locale), module: next.scope }));
  }
  if (failure.allocated !== null)
    said.push(t(locale, "oom.alive", { size: exact(best.aliveBytes), said: exact(failure.allocated.bytes) }));
  return said;
}

/** Sizes that grow with the tokens of a batch are looked for from this one on. Bytes. */
const LEAST_SCALED = 10 * 2 ** 20;

/** The tensor that would have the size with another number of tokens: the one that the stack names, if it names one. */
function scaled(
  simulated: (wanted: Wanted) => readonly Allocation[],
  wanted: Wanted,
  run: TrainingRun,
  locale: Locale,
): string[] {
  const { segment } = wanted;
  if (segment === null || segment.bytes < LEAST_SCALED) return [];
  const [best, next] = simulated({ ...wanted, segment: null, allocated: null }).filter(
    ({ bytes, kind }) => bytes >= LEAST_SCALED && (kind === "activations" || kind === "logits-and-loss"),
  );
  if (
    best === undefined ||
    best.scope === "" ||
    (next !== undefined && differs(best, next) && best.score - next.score < CLOSE)
  )
    return [];
  const now = run.microBatchSize * run.sequenceLength;
  if (now === 0) return []; // of pictures
  const tokens = Math.round((now * segment.bytes) / segmentBytes(best.bytes));
  return [
    t(locale, "oom.tensor-scaled", {
      what: t(locale, "oom.what-operator", { operator: best.operator }),
      module: best.scope,
      tokens,
      now,
    }),
  ];
}

/** The tensor of a failure, where the run beside it has one of the size. */
export function tensorOf(failure: Failure, analysis: RunAnalysis, file: string): TensorFound {
  const { base, locale } = analysis;
  const { run } = base.resolution;
  const wanted = wantedOf(failure);
  const nothing: TensorFound = { tensor: null, missing: [] };
  const simulation = run === null || wanted.segment === null ? undefined : simulationOf(analysis);
  const copied = copyOf(failure, simulation?.parameterBlocks() ?? [], locale);
  if (copied !== undefined) return { tensor: copied, missing: [] };
  if (run === null || simulation === undefined) return nothing;
  const simulated = (asked: Wanted): readonly Allocation[] => allocationsLike(simulation, asked);
  const { phases } = wanted;
  const all = simulated(wanted);
  const within = all.filter(({ phase }) => phases === null || phases.includes(phase));
  const instead = phasesInstead(failure);
  const likely = within.length > 0 ? within : all.filter(({ phase }) => instead.includes(phase));
  const [best] = likely;
  if (best === undefined)
    return {
      tensor: null,
      missing: [t(locale, "oom.tensor-none", { file }), ...scaled(simulated, wanted, run, locale)],
    };
  const { phase, kind, operator, scope, parameters, bytes, aliveBytes } = best;
  const said = sentences(likely, failure, run, locale);
  return { tensor: { phase, kind, operator, scope, parameters, bytes, aliveBytes, said }, missing: [] };
}
