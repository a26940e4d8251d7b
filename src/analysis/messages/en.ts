/** English messages. `{holes}` are filled by the arguments of the message. */
export const en: Readonly<Record<string, string>> = {
  // Syntax and values
  syntax: "{reason}",
  "merge-conflict": "Merge-conflict marker: resolve the conflict. The first side is read until then.",
  "strict-json.hf":
    "The Hugging Face Trainer reads strict JSON and fails here; the `deepspeed` launcher would accept it.",
  "duplicate-key.deepspeed":
    "`{key}` is stated twice: DeepSpeed stops on duplicate keys; the Hugging Face Trainer keeps the last value.",
  "duplicate-key.yaml": "`{key}` is stated twice; the last value counts.",
  "unknown-key.rejected": "Unknown key `{key}`: DeepSpeed rejects unknown keys in `{parent}` and stops.",
  "unknown-key.rejected-near": "Unknown key `{key}`: DeepSpeed rejects it and stops. Did you mean `{near}`?",
  "unknown-key.ignored-near": "Unknown key `{key}`. Did you mean `{near}`?",
  "unknown-key.pins": "`{key}` is no pin that VRAM Lens knows; it has no effect.",
  "unknown-key.pins-near": "`{key}` is no pin that VRAM Lens knows. Did you mean `{near}`?",
  "unknown-key.directive": "`{key}` means nothing in a `vramlens:` comment; use `gpu`, `sequence_length`, `model`, …",
  "invalid-value.not-a-number": "`{key}` must be a number; {value} is none.",
  "invalid-value.text-number": "`{key}` is text here, not a number: remove the quotes around {value}.",
  "invalid-value.not-an-integer": "`{key}` must be a whole number; {value} is none.",
  "invalid-value.too-small": "`{key}` must be at least {min}; it is {value}.",
  "invalid-value.too-large": "`{key}` must be at most {max}; it is {value}.",
  "invalid-value.not-a-boolean": "`{key}` must be true or false; it is {value}.",
  "invalid-value.text-boolean":
    "`{key}` is text here: Python takes any text as true. Remove the quotes around {value}.",
  "invalid-value.unknown-choice": "`{key}` has no choice `{value}`.",
  "invalid-value.unknown-choice-near": "`{key}` has no choice `{value}`. Did you mean `{near}`?",
  "invalid-value.not-a-scalar": "`{key}` must be a single value, not a {value}.",
  "invalid-value.not-a-list": "`{key}` must be a list.",
  "invalid-value.not-a-map": "`{key}` must be a block of settings.",
  "invalid-value.pins": "`{key}`: {reason}",
  "unresolved-template": "`{key}` is filled in later ({value}): its value is unknown here.",
  "unresolved-auto.batch": "`{key}` is `auto` and nothing linked to this file says what it becomes.",
  "unresolved-auto.nothing-fills":
    "`{key}` is `auto`: the Hugging Face Trainer does not fill it; DeepSpeed's default {default} applies.",

  // Links
  "missing-file.deepspeed":
    "No file `{target}` in this folder, in the folders above it or in the workspace: DeepSpeed's settings are unknown.",
  "missing-file.unreadable": "`{target}` could not be read as DeepSpeed settings.",
  "cyclic-link": "`{target}` is this file itself.",
  "cyclic-link.not-deepspeed": "`{target}` is no DeepSpeed config: it refers to one itself.",

  // Model and device
  "unknown-model.unstated": "no model is named",
  "unknown-model.missing": "the config of `{name}` was not found",
  "unknown-model.local": "No `config.json` at `{name}`: the model's dimensions are unknown.",
  "unknown-model.hub":
    "`{name}` is neither in the workspace, nor in the local hub cache, nor in the catalogue. Pin a directory with its `config.json` in `.vramlens.yaml`.",
  "unknown-model.hub-near":
    "`{name}` is not known here. Did you mean `{near}`? Otherwise pin a directory with its `config.json` in `.vramlens.yaml`.",
  "unknown-model.broken-syntax": "`{uri}` could not be read as JSON: the model's dimensions are unknown.",
  "unknown-model.broken-no-type": "`{uri}` has no `model_type`: the model's dimensions are unknown.",
  "unknown-model.broken-cyclic": "The adapter configs refer to each other: no base model was found.",
  "unknown-model.family": "Models of type `{family}` cannot be estimated yet: {reason}.",
  "unknown-model.nothing":
    "No estimate: no model is named. Pin one in `.vramlens.yaml` (`model: ./model` or a name of the catalogue).",
  "unknown-device":
    "No GPU called `{name}` in the catalogue; write a name such as `RTX 4090` or a size such as `24GB`.",
  "unknown-device.near": "No GPU called `{name}` in the catalogue. Did you mean `{near}`?",
  "not-modelled": "No estimate: {reason}.",
  "not-modelled.trainer": "{trainer} training keeps more than one model or generates text, which is not modelled yet",
  "not-modelled.cpu": "the run trains on the CPU",
  "obstacle.batch": "the batch size has no usable value",
  "obstacle.auto-batch": "the batch size is `auto` and nothing linked to this file says it",

  // Verdicts
  "does-not-fit": "Does not fit {device}: needs {used} of {usable} usable (peak in {phase}).{advice}",
  "does-not-fit.largest": " Largest micro-batch that fits: {batch}.",
  "does-not-fit.none": " No micro-batch fits with the other settings as they are.",
  tight: "Tight on {device}: fits on paper with {spare} to spare, less than the band's +{band}.",
  "related.setting": "{name} = {value}",
  "related.device": "the device",

  "error.unreadable": "This file could not be read.",
  "phase.load": "loading",
  "phase.data": "data",
  "phase.forward": "forward",
  "phase.loss": "loss",
  "phase.backward": "backward",
  "phase.clip": "clipping",
  "phase.optimizer": "the optimizer step",
  "phase.zero": "zero_grad",

  // Assumptions
  "assume.model": "no model: the run's dimensions are unknown",
  "assume.world-size": "1 GPU: no launcher says how many",
  "assume.load-dtype": "weights loaded as {dtype}: neither the config nor the model says otherwise",
  "assume.load-dtype-checkpoint": "weights loaded as {dtype}, the dtype of the checkpoint",
  "assume.task": "task {task}, from the model's type",
  "assume.full-length": "every sequence as long as {key} allows: {length} tokens",
  "assume.sequence-length": "sequence length {length}",
  "assume.target-length": "target length {length}",
  "assume.image-size": "image size {size}",
  "assume.target-modules": "adapters on the modules peft chooses for this architecture",
  "assume.auto-precision": "`auto` precision becomes bfloat16",
};
