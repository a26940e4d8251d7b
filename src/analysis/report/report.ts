/** Puts a run's analysis into the report every surface shows. */

import type { VariedReserve } from "../../core/allocator/lengths";
import { machineMemory } from "../../core/cost/host-memory";
import { poolGrowth } from "../../core/padded";
import { COMPONENT_KINDS, type ComponentKind, type Estimate, type Phase } from "../../core/report/estimate";
import type { ReportFinding, ReportGuide, ReportPlan, ReportRun, ReportSetting } from "../../core/report/schema";
import type { TrainingRun } from "../../core/training/run";
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import type { Format } from "../../formats/types";
import { isNotebook } from "../../syntax/dispatch";
import { inOrder, REPORTED, type SettingName } from "../../terms/settings";
import type { Message } from "../../words/message";
import { say } from "../../words/message";
import type { LoadedDocument } from "../documents/store";
import { baseName, relativePath } from "../documents/uris";
import type { Variant } from "../estimate/run-analysis";
import { usableOf } from "../estimate/verdict";
import { frameworkOf, isPartAlone } from "../frameworks/frameworks";
import { LIBRARIES, type Library, MODELS, NEWEST } from "../frameworks/versions";
import { hostLimitOf } from "../levers/allowed";
import { isSettable } from "../linking/asked";
import type { RunInputs } from "../linking/inputs";
import { withholding } from "../linking/outside";
import { uncountedDirections, uncountedKeys } from "../linking/uncounted";
import { writtenAs } from "../linking/written";
import { type Locale, size, t, text } from "../messages";
import { machineOf } from "../pins/machine";
import type { Resolution, Resolved, Supposition } from "../resolve";
import { measurementOf } from "./measured";
import { countOf, fitsOn, statementOf } from "./statement";

const DEEPSPEED_NAMES = new Set(DEEPSPEED_KEYS.map((spec) => spec.name));

/** Settings that drive each component: the places its bytes come from. */
const DRIVERS = Object.fromEntries(
  COMPONENT_KINDS.map((kind) => [kind, inOrder(({ drives }) => drives?.[kind])]),
) as Readonly<Record<ComponentKind, readonly SettingName[]>>;

function driversOf(kind: ComponentKind, peak: Phase): readonly SettingName[] {
  const names = DRIVERS[kind];
  return peak === "evaluation" || peak === "generation"
    ? names.map((name) => (name === "micro_batch_size" ? "eval_batch_size" : name))
    : names;
}

export interface ReportParts {
  readonly inputs: RunInputs;
  readonly resolution: Resolution;
  readonly estimate: Estimate | undefined;
  readonly findings: readonly ReportFinding[];
  readonly plans: readonly ReportPlan[];
  /** null: not asked for. */
  readonly guide: ReportGuide | null;
  readonly time: ReportRun["time"];
  readonly assumptionEffects: readonly number[];
  /** null: not asked for, or every batch has the same length. */
  readonly padded: VariedReserve | null;
  /** The run with what batches of different lengths do to the pool in its band. */
  readonly varied: Variant;
  /** Whether something that was asked for was left out because it takes too long. */
  readonly cutShort: boolean;
  readonly locale: Locale;
}

/** Finds the document of a place, to turn offsets into lines. */
export function documentOf(inputs: RunInputs, uri: string): LoadedDocument | undefined {
  return inputs.documents.find((document) => document.uri === uri);
}

