/**
 * `.vramlens.yaml`: what no training config says (model directory, sequence length, device, versions), for the
 * documents a glob matches. Validated with zod; every problem is placed at the value it is about.
 */

import * as z from "zod/mini";
import { nodeAt } from "../../syntax/text";
import type { LocatedNode, MapNode } from "../../syntax/tree";
import { ATTENTIONS, TASKS } from "../../terms/names";
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import { renaming, replacing } from "../fix";
import { PINNED_ADAPTERS, PINNED_FIELDS, pinnedType } from "../peft";
import { nearest } from "../suggest";
import { plainValue, problem } from "../table";
import type { ConfigDocument, FormatProblem, LocatedSetting } from "../types";
import { matchesGlob } from "./glob";
import { traceProblems, traceSchema } from "./traces";

export const PINS_FILE = ".vramlens.yaml";

const count = z.int().check(z.positive());
const atLeastOne = z.number().check(z.minimum(1));
const names = z.union([z.string(), z.array(z.string())]);

const FIELD_SCHEMAS: Readonly<Partial<Record<string, z.ZodMiniType>>> = table({
  integer: z.int(),
  boolean: z.boolean(),
});

const DTYPES = ["float32", "float16", "bfloat16", "float64"] as const;
const QUANTIZATIONS = ["nf4", "fp4", "int8", "gptq", "awq", "hqq", "none"] as const;

/** Libraries and frameworks whose version can be pinned. */
const LIBRARIES = [
  "torch",
  "transformers",
  "peft",
  "deepspeed",
  "accelerate",
  "trl",
  "bitsandbytes",
  "axolotl",
  "llamafactory",
  "ms-swift",
  "litgpt",
  "unsloth",
] as const;

/** What may be pinned under a key: its values, the setting that it states, and the keys below it. */
interface Pin {
  readonly type: z.ZodMiniType;
  readonly name?: SettingName;
  readonly below?: Pins;
}

type Pins = Readonly<Record<string, Pin>>;

const pin = (name: SettingName, type: z.ZodMiniType, below?: Pins): Pin => ({
  name,
  type,
  ...(below === undefined ? {} : { below }),
});

function schemaOf(pins: Pins, needed: readonly string[] = []): z.ZodMiniObject {
  const shape = Object.entries(pins).map(([key, { type }]) => [key, needed.includes(key) ? type : z.optional(type)]);
  return z.strictObject(Object.fromEntries(shape));
}

const ADAPTER: Pins = {
  type: pin("adapter", z.enum(PINNED_ADAPTERS)),
  r: pin("lora_rank", count),
  alpha: pin("lora_alpha", z.number()),
  dropout: pin("lora_dropout", z.number().check(z.minimum(0), z.maximum(1))),
  target_modules: pin("lora_target_modules", names),
  modules_to_save: pin("lora_modules_to_save", names),
  bias: pin("lora_bias", z.enum(["none", "all", "lora_only"])),
  use_dora: pin("use_dora", z.boolean()),
  use_rslora: pin("use_rslora", z.boolean()),
  autocast_adapter_dtype: pin("autocast_adapter_dtype", z.boolean()),
  ...Object.fromEntries(
    Object.entries(PINNED_FIELDS).map(([field, name]) => [
      field,
      pin(name, FIELD_SCHEMAS[pinnedType(field)] ?? z.any()),
    ]),
  ),
};

const QUANTIZATION: Pins = {
  type: pin("quantization", z.enum(QUANTIZATIONS)),
  double: pin("double_quantization", z.boolean()),
  prepare_for_kbit: pin("prepare_for_kbit", z.boolean()),
  compute_dtype: pin("quantization_compute_dtype", z.enum(["float32", "float16", "bfloat16"])),
};

/** Tokens of the data set's samples: statistics of them. */
const LENGTHS: Pins = {
  mean: pin("sample_length_mean", atLeastOne),
  median: pin("sample_length_median", atLeastOne),
  p95: pin("sample_length_p95", atLeastOne),
  max: pin("sample_length_max", count),
};

const DEVICE: Pins = {
  name: pin("device", z.string()),
  memory: pin("device", z.string()),
  count: pin("world_size", count),
  /** What a desktop or another process takes of the card. */
  occupied: pin("device_occupied", z.string()),
};

const VERSION = z.union([z.string().check(z.regex(/^\d+(\.\d+)*/)), z.number()]);
const VERSIONS: Pins = Object.fromEntries(LIBRARIES.map((name) => [name, pin(`library.${name}`, VERSION)]));

