/** Batch, sequence and image sizes. */
import type { ModelConfig } from "../../core/training/run";
import { frameworkOf } from "../frameworks";
import { say } from "../problems";
import type { ResolveContext } from "./context";

/** Tokens per sequence when nothing says it. */
const ASSUMED_SEQUENCE = 2048;
const ASSUMED_TARGET = 128;

export function batchOf(c: ResolveContext): number | null {
  const stated = c.settings.find("micro_batch_size");
  if (typeof stated?.value === "number") {
    c.keep("micro_batch_size", stated);
    return stated.value;
  }
  if (!c.trains) return derivedBatch(c);
  const invalid = c.inputs.main.read.problems.some(
    (found) => found.code === "invalid-value" && found.message.args["key"] === "per_device_train_batch_size",
  );
  const open = c.settings.open("micro_batch_size");
  if (invalid || open?.unknown !== undefined) {
    c.put(
      "micro_batch_size",
      null,
      open?.from ?? "document",
      open?.key ?? "per_device_train_batch_size",
      open?.place ?? null,
    );
    c.obstacles.push({ code: "invalid-value", message: say("obstacle.batch") });
    return null;
  }
  return Number(c.value("micro_batch_size", 8));
}

/** DeepSpeed's batch triple: micro = global / (accumulation × world). */
function derivedBatch(c: ResolveContext): number | null {
  const open = c.settings.open("micro_batch_size");
  const total = c.settings.find("global_batch_size");
  if (typeof total?.value === "number") {
    const steps = c.settings.number("gradient_accumulation_steps") ?? 1;
    const world = c.settings.number("world_size") ?? c.choice.deviceCount ?? 1;
    const micro = Math.floor(total.value / (steps * world));
    if (micro >= 1) {
      c.put("micro_batch_size", micro, "auto", total.key, total.place);
      return micro;
    }
  }
  if (open?.auto) c.put("micro_batch_size", null, "auto", open.key, open.place);
  c.obstacles.push({ code: "unresolved-auto", message: say("obstacle.auto-batch") });
  return null;
}

export function globalBatch(c: ResolveContext, micro: number | null, steps: number, world: number): void {
  const stated = c.settings.find("global_batch_size");
  const open = c.settings.open("global_batch_size");
  if (open?.auto && !c.trains) c.put("global_batch_size", null, "auto", open.key, open.place);
  if (stated !== undefined) c.keep("global_batch_size", stated);
  if (micro === null) return;
  if (typeof stated?.value === "number") c.keep("global_batch_size", stated);
  else if (c.trains) c.put("global_batch_size", micro * steps * world, "auto", "global_batch_size", null);
}

export function sequenceLengthOf(c: ResolveContext, config: ModelConfig): number {
  const limit = Number(config["max_position_embeddings"] ?? config["n_positions"] ?? Number.POSITIVE_INFINITY);
  const pinned = c.settings
    .all("sequence_length")
    .find((setting) => setting.from === "pin" && typeof setting.value === "number");
  const stated = c.settings.find("sequence_length");
  const strongest = pinned ?? stated;
  if (typeof strongest?.value === "number") {
    c.keep("sequence_length", strongest);
    const filled = c.settings.boolean("packing") === true || frameworkOf(c.inputs.format.id)?.fillsSequences === true;
    if (strongest === stated && stated.from === "document" && !filled) {
      c.suppose(say("assume.full-length", { length: strongest.value, key: strongest.key }), "sequence_length");
    }
    return strongest.value;
  }
  const unlimited = c.settings.open("sequence_length");
  if (c.trl && unlimited === undefined) {
    c.put("sequence_length", Math.min(1024, limit), "default", "max_length", null);
    c.suppose(say("assume.full-length", { length: 1024, key: "max_length" }), "sequence_length", {
      sequence_length: "2048",
    });
    return Math.min(1024, limit);
  }
  const length = Math.min(ASSUMED_SEQUENCE, limit);
  c.put("sequence_length", length, "assumed", unlimited?.key ?? "sequence_length", unlimited?.place ?? null);
  c.suppose(say("assume.sequence-length", { length }), "sequence_length", {
    sequence_length: String(Math.max(1, Math.floor(length / 2))),
  });
  return length;
}

export function targetLengthOf(c: ResolveContext): number {
  const stated = c.settings.find("target_length");
  if (typeof stated?.value === "number") {
    c.keep("target_length", stated);
    return stated.value;
  }
  c.suppose(say("assume.target-length", { length: ASSUMED_TARGET }), "target_length", {
    target_length: String(2 * ASSUMED_TARGET),
  });
  return ASSUMED_TARGET;
}

export function imageSizeOf(c: ResolveContext, config: ModelConfig): number {
  const stated = c.settings.number("image_size");
  if (stated !== undefined) return stated;
  const own = config["image_size"];
  const size = typeof own === "number" ? own : 224;
  if (typeof own !== "number") c.suppose(say("assume.image-size", { size }), "image_size");
  return size;
}
