/** Whether batches differ in length: how they are padded, as far as the settings say it. */
import type { Task } from "../../core/training/run";
import { say } from "../problems";
import type { ResolveContext } from "./context";

/** Batches padded to their longest sample. */
export interface Padding {
  /** Lengths are rounded up to it. */
  readonly multiple: number;
  /** Whether samples of one batch are of like length, so that its longest says nothing. */
  readonly grouped: boolean;
}

/** axolotl's collators round up to 64 (utils/collators/batching.py). */
const AXOLOTL_MULTIPLE = 64;

/** null: every step has the same length (packed, padded to the maximum, images), or nothing trains here. */
export function paddingOf(c: ResolveContext, task: Task): Padding | null {
  const { settings } = c;
  const even = ["packing", "pad_to_sequence_length"].some((name) => settings.boolean(name) === true);
  if (!c.trains || task === "image-cls" || even || settings.string("padding") === "max_length") return null;
  const multiple = settings.number("pad_to_multiple_of") ?? (c.inputs.format.id === "axolotl" ? AXOLOTL_MULTIPLE : 1);
  c.suppositions.push({ message: say("assume.padding"), settleWith: "expandable_segments", pool: true });
  return { multiple, grouped: settings.boolean("group_by_length") === true };
}