const RUN: Pins = {
  match: { type: names },
  model: pin("model", z.string()),
  task: pin("task", z.enum(TASKS)),
  sequence_length: pin("sequence_length", count),
  target_length: pin("target_length", count),
  lengths: pin("sample_lengths", z.union([schemaOf(LENGTHS), z.array(count).check(z.minLength(1))]), LENGTHS),
  /** Side in pixels; 0 for texts without pictures. */
  image_size: pin("image_size", z.int().check(z.nonnegative())),
  audio_seconds: pin("audio_seconds", z.number().check(z.positive())),
  choices: pin("choices", count),
  dtype: pin("load_dtype", z.enum(DTYPES)),
  attention: pin("attention", z.enum(ATTENTIONS)),
  adapter: { type: z.union([schemaOf(ADAPTER), z.null()]), below: ADAPTER },
  /** Patterns of the names of the only weights that are trained. */
  trained_parameters: pin("trained_parameters", names),
  quantization: { type: z.union([schemaOf(QUANTIZATION, ["type"]), z.null()]), below: QUANTIZATION },
  device: pin("device", z.union([z.string(), schemaOf(DEVICE)]), DEVICE),
  /** Whether `mamba_ssm` is installed. */
  state_space_kernels: pin("state_space_kernels", z.boolean()),
  /** RAM of a machine, for states that wait there: `256GiB`. */
  host_memory: pin("host_memory", z.string()),
  /** NUMA nodes that have it, and memory behind CXL, in the machine's far nodes. */
  numa_nodes: pin("numa_nodes", atLeastOne),
  cxl_memory: pin("cxl_memory", z.string()),
  /** Room on a machine's NVMe drives: `2TB`. */
  nvme_space: pin("nvme_space", z.string()),
  /** Between the GPUs of a machine, each way: `PCIe`, `NVLink` or `450GB/s`; between machines, of all network cards: `400Gbit/s`. */
  gpu_link: pin("gpu_link", z.string()),
  machine_link: pin("machine_link", z.string()),
  libraries: { type: schemaOf(VERSIONS), below: VERSIONS },
};

export const pinsSchema = z.strictObject({
  runs: z.optional(z.array(schemaOf(RUN))),
  traces: z.optional(z.record(z.string(), traceSchema)),
});

/** Every pin of a run by its path inside it. */
const BY_PATH: Pins = table(byPath(RUN));

function byPath(pins: Pins, above = ""): Pins {
  const found = Object.entries(pins).flatMap(([key, one]) => {
    const path = `${above}${key}`;
    return [[path, one] as const, ...Object.entries(byPath(one.below ?? {}, `${path}.`))];
  });
  return Object.fromEntries(found);
}

/** Canonical setting of each pin, by its path inside a run. */
const NAMES: Readonly<Record<string, SettingName>> = table(
  Object.fromEntries(Object.entries(BY_PATH).flatMap(([path, { name }]) => (name === undefined ? [] : [[path, name]]))),
);

/** Canonical names that a pin can state. */
export const PINNED_NAMES: ReadonlySet<string> = new Set(Object.values(NAMES));

/** The words that a canonical setting's pin takes, where they are a closed list. */
export const PINNED_CHOICES: Readonly<Record<string, readonly string[]>> = table({
  load_dtype: DTYPES,
  attention: ATTENTIONS,
  quantization: QUANTIZATIONS,
  task: TASKS,
});

/** Path of the pin that sets a canonical name: where an edit or a "settle" writes. */
export function pinPathOf(name: string): string | undefined {
  return Object.entries(NAMES).find(([, canonical]) => canonical === name)?.[0];
}

/** Names a directive comment (`# vramlens: gpu=A100-80GB`) may use, besides the pins' own. */
export const DIRECTIVE_ALIASES: Readonly<Record<string, SettingName>> = table({
  gpu: "device",
  device: "device",
  gpus: "world_size",
  devices: "world_size",
  seq: "sequence_length",
  ...Object.fromEntries(Object.entries(NAMES).filter(([path]) => !path.includes("."))),
  ...Object.fromEntries(
    Object.entries(NAMES)
      .filter(([path]) => path.startsWith("libraries."))
      .map(([path, name]) => [path.slice("libraries.".length), name]),
  ),
});

/** One entry of `runs`. */
export interface PinnedRun {
  readonly match: readonly string[];
  readonly settings: readonly LocatedSetting[];
  readonly map: MapNode;
}

export interface PinsFile {
  readonly runs: readonly PinnedRun[];
  readonly problems: readonly FormatProblem[];
}

