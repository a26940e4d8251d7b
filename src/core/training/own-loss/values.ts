/** Values of a script's own loss, and how names let go of them. */
import type { Argument } from "../../engine/ops/arguments";
import { isTensor } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";

/** What a model gives: parts are owned by it, and by everything that names them. */
export class Outputs {
  constructor(
    readonly parts: ReadonlyMap<string, Tensor>,
    readonly states: readonly Tensor[] = [],
  ) {}
}

/** A batch by names. */
export class Inputs {
  /** @param owned the loss made its tensors, and they go with it */
  constructor(
    readonly tensors: Map<string, Tensor>,
    readonly owned = false,
  ) {}
}

/** Something that the loss names and calls: a module, a function, an object of the trainer. */
export class Named {
  constructor(
    readonly path: string,
    /** Keywords of the call that made it (`nn.CrossEntropyLoss(reduction="none")`). */
    readonly keywords: ReadonlyMap<string, Value> = new Map(),
  ) {}
}

/** A module of the script's own, by the whole way to it. */
export class Part extends Named {}

export type Value = Argument | Outputs | Inputs | Named | readonly Value[];

/** The loss does something that is not followed. */
export class NotFollowed extends Error {}

/** Values that lists of one may hold, and elements of a tensor: what has more is no loss that anybody trains with. */
const MOST_VALUES = 256;
const MOST_ELEMENTS = 2 ** 40;

/** A value that was made, where it is not beyond all bounds. */
export function bounded(value: Value): Value {
  if (isTensor(value) && !(value.elements <= MOST_ELEMENTS)) throw new NotFollowed();
  let left = MOST_VALUES;
  const waiting: unknown[] = [value];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (--left < 0) throw new NotFollowed();
    if (Array.isArray(one)) {
      if (one.length > left) throw new NotFollowed();
      waiting.push(...one);
    }
  }
  return value;
}

/** The same value for one more name. */
export function held(value: Value): Value {
  if (isTensor(value)) return value.retain();
  if (value instanceof Outputs)
    return new Outputs(
      new Map([...value.parts].map(([name, tensor]) => [name, tensor.retain()])),
      value.states.map((state) => state.retain()),
    );
  if (value instanceof Inputs)
    return value.owned
      ? new Inputs(new Map([...value.tensors].map(([name, tensor]) => [name, tensor.retain()])), true)
      : value;
  return Array.isArray(value) ? value.map(held) : value;
}

/** One name less. */
export function letGo(value: Value | undefined): void {
  if (value === undefined) return;
  if (isTensor(value)) value.release();
  else if (value instanceof Outputs) for (const tensor of [...value.parts.values(), ...value.states]) tensor.release();
  else if (value instanceof Inputs) {
    if (value.owned) for (const tensor of value.tensors.values()) tensor.release();
  } else if (Array.isArray(value)) for (const one of value) letGo(one as Value);
}

export function tensorOf(value: Value | undefined): Tensor {
  if (!isTensor(value)) throw new NotFollowed();
  return value;
}

export function numberOf(value: Value | undefined): number {
  if (typeof value !== "number") throw new NotFollowed();
  return value;
}

/** What operators take: tensors, numbers, texts and lists of them. */
export function argumentOf(value: Value | undefined): Argument {
  if (value === undefined) return null;
  if (value instanceof Outputs || value instanceof Inputs || value instanceof Named) throw new NotFollowed();
  return Array.isArray(value) ? value.map((one) => argumentOf(one as Value)) : (value as Argument);
}
