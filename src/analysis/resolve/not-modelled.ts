/** What a run may be or do that the engine does not follow: then there is no number rather than a wrong one. */

import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import type { MessageId } from "../../words/message";
import type { Framework } from "../frameworks/framework";
import { frameworkOf } from "../frameworks/frameworks";
import type { Settings } from "../frameworks/settings";
import { OWN_LOSS } from "../frameworks/trainers";
import type { RunInputs } from "../linking/inputs";
import type { Obstacle } from "./types";

/** Switches that change memory in a way nothing here follows. */
const SWITCHES: readonly SettingName[] = ["use_llama_pro", "deepspeed_moe", "replaced_modules", "own_lora"];

/** Why a trainer is not followed, where there is more to say than that it keeps several models. */
const REASONS: Readonly<Record<string, MessageId>> = table({
  "async-grpo": "not-modelled.trainer.apart",
  "async-distillation": "not-modelled.trainer.apart",
  distillation: "not-modelled.trainer.teacher",
  gold: "not-modelled.trainer.teacher",
  minillm: "not-modelled.trainer.teacher",
  "iw-opd": "not-modelled.trainer.teacher",
  sdft: "not-modelled.trainer.teacher",
  sdpo: "not-modelled.trainer.teacher",
  ssd: "not-modelled.trainer.teacher",
  ddpo: "not-modelled.trainer.loss",
  "iterative-sft": "not-modelled.trainer.loss",
  bco: "not-modelled.trainer.loss",
  tpo: "not-modelled.trainer.loss",
  gfpo: "not-modelled.trainer.loss",
  gmpo: "not-modelled.trainer.loss",
  a2po: "not-modelled.trainer.loss",
  "replay-buffer": "not-modelled.trainer.loss",
});

/** Arguments of scripts that train a vision tower or projector beside the language model. */
const MULTIMODAL = /(?:^|\s)(?:--)?(?:vision_tower|mm_projector_type|pretrain_mm_mlp_adapter)\b/m;

type Obstruction = readonly [MessageId, Readonly<Record<string, string>>];

/** What is not followed of a framework that reinforces: engines that it has beside, reward models on the same GPUs, its SFT trainer. */
function engineObstacles(settings: Settings, reinforces: boolean, framework: Framework, format: string): Obstruction[] {
  if (!reinforces) return [["not-modelled.format", { format }]];
  const strategy = settings.string("strategy");
  return [
    ...(strategy === undefined || framework.strategies?.includes(strategy) === true
      ? []
      : [["not-modelled.engine", { strategy }] as Obstruction]),
    ...(settings.on("reward_model_enabled") ? [["not-modelled.reward-model", {}] as Obstruction] : []),
  ];
}

export function obstaclesOf(inputs: RunInputs, settings: Settings, trainer: string): Obstacle[] {
  const found: Obstacle[] = [];
  const add = (id: MessageId, args: Readonly<Record<string, string>> = {}): void => {
    found.push({ code: "not-modelled", message: { id, args } });
  };
  const { format, main } = inputs;
  const framework = frameworkOf(format);
  if (framework.readOnly !== undefined) add(framework.readOnly, { format: format.id });
  const plain = trainer === "trainer" || trainer === "sft" || trainer in OWN_LOSS;
  if (!plain && framework.flavours?.[trainer] === undefined)
    add(framework.unlike?.[trainer] ?? REASONS[trainer] ?? "not-modelled.trainer", {
      trainer: trainer.toUpperCase(),
    });
  if (framework.reinforces !== undefined)
    for (const [id, args] of engineObstacles(settings, trainer === framework.reinforces, framework, format.id))
      add(id, args);
  if (settings.on("use_cpu")) add("not-modelled.cpu");
  for (const name of SWITCHES) {
    const stated = settings.find(name);
    if (stated?.value === true) add("not-modelled.switch", { key: stated.key });
  }
  for (const { setting, value, why } of framework.refuses ?? []) if (settings.string(setting) === value) add(why);
  // badam/block_optim.py (BlockOptimizerRatio): gradients become sparse tensors with sorted indices.
  if (settings.on("use_badam") && settings.string("badam_mode") === "ratio") add("not-modelled.badam-ratio");
  const model = inputs.model?.kind === "found" ? inputs.model : undefined;
  // A checkpoint that sees by itself is another model than its words with the tower that a script puts beside them.
  const whole = model?.config["vision_config"] !== undefined && model.otherTower !== true;
  if (!whole && MULTIMODAL.test(main.text)) add("not-modelled.multimodal");
  if (framework.exports?.test(main.text) === true) add("not-modelled.export");
  return found;
}
