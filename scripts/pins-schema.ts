/**
 * JSON Schema of `.vramlens.yaml`, made from the schema the analysis validates with, so that editors complete and
 * explain its keys. `node --import tsx scripts/pins-schema.ts` writes schemas/vramlens.schema.json; a test compares.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { PINNED_FIELDS, pinnedEffect } from "../src/formats/peft";
import { pinsSchema } from "../src/formats/pins";

/** Explanations by path, shown by editors on hover and in completion. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  runs: "What no training config says, for the documents a glob matches. The nearest file up the tree wins.",
  "runs.match": "Glob of the configs this applies to, relative to this file. Left out: all of them.",
  "runs.model": "Directory that holds config.json, or a name of the catalogue.",
  "runs.task": "What the model is trained to do.",
  "runs.sequence_length": "Tokens per sequence after padding or packing.",
  "runs.target_length": "Tokens on the decoder side of a sequence-to-sequence run.",
  "runs.lengths": "Tokens of the data set's samples: statistics of them, or a list of measured lengths.",
  "runs.lengths.mean": "Mean.",
  "runs.lengths.median": "Median.",
  "runs.lengths.p95": "95th percentile.",
  "runs.lengths.max": "Longest sample: bounds the step where it is below the configured length.",
  "runs.image_size": "Side of a square input image in pixels.",
  "runs.audio_seconds": "Length of a recording in seconds (16 kHz).",
  "runs.choices": "Choices of a question (multiple-choice), each a text of its own.",
  "runs.dtype": "Dtype the weights are loaded in.",
  "runs.attention": "Attention implementation (attn_implementation).",
  "runs.trained_parameters":
    "Patterns of the names of the only weights that are trained, as a script freezes the rest.",
  "runs.adapter": "Adapter that is trained instead of the whole model.",
  "runs.adapter.r": "Rank.",
  "runs.adapter.alpha": "Scale (lora_alpha).",
  "runs.adapter.target_modules": "Module names, or all-linear.",
  "runs.adapter.modules_to_save": "Modules trained in full beside the adapter.",
  ...Object.fromEntries(Object.keys(PINNED_FIELDS).map((name) => [`runs.adapter.${name}`, pinnedEffect(name)])),
  "runs.quantization": "How the base weights are quantized.",
  "runs.quantization.double": "Quantize the quantization constants too (bnb_4bit_use_double_quant).",
  "runs.quantization.prepare_for_kbit": "Whether prepare_model_for_kbit_training runs.",
  "runs.device": "GPU to check against: a name of the catalogue, or a size such as 24GB.",
  "runs.device.name": "Name of the catalogue, or a size such as 24GB.",
  "runs.device.memory": "Size such as 24GB.",
  "runs.device.count": "Number of GPUs.",
  "runs.device.occupied": "What a desktop or another process takes of the card, such as 1.5GiB.",
  "runs.host_memory": "RAM of a machine, such as 256GiB: what offloading may fill.",
  "runs.libraries": "Versions that decide behaviour, as major.minor.",
};

type Json = { [key: string]: unknown };

function describe(schema: Json, path: string): Json {
  const description = DESCRIPTIONS[path];
  const described: Json = { ...schema, ...(description === undefined ? {} : { description }) };
  const properties = schema["properties"] as Readonly<Record<string, Json>> | undefined;
  if (properties !== undefined) {
    described["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [
        name,
        describe(value, path === "" ? name : `${path}.${name}`),
      ]),
    );
  }
  if (schema["items"] !== undefined) described["items"] = describeInner(schema["items"] as Json, path);
  if (Array.isArray(schema["anyOf"])) described["anyOf"] = schema["anyOf"].map((one: Json) => describeInner(one, path));
  return described;
}

/** Parts of one value share its path and must not repeat its description. */
function describeInner(schema: Json, path: string): Json {
  const { description: _, ...inner } = describe(schema, path);
  return inner;
}

/** The schema's text, as committed. */
export function pinsSchemaText(): string {
  const schema = describe(z.toJSONSchema(pinsSchema, { target: "draft-7" }) as Json, "");
  return `${JSON.stringify({ ...schema, title: "VRAM Lens pins" }, null, 2)}\n`;
}

if (process.argv[1]?.endsWith("pins-schema.ts") === true) {
  writeFileSync(join(__dirname, "..", "schemas", "vramlens.schema.json"), pinsSchemaText());
}