export function assembleRun(parts: ReportParts): ReportRun {
  const { inputs, resolution, estimate, locale } = parts;
  const shown = withholding(inputs);
  const device = resolution.device.spec;
  const usable = usableOf(device);
  const published = inputs.model?.kind === "found" ? inputs.model.parameters : undefined;
  const model = resolution.run?.model ?? modelOf(inputs);
  const hostLimit = resolution.run === null ? null : hostLimitOf(resolution, resolution.run);
  const uncounted = uncountedKeys(inputs);
  const documents = [...new Set(inputs.documents.map(({ file }) => file))];
  const settings = reportedSettings(inputs, resolution);
  const measured = measurementOf(inputs.receipts ?? [], documents, settings, estimate);
  return {
    id: idOf(inputs),
    documents,
    formats: formatsOf(inputs.format, inputs.main),
    model:
      model === null
        ? null
        : {
            name: model.name,
            family: model.family,
            parameters: estimate?.parameters ?? published ?? 0,
            trainableParameters: estimate?.trainableParameters ?? 0,
            source: model.source,
          },
    devices: {
      name: device?.name ?? null,
      memoryBytes: device?.memoryBytes ?? null,
      usableBytes: usable,
      count: countOf(resolution),
      source: resolution.device.source,
    },
    settings,
    perDevice:
      estimate === undefined
        ? null
        : {
            allocatedPeakBytes: estimate.allocatedPeakBytes,
            reservedPeakBytes: estimate.reservedPeakBytes,
            usedPeakBytes: estimate.usedPeakBytes,
            band: { ...(parts.varied.estimate ?? estimate).band },
            peakPhase: estimate.peakPhase,
            rank: 0,
            components: estimate.components.map((component) => ({
              ...component,
              origins: originsOf(driversOf(component.kind, estimate.peakPhase), inputs, resolution),
            })),
            ...(estimate.releases === undefined ? {} : { releases: estimate.releases }),
            ...(parts.padded === null ? {} : { padded: paddedPools(parts.padded) }),
            modules: estimate.modules.map((share) => ({ ...share })),
            phases: estimate.phases.map((phase) => ({ ...phase })),
            ...(estimate.cacheBytes === undefined ? {} : { keyValueCacheBytes: estimate.cacheBytes }),
            timeline: estimate.timeline.points.map((point) => ({ ...point })),
            timelineModules: [...estimate.timeline.modules],
          },
    ...(measured === null ? {} : { measured }),
    host: {
      ...(estimate === undefined ? { pinnedBytes: 0, pageableBytes: 0, nvmeBytes: 0 } : estimate.host),
      ...(hostLimit === null ? {} : { limitBytes: hostLimit }),
      ...(estimate === undefined || resolution.run === null
        ? {}
        : { machine: { ...machineMemory(resolution.run, estimate, machineOf(resolution.settings)) } }),
    },
    time: parts.time,
    verdict: parts.varied.verdict,
    statement: {
      ...statementOf(parts.varied, locale),
      ...(isPartAlone(inputs) ? { detail: t(locale, "hover.part-of-a-run") } : {}),
    },
    ...(estimate !== undefined ? { fitsOn: fitsOn(parts.varied.estimate ?? estimate, resolution.run) } : {}),
    ...(estimate !== undefined && uncounted.length > 0
      ? { notCounted: uncounted, notCountedMay: uncountedDirections(inputs) }
      : {}),
    assumptions: [
      ...resolution.suppositions.map((supposition, index) => ({
        id: supposition.message.id,
        what: shown(text(replayed(supposition, parts), locale)),
        settleWith: supposition.settleWith,
        effectBytes: parts.assumptionEffects[index] ?? 0,
      })),
      ...(estimate?.assumptions ?? []).map((assumption) => ({
        ...assumption,
        id: assumption.what.id,
        what: shown(text(assumption.what, locale)),
        // What an uncertainty of the engine is called by is a key only where a file or an option can have it.
        settleWith: isSettable(assumption.settleWith) ? assumption.settleWith : "",
      })),
      ...(parts.cutShort
        ? [
            {
              id: "assume.cut-short",
              what: text(say("assume.cut-short"), locale),
              settleWith: "sequence_length",
              effectBytes: 0,
            },
          ]
        : []),
    ],
    ...(estimate === undefined ? {} : { releases: releasesOf(inputs, resolution) }),
    findings: [...parts.findings],
    plans: [...parts.plans],
    ...(parts.guide === null ? {} : { guide: parts.guide }),
  };
}

