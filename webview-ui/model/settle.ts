/** How an assumption is settled: which pin takes the answer and what answers it takes. */

import { ATTENTIONS, TASKS } from "../../src/terms/names";
import { table } from "../../src/terms/table";

export interface SettleField {
  /** Key of `.vramlens.yaml`, or of the config when no pin can settle it. */
  readonly key: string;
  readonly kind: "device" | "number" | "word" | "text" | "config";
  readonly options: readonly string[];
}

const DTYPES = ["float32", "bfloat16", "float16"];

const WORDS: Readonly<Record<string, readonly string[]>> = table({
  task: TASKS,
  attention: ATTENTIONS,
  dtype: DTYPES,
  load_dtype: DTYPES,
  "adapter.type": ["lora", "dora"],
  "quantization.type": ["nf4", "fp4", "int8"],
});

const NUMBERS = new Set([
  "sequence_length",
  "target_length",
  "image_size",
  "audio_seconds",
  "choices",
  "adapter.r",
  "adapter.alpha",
  "device.count",
  "world_size",
]);

/** Keys a pin can have; everything else is settled in the config itself. */
const PINS =
  /^(model|task|sequence_length|target_length|image_size|audio_seconds|choices|dtype|load_dtype|attention|world_size|(adapter|quantization|device|libraries)\.[a-z_]+)$/;

/** The field for `settleWith` of an assumption. */
export function settleField(key: string): SettleField {
  if (key === "device" || key === "device.name") return { key, kind: "device", options: [] };
  if (!PINS.test(key)) return { key, kind: "config", options: [] };
  const options = WORDS[key];
  if (options !== undefined) return { key, kind: "word", options };
  return { key, kind: NUMBERS.has(key) ? "number" : "text", options: [] };
}

/** A typed answer as it is written, or undefined when it cannot be one. */
export function parseAnswer(field: SettleField, text: string): string | undefined {
  const answer = text.trim();
  if (answer === "") return undefined;
  if (field.kind === "number") return /^[1-9]\d{0,8}$/.test(answer) ? answer : undefined;
  if (field.kind === "word") return field.options.includes(answer) ? answer : undefined;
  return answer;
}
