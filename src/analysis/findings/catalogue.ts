/** Every finding code: its default severity, its page, its words. The pages under `docs/findings` are made from it. */
import type { Severity } from "../../formats/types";
import { FRAMEWORK_FINDINGS } from "./frameworks";
import type { Rule } from "./rule";
import { DEEPSPEED_RULES } from "./rules/deepspeed";
import { KEY_RULES } from "./rules/keys";
import { LOOP_RULES } from "./rules/loops";
import { STOP_RULES } from "./rules/stops";
import { TRAINER_RULES } from "./rules/trainer";
import { TRL_RULES } from "./rules/trl";

export interface CatalogueEntry {
  readonly code: string;
  readonly severity: Severity;
  readonly title: string;
  readonly why: string;
  readonly mend: string;
}

/** Rules that look at a whole run. */
export const RULES: readonly Rule[] = [
  ...KEY_RULES,
  ...DEEPSPEED_RULES,
  ...TRAINER_RULES,
  ...TRL_RULES,
  ...LOOP_RULES,
  ...STOP_RULES,
];

/** Findings that reading, linking and estimating make. */
const OTHERS: readonly CatalogueEntry[] = [
  {
    code: "does-not-fit",
    severity: "error",
    title: "The run does not fit the device",
    why: "What the process needs at the peak of a training step (allocator's reserve, CUDA context and libraries) is more than a process can have on the chosen device. The message names the phase of the peak and the largest micro-batch that fits; related information names the settings the number comes from.",
    mend: "Take one of the quick fixes, which are re-estimated before they are offered, or open the panel for all plans.",
  },
  {
    code: "tight",
    severity: "warning",
    title: "The run fits with less than the uncertainty to spare",
    why: "The estimate is below what the device offers, but the upper end of its band is above: fragmentation, library workspaces or another process may take the rest. Or the allocator's pool would grow beyond the device, while its tensors do not: replayed with no more than the device has, the run goes through, as the pool gives unused segments back when it needs another.",
    mend: "Leave some room with one of the quick fixes, or try it and watch the first steps.",
  },
  {
    code: "gpu-count-open",
    severity: "warning",
    title: "Nothing says how many GPUs",
    why: "ZeRO, FSDP and model parallelism spread a run over several GPUs, and neither a launcher, a scheduler nor a pin says how many. One GPU would be a guess, so there is no verdict: the message has the fewest of the chosen GPU that the run fits.",
    mend: "State the number: `# vramlens: gpus=8`, `device: { count: 8 }` in `.vramlens.yaml`, or a launch script beside the config.",
  },
  {
    code: "unknown-model",
    severity: "warning",
    title: "The model's dimensions are unknown",
    why: "The model is named, but neither a `config.json` in the workspace, nor the local hub cache, nor the packaged catalogue has it; or its type has no captured graph.",
    mend: "Pin a directory that holds its `config.json`: `model: ./model` in `.vramlens.yaml`.",
  },
  {
    code: "unknown-device",
    severity: "warning",
    title: "No such GPU in the catalogue",
    why: "The device is matched by name, alias, cloud machine type or size. This text matches none.",
    mend: "Write a name such as `RTX 4090`, `A100-80GB`, `p4d.24xlarge`, or a size such as `24GB`.",
  },
  {
    code: "not-modelled",
    severity: "information",
    title: "This kind of run is not modelled",
    why: "The run does something whose memory the engine does not follow yet, so there is no number rather than a wrong one.",
    mend: "The message names what it is; without it the run can be estimated.",
  },
  {
    code: "invalid-value",
    severity: "error",
    title: "A value the library cannot use",
    why: "The value has the wrong type or lies outside the range the library accepts: text where a number is needed, a negative size, NaN, an unknown choice.",
    mend: "Write a value of the type the message names.",
  },
  {
    code: "unknown-key",
    severity: "warning",
    title: "A key nobody reads",
    why: "The key is close to one that exists, or stands in a block whose reader rejects unknown keys (DeepSpeed's `zero_optimization`, `fp16`, `bf16` and offload blocks).",
    mend: "Correct the spelling.",
  },
  {
    code: "duplicate-key",
    severity: "error",
    title: "A key stated twice",
    why: "DeepSpeed raises on duplicate keys. YAML and JSON readers keep the last value without a word.",
    mend: "Delete one of the two.",
  },
  {
    code: "strict-json",
    severity: "error",
    title: "Not strict JSON",
    why: "The Hugging Face Trainer, Accelerate and axolotl read strict JSON; comments, trailing commas and unquoted values fail there, though the `deepspeed` launcher accepts them.",
    mend: "Remove the comment or comma, or quote the value.",
  },
  {
    code: "syntax",
    severity: "error",
    title: "The file cannot be read",
    why: "The text is not valid in its language at this place. What could be read around it is still used, so that hovers work while you type.",
    mend: "Correct the text at the place.",
  },
  {
    code: "merge-conflict",
    severity: "error",
    title: "Merge-conflict marker",
    why: "The file holds both sides of a merge. The first side is read until the conflict is resolved.",
    mend: "Resolve the conflict.",
  },
  {
    code: "set-too-late",
    severity: "warning",
    title: "An argument that is set too late",
    why: "Mixed precision, sharding and compilation are decided while `TrainingArguments` is made (`__post_init__`). An attribute that is set on it afterwards changes nothing: the run trains in the precision it had.",
    mend: "Pass the argument to the call that makes the arguments.",
  },
  {
    code: "unresolved-template",
    severity: "information",
    title: "A value that is filled in later",
    why: "The value is a placeholder (`{{ … }}`, `$NAME`, `CONFIG_X`), or a list that an autotuner tries. Its effect is unknown until it is filled in.",
    mend: "Pin the value in `.vramlens.yaml` to get an estimate.",
  },
  {
    code: "missing-file",
    severity: "warning",
    title: "A linked file is missing",
    why: "The file is looked for from the config's folder, the folders above it and the workspace, because paths in configs start at the launch directory. It is in none of them, or cannot be read.",
    mend: "Correct the path, or open the folder the run is started from.",
  },
  {
    code: "cyclic-link",
    severity: "error",
    title: "Files refer to each other in a circle",
    why: "Following the links leads back to a file already visited.",
    mend: "Point the link at the right file.",
  },
];

/** All codes, the general ones first. */
export const CATALOGUE: readonly CatalogueEntry[] = [...OTHERS, ...FRAMEWORK_FINDINGS, ...RULES];
