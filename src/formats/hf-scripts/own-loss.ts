/** The loss that a script's own trainer writes itself (transformers/trainer.py, `compute_loss`, which subclasses override). */
import type { PythonClass, PythonModule } from "../../syntax/tree";
import type { OwnLoss } from "../../terms/own-loss";
import type { LocatedSetting } from "../types";
import { trainingOf } from "./training";

/** Classes above one another that are looked through. */
const MAX_BASES = 8;

/** The class that a script's trainer has its loss from; undefined: the library's. */
function classOfLoss(python: PythonModule): PythonClass | undefined {
  let name = trainingOf(python).trainer?.callee;
  for (let step = 0; step < MAX_BASES && name !== undefined; step++) {
    const own: PythonClass | undefined = python.classes.find((one) => one.name === name);
    if (own === undefined || own.loss !== undefined) return own;
    [name] = own.bases;
  }
  return undefined;
}

/** The loss as JSON; an empty text where what it does is not read. */
export function ownLossOf(python: PythonModule): readonly LocatedSetting[] {
  const own = classOfLoss(python);
  if (own?.loss === undefined) return [];
  const { start, end } = own;
  const value = own.loss === null ? "" : JSON.stringify(own.loss);
  const span = { start, end };
  const node = { kind: "scalar" as const, value, raw: "", ...span };
  return [{ name: "own_loss", key: own.name, value, node, keySpan: span, valueSpan: span }];
}

/** The loss that a setting carries; undefined: none that is read. */
export function lossFrom(text: string | undefined): OwnLoss | undefined {
  if (text === undefined || text === "") return undefined;
  return JSON.parse(text) as OwnLoss;
}
