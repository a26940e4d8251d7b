/** What a loss has of its batch, and what is left of its names when it is done. */
import type { OwnLoss } from "../../../terms/own-loss";
import { isTensor } from "../../engine/ops/arithmetic";
import type { Tensor } from "../../engine/tensor";
import { Inputs, NotFollowed, Outputs, type Value } from "./values";

const LABELS = "labels";
const MASK = "attention_mask";

/** How scripts call parts of a batch that graphs know by other names. */
const CALLED: readonly (readonly [RegExp, string])[] = [
  [/label|target|^tgt|^y$/i, LABELS],
  [/mask/i, MASK],
  [/ids|input|text|sentence|pixel|image|img|feature|^x$/i, ""],
];
/** What a name of a script's for a part of a batch stands for; the main input is "", undefined: it is none that is known. */
function meantBy(name: string): string | undefined {
  return CALLED.find(([pattern]) => pattern.test(name))?.[1];
}

/** Whether a script calls labels so. */
export function callsLabels(name: string): boolean {
  return meantBy(name) === LABELS;
}

/** The batch's main input stands first in it. */
const BESIDE = /^(?:labels|attention_mask|num_items_in_batch)$/;

/** Whether a name is that of a part: others are those of whole batches that a loader gives beside each other (`chosen, rejected`). */
export function namesPart({ tensors }: Inputs, name: string): boolean {
  return tensors.has(name) || meantBy(name) !== undefined;
}

/** What is spread over keywords, or has parts by names. */
const AS_BATCH = /"spread":\[\{"name":"(\w{1,60})"\}|"of":\{"name":"(\w{1,60})"\},"at":\[\{"index":\{"value":"/g;

/** Names that a loss uses as whole batches, whatever they are called (`for inputs, labels in loader: model(**inputs)`). */
export function batchNames(loss: OwnLoss): ReadonlySet<string> {
  const { body, functions, module } = loss;
  const text = JSON.stringify([body, functions ?? {}, module ?? {}]);
  const used = new Set([...text.matchAll(AS_BATCH)].map(([, spread, of = ""]) => spread ?? of));
  const [given = ""] = module?.forward.parameters ?? [];
  if (!used.has(given)) return used;
  const handed = [...JSON.stringify(body).matchAll(/"call":\{"name":"(\w{1,60})"\},"args":\[\{"name":"(\w{1,60})"\}/g)];
  const [model = "model"] = loss.parameters;
  const called = [model, "model"];
  return new Set([...used, ...handed.flatMap(([, name = "", first = ""]) => (called.includes(name) ? [first] : []))]);
}

/** What is left of a batch whose other parts stand beside it by names of their own; borrowed. */
export function withoutParts({ tensors }: Inputs, names: readonly string[]): Inputs {
  const labels = names.some(callsLabels);
  return new Inputs(new Map([...tensors].filter(([name]) => !(labels && name === LABELS) && !names.includes(name))));
}

/** A part of a batch by a script's name for it, owned. */
export function partOf({ tensors }: Inputs, name: string): Tensor {
  const known = tensors.get(name);
  if (known !== undefined) return known.retain();
  const meant = meantBy(name);
  const main = [...tensors.keys()].find((one) => !BESIDE.test(one));
  // Masks of pictures are what is to be found in them.
  const isLabel = meant === MASK && !tensors.has(MASK);
  const key = meant === "" ? (main ?? "") : isLabel ? LABELS : meant;
  const found = key === undefined ? undefined : tensors.get(key);
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

/** What a value holds, owned: outputs and what was computed of them, each once. */
export function tensorsIn(held: Value): Tensor[] {
  const found = new Set<Tensor>();
  const waiting: Value[] = [held];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (isTensor(value)) found.add(value);
    else if (value instanceof Outputs) for (const one of [...value.parts.values(), ...value.states]) found.add(one);
    else if (value instanceof Inputs) for (const one of value.owned ? value.tensors.values() : []) found.add(one);
    else if (Array.isArray(value)) waiting.push(...(value as readonly Value[]));
  }
  return [...found].map((tensor) => tensor.retain());
}
