/**
 * Gathers everything one run is made of: the document, the files it names, pins above it, comments in it, library
 * versions, the model's config and its graph. All reading happens here; what follows is pure.
 */

import { withReplaced } from "../../core/graph/replaced";
import type { FamilyGraphs } from "../../core/graph/types";
import { writtenIn } from "../../formats";
import { deepspeedBlock } from "../../formats/deepspeed/read";
import { type Format, inCode, inCommands, inData, type LocatedSetting, type ProgramOptions } from "../../formats/types";
import type { SettingName } from "../../terms/settings";
import { type Composition, compose } from "../compose";
import type { CommandLine } from "../compose/overrides";
import { missing } from "../compose/parts";
import { isOutside, isRefused } from "../documents/reach";
import type { LoadedDocument } from "../documents/store";
import { ancestors, normalise, parentOf, relativePath } from "../documents/uris";
import { frameworkOf, runsOwnCode } from "../frameworks/frameworks";
import { type Layer, located, type Setting, Settings } from "../frameworks/settings";
import { lossesOf } from "../frameworks/trainers";
import { architectureOf } from "../models/architecture";
import { codedModel } from "../models/coded-model";
import { findModel } from "../models/model";
import type { ModelFound } from "../models/model-found";
import { plannedModel, startedPlans } from "../models/nnunet";
import { adapterSettings } from "../models/saved-adapter";
import { partLoadedAs } from "../models/trained-part";
import { withTower } from "../models/vision-tower";
import { readNearestPins } from "../pins/nearest-pins";
import type { Problem } from "../problems";
import type { Runtime } from "../runtime";
import { configProgram } from "./config-program";
import { readWithData } from "./data-files";
import { followDeepspeed } from "./deepspeed-file";
import type { FollowedLink, Following } from "./followed";
import { type GatherContext, graphsFor, ownCodeOf, ownGraphs } from "./graphs-of";
import { entered } from "./hydra-program";
import { findCommand, launchOf, namesFile, ownLaunch, type Started, startedConfig } from "./launch";
import { overridden } from "./overridden-config";
import { librariesOf, libraryPins } from "./pinned-libraries";
import { type ProgramSearch, readAlike, readProgram, type StartedProgram, startedProgram } from "./program";
import { type FoundReceipt, findReceipts } from "./receipts";
import { replacementsOf } from "./replacements";
import { takenOptions } from "./taken-options";
import { usageOf } from "./usage";

/** Everything a run needs, read. */
export interface RunInputs {
  readonly main: LoadedDocument;
  readonly format: Format;
  /** Strongest first, without overrides. */
  readonly layers: readonly Layer[];
  /** The command that starts it; absent where none is known. */
  readonly line?: CommandLine;
  /** That command is the one which the program's own head tells of. */
  readonly isUsage?: true;
  /** The document read as one with what it includes; absent when it includes nothing. */
  readonly composed?: Composition;
  /** Documents of the run, its own first. */
  readonly documents: readonly LoadedDocument[];
  readonly pins: { readonly document: LoadedDocument; readonly applied: boolean } | undefined;
  /** The program that the run's command starts, when it stands in the workspace. */
  readonly program?: StartedProgram;
  /** What the program of the run's command takes, whatever it is. */
  readonly taken?: ProgramOptions;
  /** The DeepSpeed file, or the document that holds DeepSpeed's settings inline. */
  readonly deepspeed: LoadedDocument | undefined;
  /** A file that says how the run is split over GPUs is named, and could not be read. */
  readonly splitUnread: boolean;
  /** A file of hosts is named that is not there. */
  readonly hostsUnread: boolean;
  readonly model: ModelFound | undefined;
  readonly graphs: FamilyGraphs | undefined;
  /** Modules of a script's own that stand in the graphs, as the script writes them; absent where there are none. */
  readonly replaced?: ReadonlySet<string>;
  /** Models beside the trained one, by the setting that names them. */
  readonly companions: ReadonlyMap<string, ModelFound>;
  readonly links: readonly FollowedLink[];
  readonly problems: readonly Problem[];
  readonly dependencies: ReadonlySet<string>;
  readonly workspaceFolder: string | undefined;
  /** Documents of the run outside of its workspace folder, in a workspace: nothing of them is quoted. */
  readonly outside: readonly LoadedDocument[];
  /** What was measured in the folders of the run; absent where nothing was. */
  readonly receipts?: readonly FoundReceipt[];
  /** Other documents use this one: what it leaves open is theirs to fill. */
  readonly used?: boolean;
}