/** Reads a pins file. Values with a wrong type are reported and left out. */
export function readPins(document: ConfigDocument): PinsFile {
  const { root } = document.parsed;
  if (root === null || (root.kind === "scalar" && root.value === null)) return { runs: [], problems: [] };
  const problems = validate(root);
  const wrong = problems.filter((found) => found.code === "invalid-value");
  const list = nodeAt(root, "runs");
  const runs: PinnedRun[] = [];
  for (const item of list?.kind === "list" ? list.items : []) {
    if (item.kind !== "map") continue;
    const settings = settingsOf(item, "").filter(
      (setting) => !wrong.some((found) => found.start < setting.valueSpan.end && setting.valueSpan.start < found.end),
    );
    const match = nodeAt(item, "match");
    const patterns = match === undefined ? ["**"] : [plainValue(match)].flat().filter((p) => typeof p === "string");
    runs.push({ match: patterns, settings, map: item });
  }
  return { runs, problems };
}

/** The pinned runs that apply to a document at `path` relative to the pins file; later ones do not override earlier. */
export function pinnedFor(file: PinsFile, path: string): readonly PinnedRun[] {
  return file.runs.filter((run) => run.match.some((pattern) => matchesGlob(pattern, path)));
}

function settingsOf(map: MapNode, prefix: string): LocatedSetting[] {
  const settings: LocatedSetting[] = [];
  for (const entry of map.entries) {
    const path = prefix === "" ? entry.key : `${prefix}.${entry.key}`;
    if (entry.value.kind === "map") settings.push(...settingsOf(entry.value, path));
    const nothing = entry.value.kind === "scalar" && entry.value.value === null;
    const name = nothing && (path === "adapter" || path === "quantization") ? path : NAMES[path];
    if (name === undefined || entry.value.kind === "map") continue;
    const value = nothing && name === path ? "none" : entry.value.kind === "scalar" ? entry.value.value : null;
    settings.push({
      name,
      key: path,
      value,
      node: entry.value,
      keySpan: entry.keySpan,
      valueSpan: { start: entry.value.start, end: entry.value.end },
    });
  }
  return settings;
}

function validate(root: LocatedNode): FormatProblem[] {
  const result = pinsSchema.safeParse(plainValue(root));
  const problems = result.success ? [] : result.error.issues.flatMap((issue) => issuesOf(issue, root));
  return [...problems, ...traceProblems(root)];
}

function issuesOf(issue: z.core.$ZodIssue, root: LocatedNode): FormatProblem[] {
  const at = place(root, issue.path);
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const span = at.kind === "map" ? (at.entries.find((entry) => entry.key === key)?.keySpan ?? at) : at;
      const near = nearest(key, keysBelow(issue.path));
      return problem(
        "unknown-key",
        "warning",
        span,
        near === undefined ? "unknown-key.pins" : "unknown-key.pins-near",
        { key, near: near ?? "" },
        near === undefined ? [] : [renaming(span, near)],
      );
    });
  }
  const key = issue.path.findLast((part) => typeof part === "string");
  const values = issue.code === "invalid_value" ? issue.values.map(String) : [];
  const near = at.kind === "scalar" ? nearest(String(at.value), values) : undefined;
  const reason = values.length === 0 ? issue.message : say("invalid-value.one-of", { values: values.join(", ") });
  const fixes = near === undefined ? [] : [replacing({ key: String(key ?? path), valueSpan: at }, near, false)];
  return [problem("invalid-value", "error", at, "invalid-value.pins", { key: String(key ?? path), reason }, fixes)];
}

/** Keys that a pins file allows below a path from its root, whose places in lists are numbers or left out. */
export function keysBelow(path: readonly PropertyKey[]): readonly string[] {
  const [first, ...rest] = path.filter((part) => typeof part === "string");
  if (first === undefined) return Object.keys(pinsSchema.shape);
  if (first === "traces") return rest.length === 1 ? Object.keys(traceSchema.shape) : [];
  return first !== "runs" ? [] : Object.keys((rest.length === 0 ? RUN : BY_PATH[rest.join(".")]?.below) ?? {});
}

/** The words that the pin at a path takes, where they are a closed list. */
export function pinChoices(path: string): readonly string[] {
  const type = BY_PATH[path]?.type;
  if (type instanceof z.ZodMiniBoolean) return ["true", "false"];
  return type instanceof z.ZodMiniEnum ? type.options.map(String) : [];
}

/** The node a zod path leads to, or the deepest one that exists. */
function place(root: LocatedNode, path: readonly PropertyKey[]): LocatedNode {
  let node = root;
  for (const part of path) {
    let next: LocatedNode | undefined;
    if (node.kind === "map") next = node.entries.findLast((entry) => entry.key === part)?.value;
    else if (node.kind === "list" && typeof part === "number") next = node.items[part];
    if (next === undefined) return node;
    node = next;
  }
  return node;
}
