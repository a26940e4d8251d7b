/** All formats, and which of them a document is. */
import { deepspeed } from "./deepspeed";
import { hfTrainingArguments } from "./hf-training-arguments";
import { trl } from "./trl";
import type { ConfigDocument, Format } from "./types";

/** Every format we read; recognition asks all of them, so the order does not matter. */
export const FORMATS: readonly Format[] = [hfTrainingArguments, trl, deepspeed];

export interface Recognised {
  readonly format: Format;
  readonly confidence: number;
  readonly because: string;
}

/** Below this a document is not taken for a training config. */
const LEAST_CONFIDENCE = 0.45;

/** The format that is surest of a document; undefined when none is. */
export function recogniseFormat(document: ConfigDocument): Recognised | undefined {
  let best: Recognised | undefined;
  for (const format of FORMATS) {
    const { confidence, because } = format.recognise(document);
    if (confidence >= LEAST_CONFIDENCE && confidence > (best?.confidence ?? 0)) best = { format, confidence, because };
  }
  return best;
}
