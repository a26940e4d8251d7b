/** Which model is trained, on what task, on which devices. */
import { deviceSpec, findDevice } from "../../core/hardware/devices";
import type { DeviceSpec, ModelConfig, Task, TrainingRun } from "../../core/training/run";
import { say } from "../problems";
import type { ResolveContext } from "./context";
import type { Resolution } from "./types";

const TASKS: readonly (readonly [RegExp, Task])[] = [
  [/ForCausalLM$|LMHeadModel$/, "causal-lm"],
  [/ForMaskedLM$|ForPreTraining$/, "masked-lm"],
  [/ForSequenceClassification$/, "seq-cls"],
  [/ForTokenClassification$/, "token-cls"],
  [/ForImageClassification$/, "image-cls"],
  [/ForConditionalGeneration$/, "seq2seq-lm"],
];

/** Tasks as the catalogue names them, where they are the same. */
const TASK_NAMES: readonly Task[] = ["causal-lm", "masked-lm", "seq-cls", "token-cls", "image-cls", "seq2seq-lm"];

const TASK_OF_TYPE: Readonly<Record<string, Task>> = {
  bert: "masked-lm",
  roberta: "masked-lm",
  distilbert: "masked-lm",
  albert: "masked-lm",
  electra: "masked-lm",
  deberta: "masked-lm",
  "deberta-v2": "masked-lm",
  modernbert: "masked-lm",
  "xlm-roberta": "masked-lm",
  t5: "seq2seq-lm",
  mt5: "seq2seq-lm",
  bart: "seq2seq-lm",
  vit: "image-cls",
  swin: "image-cls",
  convnext: "image-cls",
};

export function modelOf(c: ResolveContext): TrainingRun["model"] | null {
  const { model } = c.inputs;
  const stated = c.settings.find("config_name") ?? c.settings.find("model");
  if (stated !== undefined) c.keep("model", stated);
  if (model === undefined) {
    const open = c.settings.open("model");
    if (open !== undefined) c.keep("model", open, null);
    c.obstacles.push({ code: "unknown-model", message: say("unknown-model.unstated") });
    c.suppose(say("assume.model"), "model");
    return null;
  }
  if (model.kind !== "found") {
    c.obstacles.push({ code: "unknown-model", message: say("unknown-model.missing", { name: model.name }) });
    c.suppose(say("assume.model"), "model");
    return null;
  }
  if (model.guessed === true && stated !== undefined)
    c.suppose(say("assume.model-name", { name: String(stated.value), published: model.name }), "model");
  return { name: model.name, family: String(model.config["model_type"]), config: model.config, source: model.source };
}

export function taskOf(c: ResolveContext, config: ModelConfig): Task {
  const stated = c.settings.string("task");
  if (stated !== undefined) return stated as Task;
  const architecture = Array.isArray(config["architectures"]) ? String(config["architectures"][0] ?? "") : "";
  const named = TASKS.find(([pattern]) => pattern.test(architecture))?.[1];
  if (named !== undefined) return named;
  const { model } = c.inputs;
  const published = TASK_NAMES.find((name) => model?.kind === "found" && model.task === name);
  // Pretrained encoders are mostly trained further for something else.
  if (published !== undefined && published !== "masked-lm") return published;
  const task = published ?? TASK_OF_TYPE[String(config["model_type"])] ?? "causal-lm";
  if (!c.trl && model?.kind === "found") c.suppose(say("assume.task", { task }), "task");
  return task;
}

export function deviceOf(c: ResolveContext): Resolution["device"] {
  const chosen = c.choice.device;
  const override = c.settings.all("device").find((setting) => setting.place === null);
  const asked = override ?? c.settings.find("device");
  const text =
    override !== undefined
      ? String(override.value)
      : (chosen ?? (asked === undefined ? c.choice.defaultDevice : String(asked.value)));
  const match = text === undefined || text === "" ? null : findDevice(text);
  const source =
    match === null ? "none" : override !== undefined || chosen !== undefined || asked === undefined ? "setting" : "pin";
  const occupiedBytes = sizeIn(c.settings.string("device_occupied"));
  const spec = match === null ? null : { ...deviceSpec(match), ...(occupiedBytes > 0 ? { occupiedBytes } : {}) };
  return { spec, source, asked };
}

/** Bytes of a size such as `1.5GiB` or `800 MB`; a bare number counts GiB. 0 for what is none. */
function sizeIn(text: string | undefined): number {
  const found = /^\s*(\d+(?:\.\d+)?)\s*([gm])?(i)?b?\s*$/i.exec(text ?? "");
  if (found === null) return 0;
  const [, number, unit, binary] = found;
  const power = unit?.toLowerCase() === "m" ? 2 : 3;
  return Math.round(Number(number) * (unit !== undefined && binary === undefined ? 1000 : 1024) ** power);
}

export function worldSizeOf(c: ResolveContext, device: DeviceSpec | null): number {
  const stated = c.settings.find("world_size");
  if (typeof stated?.value === "number" && stated.value >= 1) {
    c.keep("world_size", stated);
    return Math.floor(stated.value);
  }
  const chosen = c.choice.deviceCount ?? (device !== null && device.count > 1 ? device.count : undefined);
  if (chosen !== undefined) {
    c.put("world_size", chosen, "pin", "device.count", null);
    return chosen;
  }
  c.put("world_size", 1, "assumed", "device.count", null);
  if (c.inputs.deepspeed !== undefined || c.settings.string("fsdp_options") !== undefined) {
    c.suppose(say("assume.world-size"), "device.count", { world_size: "8" });
  }
  return 1;
}
