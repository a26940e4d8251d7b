/**
 * A model whose class stands in the workspace: a script makes it and steps its parameters in a loop of its own. Its graph is one
 * that was traced from its code.
 */
import { isLibrary } from "../../syntax/python/libraries";
import type { PythonCall, PythonClass, PythonModule } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import type { LocatedSetting } from "../types";
import { at, plain, qualified, said } from "./called";
import { rawOf, trainedNames } from "./loads";
import { callBehind } from "./training";

const CLASS = /^(?:.*\.)?([A-Z]\w{0,99})$/;
const MODULE = /(?:^|\.)(?:Module|LightningModule)$/;
/** What loops call a model where no optimizer names it. */
const USUAL = new Set(["model", "net", "self.model"]);
/** What trains a model is none. */
const TRAINS = /Trainer$/;
/** Calls that hand a model on. */
const WRAPS = /(?:^|\.)(?:compile|DDP|DistributedDataParallel|DataParallel|to|cuda|prepare|train)$/;

/** Whether a class is a module, by its bases in the same file. */
function isModule(name: string, classes: readonly PythonClass[], steps = 0): boolean {
  const type = classes.find((one) => one.name === name);
  return (
    type !== undefined &&
    steps < 16 &&
    type.bases.some((base) => MODULE.test(base) || isModule(base, classes, steps + 1))
  );
}

/** Where libraries keep networks and what networks are made of, of which not all are known here by name. */
const NETWORKS = /^(?:torch\.nn|monai\.networks)\./;

/** Whether a class was imported from code that is no library's, or is a library's network. */
function isImported(callee: string, python: PythonModule): boolean {
  const [root = ""] = callee.split(".", 1);
  const whole = qualified(callee, python);
  return python.bound.has(root) && (!isLibrary(whole) || NETWORKS.test(whole));
}

/** The call of the class, through calls that hand the model on. */
function madeBy(call: PythonCall | undefined, python: PythonModule, steps = 0): PythonCall | undefined {
  if (call === undefined || steps > 8) return undefined;
  const name = CLASS.exec(call.callee)?.[1];
  const own = name !== undefined && (isModule(name, python.classes) || isImported(call.callee, python));
  if (own && !WRAPS.test(call.callee)) return TRAINS.test(call.callee) ? undefined : call;
  if (!WRAPS.test(call.callee)) return undefined;
  for (const inner of [call.receiver, call.positional[0]]) {
    const found = madeBy(callBehind(python, inner), python, steps + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The call that makes the trained model from a class of the workspace; undefined: the script trains none. */
export function ownModelCall(python: PythonModule): PythonCall | undefined {
  const stepped = python.calls.map(({ callee }) => /^([\w.]+)\.(?:parameters|configure_optimizers)$/.exec(callee)?.[1]);
  const names = new Set([...trainedNames(python), ...stepped, ...USUAL]);
  for (const { key, value } of python.assignments.entries) {
    const call = names.has(key) ? madeBy(callBehind(python, value), python) : undefined;
    if (call !== undefined && rawOf(value)?.includes("from_pretrained") !== true) return call;
  }
  return undefined;
}

/** Constants that scripts have for what no call of a library says. */
const SIZES: readonly (readonly [RegExp, SettingName])[] = [
  [/^(?:micro_|train_)?batch_size$/i, "micro_batch_size"],
  [/^(?:block_size|seq_len|seq_length|sequence_length|max_seq_len|context_length|ctx_len)$/i, "sequence_length"],
  [/^(?:image_size|img_size|image_dim)$/i, "image_size"],
];

/**
 * The model, as a graph of the workspace, and the sizes that constants of the script state; nothing where it is another's.
 *
 * @param call makes the model
 */
export function ownSettings(python: PythonModule, call = ownModelCall(python)): readonly LocatedSetting[] {
  const name = CLASS.exec(call?.callee ?? "")?.[1];
  return call === undefined || name === undefined ? [] : [at("model", call, `own/${name}`), ...statedSizes(python)];
}

/** The sizes that constants of a script state. */
export function statedSizes(python: PythonModule): readonly LocatedSetting[] {
  return SIZES.flatMap(([pattern, setting]): LocatedSetting[] => {
    const entry = python.assignments.entries.find(
      ({ key, value }) => pattern.test(key) && typeof plain(value) === "number",
    );
    return entry === undefined ? [] : [said(setting, entry)];
  });
}
