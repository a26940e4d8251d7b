/**
 * From changed settings to text edits in the files that are obeyed: a setting is changed where the run has it from,
 * and one that nothing states goes into the document whose format has a key for it.
 */

import { DEVICES_PER_MACHINE } from "../../core/hardware/devices";
import type { ReportEdit } from "../../core/report/schema";
import { dataParallelSize } from "../../core/training/parallel/degrees";
import { deepspeed } from "../../formats/deepspeed";
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import { refusedArguments } from "../../formats/hf-scripts/accepted";
import { parseDocument } from "../../formats/parse";
import { editPin } from "../../formats/pins/edit";
import type { ConfigDocument, EditContext, EditResult, Format, KeySpec, SettingChange } from "../../formats/types";
import { applyEdits } from "../../syntax/edit";
import type { ShellCommand, SpanEdit } from "../../syntax/tree";
import { quantizerOf } from "../../terms/quantizers";
import type { SettingName } from "../../terms/settings";
import { type Message, say } from "../../words/message";
import { defaultOf, keyFor } from "../defaults";
import { frameworkOf } from "../frameworks";
import type { RunInputs } from "../inputs";
import { pinnedRunsOf } from "../nearest-pins";
import type { Resolution } from "../resolve";
import type { LoadedDocument } from "../store";
import { holds } from "../versions";

export type EditsResult = { readonly edits: readonly ReportEdit[] } | { readonly refused: Message };

const DEEPSPEED_NAMES = new Set(DEEPSPEED_KEYS.map((spec) => spec.name));

/** Settings that HF compares with DeepSpeed's file and stops when they differ. */
const COMPARED = new Set(["micro_batch_size", "gradient_accumulation_steps", "max_grad_norm", "bf16", "fp16"]);

const LIGER_PLUGIN = "axolotl.integrations.liger.LigerPlugin";

/** Put before a launch command, for the allocator of what it launches. */
const EXPANDABLE = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True ";

interface Work {
  readonly document: LoadedDocument;
  readonly kind: "format" | "deepspeed" | "pins" | "launch";
  readonly changes: SettingChange[];
}

/** Edits that make the run's documents say the changes; all or nothing. */
export function editsFor(inputs: RunInputs, resolution: Resolution, changes: readonly SettingChange[]): EditsResult {
  const works = new Map<string, Work>();
  const add = (document: LoadedDocument, kind: Work["kind"], change: SettingChange): void => {
    const work = works.get(document.uri);
    if (work === undefined) works.set(document.uri, { document, kind, changes: [change] });
    else work.changes.push(change);
  };
  for (const change of changes.flatMap((one) => spelledOut(one, inputs, resolution, changes))) {
    const target = targetOf(inputs, resolution, change);
    if (target === undefined) return { refused: say("refused.no-file", { name: change.name }) };
    const beyond = target.kind === "pins" ? undefined : beyondReach(resolution, change);
    if (beyond !== undefined) return { refused: beyond };
    add(target.document, target.kind, change);
    const { deepspeed: file } = inputs;
    if (file === undefined || file === target.document || !COMPARED.has(change.name) || file === inputs.main) continue;
    const stated = file.read.settings.some(
      (setting) => setting.name === change.name && typeof setting.value !== "object",
    );
    if (stated) add(file, "deepspeed", change);
  }
  const edits: ReportEdit[] = [];
  for (const work of works.values()) {
    const { composed } = inputs;
    // A script says what it wants otherwise than the config it starts on; other scripts may start on that, too.
    if (work.kind === "format" && composed?.startedByOwner === false && work.document === inputs.main) {
      const result = composed.edit(work.changes, contextOf(inputs, resolution));
      if ("refused" in result) return result;
      edits.push(...result.edits.map(({ document, edit }) => reportEdit(document, edit)));
      continue;
    }
    const result = editDocument(work, inputs, resolution);
    if ("refused" in result) return result;
    const refused = newlyRefused(work.document, result.edits, resolution);
    if (refused !== undefined) return { refused: say("refused.no-argument", { name: refused }) };
    edits.push(...result.edits.map((edit) => reportEdit(work.document, edit)));
  }
  return { edits };
}

/** GPUs that the job is not granted, or that the machines it is started on do not have. */
function beyondReach({ settings, resolved }: Resolution, { name, value }: SettingChange): Message | undefined {
  const count = Number(value);
  if (name !== "world_size" || !(count > Number(resolved.get(name)?.value ?? 1))) return undefined;
  const granted = settings.number("granted_devices");
  if (granted !== undefined && count > granted) return say("refused.granted", { count, granted });
  // More machines are asked for in other places than the count of processes: a host file, a scheduler, each machine's own command.
  const here = DEVICES_PER_MACHINE * (settings.number("num_machines") ?? 1);
  return count > here ? say("refused.machines", { count, here }) : undefined;
}

