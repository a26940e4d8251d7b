/** All formats, and which of them a document is. */

import { accelerate } from "./accelerate";
import { aiToolkit } from "./ai-toolkit";
import { axolotl } from "./axolotl";
import { deepspeed } from "./deepspeed";
import { detectron2, detectron2Shell } from "./detectron2";
import { diffusersShell } from "./diffusers";
import { gptNeox } from "./gpt-neox";
import { HF_SCRIPTS } from "./hf-scripts";
import { hfTrainingArguments } from "./hf-training-arguments";
import { LAUNCHED } from "./launchers";
import { lightning, lightningGroup, litgpt, litgptShell } from "./lightning";
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
import { sdScripts, sdScriptsShell } from "./sd-scripts";
import { timm, timmShell } from "./timm";
import { torchtitan, torchtitanPython, torchtitanShell } from "./torchtitan";
import { torchtune, torchtuneShell } from "./torchtune";
import { trl } from "./trl";
import type { ConfigDocument, Format } from "./types";
import { ultralytics, ultralyticsPython, ultralyticsShell } from "./ultralytics";
import { verl, verlGroup, verlSft, verlSftShell, verlShell } from "./verl";

/** A schema of the report contract: what a person calls it, where it is found, and what reads it. */
interface Schema {
  readonly title: string;
  readonly foundIn: string;
  readonly formats: readonly Format[];
}

/** Schemas by their ids. */
export const SCHEMAS = {
  "hf-training-arguments": {
    title: "Hugging Face TrainingArguments",
    foundIn: "YAML, JSON, flags of scripts, Python calls (loops of one's own, too), notebooks",
    formats: [hfTrainingArguments],
  },
  trl: { title: "TRL", foundIn: "YAML, JSON, flags of scripts, Python calls, notebooks", formats: [trl] },
  deepspeed: { title: "DeepSpeed", foundIn: "JSON read as DeepSpeed reads it (HJSON)", formats: [deepspeed] },
  accelerate: { title: "Accelerate", foundIn: "YAML or JSON of `accelerate config`", formats: [accelerate] },
  axolotl: { title: "Axolotl", foundIn: "YAML", formats: [axolotl] },
  "llama-factory": {
    title: "LLaMA-Factory",
    foundIn: "YAML, JSON, flags of `llamafactory-cli`; the v1 schema too",
    formats: [llamaFactory, llamaFactoryShell, llamaFactoryV1],
  },
  "ms-swift": {
    title: "ms-swift",
    foundIn: "YAML, JSON, flags of `swift` and `megatron`",
    formats: [msSwift, msSwiftShell],
  },
  torchtune: { title: "torchtune", foundIn: "YAML, `tune run` in scripts", formats: [torchtune, torchtuneShell] },
  torchtitan: {
    title: "torchtitan",
    foundIn: "TOML, the Python registry, flags of scripts",
    formats: [torchtitan, torchtitanPython, torchtitanShell],
  },
  megatron: {
    title: "Megatron-LM",
    foundIn: "flags of scripts (arrays and strings of flags), YAML",
    formats: [megatron, megatronShell],
  },
  "gpt-neox": { title: "gpt-neox", foundIn: "YAML", formats: [gptNeox] },
  "llm-foundry": { title: "llm-foundry", foundIn: "YAML, plain and inside MCLI jobs", formats: [llmFoundry] },
  nanotron: { title: "nanotron", foundIn: "YAML", formats: [nanotron] },
  lightning: {
    title: "Lightning and litgpt",
    foundIn: "YAML of the Lightning CLI, litgpt and Hydra templates, litgpt's commands, Python calls",
    formats: [lightning, lightningGroup, litgpt, litgptShell, ...LIGHTNING_PYTHON],
  },
  verl: {
    title: "verl",
    foundIn: "Hydra YAML, overrides in scripts",
    formats: [verl, verlGroup, verlSft, verlSftShell, verlShell],
  },
  openrlhf: { title: "OpenRLHF", foundIn: "flags of scripts, YAML", formats: [openrlhf, openrlhfShell] },
  nemo: {
    title: "NeMo",
    foundIn: "Hydra YAML, overrides in scripts",
    formats: [nemo, nemoShell, megatronBridgePython],
  },
  diffusers: { title: "diffusers", foundIn: "flags of its training scripts", formats: [diffusersShell] },
  "sd-scripts": {
    title: "sd-scripts",
    foundIn: "flags of its programs, TOML, presets of kohya_ss",
    formats: [sdScripts, sdScriptsShell],
  },
  "ai-toolkit": { title: "ai-toolkit", foundIn: "YAML, JSON", formats: [aiToolkit] },
  nnunet: { title: "nnU-Net", foundIn: "plans, `nnUNetv2_train`", formats: [nnunet, nnunetShell] },
  ultralytics: {
    title: "Ultralytics",
    foundIn: "`args.yaml`, `yolo` in scripts, Python",
    formats: [ultralytics, ultralyticsPython, ultralyticsShell],
  },
  timm: { title: "timm", foundIn: "`args.yaml`, flags of `train.py`", formats: [timm, timmShell] },
  mmengine: { title: "OpenMMLab", foundIn: "Python configs", formats: [mmengine] },
  detectron2: {
    title: "detectron2",
    foundIn: "YAML, `train_net.py` in scripts",
    formats: [detectron2, detectron2Shell],
  },
} as const satisfies Readonly<Record<string, Schema>>;

/**
 * Every format we read. What is read of commands and code stands before the frameworks' own: where a run's format has no key for a
 * setting, the first that has one says what it is.
 */
export const FORMATS: readonly Format[] = [
  ...new Set<Format>([
    ...[hfTrainingArguments, trl, deepspeed, ...HF_SCRIPTS, ...LAUNCHED],
    ...Object.values(SCHEMAS).flatMap(({ formats }: Schema) => formats),
  ]),
];

/** How a schema is read where it is written in another way; undefined where it is written so nowhere. */
export function writtenIn(way: (format: Format) => boolean, schema: Format): Format | undefined {
  return FORMATS.find((format) => format.id === schema.id && way(format));
}

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
