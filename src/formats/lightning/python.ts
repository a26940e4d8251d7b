/** Lightning in Python: a module around a model of transformers, a library's network or one's own, and the Trainer that fits it. */

import type { PythonCall, PythonModule } from "../../syntax/tree";
import { pythonView } from "../carriers";
import type { Deriving } from "../deriving";
import { configOverrides } from "../hf-scripts/built";
import { at, given, qualified } from "../hf-scripts/called";
import { freezingOf } from "../hf-scripts/freezing";
import { CALL_KEYS } from "../hf-scripts/keys";
import { loadedClass } from "../hf-scripts/loads";
import { LOADER, lightningLoop, trainingLoader } from "../hf-scripts/loop";
import { madeData } from "../hf-scripts/made-data";
import { builtNetwork, networkSettings } from "../hf-scripts/networks";
import { ownSettings } from "../hf-scripts/own";
import { pictureSide } from "../hf-scripts/pictures";
import { tokenizedLengths } from "../hf-scripts/tokenizing";
import { callsBehind, isBefore, LOADS, trainingOf } from "../hf-scripts/training";
import { PEFT_CALL_KEYS, PEFT_CALLS } from "../peft";
import { builds, NOT_RECOGNISED, type Recognition } from "../recognition";
import { schemaFormat, type View } from "../schema";
import type { CarrierId, ConfigDocument, Format, KeySpec, LocatedSetting } from "../types";
import { derive } from "./index";
import { LIGHTNING_KEYS, PRECISION_OF_LOADED } from "./keys";
import { withStrategy } from "./strategy-calls";

const PACKAGE = /^(?:pytorch_lightning|lightning)(?:\.|$)/;
const TRAINER = /(?:^|\.)Trainer$/;
const WRAPS = /^torch\.distributed\.fsdp\.(?:[\w.]{1,80}\.)?(?:wrap|FullyShardedDataParallel)$/;
const CALLS: readonly (readonly [RegExp, string])[] = [
  [TRAINER, "trainer."],
  [LOADS, "load."],
  [LOADER, "loader."],
  [/(?:^|\.)LoraConfig$/, "lora."],
  [/(?:^|\.)BitsAndBytesConfig$/, "bnb."],
  [/gradient_checkpointing_enable$/, "enable."],
  ...PEFT_CALLS,
];
const OF_CALLS = /^(?:lora|bnb|load|loader|enable)\./;
const KEYS: readonly KeySpec[] = [
  ...LIGHTNING_KEYS.filter(({ key }) => key.startsWith("trainer.") && key !== PRECISION_OF_LOADED.key),
  PRECISION_OF_LOADED,
  ...CALL_KEYS.filter(({ key }) => OF_CALLS.test(key)),
  ...PEFT_CALL_KEYS,
];

function views(document: ConfigDocument): readonly View[] {
  const { python } = document.parsed;
  if (python === undefined || !python.imports.some((name) => PACKAGE.test(name))) return [];
  const training = trainingOf(python);
  const chosen = new Set([training.load, trainingLoader(python)]);
  const isRead = (call: PythonCall) =>
    chosen.has(call) || !(LOADS.test(call.callee) || LOADER.test(call.callee) || !isBefore(training, call));
  return pythonView(document, CALLS, isRead).map((view) => {
    const entries = view.map.entries.filter(
      ({ key }) => !/\.(?:call|0)$/.test(key) || key === "load.0" || /^(?:lora|enable)\.call$/.test(key),
    );
    return { ...view, map: { ...view.map, entries: withStrategy(entries, python, document.text) } };
  });
}

/** The call that makes the module which the Trainer fits. */
function fittedModule(python: PythonModule): PythonCall | undefined {
  const fit = python.calls.find(({ callee }) => /\.fit$/.test(callee));
  return callsBehind(python, fit?.positional[0] ?? given(fit, "model"))[0];
}

/** What is trained: the network of a library that a module is made around, else the module itself as it was traced. */
function trainedSettings(python: PythonModule): readonly LocatedSetting[] {
  const network = networkSettings(python);
  return network.length > 0 ? network : ownSettings(python, fittedModule(python));
}

function settingsOf(d: Deriving, _: View, { parsed: { python } }: ConfigDocument): void {
  derive(d);
  const trainer = python?.calls.find(({ callee }) => TRAINER.test(callee));
  if (python === undefined || trainer === undefined) return;
  // Modules that `configure_model` wraps by itself are the strategy's units (lightning/pytorch/strategies/fsdp.py, _setup_model).
  const wraps = python.calls.find(({ callee }) => WRAPS.test(qualified(callee, python)));
  if (wraps !== undefined && !d.has("fsdp_wrap_class")) d.made.push(at("fsdp_wrap_class", wraps, ""));
  const trained = trainingOf(python).load === undefined ? trainedSettings(python) : [];
  const tokenized = tokenizedLengths(python);
  const data = tokenized.length > 0 ? tokenized : madeData(python);
  const said = [...data, ...lightningLoop(python, trainer), ...trained, ...pictureSide(python), ...freezingOf(python)];
  const open = said.filter(({ name }) => name === null || !d.has(name));
  d.made.push(...loadedClass(python), ...configOverrides(python), ...open);
}

function recognise({ map, words }: View, { parsed: { python } }: ConfigDocument): Recognition {
  if (python === undefined || !words.some((word) => TRAINER.test(word))) return NOT_RECOGNISED;
  const trains =
    map.entries.some(({ key }) => key.startsWith("load.")) ||
    builtNetwork(python) !== undefined ||
    fittedModule(python) !== undefined;
  return trains ? { confidence: 0.93, because: builds("LightningModule") } : NOT_RECOGNISED;
}

function lightningPython(carrier: CarrierId): Format {
  return schemaFormat({
    id: "lightning",
    carrier,
    keys: KEYS,
    calls: CALLS,
    views: (document) => ((document.parsed.syntax === "notebook") === (carrier === "notebook") ? views(document) : []),
    derive: settingsOf,
    recognise,
  });
}

export const LIGHTNING_PYTHON: readonly Format[] = [lightningPython("python"), lightningPython("notebook")];
