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
const names = z.union([z.string(), z.array(z.string())]);

const FIELD_SCHEMAS: Readonly<Partial<Record<string, z.ZodMiniType>>> = table({
  integer: z.int(),
  boolean: z.boolean(),
});

const DTYPES = ["float32", "float16", "bfloat16", "float64"] as const;
const QUANTIZATIONS = ["nf4", "fp4", "int8", "gptq", "awq", "hqq", "none"] as const;

const adapterSchema = z.strictObject({
  type: z.optional(z.enum(PINNED_ADAPTERS)),
  r: z.optional(count),
  alpha: z.optional(z.number()),
  dropout: z.optional(z.number().check(z.minimum(0), z.maximum(1))),
  target_modules: z.optional(names),
  modules_to_save: z.optional(names),
  bias: z.optional(z.enum(["none", "all", "lora_only"])),
  use_dora: z.optional(z.boolean()),
  use_rslora: z.optional(z.boolean()),
  autocast_adapter_dtype: z.optional(z.boolean()),
  ...Object.fromEntries(
    Object.keys(PINNED_FIELDS).map((name) => [name, z.optional(FIELD_SCHEMAS[pinnedType(name)] ?? z.any())]),
  ),
});

const quantizationSchema = z.strictObject({
  type: z.enum(QUANTIZATIONS),
  double: z.optional(z.boolean()),
  prepare_for_kbit: z.optional(z.boolean()),
  compute_dtype: z.optional(z.enum(["float32", "float16", "bfloat16"])),
});

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
];

const librariesSchema = z.strictObject(
  Object.fromEntries(
    LIBRARIES.map((name) => [name, z.optional(z.union([z.string().check(z.regex(/^\d+(\.\d+)*/)), z.number()]))]),
  ),
);

/** Tokens of the data set's samples: statistics of them. */
const lengthsSchema = z.strictObject({
  mean: z.optional(z.number().check(z.minimum(1))),
  median: z.optional(z.number().check(z.minimum(1))),
  p95: z.optional(z.number().check(z.minimum(1))),
  max: z.optional(count),
});

const runSchema = z.strictObject({
  match: z.optional(names),
  model: z.optional(z.string()),
  task: z.optional(z.enum(TASKS)),
  sequence_length: z.optional(count),
  target_length: z.optional(count),
  lengths: z.optional(z.union([lengthsSchema, z.array(count).check(z.minLength(1))])),
  /** Side in pixels; 0 for texts without pictures. */
  image_size: z.optional(z.int().check(z.nonnegative())),
  audio_seconds: z.optional(z.number().check(z.positive())),
  choices: z.optional(z.int().check(z.positive())),
  dtype: z.optional(z.enum(DTYPES)),
  attention: z.optional(z.enum(ATTENTIONS)),
  adapter: z.optional(z.union([adapterSchema, z.null()])),
  /** Patterns of the names of the only weights that are trained. */
  trained_parameters: z.optional(names),
  quantization: z.optional(z.union([quantizationSchema, z.null()])),
  device: z.optional(
    z.union([
      z.string(),
      z.strictObject({
        name: z.optional(z.string()),
        memory: z.optional(z.string()),
        count: z.optional(count),
        /** What a desktop or another process takes of the card. */
        occupied: z.optional(z.string()),
      }),
    ]),
  ),
  /** Whether `mamba_ssm` is installed. */
  state_space_kernels: z.optional(z.boolean()),
  /** RAM of a machine, for states that wait there: `256GiB`. */
  host_memory: z.optional(z.string()),
  /** NUMA nodes that have it, and memory behind CXL, in the machine's far nodes. */
  numa_nodes: z.optional(z.number().check(z.minimum(1))),
  cxl_memory: z.optional(z.string()),
  /** Room on a machine's NVMe drives: `2TB`. */
  nvme_space: z.optional(z.string()),
  /** Between the GPUs of a machine, each way: `PCIe`, `NVLink` or `450GB/s`; between machines, of all network cards: `400Gbit/s`. */
  gpu_link: z.optional(z.string()),
  machine_link: z.optional(z.string()),
  libraries: z.optional(librariesSchema),
});

