/** Lightning in Python: a module around a model of transformers, and the Trainer that fits it. */

import type { PythonCall } from "../../syntax/tree";
import { pythonView } from "../carriers";
import { CALL_KEYS } from "../hf-scripts/keys";
import { loadedClass } from "../hf-scripts/loads";
import { LOADER, lightningLoop, trainingLoader } from "../hf-scripts/loop";
import { tokenizedLengths } from "../hf-scripts/tokenizing";
import { isBefore, LOADS, trainingOf } from "../hf-scripts/training";
import { PEFT_CALL_KEYS, PEFT_CALLS } from "../peft";
import { builds, NOT_RECOGNISED } from "../recognition";
import { schemaFormat, type View } from "../schema";
import type { CarrierId, ConfigDocument, Format, KeySpec, LocatedSetting } from "../types";
import { derive } from "./index";
import { LIGHTNING_KEYS } from "./keys";

const PACKAGE = /^(?:pytorch_lightning|lightning)(?:\.|$)/;
const TRAINER = /(?:^|\.)Trainer$/;
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
  ...LIGHTNING_KEYS.filter(({ key }) => key.startsWith("trainer.")),
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
    return { ...view, map: { ...view.map, entries } };
  });
}

function settingsOf(
  settings: readonly LocatedSetting[],
  _: View,
  { parsed: { python } }: ConfigDocument,
): readonly LocatedSetting[] {
  const trainer = python?.calls.find(({ callee }) => TRAINER.test(callee));
  if (python === undefined || trainer === undefined) return derive(settings);
  const said = [...tokenizedLengths(python), ...lightningLoop(python, trainer)];
  const open = said.filter(({ name }) => !settings.some((setting) => setting.name === name));
  return [...derive(settings), ...loadedClass(python), ...open];
}

function lightningPython(carrier: CarrierId): Format {
  return schemaFormat({
    id: "lightning",
    carrier,
    keys: KEYS,
    calls: CALLS,
    views: (document) => ((document.parsed.syntax === "notebook") === (carrier === "notebook") ? views(document) : []),
    derive: settingsOf,
    recognise: ({ map, words }) =>
      words.some((word) => TRAINER.test(word)) && map.entries.some(({ key }) => key.startsWith("load."))
        ? { confidence: 0.93, because: builds("LightningModule") }
        : NOT_RECOGNISED,
  });
}

export const LIGHTNING_PYTHON: readonly Format[] = [lightningPython("python"), lightningPython("notebook")];
