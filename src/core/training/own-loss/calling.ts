/** How functions of torch are called in losses of scripts: arguments, operators of the engine, reductions. */
import { Arguments } from "../../engine/ops/arguments";
import { mean, sum } from "../../engine/ops/arithmetic";
import { dispatch, knows } from "../../engine/ops/table";
import type { Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import { argumentOf, NotFollowed, tensorOf, type Value } from "./values";

/** Arguments of one call, borrowed. */
export interface Given {
  readonly args: readonly Value[];
  readonly keywords: ReadonlyMap<string, Value>;
}

export type TorchFunction = (torch: Torch, given: Given) => Value;

/** The argument at a place or by its name. */
export function argument({ args, keywords }: Given, place: number, name: string): Value | undefined {
  return args[place] ?? keywords.get(name);
}

/** Runs an operator of the engine. */
export function operator(torch: Torch, name: string, positional: readonly Value[]): Value {
  const made = knows(name) ? dispatch(torch, name, new Arguments(positional.map(argumentOf), {})) : null;
  if (made === null) throw new NotFollowed();
  return made;
}

/** Rates do not decide what dropout keeps. */
const RATE = 0.1;

export function dropout(torch: Torch, input: Tensor, training: boolean): Value {
  return operator(torch, "dropout", [input, RATE, training]);
}

/** One window as long as the row: it keeps the input and the places, as the adaptive kernel does (aten/src/ATen/native/Pooling.cpp). */
export function maxOfRow(torch: Torch, input: Tensor): Value {
  return operator(torch, "max_pool1d", [input, [input.size(-1)], [], []]);
}

const REDUCTIONS: ReadonlySet<Value | undefined> = new Set(["none", "mean", "sum", "batchmean"]);

export type Reduction = "none" | "mean" | "sum" | "batchmean";

export function reductionOf({ keywords }: Given): Reduction {
  const said = keywords.get("reduction") ?? "mean";
  if (!REDUCTIONS.has(said)) throw new NotFollowed();
  return said as Reduction;
}

/** Elements of a loss as its `reduction` asks. */
export function reduced(torch: Torch, elements: Tensor, how: Reduction, rows: number): Tensor {
  if (how === "none") return elements;
  const all = how === "mean" ? mean(torch, elements, []) : sum(torch, elements, []);
  elements.release();
  if (how !== "batchmean") return all;
  const each = tensorOf(operator(torch, "div", [all, rows]));
  all.release();
  return each;
}
