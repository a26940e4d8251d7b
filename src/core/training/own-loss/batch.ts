/** What a loss has of its batch, and what is left of its names when it is done. */
import { isTensor } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";
import { Inputs, NotFollowed, Outputs, type Value } from "./values";

/** How scripts call parts of a batch that graphs know by other names. */
const CALLED: readonly (readonly [RegExp, string])[] = [
  [/label|target|^tgt|^y$/i, "labels"],
  [/mask/i, "attention_mask"],
  [/ids|input|text|sentence|pixel|image|img|feature|^x$/i, ""],
];
/** The batch's main input stands first in it. */
const BESIDE = /^(?:labels|attention_mask|num_items_in_batch)$/;

/** Whether a name is that of a part: others are those of whole batches that a loader gives beside each other (`chosen, rejected`). */
export function namesPart({ tensors }: Inputs, name: string): boolean {
  return tensors.has(name) || CALLED.some(([pattern]) => pattern.test(name));
}

/** A part of a batch by a script's name for it, owned. */
export function partOf({ tensors }: Inputs, name: string): Tensor {
  const known = tensors.get(name);
  if (known !== undefined) return known.retain();
  const meant = CALLED.find(([pattern]) => pattern.test(name))?.[1];
  const main = [...tensors.keys()].find((one) => !BESIDE.test(one));
  const found = meant === undefined ? undefined : tensors.get(meant === "" ? (main ?? "") : meant);
  if (found === undefined) throw new NotFollowed();
  return found.retain();
}

/** What evaluation keeps of outputs: everything but the loss (transformers/trainer.py, `prediction_step`). */
export function partsBehind(outputs: Value | undefined): Tensor[] {
  if (isTensor(outputs)) return [outputs];
  if (!(outputs instanceof Outputs)) throw new NotFollowed();
  outputs.parts.get("loss")?.release();
  return [...[...outputs.parts].flatMap(([name, tensor]) => (name === "loss" ? [] : [tensor])), ...outputs.states];
}

/** What names still hold, owned: outputs and what was computed of them, each once. */
export function namedTensors(values: Iterable<Value>): Tensor[] {
  const found = new Set<Tensor>();
  const waiting: Value[] = [...values];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (isTensor(value)) found.add(value);
    else if (value instanceof Outputs) for (const one of [...value.parts.values(), ...value.states]) found.add(one);
    else if (value instanceof Inputs) for (const one of value.owned ? value.tensors.values() : []) found.add(one);
    else if (Array.isArray(value)) waiting.push(...(value as readonly Value[]));
  }
  return [...found].map((tensor) => tensor.retain());
}
