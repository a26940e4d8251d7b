/** Runs as the engine would report them, for tests of the page. The figures are illustrations, not results. */
import { COMPONENT_KINDS, type ComponentKind } from "../../src/core/report/estimate";
import type { Report, ReportRun, ReportSetting } from "../../src/core/report/schema";

export const GIB = 2 ** 30;
export const CONFIG = "file:///work/llama-1b/train.yaml";
export const DEEPSPEED = "file:///work/llama-1b/ds_zero2.json";

const at = (line: number, length = 20) => ({ start: { line, character: 0 }, end: { line, character: length } });
const gib = (size: number) => Math.round(size * GIB);

function setting(name: string, value: ReportSetting["value"], key: string, line: number): ReportSetting {
  return { name, value, key, uri: CONFIG, range: at(line), from: "document" };
}

type PerDevice = NonNullable<ReportRun["perDevice"]>;

/**
 * Two steps: weights stay, gradients grow in backward, optimizer state comes with the first optimizer step, activations
 * rise and fall once per step.
 */
function timeline(peak: number, resting: number): NonNullable<PerDevice["timeline"]> {
  const points: NonNullable<PerDevice["timeline"]> = [];
  const weights = resting * 0.25;
  const put = (place: number, phase: PerDevice["peakPhase"], parts: Partial<Record<ComponentKind, number>>) => {
    const alive = COMPONENT_KINDS.map((kind) => Math.round(kind === "weights" ? weights : (parts[kind] ?? 0)));
    points.push({ at: place, phase, alive, allocatedBytes: alive.reduce((sum, bytes) => sum + bytes, 0) });
  };
  const tall = peak - resting;
  put(0, "load", {});
  for (let step = 0; step < 2; step++) {
    const from = 0.02 + step * 0.49;
    const optimizer = step === 0 ? 0 : resting * 0.5;
    put(from, "data", { optimizer });
    for (let layer = 0; layer <= 32; layer++) {
      put(from + 0.01 + layer * 0.005, "forward", { optimizer, activations: tall * 0.7 * (layer / 32) });
    }
    for (let part = 0; part <= 6; part++) {
      const logits = tall * 0.3 * (part / 6);
      put(from + 0.18 + part * 0.004, "loss", { optimizer, activations: tall * 0.7, "logits-and-loss": logits });
    }
    put(from + 0.206, "backward", {
      optimizer,
      activations: tall * 0.7,
      "logits-and-loss": peak - weights - optimizer - tall * 0.7,
    });
    for (let layer = 0; layer <= 32; layer++) {
      put(from + 0.21 + layer * 0.006, "backward", {
        optimizer,
        activations: tall * 0.7 * (1 - layer / 32),
        gradients: resting * 0.25 * (layer / 32),
        temporaries: layer % 2 === 0 ? 0 : tall * 0.03,
      });
    }
    put(from + 0.41, "clip", { optimizer, gradients: resting * 0.25 });
    for (let group = 0; group <= 8; group++) {
      const temporaries = (group % 2) * resting * 0.1;
      put(from + 0.42 + group * 0.006, "optimizer", {
        optimizer: resting * 0.5,
        gradients: resting * 0.25,
        temporaries,
      });
    }
    put(from + 0.48, "zero", { optimizer: resting * 0.5 });
  }
  return points;
}

const origin = (key: string, line: number, uri = CONFIG) => ({ uri, key, range: at(line) });

