/** What expressions of a loss say by themselves, and what is made of them. */
import type { LossExpression, LossIndex } from "../../../terms/own-loss";
import { NotModelled, RefusedSizes } from "../../engine/not-modelled";
import { bounded, NotFollowed, type Value } from "./values";

/** What is computed of values that do not fit together is a loss that was read wrongly. */
export function computed(make: () => Value): Value {
  try {
    return bounded(make());
  } catch (error) {
    if (error instanceof RefusedSizes) throw error;
    throw error instanceof NotModelled || error instanceof TypeError ? new NotFollowed() : error;
  }
}

/** A new dimension. */
export function isNew(index: LossIndex): boolean {
  return typeof index === "object" && "index" in index && "value" in index.index && index.index.value === null;
}

/** A name with its attributes; null: something else. */
export function dotted(expression: LossExpression): string | null {
  if ("name" in expression) return expression.name;
  if (!("attribute" in expression)) return null;
  const of = dotted(expression.of);
  return of === null ? null : `${of}.${expression.attribute}`;
}
