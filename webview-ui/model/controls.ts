/** The what-if controls: which settings can be tried, grouped as a person thinks of them, with the values on offer. */
import type { ReportRun } from "../../src/core/report/schema";

export type ControlGroup = "data" | "precision" | "savers" | "optimizer" | "adapters" | "parallel" | "offload";

interface ControlSpec {
  readonly group: ControlGroup;
  /** Canonical name of the setting, as `report/1` and `--set` spell it. */
  readonly name: string;
  /** Numbers also take any other value; words only those on offer. */
  readonly kind: "number" | "word";
  /** Values on offer; the run's own value is added when it is another one. */
  readonly values: readonly string[];
  /** What holds when no setting says it. */
  readonly otherwise: (run: ReportRun) => string | null;
  readonly shown?: (run: ReportRun, value: (name: string) => string | null) => boolean;
}

const always = (value: string) => () => value;
const unstated = () => null;

/** Values of the optimizer as the Hugging Face trainer spells them, the most used first. */
const OPTIMIZERS = [
  "adamw_torch",
  "adamw_torch_fused",
  "adamw_bnb_8bit",
  "paged_adamw_8bit",
  "adafactor",
  "lion_8bit",
  "sgd",
];

const SPECS: readonly ControlSpec[] = [
  { group: "data", name: "micro_batch_size", kind: "number", values: ["1", "2", "4", "8", "16"], otherwise: unstated },
  {
    group: "data",
    name: "sequence_length",
    kind: "number",
    values: ["1024", "2048", "4096", "8192"],
    otherwise: unstated,
    shown: (_, value) => value("sequence_length") !== null,
  },
  {
    group: "data",
    name: "gradient_accumulation_steps",
    kind: "number",
    values: ["1", "2", "4", "8"],
    otherwise: always("1"),
  },
  {
    group: "precision",
    name: "compute_dtype",
    kind: "word",
    values: ["fp32", "bf16", "fp16"],
    otherwise: always("fp32"),
  },
  {
    group: "savers",
    name: "gradient_checkpointing",
    kind: "word",
    values: ["false", "true"],
    otherwise: always("false"),
  },
  { group: "savers", name: "fused_loss", kind: "word", values: ["false", "true"], otherwise: always("false") },
  {
    group: "savers",
    name: "attention",
    kind: "word",
    values: ["eager", "sdpa", "flash_attention_2"],
    otherwise: always("sdpa"),
  },
  { group: "optimizer", name: "optimizer", kind: "word", values: OPTIMIZERS, otherwise: unstated },
  { group: "adapters", name: "adapter", kind: "word", values: ["none", "lora", "dora"], otherwise: always("none") },
  {
    group: "adapters",
    name: "lora_rank",
    kind: "number",
    values: ["8", "16", "32", "64"],
    otherwise: always("8"),
    shown: (_, value) => value("adapter") !== "none",
  },
  { group: "adapters", name: "quantization", kind: "word", values: ["none", "int8", "nf4"], otherwise: always("none") },
  {
    group: "parallel",
    name: "world_size",
    kind: "number",
    values: ["1", "2", "4", "8"],
    otherwise: (run) => String(run.devices.count),
  },
  {
    group: "parallel",
    name: "zero_stage",
    kind: "word",
    values: ["0", "1", "2", "3"],
    otherwise: always("0"),
    shown: (_, value) => value("fsdp") === "none",
  },
  {
    group: "parallel",
    name: "fsdp",
    kind: "word",
    values: ["none", "shard_grad_op", "full_shard"],
    otherwise: always("none"),
    shown: (_, value) => value("fsdp") !== "none",
  },
  {
    group: "offload",
    name: "offload_optimizer",
    kind: "word",
    values: ["none", "cpu", "nvme"],
    otherwise: always("none"),
    shown: (_, value) => value("zero_stage") !== "0" || value("offload_optimizer") !== "none",
  },
  {
    group: "offload",
    name: "offload_param",
    kind: "word",
    values: ["none", "cpu", "nvme"],
    otherwise: always("none"),
    shown: (_, value) => value("zero_stage") === "3" || value("offload_param") !== "none",
  },
];

/** Values to try, by canonical name; what is not in it stays as the files say. */
export type WhatIfSet = Readonly<Record<string, string>>;

export interface Control {
  readonly name: string;
  readonly kind: "number" | "word";
  /** What the files say (or what holds without them); null when nothing is known. */
  readonly base: string | null;
  /** What is shown as chosen: the tried value, else the base. */
  readonly value: string | null;
  readonly options: readonly string[];
}

export interface ControlGroupModel {
  readonly group: ControlGroup;
  readonly controls: readonly Control[];
}

function baseOf(run: ReportRun, spec: ControlSpec): string | null {
  const setting = run.settings.find((entry) => entry.name === spec.name);
  if (setting === undefined) return spec.otherwise(run);
  return setting.value === null ? null : String(setting.value);
}

/** Numbers in order, words as listed; the base is among them. */
function optionsOf(spec: ControlSpec, base: string | null): readonly string[] {
  const all = base === null || spec.values.includes(base) ? [...spec.values] : [...spec.values, base];
  return spec.kind === "number" ? all.sort((a, b) => Number(a) - Number(b)) : all;
}

/** Controls for `run` with the values of `set` chosen. */
export function controlsOf(run: ReportRun, set: WhatIfSet): readonly ControlGroupModel[] {
  const value = (name: string): string | null => {
    const spec = SPECS.find((candidate) => candidate.name === name);
    return set[name] ?? (spec === undefined ? null : baseOf(run, spec));
  };
  const groups = new Map<ControlGroup, Control[]>();
  for (const spec of SPECS) {
    if (spec.shown !== undefined && !spec.shown(run, value)) continue;
    const base = baseOf(run, spec);
    const controls = groups.get(spec.group) ?? [];
    controls.push({
      name: spec.name,
      kind: spec.kind,
      base,
      value: set[spec.name] ?? base,
      options: optionsOf(spec, base),
    });
    groups.set(spec.group, controls);
  }
  return [...groups].map(([group, controls]) => ({ group, controls }));
}

/** `set` with one value changed; a value equal to what the files say leaves the set. */
export function change(set: WhatIfSet, control: Control, value: string): WhatIfSet {
  const { [control.name]: _, ...rest } = set;
  return value === control.base ? rest : { ...rest, [control.name]: value };
}

/** What of `set` the files do not say yet: an applied what-if is no what-if any more. */
export function stillTried(run: ReportRun, set: WhatIfSet): WhatIfSet {
  const said = new Map(SPECS.map((spec) => [spec.name, baseOf(run, spec)]));
  return Object.fromEntries(Object.entries(set).filter(([name, value]) => said.get(name) !== value));
}

/** A typed number as the engine accepts it: a positive whole number; undefined otherwise. */
export function parseCount(text: string): string | undefined {
  const digits = text.trim().replace(/[_\s,]/g, "");
  return /^[1-9]\d{0,8}$/.test(digits) ? digits : undefined;
}

/** One name for a set, whatever the order its values were chosen in. */
export function setKey(set: WhatIfSet): string {
  return JSON.stringify(Object.entries(set).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Every set that is one option away from `set`: what the controls announce before they are touched.
 *
 * @param only the one control to look at; all when undefined
 */
export function neighbours(run: ReportRun, set: WhatIfSet, only?: string): readonly WhatIfSet[] {
  return controlsOf(run, set).flatMap(({ controls }) =>
    controls
      .filter((control) => only === undefined || control.name === only)
      .flatMap((control) =>
        control.options.filter((option) => option !== control.value).map((option) => change(set, control, option)),
      ),
  );
}
