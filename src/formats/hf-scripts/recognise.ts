/** Whether a command or a Python module trains, and with what. */

import type { PythonModule } from "../../syntax/tree";
import { say } from "../../words/message";
import { TRAINING_ARGUMENTS_KEYS } from "../hf-training-arguments/keys";
import { builds, NOT_RECOGNISED, passes, type Recognition, runs, trains } from "../recognition";
import { count, type View } from "../schema";
import { TRL_KEYS } from "../trl/keys";
import type { ConfigDocument } from "../types";
import { builtModel } from "./built";
import { LOOP, TRAINING_CALL, TRL_CALL } from "./calls";
import type { Trained } from "./keys";
import { backwardCall } from "./loop";
import { builtNetwork } from "./networks";
import { ownModelCall } from "./own";
import { isLoad } from "./training";

const TRAINING = TRAINING_ARGUMENTS_KEYS.flatMap((key) => [key.key, ...(key.aliases ?? [])]).concat(
  "output_dir",
  "num_train_epochs",
  "learning_rate",
  "max_steps",
  "model_name_or_path",
  "save_steps",
  "logging_steps",
  "report_to",
  "warmup_ratio",
  "weight_decay",
  "lr_scheduler_type",
);
const TRL_ONLY = TRL_KEYS.map((key) => key.key)
  .concat("dataset_name", "dataset_text_field")
  .filter((key) => !key.includes("."));

/** Options of TRL's scripts that others with a `dataset_name` do not have. */
const TRL_SCRIPTS = [
  "use_peft",
  "lora_r",
  "max_length",
  "num_generations",
  "packing",
  "num_ppo_epochs",
  "response_length",
];

/** Programs that a launcher starts to answer, not to train. */
const ANSWERS = /(?:^|[/_])(?:chatbot|inference|infer|predict|serve|demo|eval|evaluate|evaluation)\w{0,20}\.py$/;

export function recogniseShell({ plain }: Trained, view: View): Recognition {
  const command = view.words.join(" ");
  if (
    /llamafactory-cli|openrlhf|verl\.|swift[/.]cli|(?:^|\s)(?:swift|megatron)\s{1,20}(?:sft|pt|rlhf)|axolotl|tune run|nnUNet/.test(
      command,
    )
  )
    return NOT_RECOGNISED;
  const training = count(view.map, TRAINING);
  const trl = count(view.map, TRL_ONLY);
  const isTrl =
    /(?:^|[\s/])trl[\s/.]|\btrl\b/.test(command) ||
    (trl >= 2 && count(view.map, ["dataset_name"]) > 0 && count(view.map, TRL_SCRIPTS) > 0);
  const wanted = plain !== isTrl;
  if (count(view.map, ["per_device_train_batch_size"]) > 0 || training >= 4)
    return { confidence: wanted ? 0.92 : 0.6, because: passes(training, "TrainingArguments") };
  if (view.words.some((word) => ANSWERS.test(word))) return NOT_RECOGNISED;
  if (plain && /accelerate(?:\.commands\.launch)?(?:\s+launch)?\b/.test(command) && /launch/.test(command))
    return { confidence: 0.62, because: runs("accelerate launch") };
  if (plain && /^(?:\S*\/)?deepspeed\s/.test(command) && count(view.map, ["deepspeed", "deepspeed_config"]) > 0)
    return { confidence: 0.62, because: runs("deepspeed") };
  if (!plain && isTrl && /\btrl\s+(?:sft|dpo|grpo|kto|reward|rloo)\b/.test(command))
    return { confidence: 0.9, because: runs("trl") };
  return training >= 2 &&
    /\.py\b|torchrun|python/.test(command) &&
    count(view.map, ["output_dir", "model_name_or_path"]) > 0
    ? { confidence: 0.55, because: passes(training, "TrainingArguments") }
    : NOT_RECOGNISED;
}

export function recognisePython({ plain }: Trained, view: View, python: PythonModule | undefined): Recognition {
  const trl = view.words.some((word) => /^trl(?:\.|$)/.test(word)) || view.words.some((word) => TRL_CALL.test(word));
  const transformers = view.words.some((word) => /^(?:transformers|peft|unsloth|accelerate)(?:\.|$)/.test(word));
  const called = view.words.some((word) => TRAINING_CALL.test(word) || TRL_CALL.test(word));
  const trained =
    called ||
    view.words.some((word) => /(?:^|\.)\w*Trainer$/.test(word)) ||
    view.map.entries.some((entry) => TRAINING.includes(entry.key));
  const wanted = plain !== trl;
  const loop = view.words.some((word) => LOOP.test(word));
  const models =
    view.map.entries.some((entry) => /^(?:lora|load|accelerator)\./.test(entry.key)) ||
    view.words.some((word) => isLoad(word)) ||
    (python !== undefined && builtModel(python).length > 0);
  if (called && (trl || transformers))
    return { confidence: wanted ? 0.95 : 0.6, because: trl ? builds("TRL config") : builds("TrainingArguments") };
  if (trained && (trl || transformers))
    return {
      confidence: wanted ? 0.9 : 0.55,
      because: trl ? trains("TRL") : trains("Hugging Face Trainer"),
    };
  if (plain && loop && models && transformers)
    return { confidence: 0.52, because: say("because.own-loop", { model: "transformers" }) };
  return called ? { confidence: wanted ? 0.7 : 0.5, because: builds("TrainingArguments") } : NOT_RECOGNISED;
}

/** A loop around a network of torchvision or timm, or around a class of the workspace, which names nothing of transformers. */
export function recognisedLoop(
  trained: Trained,
  view: View,
  { parsed: { python } }: ConfigDocument,
): Recognition | undefined {
  if (!trained.plain || python === undefined || backwardCall(python) === undefined) return undefined;
  const network = builtNetwork(python) ?? ownModelCall(python);
  if (network === undefined || recognisePython(trained, view, python).confidence > 0) return undefined;
  return { confidence: 0.52, because: say("because.own-loop", { model: network.callee }) };
}