/** 1 B model, full training, does not fit an RTX 4090. */
export function doesNotFit(): ReportRun {
  const components: PerDevice["components"] = [
    { kind: "weights", bytes: gib(4.6), origins: [origin("model_name_or_path", 0)] },
    { kind: "gradients", bytes: gib(4.6), origins: [origin("bf16", 7)] },
    { kind: "optimizer", bytes: gib(9.2), origins: [origin("optim", 9)] },
    {
      kind: "activations",
      bytes: gib(11.4),
      origins: [origin("per_device_train_batch_size", 3), origin("max_length", 4)],
    },
    { kind: "logits-and-loss", bytes: gib(9.1), origins: [origin("per_device_train_batch_size", 3)] },
    { kind: "temporaries", bytes: gib(0.6), origins: [] },
    { kind: "buffers", bytes: gib(0.02), origins: [] },
    { kind: "inputs", bytes: 262_144, origins: [origin("max_length", 4)] },
  ];
  const allocated = components.reduce((sum, component) => sum + component.bytes, 0);
  return {
    id: "train.yaml",
    documents: [CONFIG, DEEPSPEED],
    formats: ["trl"],
    model: {
      name: "meta-llama/Llama-3.2-1B",
      family: "llama",
      parameters: 1_235_814_400,
      trainableParameters: 1_235_814_400,
      source: "config.json",
    },
    devices: {
      name: "NVIDIA GeForce RTX 4090",
      memoryBytes: gib(24),
      usableBytes: gib(22.8),
      count: 1,
      source: "setting",
    },
    settings: [
      setting("model", "meta-llama/Llama-3.2-1B", "model_name_or_path", 0),
      setting("micro_batch_size", 8, "per_device_train_batch_size", 3),
      setting("sequence_length", 2048, "max_length", 4),
      setting("gradient_accumulation_steps", 1, "gradient_accumulation_steps", 5),
      setting("compute_dtype", "bf16", "bf16", 7),
      setting("gradient_checkpointing", false, "gradient_checkpointing", 8),
      setting("optimizer", "adamw_torch_fused", "optim", 9),
      setting("world_size", 1, "num_processes", 10),
    ],
    perDevice: {
      allocatedPeakBytes: allocated,
      reservedPeakBytes: allocated + gib(0.9),
      usedPeakBytes: allocated + gib(0.9) + gib(0.8),
      band: { lowBytes: gib(40.1), highBytes: gib(43), coverage: 0.99 },
      peakPhase: "backward",
      rank: 0,
      components,
      modules: [
        { module: "model.layers.*.mlp", kind: "activations", bytes: gib(6.1) },
        { module: "model.layers.*.self_attn", kind: "activations", bytes: gib(3.2) },
        { module: "model.layers.*.input_layernorm", kind: "activations", bytes: gib(1.4) },
        { module: "model.embed_tokens", kind: "activations", bytes: gib(0.7) },
        { module: "model.layers.*.mlp", kind: "weights", bytes: gib(3) },
        { module: "model.embed_tokens", kind: "weights", bytes: gib(1) },
        { module: "model.layers.*.self_attn", kind: "weights", bytes: gib(0.6) },
        { module: "lm_head", kind: "logits-and-loss", bytes: gib(9.1) },
      ],
      phases: [
        { phase: "forward", peakBytes: gib(34) },
        { phase: "loss", peakBytes: gib(38.2) },
        { phase: "backward", peakBytes: allocated },
        { phase: "optimizer", peakBytes: gib(19.4) },
      ],
      timeline: timeline(allocated, gib(18.4)),
    },
    host: { pinnedBytes: 0, pageableBytes: 0, nvmeBytes: 0 },
    time: { stepSeconds: { low: 1.42, high: 1.78 }, bound: "compute", relativeTo: null },
    verdict: "does-not-fit",
    statement: {
      verdict: "Does not fit",
      detail: "41.2 GiB (40.1–43.0) of 22.8 usable on RTX 4090, peak in backward",
      need: "41.2 GiB (40.1–43.0) of 22.8 usable",
      peak: "peak in backward",
      room: "18.4 GiB over",
      short: "41.2 / 22.8 GiB",
    },
    fitsOn: [
      { name: "NVIDIA GeForce RTX 3090", memoryBytes: gib(24), fits: false },
      { name: "NVIDIA GeForce RTX 4090", memoryBytes: gib(24), fits: false },
      { name: "NVIDIA GeForce RTX 5090", memoryBytes: gib(32), fits: false },
      { name: "NVIDIA A100-SXM4-40GB", memoryBytes: gib(40), fits: false },
      { name: "NVIDIA L40S", memoryBytes: gib(48), fits: true },
      { name: "NVIDIA A100-SXM4-80GB", memoryBytes: gib(80), fits: true },
      { name: "NVIDIA H100 80GB HBM3", memoryBytes: gib(80), fits: true },
      { name: "NVIDIA H200", memoryBytes: gib(141), fits: true },
    ],
    assumptions: [
      {
        id: "assume.model",
        what: "sequence length 2048 (no max_length in the config)",
        settleWith: "sequence_length",
        effectBytes: gib(12.5),
      },
      { id: "assume.model", what: "attention implementation sdpa", settleWith: "attention", effectBytes: gib(0.4) },
      { id: "assume.model", what: "torch 2.11, transformers 5.17", settleWith: "libraries.torch", effectBytes: 0 },
    ],
    findings: [
      {
        code: "does-not-fit",
        severity: "error",
        message:
          "Does not fit RTX 4090: 41.2 GiB (40.1–43.0) of 22.8 usable, peak in backward. Largest micro-batch that fits: 2.",
        uri: CONFIG,
        range: at(3),
        help: "https://example.invalid/docs/does-not-fit",
      },
      {
        code: "sdpa-before-ampere",
        severity: "information",
        message: "Flash attention is available for this card and saves 0.4 GiB.",
        uri: CONFIG,
        range: at(6),
        help: "https://example.invalid/docs/attention",
      },
    ],
    plans: [
      plan("Micro-batch 2, accumulation 4", ["micro-batch"], 21.1, 1.06, "nothing", "The global batch stays 8."),
      plan(
        "Gradient checkpointing",
        ["gradient-checkpointing"],
        20.3,
        1.3,
        "nothing",
        "Activations are recomputed in backward.",
      ),
      plan("Checkpointing and fused loss (Liger)", ["gradient-checkpointing", "liger"], 15.6, 1.24, "numerics"),
      plan("8-bit AdamW and micro-batch 4", ["optimizer", "micro-batch"], 20.9, 1.04, "numerics"),
      plan("LoRA, rank 16", ["lora"], 18.8, 0.91, "method"),
      plan("Fused loss (Liger)", ["liger"], 31.5, 0.97, "numerics"),
    ],
  };
}

