/** Operands of an instruction, as the operator reads them. */
import { say } from "../../../words/message";
import type { DType } from "../dtype";
import { NotModelled } from "../not-modelled";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { isTensor } from "./arithmetic";

export type Argument = Tensor | number | boolean | string | null | readonly Argument[];

/** Operands of one instruction: positional, then keyword ones by name. */
export class Arguments {
  constructor(
    readonly positional: readonly Argument[],
    readonly keywords: Readonly<Record<string, Argument>>,
  ) {}

  /** Positional operand `k`, or the keyword `name`. */
  get(k: number, name?: string): Argument | undefined {
    return k >= 0 && k < this.positional.length
      ? this.positional[k]
      : name === undefined
        ? undefined
        : this.keywords[name];
  }

  /** What an operator works on. Where nothing was made of it, the config takes a branch that the graph does not have. */
  tensor(k: number): Tensor {
    const value = this.positional[k];
    // In a graph of somebody's own anything may stand there.
    if (!isTensor(value)) throw new NotModelled(say("engine.no-operand"));
    return value;
  }

  maybeTensor(k: number, name?: string): Tensor | null {
    const value = this.get(k, name);
    return isTensor(value) ? value : null;
  }

  operand(k: number): Tensor | number | boolean {
    const value = this.positional[k];
    return isTensor(value) || typeof value === "boolean" ? value : Number(value ?? 0);
  }

  number(k: number, fallback: number, name?: string): number {
    const value = this.get(k, name);
    return typeof value === "number" ? value : typeof value === "boolean" ? Number(value) : fallback;
  }

  flag(k: number, name?: string): boolean {
    const value = this.get(k, name);
    return value === true || (typeof value === "number" && value !== 0);
  }

  numbers(k: number, name?: string): number[] {
    const value = this.get(k, name);
    if (Array.isArray(value)) return value.map(Number);
    return typeof value === "number" ? [value] : [];
  }

  tensors(k: number): Tensor[] {
    const value = this.positional[k];
    return Array.isArray(value) ? (value.filter(isTensor) as Tensor[]) : [];
  }

  /** A dtype that the code asks for, autocast or not; `self` is that of the first operand. */
  dtype(k: number, name = "dtype"): DType | null {
    const value = this.get(k, name);
    if (value === "self") return this.tensor(0).dtype;
    return typeof value === "string" && value in DTYPES ? (value as DType) : null;
  }
}

/** Dtypes by name. */
export const DTYPES: Readonly<Record<DType, true>> = {
  complex64: true,
  float64: true,
  float32: true,
  float16: true,
  bfloat16: true,
  float8: true,
  int64: true,
  int32: true,
  int16: true,
  uint8: true,
  int8: true,
  bool: true,
};

/** What an operator does: owned tensors from resolved operands, which are borrowed. */
export type Rule = (torch: Torch, args: Arguments) => Tensor | Tensor[];