/** The innermost workspace folder a document is in. */
export function workspaceFolderOf(uri: string, runtime: Runtime): string | undefined {
  return runtime.workspaceFolders
    .map(normalise)
    .filter((folder) => relativePath(folder, uri) !== undefined)
    .sort((a, b) => b.length - a.length)[0];
}

/** Folders from a document's own up to its workspace folder, or a few levels when it is in none. */
export function foldersAbove(uri: string, workspaceFolder: string | undefined): string[] {
  const all = ancestors(parentOf(uri));
  if (workspaceFolder === undefined) return all.slice(0, 5);
  const outermost = all.indexOf(workspaceFolder);
  return outermost < 0 ? all.slice(0, 5) : all.slice(0, outermost + 1);
}

/** The program of a script's command, or the open program as the script beside it starts it. */
async function programRun(
  main: LoadedDocument,
  alone: Format,
  hydra: boolean,
  line: CommandLine | undefined,
  { folders, store, dependencies }: ProgramSearch,
): Promise<StartedProgram | undefined> {
  if (hydra) return undefined;
  if (inCommands(alone)) {
    const program = await startedProgram(main, folders, store, dependencies);
    // What a framework's own command says is not overruled by what its code looks like.
    return program !== undefined && readAlike(alone, program.format) ? program : undefined;
  }
  if (inData(alone) && frameworkOf(alone).scripts === true)
    return configProgram(main, line, { folders, store, dependencies });
  if (!inCode(alone)) return undefined;
  return line === undefined ? readWithData(main, { folders, store, dependencies }) : readProgram(main, line);
}

/** What a program says beside its command: its own code, and the defaults of its options. */
function programLayers(program: StartedProgram, main: LoadedDocument): Layer[] {
  const own = main === program.document ? [] : [{ id: "linked" as const, settings: program.settings }];
  return [...own, { id: "linked", settings: program.defaults }];
}

/**
 * Reads all that `main` (recognised as `alone` by itself) leads to. A program that names no model, and that nothing else starts, is
 * started as its head says.
 */
export async function gather(main: LoadedDocument, alone: Format, context: GatherContext): Promise<RunInputs> {
  const found = await gatherFrom(main, alone, context, undefined);
  const usage = found.model === undefined && found.line === undefined && inCode(alone) ? usageOf(main) : undefined;
  return usage === undefined ? found : { ...(await gatherFrom(main, alone, context, usage)), isUsage: true };
}