/** The schema and its carrier; a notebook's commands are the notebook's. */
export function formatsOf({ id, carrier }: Format, main: LoadedDocument): string[] {
  if (carrier === undefined) return [id];
  return [id, isNotebook(main.config?.parsed.syntax) ? "notebook" : carrier];
}

function paddedPools({ reservedBytes, expandableBytes, pressed }: VariedReserve) {
  return { reservedBytes, expandableBytes, ...(pressed === null ? {} : { pressed }) };
}

/** What is supposed of batches that differ in length, with what the replay of such batches came to where that is more. */
function replayed({ message, pool }: Supposition, { padded, estimate, resolution }: ReportParts): Message {
  const { run } = resolution;
  if (pool !== true || padded === null || estimate === undefined || run === null) return message;
  if (poolGrowth(estimate, padded, run) === 0) return message;
  const [own, expandable] = [size(padded.reservedBytes), size(padded.expandableBytes)];
  return run.expandableSegments
    ? say("assume.replayed-expandable", { said: message, pool: expandable })
    : say("assume.replayed", { said: message, pool: own, expandable });
}

/** Path of the run's document in its workspace folder, with the line of its command where a script has several. */
function idOf(inputs: RunInputs): string {
  const { main, workspaceFolder } = inputs;
  const path = workspaceFolder === undefined ? undefined : relativePath(workspaceFolder, main.uri);
  return `${path ?? baseName(main.uri)}${main.part === undefined ? "" : `:${main.part.name}`}`;
}

function modelOf(inputs: RunInputs): Pick<TrainingRun["model"], "name" | "family" | "source"> | null {
  const { model } = inputs;
  if (model?.kind !== "found") return null;
  return { name: model.name, family: String(model.config["model_type"]), source: model.source };
}

export function reportedSettings(inputs: RunInputs, resolution: Resolution): ReportSetting[] {
  return REPORTED.flatMap((name) => {
    const setting = resolution.resolved.get(name);
    if (setting === undefined) return [];
    // A file that defines no run of its own says nothing about settings its format has no key for.
    const silent = setting.place === null && (setting.from === "default" || setting.from === "assumed");
    if (silent && frameworkOf(inputs.format).part === "engine" && !DEEPSPEED_NAMES.has(name)) return [];
    const document = setting.place === null ? undefined : documentOf(inputs, setting.place.uri);
    return [
      {
        name,
        value: Array.isArray(setting.value)
          ? setting.value.join(",")
          : (setting.value as string | number | boolean | null),
        key: setting.key,
        uri: document?.file ?? setting.place?.uri ?? inputs.main.file,
        ...(document === undefined || setting.place === null
          ? {}
          : { range: document.lines.range(setting.place.valueSpan) }),
        from: setting.from,
      },
    ];
  });
}

/** Releases that the estimate is of: the trainer's own and transformers', and what else the files state. */
export function releasesOf(inputs: RunInputs, { libraries, settings }: Resolution): NonNullable<ReportRun["releases"]> {
  const always: ReadonlySet<Library | undefined> = new Set([MODELS, frameworkOf(inputs.format).package]);
  return LIBRARIES.flatMap((library) => {
    const older = libraries[library] !== NEWEST[library];
    const named = settings.string(`library.${library}`) !== undefined;
    // A release that is not the newest follows from another one that a file states.
    const stated = named || older;
    const counts = always.has(library) || (named && older);
    return counts ? [{ library, version: libraries[library], stated }] : [];
  });
}

function originsOf(names: readonly SettingName[], inputs: RunInputs, resolution: Resolution) {
  return names.flatMap((name) => {
    const setting: Resolved | undefined = resolution.resolved.get(name);
    const document = setting?.place == null ? undefined : documentOf(inputs, setting.place.uri);
    if (setting?.place == null || document === undefined) return [];
    const written = writtenAs(document, setting.key, setting.place);
    return [
      {
        uri: document.file,
        key: setting.key,
        range: document.lines.range(setting.place.valueSpan),
        ...(written === undefined ? {} : { written }),
      },
    ];
  });
}