/** What formats ask when they write. */
function contextOf({ taken }: RunInputs, { libraries }: Resolution): EditContext {
  return { libraries: { ...libraries }, ...(taken === undefined ? {} : { program: taken }) };
}

/** An argument that a call of the edited module has and its class refuses, when it did not have it before. */
function newlyRefused(
  { uri, config }: LoadedDocument,
  edits: readonly SpanEdit[],
  { libraries }: Resolution,
): string | undefined {
  const before = config?.parsed.python;
  if (config === undefined || before === undefined) return undefined;
  const after = parseDocument(uri, applyEdits(config.text, edits))?.parsed.python;
  const versions = { ...libraries };
  const known = new Set(refusedArguments(before, versions));
  return after === undefined ? undefined : refusedArguments(after, versions).find((name) => !known.has(name));
}

/** Canonical settings that a trainer's config spells with other keys. */
function spelledOut(
  change: SettingChange,
  inputs: RunInputs,
  resolution: Resolution,
  asked: readonly SettingChange[],
): SettingChange[] {
  const has = (name: SettingName): boolean => inputs.format.keys.some((spec) => spec.name === name);
  switch (change.name) {
    case "compute_dtype": {
      if (!has("bf16") && has("compute_dtype")) return [change];
      if (change.value === "fp8")
        return has("fp8")
          ? [{ name: "fp8", value: true }]
          : has("fp8_format")
            ? [{ name: "fp8_format", value: "hybrid" }]
            : [change];
      const wanted = change.value === "fp16" ? "fp16" : "bf16";
      const other = wanted === "bf16" ? "fp16" : "bf16";
      const otherOn = resolution.settings.boolean(other) === true;
      return [
        { name: wanted, value: change.value !== "fp32" },
        ...(otherOn ? [{ name: other, value: false } as const] : []),
      ];
    }
    case "micro_batch_size": {
      // Where only the batch of all GPUs has a key (nnU-Net's plans), that is what changes.
      const micro = resolution.resolved.get(change.name);
      const total = resolution.settings.find("global_batch_size");
      return !has(change.name) && total !== undefined && micro?.key === total.key
        ? [{ name: "global_batch_size", value: Number(change.value) * (resolution.run?.parallel.worldSize ?? 1) }]
        : [change];
    }
    case "optimizer":
      if (change.value === "muon" && has("use_muon")) return [{ name: "use_muon", value: true }];
      // Where a switch of its own fuses AdamW's step, the two names are one class with it off and on.
      return has("optimizer_fused") && (change.value === "adamw_torch" || change.value === "adamw_torch_fused")
        ? [
            { name: change.name, value: "adamw_torch" },
            { name: "optimizer_fused", value: change.value === "adamw_torch_fused" },
          ]
        : [change];
    case "adapter":
      return has("use_peft") ? [{ name: "use_peft", value: change.value !== "none" }] : [change];
    case "gradient_checkpointing": {
      const own = resolution.settings.layers.find(({ id }) => id === "document")?.settings ?? [];
      const on = own.some(({ name, value }) => name === change.name && value === true);
      // Megatron stops at full recomputation that does not say which layers.
      const which = (["recompute_method", "recompute_num_layers"] as const).filter(
        (name) => resolution.settings.find(name) === undefined,
      );
      if (frameworkOf(inputs.format).recomputesByMethod === true && change.value === true && which.length > 0)
        return [change, ...which.map((name) => ({ name, value: name === "recompute_method" ? "uniform" : 1 }))];
      const byFsdp = resolution.settings.boolean("fsdp_activation_checkpointing") === true;
      return byFsdp && !on && change.value === false
        ? [{ name: "fsdp_activation_checkpointing", value: false }]
        : [change];
    }
    case "gradient_accumulation_steps": {
      // Where only the global batch is stated, smaller micro-batches and fewer replicas take more steps by themselves.
      if (followsFromTotal(resolution, has(change.name))) {
        const total = asked.some(({ name }) => SPLITS.has(name)) ? undefined : globalBatch(resolution, asked);
        const stated = resolution.settings.find("global_batch_size")?.value;
        return total === undefined || total === stated ? [] : [{ name: "global_batch_size", value: total }];
      }
      const total = has(change.name) || !has("global_batch_size") ? undefined : globalBatch(resolution, []);
      return [total === undefined ? change : { name: "global_batch_size", value: total }];
    }
    case "fused_loss":
      // Axolotl's switches of Liger act where its plugin is listed.
      if (has(change.name) || !has("liger_fused_loss")) return [change];
      if (change.value !== true) return [{ name: "liger_fused_loss", value: change.value }];
      return [
        ...(["liger_fused_loss", "liger_norms", "liger_gates"] as const).map((name) => ({ name, value: true })),
        { name: "plugins", value: [...new Set([...(resolution.settings.list("plugins") ?? []), LIGER_PLUGIN])] },
      ];
    case "quantization":
      if (!has("load_in_4bit")) return has("quantization_bit") ? inBits(change, resolution, has) : [change];
      if (change.value === "none") {
        const on = (["load_in_4bit", "load_in_8bit"] as const).filter(
          (name) => resolution.settings.boolean(name) === true,
        );
        const named =
          resolution.settings.string("adapter") === "qlora" ? [{ name: "adapter" as const, value: "lora" }] : [];
        return [...on.map((name) => ({ name, value: false })), ...named];
      }
      return [{ name: quantizerOf(String(change.value))?.switch ?? "load_in_4bit", value: true }];
    case "double_quantization": {
      // What a library does anyway is not written.
      const spec = keyFor(inputs.format, change.name, resolution.libraries);
      const unsaid = spec !== undefined && resolution.settings.find(change.name)?.place == null;
      return unsaid && defaultOf(spec, resolution.libraries) === change.value ? [] : [change];
    }
    case "dp_shard_size":
      // Where nobody counts the ranks of a copy, the library does.
      return resolution.settings.find(change.name) === undefined ? [] : [change];
    case "lora_target_modules": {
      const names = String(change.value)
        .split(",")
        .map((name) => name.trim());
      return names.length > 1 && frameworkOf(inputs.format).splitsNames !== true
        ? [{ name: change.name, value: names }]
        : [change];
    }
    case "fsdp":
      return has("fsdp_options")
        ? [
            {
              name: "fsdp_options",
              value: holds("transformers<5", resolution.libraries) ? `${change.value} auto_wrap` : change.value,
            },
          ]
        : [change];
    default:
      return [change];
  }
}