async function gatherFrom(
  main: LoadedDocument,
  alone: Format,
  context: GatherContext,
  usage: CommandLine | undefined,
): Promise<RunInputs> {
  const { runtime } = context;
  const workspaceFolder = workspaceFolderOf(main.uri, runtime);
  const folders = foldersAbove(main.uri, workspaceFolder);
  // A path in a config starts at the launch directory, which nobody writes down: the file's own folder, the
  // workspace and what lies between are tried.
  const above = [parentOf(main.uri), ...(workspaceFolder === undefined ? [] : [workspaceFolder]), ...folders];
  const starts = [...new Set([...above, ...entered(main, above)])];
  const dependencies = new Set<string>([main.uri, ...(main.code?.dependencies ?? [])]);
  const problems: Problem[] = [];
  const links: FollowedLink[] = [];
  const documents: LoadedDocument[] = main.writer === undefined ? [main] : [main, main.writer.document];

  const beside = context.store.withWritten([main.writer?.document ?? main]);
  const started = inCommands(alone) ? await startedConfig(main, folders, beside, dependencies) : undefined;
  const line: (CommandLine & Partial<Started>) | undefined =
    started ?? usage ?? (await findCommand(main, folders, beside, dependencies));
  const store = line === undefined || line.script === main ? beside : beside.withWritten([line.script]);
  const config = started?.config.document;
  const composing = {
    store,
    dependencies,
    problems,
    links,
    starts,
    line: frameworkOf(alone).part !== undefined ? undefined : line,
  };
  const composed =
    config === undefined
      ? await compose(main, alone, composing)
      : await compose(config, config.recognised?.format ?? writtenIn(inData, alone), composing, main);
  const program = await programRun(main, alone, started !== undefined, line, {
    folders,
    store,
    dependencies,
  });
  const taken = inCommands(alone) ? await takenOptions({ script: main, folders, store, dependencies }) : undefined;
  const byProgram = main === program?.document ? program.format : program?.commandFormat;
  const format = started === undefined ? (byProgram ?? composed?.format ?? alone) : alone;
  documents.push(...(composed?.included ?? []));
  const alike = format === main.recognised?.format || main.config === undefined;
  const read = composed?.read ?? (alike ? main.read : format.read(main.config));
  const { trainer, inline } = splitInline(read.settings);
  const placed = (settings: readonly LocatedSetting[]): Setting[] => {
    const stated = located(settings, (config ?? main).uri, "document");
    return composed === undefined ? stated : stated.map((setting) => composed.placed(setting));
  };
  const own: Layer = { id: "document", settings: main === program?.document ? program.settings : placed(trainer) };
  const inlineSettings = placed(inline);
  const directive: Layer = { id: "directive", settings: directiveSettings(main) };
  const pinned = await readNearestPins(main, folders, store, dependencies);
  const named = line?.command.words.find(({ text }) => namesFile(text, main.uri));
  if (line !== undefined && named !== undefined) {
    const { start, end } = named.node;
    links.push({ kind: "trainer", uri: main.uri, from: line.script.uri, span: { start, end } });
  }
  const hydra = context.program ?? line?.config?.program;
  if (line?.config !== undefined)
    links.push({ kind: "trainer", uri: line.config.document.uri, from: line.script.uri, span: line.config.named });
  if (hydra !== undefined) {
    documents.push(hydra.document);
    links.push({ kind: "trainer", uri: (config ?? main).uri, from: hydra.document.uri, span: hydra.span });
  }
  if (program !== undefined && program.document !== main) documents.push(program.document);
  documents.push(...(program?.beside ?? []));
  const launching = line ?? ownLaunch(main);
  const launch = launching === undefined ? undefined : await launchOf(launching, starts, store, dependencies);
  for (const { id, target, from, span } of launch?.absent ?? [])
    problems.push(missing(id, "warning", target, from, span));
  const following: Following = {
    ...{ store, dependencies, problems, links },
    isOutside: (uri) => isOutside(uri, workspaceFolder, runtime),
    isRefused: (path) => isRefused(path, starts, runtime),
  };
  const linked = [
    ...(composed?.links ?? read.links.map((link) => ({ ...link, from: main }))),
    ...(program?.links ?? []),
  ];
  const followed = await followDeepspeed({ main, format, composed }, linked, launch, starts, following);
  const deepspeed = followed === "unread" ? undefined : followed;
  if (deepspeed !== undefined && deepspeed.document !== main) documents.push(deepspeed.document);
  documents.push(...(launch?.documents ?? []).filter((document) => !documents.includes(document)));
  if (launch?.accelerate !== undefined) {
    const { document, from, span } = launch.accelerate;
    links.push({ kind: "launcher", uri: document.file, from, span });
  }
  const scripts = line === undefined || line.script === main ? [] : [line.script];
  const versions = await libraryPins({ own: [main, ...scripts], folders, store, dependencies });

  const layers: Layer[] = [
    directive,
    { id: "pin", settings: pinned?.settings ?? [] },
    ...(main === program?.document ? [{ id: "linked" as const, settings: program.flags }] : []),
    own,
    ...(program === undefined ? [] : programLayers(program, main)),
    { id: "linked", settings: inlineSettings },
    ...(deepspeed === undefined ? [] : [{ id: "linked" as const, settings: deepspeed.settings }]),
    ...(launch === undefined ? [] : [{ id: "linked" as const, settings: launch.settings }]),
    { id: "linked", settings: versions },
  ];
  const before = new Settings(layers);
  const modelSetting = before.strongest(["config_name", "model"]);
  const name = context.modelOverride ?? (modelSetting === undefined ? undefined : String(modelSetting.value));
  let model: ModelFound | undefined;
  const spelled =
    context.modelOverride === undefined
      ? (codedModel(main.read.settings, modelSetting, context.catalogue) ?? architectureOf(before, format))
      : undefined;
  if (spelled !== undefined) {
    model = {
      kind: "found",
      name: spelled.name,
      config: spelled.config,
      source: spelled.assumedVocabulary ? "assumed" : "config.json",
      parameters: undefined,
      task: undefined,
      document: undefined,
      adapter: undefined,
      adapterUri: undefined,
    };
  } else if (frameworkOf(format).plans === true) {
    const plans = inCommands(alone) ? await startedPlans(main, starts, store, dependencies) : undefined;
    if (plans?.batch !== undefined) layers.push({ id: "linked", settings: [plans.batch] });
    if (plans !== undefined) documents.push(plans.document);
    model = await plannedModel(plans?.document ?? config ?? main, store, dependencies, plans?.configuration);
    if (model?.kind === "found" && model.document !== undefined) documents.push(model.document);
  } else if (name !== undefined) {
    const origin = context.modelOverride === undefined ? (modelSetting?.place?.uri ?? main.uri) : main.uri;
    model = await findModel(frameworkOf(format).modelNamed?.(name) ?? name, {
      store,
      runtime,
      catalogue: context.catalogue,
      folders: [...new Set([parentOf(origin), ...starts])],
      dependencies,
      isOutside: following.isOutside,
      isRefused: following.isRefused,
    });
    if (model.kind === "found") {
      const part = partLoadedAs(model.config, before.string("model_class"));
      model = { ...model, config: overridden(part, main.read.settings) };
    }
    model = withTower(model, before, context.catalogue) ?? model;
    if (model.kind === "found" && model.document !== undefined) {
      documents.push(model.document);
      if (modelSetting?.place) {
        links.push({
          kind: "model",
          uri: model.document.uri,
          from: modelSetting.place.uri,
          span: modelSetting.place.valueSpan,
        });
      }
    }
    if (model.kind === "found" && model.adapter !== undefined && model.adapterUri !== undefined) {
      layers.splice(3, 0, { id: "linked", settings: adapterSettings(model.adapter, model.adapterUri) });
    }
  }
  if (pinned !== undefined) documents.push(pinned.document);
  const family = model?.kind === "found" ? String(model.config["model_type"]) : undefined;
  const libraries = librariesOf(before, frameworkOf(format));
  const losses = lossesOf({ main, format, program }, before, libraries)?.file ?? null;
  const transformers = runsOwnCode(frameworkOf(format), before) ? null : libraries.transformers;
  const companions = new Map<string, ModelFound>();
  for (const setting of losses === null ? BESIDE_ANY : COMPANIONS) {
    const named = before.string(setting);
    const found =
      named &&
      (await findModel(named, {
        ...{ store, runtime, catalogue: context.catalogue, folders: starts, dependencies },
        isOutside: following.isOutside,
        isRefused: following.isRefused,
      }));
    if (found) companions.set(setting, found);
  }
  const coded = model?.kind === "found" ? await ownCodeOf(model, frameworkOf(format), before, context) : undefined;
  if (coded !== undefined) model = coded.model;
  const trained =
    coded?.graphs ??
    (family === undefined ? undefined : await graphsFor(family, model, { losses, transformers }, context));
  const others = await Promise.all([...companions.values()].map((one) => ownGraphs(one, transformers, context)));
  const put = trained && withReplaced(trained, replacementsOf(before));
  const graphs =
    put && others.length > 0 ? { ...put.graphs, beside: others.filter((one) => one !== undefined) } : put?.graphs;
  const receipts = await findReceipts(folders, store, dependencies);
  return {
    main,
    format,
    ...(line === undefined ? {} : { line }),
    ...(composed === undefined ? {} : { composed }),
    ...(program === undefined ? {} : { program }),
    ...(taken === undefined ? {} : { taken }),
    layers,
    documents,
    pins: pinned === undefined ? undefined : { document: pinned.document, applied: pinned.settings.length > 0 },
    deepspeed: deepspeed?.document,
    hostsUnread: (launch?.absent ?? []).some(({ id }) => id === "missing-file.hostfile"),
    splitUnread: followed === "unread" || (launch?.absent ?? []).length > 0,
    model,
    graphs,
    ...(put !== undefined && put.replaced.size > 0 && { replaced: put.replaced }),
    companions,
    links,
    problems: [...problems, ...(pinned?.problems ?? [])],
    dependencies,
    workspaceFolder,
    ...(receipts.length === 0 ? {} : { receipts }),
    outside: documents.filter(({ file }) => file !== main.uri && isOutside(file, workspaceFolder, runtime)),
  };
}

/** A model beside the trained one whatever the trainer is: the script's own loss runs it. */
const BESIDE_ANY: readonly SettingName[] = ["other_model"];
/** Settings that name a model beside the trained one. */
const COMPANIONS: readonly SettingName[] = [
  "teacher_model",
  "ref_model",
  "reward_model",
  "critic_model",
  ...BESIDE_ANY,
];

/** DeepSpeed's settings written inline come after the trainer's own, as those of a file do. */
function splitInline(settings: readonly LocatedSetting[]): {
  readonly trainer: readonly LocatedSetting[];
  readonly inline: readonly LocatedSetting[];
} {
  const block = deepspeedBlock(settings);
  if (block === undefined) return { trainer: settings, inline: [] };
  const inside = (setting: LocatedSetting): boolean => setting.key.startsWith(`${block.key}.`);
  return { trainer: settings.filter((setting) => !inside(setting)), inline: settings.filter(inside) };
}

function directiveSettings(main: LoadedDocument): Setting[] {
  return main.directives.settings.map((directive) => ({
    name: directive.name,
    value: directive.value,
    from: "pin" as const,
    key: directive.key,
    place: { uri: main.uri, keySpan: directive, valueSpan: directive },
  }));
}
