/** All formats, and which of them a document is. */

import { accelerate } from "./accelerate";
import { axolotl } from "./axolotl";
import { deepspeed } from "./deepspeed";
import { detectron2, detectron2Shell } from "./detectron2";
import { diffusersShell } from "./diffusers";
import { gptNeox } from "./gpt-neox";
import { HF_SCRIPTS } from "./hf-scripts";
import { hfTrainingArguments } from "./hf-training-arguments";
import { LAUNCHED } from "./launchers";
import { lightning, lightningGroup, litgpt } from "./lightning";
import { LIGHTNING_PYTHON } from "./lightning/python";
import { llamaFactory, llamaFactoryShell, llamaFactoryV1 } from "./llama-factory";
import { llmFoundry } from "./llm-foundry";
import { megatron, megatronShell } from "./megatron";
import { mmengine } from "./mmengine";
import { msSwift, msSwiftShell } from "./ms-swift";
import { nanotron } from "./nanotron";
import { megatronBridgePython, nemo, nemoShell } from "./nemo";
import { nnunet, nnunetShell } from "./nnunet";
import { openrlhf, openrlhfShell } from "./openrlhf";
import type { Recognition } from "./recognition";
import { timm, timmShell } from "./timm";
import { torchtitan, torchtitanPython, torchtitanShell } from "./torchtitan";
import { torchtune, torchtuneShell } from "./torchtune";
import { trl } from "./trl";
import type { ConfigDocument, Format } from "./types";
import { ultralytics, ultralyticsPython, ultralyticsShell } from "./ultralytics";
import { verl, verlGroup, verlSft, verlSftShell, verlShell } from "./verl";

/** Every format we read; recognition asks all of them, so the order does not matter. */
export const FORMATS: readonly Format[] = [
  hfTrainingArguments,
  trl,
  deepspeed,
  ...HF_SCRIPTS,
  ...LAUNCHED,
  accelerate,
  axolotl,
  detectron2,
  detectron2Shell,
  diffusersShell,
  gptNeox,
  lightning,
  lightningGroup,
  litgpt,
  ...LIGHTNING_PYTHON,
  llamaFactory,
  llamaFactoryShell,
  llamaFactoryV1,
  llmFoundry,
  megatron,
  megatronShell,
  mmengine,
  msSwift,
  msSwiftShell,
  nanotron,
  nemo,
  nemoShell,
  megatronBridgePython,
  nnunet,
  nnunetShell,
  openrlhf,
  openrlhfShell,
  timm,
  timmShell,
  torchtitan,
  torchtitanPython,
  torchtitanShell,
  torchtune,
  torchtuneShell,
  ultralytics,
  ultralyticsPython,
  ultralyticsShell,
  verl,
  verlGroup,
  verlSft,
  verlSftShell,
  verlShell,
];

export interface Recognised extends Recognition {
  readonly format: Format;
}

/** Below this a document is not taken for a training config. */
const LEAST_CONFIDENCE = 0.45;

/** Keys of one level that no config has: vocabularies and tables of results do. */
const MOST_KEYS = 4000;

function isData({ parsed }: ConfigDocument): boolean {
  const { root } = parsed;
  const isCode = parsed.python !== undefined || parsed.shell !== undefined;
  return !isCode && root?.kind === "map" && root.entries.length > MOST_KEYS;
}

/** The format that is surest of a document; undefined when none is. */
export function recogniseFormat(document: ConfigDocument): Recognised | undefined {
  let best: Recognised | undefined;
  if (isData(document)) return undefined;
  for (const format of FORMATS) {
    const { confidence, because } = format.recognise(document);
    if (confidence >= LEAST_CONFIDENCE && confidence > (best?.confidence ?? 0)) best = { format, confidence, because };
  }
  return best;
}