export const pinsSchema = z.strictObject({
  runs: z.optional(z.array(runSchema)),
  traces: z.optional(z.record(z.string(), traceSchema)),
});

/** Canonical setting of each pin, by its path inside a run. */
const NAMES: Readonly<Record<string, SettingName>> = table({
  model: "model",
  task: "task",
  sequence_length: "sequence_length",
  target_length: "target_length",
  lengths: "sample_lengths",
  "lengths.mean": "sample_length_mean",
  "lengths.median": "sample_length_median",
  "lengths.p95": "sample_length_p95",
  "lengths.max": "sample_length_max",
  image_size: "image_size",
  audio_seconds: "audio_seconds",
  choices: "choices",
  dtype: "load_dtype",
  attention: "attention",
  state_space_kernels: "state_space_kernels",
  trained_parameters: "trained_parameters",
  "adapter.type": "adapter",
  "adapter.r": "lora_rank",
  "adapter.alpha": "lora_alpha",
  "adapter.dropout": "lora_dropout",
  "adapter.target_modules": "lora_target_modules",
  "adapter.modules_to_save": "lora_modules_to_save",
  "adapter.bias": "lora_bias",
  "adapter.use_dora": "use_dora",
  "adapter.use_rslora": "use_rslora",
  "adapter.autocast_adapter_dtype": "autocast_adapter_dtype",
  ...Object.fromEntries(Object.entries(PINNED_FIELDS).map(([field, name]) => [`adapter.${field}`, name])),
  "quantization.type": "quantization",
  "quantization.double": "double_quantization",
  "quantization.prepare_for_kbit": "prepare_for_kbit",
  "quantization.compute_dtype": "quantization_compute_dtype",
  device: "device",
  "device.name": "device",
  "device.memory": "device",
  "device.count": "world_size",
  "device.occupied": "device_occupied",
  host_memory: "host_memory",
  numa_nodes: "numa_nodes",
  cxl_memory: "cxl_memory",
  nvme_space: "nvme_space",
  gpu_link: "gpu_link",
  machine_link: "machine_link",
  ...Object.fromEntries(LIBRARIES.map((name) => [`libraries.${name}`, `library.${name}` as const])),
});

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
  return first === "runs" ? pinKeys(rest.join(".")) : [];
}

/** Keys allowed below a path of a pinned run (`""` for the run itself); none where values stand. */
export function pinKeys(path: string): readonly string[] {
  return KNOWN.get(path) ?? [];
}

/** The words that the pin at a path takes, where they are a closed list. */
export function pinChoices(path: string): readonly string[] {
  return CHOICES[path] ?? [];
}

const CHOICES: Readonly<Record<string, readonly string[]>> = table({
  task: TASKS,
  dtype: DTYPES,
  attention: ATTENTIONS,
  "quantization.type": QUANTIZATIONS,
  "quantization.compute_dtype": ["float32", "float16", "bfloat16"],
  "adapter.type": PINNED_ADAPTERS,
  "adapter.bias": ["none", "all", "lora_only"],
  ...Object.fromEntries(
    ["use_dora", "use_rslora", "autocast_adapter_dtype"].map((name) => [`adapter.${name}`, ["true", "false"]]),
  ),
  "quantization.double": ["true", "false"],
  "quantization.prepare_for_kbit": ["true", "false"],
});

/** Keys allowed below each path of a pinned run. */
const KNOWN: ReadonlyMap<string, readonly string[]> = new Map([
  ["", Object.keys(runSchema.shape)],
  ["adapter", Object.keys(adapterSchema.shape)],
  ["quantization", Object.keys(quantizationSchema.shape)],
  ["lengths", Object.keys(lengthsSchema.shape)],
  ["device", ["name", "memory", "count", "occupied"]],
  ["libraries", Object.keys(librariesSchema.shape)],
]);

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
