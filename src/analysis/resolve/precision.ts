/** Dtypes of the weights and of autocast. */

import type { DType } from "../../core/engine/dtype";
import type { ModelConfig } from "../../core/training/run";
import { floatNamed } from "../../terms/dtypes";
import { say } from "../../words/message";
import { keyFor } from "../frameworks/defaults";
import type { Setting, SettingValue } from "../frameworks/settings";
import { holds } from "../frameworks/versions";
import type { ResolveContext } from "./context";

/** Autocast dtype of the trainer, and `compute_dtype` for the report. */
export function precisionOf(c: ResolveContext): "bfloat16" | "float16" | null {
  const named = namedPrecision(c);
  if (named !== undefined) return named;
  const bf16 = c.settings.find("bf16");
  const fp16 = c.settings.find("fp16");
  const on = (setting: Setting | undefined): boolean => setting?.value === true;
  if (on(bf16) && bf16 !== undefined) {
    c.keep("compute_dtype", bf16, "bf16");
    return "bfloat16";
  }
  if (on(fp16) && fp16 !== undefined) {
    c.keep("compute_dtype", fp16, "fp16");
    return "float16";
  }
  // `bf16 = not fp16` where it is null (trl/trainer/base_config.py).
  if (c.namedTrainer && bf16 === undefined && !on(fp16) && c.ofTrainer("bf16") !== false) {
    c.put("compute_dtype", "bf16", "default", "bf16", null);
    return "bfloat16";
  }
  const open = c.settings.open("bf16") ?? c.settings.open("fp16");
  if (open !== undefined && bf16 === undefined && !on(fp16) && open.value === null && open.auto === true) {
    c.put("compute_dtype", null, "auto", open.key, open.place);
    if (c.framework.autoIsBfloat16 !== true) return null;
    c.suppose(say("assume.auto-precision"), open.key, { bf16: "false" });
    return "bfloat16";
  }
  const stated = bf16 ?? fp16;
  const tf32 = c.settings.find("tf32");
  if (tf32?.value === true) c.keep("compute_dtype", tf32, "tf32");
  else if (stated !== undefined) c.keep("compute_dtype", stated, "fp32");
  else if (c.trains) c.put("compute_dtype", "fp32", "default", "bf16", null);
  return null;
}

/** Whether float32 products may take TensorFloat-32 units. */
export function tf32Of(c: ResolveContext): boolean {
  return c.settings.on("tf32") || c.settings.find("compute_dtype")?.value === "tf32";
}

/** Formats that name the precision with one key (`mixed_precision: bf16`). */
function namedPrecision(c: ResolveContext): "bfloat16" | "float16" | null | undefined {
  const stated = c.settings.find("compute_dtype");
  const switches = c.settings.find("bf16") ?? c.settings.find("fp16");
  if (stated === undefined) return defaultPrecision(c);
  // TrainingArguments' own switches win over accelerate's mixed_precision.
  if (switches !== undefined && switches.from === "document" && stated.from === "linked") return undefined;
  c.keep("compute_dtype", stated);
  return autocastOf(stated.value);
}

/** The format's own default of that key; formats of the Hugging Face Trainer have none. */
function defaultPrecision(c: ResolveContext): "bfloat16" | "float16" | null | undefined {
  const standard = c.settings.all("compute_dtype").length > 0 ? undefined : c.formatDefault("compute_dtype");
  if (c.trains || standard === undefined) return undefined;
  const key = keyFor(c.inputs.format, "compute_dtype", c.libraries)?.key ?? "compute_dtype";
  c.put("compute_dtype", standard, "default", key, null);
  return autocastOf(standard);
}

/** fp8 products leave everything else in bfloat16. */
function autocastOf(compute: SettingValue): "bfloat16" | "float16" | null {
  return compute === "bf16" || compute === "fp8" ? "bfloat16" : compute === "fp16" ? "float16" : null;
}

export function loadDtypeOf(c: ResolveContext, config: ModelConfig): DType {
  const stated = c.settings.find("load_dtype");
  if (stated !== undefined) {
    const named = floatNamed(String(stated.value).toLowerCase());
    if (named !== undefined) {
      c.keep("load_dtype", stated, named);
      return named;
    }
    if (stated.value === "auto") return dtypeOfCheckpoint(c, config, stated);
  }
  const open = c.settings.open("load_dtype");
  if (open?.auto) return dtypeOfCheckpoint(c, config, open);
  // A model that the script loads itself is as `from_pretrained` makes it (trl/trainer/utils.py, create_model_from_path).
  const loadsItself = c.settings.find("model_class") !== undefined;
  if (c.namedTrainer && !loadsItself && holds("trl>=0.27", c.libraries)) {
    c.put("load_dtype", "float32", "default", "dtype", null);
    return "float32";
  }
  if (!c.trains) return "float32";
  if (holds("transformers<5", c.libraries)) {
    c.put("load_dtype", "float32", "default", "dtype", null);
    return "float32";
  }
  return dtypeOfCheckpoint(c, config, undefined);
}

/** Networks of torchvision and timm have their library in their name; their constructors make float32 and take no dtype. */
function isOfLibrary(config: ModelConfig): boolean {
  return String(config["model_type"]).includes(".");
}

/** `dtype="auto"`: what the checkpoint's config says, else float32. */
function dtypeOfCheckpoint(c: ResolveContext, config: ModelConfig, setting: Setting | undefined): DType {
  const written = config["dtype"] ?? config["torch_dtype"];
  const dtype = typeof written === "string" ? floatNamed(written) : undefined;
  const value = dtype ?? "float32";
  if (isOfLibrary(config)) {
    c.put("load_dtype", value, "default", "dtype", null);
    return value;
  }
  c.put(
    "load_dtype",
    value,
    setting === undefined ? (dtype === undefined ? "assumed" : "linked") : "linked",
    "dtype",
    null,
  );
  if (c.inputs.model?.kind === "found") {
    const other = value === "float32" ? "bfloat16" : "float32";
    const id = dtype === undefined ? "assume.load-dtype" : "assume.load-dtype-checkpoint";
    c.suppose(say(id, { dtype: value }), "dtype", { load_dtype: other });
  }
  return value;
}
