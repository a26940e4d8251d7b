/** Which values a hover tries for each setting: the curve that answers "what happens if I change this?". */

import { PEFT_TARGETS } from "../../core/training/adapters/peft-targets";
import type { TrainingRun } from "../../core/training/run";
import type { TriedRow } from "../../terms/setting-row";
import { ROWS } from "../../terms/settings";
import { table } from "../../terms/table";
import { type DrawnName, drawnFor, TRIED } from "../../terms/tried";
import type { MessageId } from "../../words/message";
import type { Variant } from "../estimate/run-analysis";

export interface Curve {
  /** Message id of the row's label. */
  readonly label: MessageId;
  /** The setting that the values override. */
  readonly override: DrawnName;
  readonly row: TriedRow;
  /** Values to try, the present one among them; empty when there is nothing to compare. */
  readonly values: (variant: Variant) => readonly string[];
  /** The present value, spelled as in `values`. */
  readonly now: (variant: Variant) => string;
}

/** Powers of two around a number, the number itself among them. */
export function around(
  value: number,
  below: number,
  above: number,
  least = 1,
  most = Number.POSITIVE_INFINITY,
): string[] {
  const values = new Set<number>([value]);
  let power = 2 ** Math.floor(Math.log2(Math.max(1, value)));
  if (power === value) power /= 2;
  for (let step = 0; step < below && power >= least; step++, power /= 2) values.add(power);
  power = 2 ** Math.ceil(Math.log2(Math.max(1, value)));
  if (power === value) power *= 2;
  for (let step = 0; step < above && power <= most; step++, power *= 2) values.add(power);
  return [...values].sort((a, b) => a - b).map(String);
}

/** What the run itself has, where a document's words are not what is in force. */
const IN_FORCE: { readonly [Name in DrawnName]?: (run: TrainingRun) => unknown } = table({
  use_reentrant: (run) => run.checkpointing?.useReentrant,
  fused_loss: (run) => run.fusedLoss,
  lora_target_modules: ({ adapter }) => [adapter?.targetModules ?? []].flat().join(","),
  overlap_comm: (run) => run.parallel.deepspeed?.overlapComm,
  reduce_bucket_size: (run) => run.parallel.deepspeed?.reduceBucketSize,
  image_size: (run) => run.imageSize,
  target_length: (run) => run.targetLength || undefined,
  label_smoothing: (run) => run.labelSmoothing,
});

function nowOf(name: DrawnName, row: TriedRow, { resolution }: Variant): string {
  const read = IN_FORCE[name];
  const found = read === undefined ? resolution.resolved.get(name)?.value : resolution.run && read(resolution.run);
  return String(found ?? row.otherwise ?? row.values[0]);
}

/** Whether a run takes a setting at all: no rank where nothing has adapters, no stage from a file that is not there. */
export function isTaken({ override }: Curve, { resolution }: Variant): boolean {
  return override in IN_FORCE || resolution.resolved.has(override);
}

/** Numbers that a setting may not go beyond. */
function limitOf(name: DrawnName, { resolution }: Variant): number {
  const config = name === "sequence_length" ? resolution.run?.model.config : undefined;
  const limit = Number(config?.["max_position_embeddings"] ?? config?.["n_positions"]);
  return Number.isFinite(limit) && limit > 0 ? limit : Number.POSITIVE_INFINITY;
}

/** What peft takes for this architecture when nothing is named. */
function peftChoice(name: DrawnName, { resolution }: Variant): readonly string[] {
  const names = name === "lora_target_modules" ? PEFT_TARGETS[resolution.run?.model.family ?? ""] : undefined;
  return names === undefined ? [] : [typeof names === "string" ? names : names.join(",")];
}

function valuesOf(name: DrawnName, row: TriedRow, variant: Variant): readonly string[] {
  const now = nowOf(name, row, variant);
  if (row.around !== undefined) {
    const { below, above, least } = row.around;
    return around(Number(now), below, above, least, limitOf(name, variant));
  }
  const offered = row.values.includes(now) ? row.values : [now, ...row.values];
  if (row.kind === "number") return offered.toSorted((a, b) => Number(a) - Number(b));
  return [...new Set([...peftChoice(name, variant), ...offered])];
}

function curveOf(name: DrawnName): Curve {
  const row = TRIED.get(name)!;
  return {
    label: `curve.${name}`,
    override: name,
    row,
    values: (variant) => valuesOf(name, row, variant),
    now: (variant) => nowOf(name, row, variant),
  };
}

/** Curves by the settings whose keys show them. */
export const CURVES: Readonly<Record<string, Curve>> = table(
  Object.fromEntries(
    ROWS.flatMap(([name, row]) => {
      const drawn = drawnFor(name, row);
      return drawn === undefined ? [] : [[name, curveOf(drawn)]];
    }),
  ),
);
