/** Whether batches differ in length: how they are padded, as far as the settings say it. */
import type { SampleLengths } from "../../core/allocator/lengths";
import type { Task } from "../../core/training/run";
import { say } from "../../words/message";
import type { ResolveContext } from "./context";
import type { Padding } from "./types";

/** Lengths as the pins give them: measured ones, or statistics. */
function pinnedLengths({ settings }: ResolveContext): SampleLengths | undefined {
  const measured = (settings.list("sample_lengths") ?? []).map(Number).filter((length) => length >= 1);
  if (measured.length > 0) return { kind: "samples", lengths: measured };
  const [mean, median, p95] = (["mean", "median", "p95"] as const).map((name) =>
    settings.number(`sample_length_${name}`),
  );
  if (mean === undefined && median === undefined && p95 === undefined) return undefined;
  return {
    kind: "statistics",
    ...(mean === undefined ? {} : { mean }),
    ...(median === undefined ? {} : { median }),
    ...(p95 === undefined ? {} : { p95 }),
  };
}

/** The pin that says how long the longest sample is. */
export const LONGEST_KEY = "lengths.max";

/** Tasks whose batches hold pictures alone, all of one size. */
const PICTURES_ALONE: ReadonlySet<Task> = new Set(["image-cls", "image-segmentation", "masked-image"]);

/** Whether batches are filled or padded to the full length whatever their samples are. */
export function evenBatches({ settings, framework }: ResolveContext): boolean {
  const even = (["packing", "pad_to_sequence_length"] as const).some((name) => settings.on(name));
  return even || settings.string("padding") === "max_length" || framework.fillsSequences === true;
}

/** Tokens of the longest sample that the pins know of, padded as batches are; undefined: nothing is pinned. */
export function longestSample(c: ResolveContext): number | undefined {
  const measured = (c.settings.list("sample_lengths") ?? []).map(Number).filter((length) => length >= 1);
  const longest = c.settings.number("sample_length_max") ?? (measured.length > 0 ? Math.max(...measured) : undefined);
  return longest === undefined ? undefined : Math.ceil(longest / multipleOf(c)) * multipleOf(c);
}

/** What the lengths of batches are rounded up to. Tokens. */
export function multipleOf({ settings, framework }: ResolveContext): number {
  return settings.number("pad_to_multiple_of") ?? framework.padsTo ?? 1;
}

/** null: every step has the same length (packed, padded to the maximum, images), or nothing trains here. */
export function paddingOf(c: ResolveContext, task: Task): Padding | null {
  const { settings } = c;
  if (!c.trains || c.inputs.model?.kind !== "found" || PICTURES_ALONE.has(task) || evenBatches(c)) return null;
  const multiple = multipleOf(c);
  const lengths = pinnedLengths(c);
  const expandable = settings.on("expandable_segments");
  const plain = expandable ? "assume.padding-expandable" : "assume.padding";
  const message = say(lengths === undefined ? plain : "assume.padding-pinned");
  c.suppositions.push({ message, settleWith: expandable ? "lengths" : "expandable_segments", pool: true });
  const grouped = settings.on("group_by_length");
  const length = c.resolved.get("sequence_length");
  const varies = lengths !== undefined || length?.from !== "pin" || length.key === LONGEST_KEY;
  return { multiple, grouped, varies, ...(lengths === undefined ? {} : { lengths }) };
}