/** A way to pack weights where bits are asked for, and the package that packs them (LLaMA-Factory, ms-swift). */
function inBits(
  { value }: SettingChange,
  { settings }: Resolution,
  has: (name: SettingName) => boolean,
): SettingChange[] {
  const by = has("quantization_method");
  const bits = quantizerOf(String(value))?.bits;
  if (bits !== undefined)
    return [
      { name: "quantization_bit", value: bits },
      ...(by ? [{ name: "quantization_method" as const, value: "bnb" }] : []),
    ];
  const stated = (["quantization_bit", "quantization_method"] as const).filter(
    (name) => settings.find(name) !== undefined,
  );
  return stated.map((name) => ({ name, value: null }));
}

/** Whether a trainer counts its micro-batches itself, from the global batch that the files state (Megatron, litgpt). */
function followsFromTotal({ settings, resolved }: Resolution, hasKey: boolean): boolean {
  const total = settings.find("global_batch_size");
  const steps = settings.find("gradient_accumulation_steps");
  if (total?.place == null || typeof total.value !== "number") return false;
  if (steps?.place == null) return !hasKey || resolved.get("gradient_accumulation_steps")?.key === total.key;
  return steps.place.uri === total.place.uri && steps.place.keySpan.start === total.place.keySpan.start;
}

/** Degrees that leave fewer copies of the model, so that the stated batch takes more steps. */
const SPLITS: ReadonlySet<SettingName> = new Set<SettingName>([
  "tensor_parallel",
  "pipeline_parallel",
  "context_parallel",
  "sequence_parallel",
]);

/** Samples per step with some changes, for a trainer that takes the accumulation from them (torchtitan). */
function globalBatch({ run }: Resolution, changes: readonly SettingChange[]): number | undefined {
  if (run === null) return undefined;
  const changed = (name: SettingName, now: number): number =>
    Number(changes.find((change) => change.name === name)?.value ?? now);
  const { worldSize } = run.parallel;
  const replicas = (dataParallelSize(run.parallel) * changed("world_size", worldSize)) / worldSize;
  const micro = changed("micro_batch_size", run.microBatchSize);
  const total = micro * changed("gradient_accumulation_steps", run.gradientAccumulationSteps) * replicas;
  return Number.isInteger(total) ? total : undefined;
}

