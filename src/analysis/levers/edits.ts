/**
 * From changed settings to text edits in the files that are obeyed: a setting is changed where the run has it from,
 * and one that nothing states goes into the document whose format has a key for it.
 */

import { DEVICES_PER_MACHINE } from "../../core/hardware/devices";
import type { ReportEdit } from "../../core/report/schema";
import { deepspeed } from "../../formats/deepspeed";
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import { refusedArguments } from "../../formats/hf-scripts/accepted";
import { parseDocument } from "../../formats/parse";
import { editPin } from "../../formats/pins/edit";
import type { ConfigDocument, EditContext, EditResult, Format, KeySpec, SettingChange } from "../../formats/types";
import { applyEdits } from "../../syntax/edit";
import type { ShellCommand, SpanEdit } from "../../syntax/tree";
import { type Message, say } from "../../words/message";
import type { LoadedDocument } from "../documents/store";
import { frameworkOf } from "../frameworks/frameworks";
import type { RunInputs } from "../linking/inputs";
import { pinnedRunsOf } from "../pins/nearest-pins";
import type { Resolution } from "../resolve";
import { spelledOut } from "./spelled";

export type EditsResult = { readonly edits: readonly ReportEdit[] } | { readonly refused: Message };

const DEEPSPEED_NAMES = new Set(DEEPSPEED_KEYS.map((spec) => spec.name));

/** Settings that HF compares with DeepSpeed's file and stops when they differ. */
const COMPARED = new Set(["micro_batch_size", "gradient_accumulation_steps", "max_grad_norm", "bf16", "fp16"]);

/** Put before a launch command, for the allocator of what it launches. */
const EXPANDABLE = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True ";

interface Work {
  readonly document: LoadedDocument;
  readonly kind: "format" | "engine" | "pin" | "launch";
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
  for (const change of spelledOut(inputs, resolution, changes)) {
    const target = targetOf(inputs, resolution, change);
    if (target === undefined) return { refused: say("refused.no-file", { name: change.name }) };
    const beyond = target.kind === "pin" ? undefined : beyondReach(resolution, change);
    if (beyond !== undefined) return { refused: beyond };
    add(target.document, target.kind, change);
    const { deepspeed: file } = inputs;
    if (file === undefined || file === target.document || !COMPARED.has(change.name) || file === inputs.main) continue;
    const stated = file.read.settings.some(
      (setting) => setting.name === change.name && typeof setting.value !== "object",
    );
    if (stated) add(file, "engine", change);
  }
  const edits: ReportEdit[] = [];
  for (const work of works.values()) {
    const { composed } = inputs;
    // A script says what it wants otherwise than the config it starts on; other scripts may start on that, too.
    if (work.kind === "format" && composed?.startedByOwner === false && work.document === inputs.main) {
      const result = composed.edit(work.changes, contextOf(inputs, resolution));
      if ("refused" in result) return result;
      edits.push(...result.edits.map(({ document, edit }) => document.edit(edit)));
      continue;
    }
    const result = editDocument(work, inputs, resolution);
    if ("refused" in result) return result;
    if (!work.document.takes(result.edits))
      return { refused: say("refused.no-file", { name: work.changes[0]?.name ?? "" }) };
    const refused = newlyRefused(work.document, result.edits, resolution);
    if (refused !== undefined) return { refused: say("refused.no-argument", { name: refused }) };
    edits.push(...result.edits.map((edit) => work.document.edit(edit)));
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
      return { document: inputs.pins.document, kind: "pin" };
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
    if (inputs.deepspeed?.uri === place.uri) return { document: inputs.deepspeed, kind: "engine" };
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
    return { document: inputs.deepspeed, kind: "engine" };
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
    case "engine":
      // An accelerate config with DeepSpeed's settings has keys of its own for them.
      return (launcherOf(work.document) ?? deepspeed).edit(config, work.changes);
    case "pin":
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