function plan(
  title: string,
  levers: string[],
  size: number,
  stepTimeFactor: number,
  changes: "nothing" | "numerics" | "method",
  why?: string,
): ReportRun["plans"][number] {
  return {
    title,
    levers,
    usedPeakBytes: gib(size),
    savesBytes: gib(41.2 - size),
    stepTimeFactor,
    says: `−${(41.2 - size).toFixed(1)} GiB · ${Math.round(100 * (stepTimeFactor - 1))} % time · ${changes === "nothing" ? "same results" : `changes ${changes}`}`,
    changes,
    fits: size < 22.8,
    edits: levers.map((_, index) => ({ uri: CONFIG, range: at(3 + index), newText: "2" })),
    ...(why === undefined ? {} : { why }),
  };
}

/** The same run scaled to `factor` of its activations and loss, with the verdict that follows. */
export function scaled(run: ReportRun, factor: number): ReportRun {
  const device = run.perDevice;
  if (device === null) return run;
  const components = device.components.map((component) =>
    component.kind === "activations" || component.kind === "logits-and-loss"
      ? { ...component, bytes: Math.round(component.bytes * factor) }
      : component,
  );
  const allocated = components.reduce((sum, component) => sum + component.bytes, 0);
  const used = allocated + gib(0.5) + gib(0.8);
  const usable = run.devices.usableBytes ?? run.devices.memoryBytes ?? null;
  const verdict =
    usable === null ? "unknown" : used + gib(0.4) < usable ? "fits" : used > usable ? "does-not-fit" : "tight";
  const words = { fits: "Fits", tight: "Tight", "does-not-fit": "Does not fit", unknown: "No GPU chosen" };
  const need = `${(used / gib(1)).toFixed(1)} GiB`;
  return {
    ...run,
    verdict,
    statement: { ...run.statement, verdict: words[verdict], need, detail: `${need} on RTX 4090` },
    perDevice: {
      ...device,
      components,
      allocatedPeakBytes: allocated,
      reservedPeakBytes: allocated + gib(0.5),
      usedPeakBytes: used,
      band: { lowBytes: used - gib(0.7), highBytes: used + gib(0.9), coverage: 0.99 },
      modules: (device.modules ?? []).map((share) =>
        share.kind === "activations" ? { ...share, bytes: Math.round(share.bytes * factor) } : share,
      ),
      timeline: timeline(allocated, gib(18.4)),
    },
    plans: verdict === "fits" ? [] : run.plans,
    findings: verdict === "fits" ? [] : run.findings,
  };
}

/** Fits, with optimizer state on the host. */
export function offloaded(): ReportRun {
  const run = scaled(doesNotFit(), 0.12);
  return { ...run, host: { pinnedBytes: gib(14.8), pageableBytes: gib(3.2), nvmeBytes: gib(9.6) } };
}

/** The peak is known, the card is not. */
export function withoutDevice(): ReportRun {
  const run = doesNotFit();
  return {
    ...run,
    verdict: "unknown",
    devices: { name: null, memoryBytes: null, usableBytes: null, count: 1, source: "none" },
    statement: {
      verdict: "No GPU chosen",
      detail: "41.2 GiB (40.1–43.0) needed, peak in backward; fits from L40S (48.0 GiB) on",
      need: "41.2 GiB (40.1–43.0) needed",
      peak: "peak in backward",
      room: "fits from L40S (48.0 GiB) on",
      short: "41.2 GiB",
    },
    assumptions: [
      { id: "assume.model", what: "no GPU is chosen", settleWith: "device", effectBytes: 0 },
      ...run.assumptions,
    ],
    findings: [],
    plans: [],
  };
}

/** Nothing says which model is trained. */
export function unknownModel(): ReportRun {
  const run = doesNotFit();
  return {
    ...run,
    verdict: "unknown",
    model: null,
    perDevice: null,
    statement: { verdict: "No estimate", detail: "", need: "", peak: "", room: "", short: "" },
    time: null,
    fitsOn: [],
    plans: [],
    assumptions: [
      {
        id: "assume.model",
        what: "the model: no config.json was found for ./model",
        settleWith: "model",
        effectBytes: 0,
      },
    ],
    findings: [
      {
        code: "unknown-model",
        severity: "warning",
        message: "The directory ./model has no config.json, so the memory cannot be estimated.",
        uri: CONFIG,
        range: at(0),
        help: "https://example.invalid/docs/unknown-model",
      },
    ],
  };
}

export function reportOf(...runs: readonly ReportRun[]): Report {
  return { schema: "vram-lens/report/1", version: "0.1.0", runs: [...runs], errors: [] };
}