function targetOf(
  inputs: RunInputs,
  resolution: Resolution,
  change: SettingChange,
): { document: LoadedDocument; kind: Work["kind"] } | undefined {
  const specs = inputs.format.keys.filter((spec) => spec.name === change.name && spec.removedIn === undefined);
  if (specs.length > 0 && !specs.some((spec) => takes(spec, change.value))) return undefined;
  const place = (resolution.resolved.get(change.name) ?? resolution.settings.find(change.name))?.place;
  if (place != null) {
    if (inputs.pins !== undefined && place.uri === inputs.pins.document.uri)
      return { document: inputs.pins.document, kind: "pins" };
    if (place.uri === inputs.main.uri || inputs.composed?.includes(place.uri) === true) {
      const { config } = inputs.main;
      // A count that a format takes from another key (of ranks of a copy, of processes): its number is changed where it stands.
      const follows =
        change.name === "world_size" &&
        place.uri === inputs.main.uri &&
        config !== undefined &&
        "refused" in inputs.format.edit(config, [change], contextOf(inputs, resolution));
      return { document: inputs.main, kind: follows ? "launch" : "format" };
    }
    if (inputs.deepspeed?.uri === place.uri) return { document: inputs.deepspeed, kind: "deepspeed" };
    // What a program has by default, its command may say otherwise.
    const started = inputs.program?.document !== inputs.main && inputs.program?.document.uri === place.uri;
    if (started && specs.length > 0) return { document: inputs.main, kind: "format" };
    const launch = inputs.documents.find(({ uri }) => uri === place.uri);
    return launch === undefined ? undefined : { document: launch, kind: "launch" };
  }
  if (change.name === "expandable_segments") {
    const script = [inputs.main, ...inputs.documents].find((document) => commandOf(document) !== undefined);
    return script === undefined ? undefined : { document: script, kind: "launch" };
  }
  const { config } = inputs.main;
  const own =
    specs.length > 0 &&
    (config === undefined || !("refused" in inputs.format.edit(config, [change], contextOf(inputs, resolution))));
  const elsewhere = inputs.deepspeed !== undefined && DEEPSPEED_NAMES.has(change.name);
  if (own || (specs.length > 0 && !elsewhere)) return { document: inputs.main, kind: "format" };
  if (inputs.deepspeed !== undefined && inputs.deepspeed !== inputs.main && DEEPSPEED_NAMES.has(change.name)) {
    return { document: inputs.deepspeed, kind: "deepspeed" };
  }
  // A pin would change the estimate and not the training.
  return undefined;
}

/** Whether a key may have the value: some take words of a list only. */
function takes({ type, values, means }: KeySpec, value: SettingChange["value"]): boolean {
  return (
    type !== "enum" || values === undefined || means !== undefined || value === null || values.includes(String(value))
  );
}

function editDocument(work: Work, inputs: RunInputs, resolution: Resolution): EditResult {
  const config: ConfigDocument | undefined = work.document.config;
  if (config === undefined) return { refused: say("refused.unreadable") };
  // A file that does not parse near the edit is left alone.
  if (config.parsed.problems.some((found) => found.code === "syntax" || found.code === "merge-conflict")) {
    return { refused: say("refused.broken") };
  }
  switch (work.kind) {
    case "format":
      return inputs.format.edit(config, work.changes, contextOf(inputs, resolution));
    case "deepspeed":
      // An accelerate config with DeepSpeed's settings has keys of its own for them.
      return (launcherOf(work.document) ?? deepspeed).edit(config, work.changes);
    case "pins":
      return editPin(config, pinnedRunsOf(inputs), work.changes);
    case "launch":
      return editLaunch(work, config, resolution);
  }
}

const LAUNCHER =
  /(?:^|\/)(?:torchrun|accelerate|deepspeed|srun|mpirun|python[\d.]*|swift|llamafactory-cli|axolotl|trl|tune)$/;

/** The command of a script that trains, when there is one only. */
function commandOf({ config }: LoadedDocument): ShellCommand | undefined {
  const commands = config?.parsed.shell?.commands.filter(({ words }) => LAUNCHER.test(words[0]?.text ?? ""));
  return commands?.length === 1 ? commands[0] : undefined;
}

/** The format of a config that a launcher reads. */
function launcherOf({ recognised }: LoadedDocument): Format | undefined {
  return recognised !== undefined && frameworkOf(recognised.format).part === "launcher" ? recognised.format : undefined;
}

/** What a launch script or an accelerate config says: numbers where they stand, the allocator before the command. */
function editLaunch({ document, changes }: Work, config: ConfigDocument, resolution: Resolution): EditResult {
  const launcher = launcherOf(document);
  if (launcher !== undefined) return launcher.edit(config, changes);
  const edits: SpanEdit[] = [];
  for (const { name, value } of changes) {
    const stated = resolution.resolved.get(name) ?? resolution.settings.find(name);
    const command = commandOf(document);
    if (stated?.place?.uri === document.uri) {
      const { start, end } = stated.place.valueSpan;
      // A count of one machine among several is not the count of all.
      if (config.text.slice(start, end) !== String(stated.value))
        return { refused: say("refused.in-parts", { key: stated.key }) };
      edits.push({ start, end, newText: String(value) });
    } else if (name === "expandable_segments" && command !== undefined) {
      edits.push({ start: command.start, end: command.start, newText: EXPANDABLE });
    } else return { refused: say("refused.no-file", { name }) };
  }
  return { edits };
}

function reportEdit(document: LoadedDocument, edit: SpanEdit): ReportEdit {
  return { uri: document.uri, range: document.lines.range(edit), newText: edit.newText };
}
