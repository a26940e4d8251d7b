/**
 * Ways of bitsandbytes to keep frozen weights packed, made while a model is loaded (bitsandbytes/nn/modules.py): what each is, in a
 * row. Formats that checkpoints come in are grouped ones (`src/core/training/quantization/grouped.ts`).
 */
import { table } from "./table";

export interface QuantizerRow {
  /** Bits of a weight. */
  readonly bits: 4 | 8;
  /** The switch that asks for it. */
  readonly switch: "load_in_4bit" | "load_in_8bit";
  /** LLM.int8: columns of outliers, which no text tells, are multiplied in half precision, and weights come over the host in it. */
  readonly outliers?: true;
}

export const QUANTIZERS = {
  nf4: { bits: 4, switch: "load_in_4bit" },
  fp4: { bits: 4, switch: "load_in_4bit" },
  int8: { bits: 8, switch: "load_in_8bit", outliers: true },
} as const satisfies Readonly<Record<string, QuantizerRow>>;

/** A way of bitsandbytes to pack weights. */
export type QuantizerName = keyof typeof QUANTIZERS;

const ROWS: Readonly<Record<string, QuantizerRow>> = table(QUANTIZERS);

/** The row of a way to pack weights; undefined for the grouped formats. */
export function quantizerOf(type: string | undefined): QuantizerRow | undefined {
  return type === undefined ? undefined : ROWS[type];
}
