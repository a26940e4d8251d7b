/**
 * The Python program that a launch command starts, read together with what the command says: its options have the
 * command's values, and their own defaults where the command says nothing. Nothing is executed.
 */
import { recogniseFormat, writtenIn } from "../../formats";
import { TRAINING_ARGUMENTS_KEYS } from "../../formats/hf-training-arguments/keys";
import { LAUNCHER_OPTIONS } from "../../formats/launchers/options";
import {
  type ConfigDocument,
  type DocumentLink,
  type Format,
  type FormatProblem,
  inCode,
  inCommands,
  type LocatedSetting,
} from "../../formats/types";
import { movedSpan, shifted } from "../../syntax/graft";
import type { GivenOptions } from "../../syntax/python";
import type { Entry, LocatedNode, MapNode, PythonModule, ShellCommand } from "../../syntax/tree";
import type { CommandLine } from "../compose/overrides";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { frameworkOf } from "../frameworks/frameworks";
import { located, type Place, type Setting } from "../frameworks/settings";
import { programFile, programOf, type Search } from "./hydra-program";
import { withImported } from "./imported-code";
import { importedOptions, wrappedProgram } from "./imported-options";

/** A program with the command that starts it. */
export interface StartedProgram {
  readonly document: LoadedDocument;
  /** How the program is read. */
  readonly format: Format;
  /** How a command of the same schema is read. */
  readonly commandFormat: Format | undefined;
  /** What the command's options mean by their names. */
  readonly flags: readonly Setting[];
  /** What the program says with the command's values in it. */
  readonly settings: readonly Setting[];
  /** What its options' defaults mean by their names. */
  readonly defaults: readonly Setting[];
  readonly links: readonly (DocumentLink & { readonly from: LoadedDocument })[];
  /** What is wrong with it, where it is another than what is wrong with the program alone. */
  readonly problems?: readonly FormatProblem[];
  /** Documents that it reads values from. */
  readonly beside?: readonly LoadedDocument[];
}

/** Whether a command and a program are of one framework, or of two whose scripts are told apart by the program alone. */
export function readAlike(command: Format, program: Format): boolean {
  const [called, run] = [frameworkOf(command), frameworkOf(program)];
  return called === run || (called.scripts === true && run.scripts === true);
}

/** The program of the longest command of a script that starts one of the workspace's. */
export async function startedProgram(
  script: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<StartedProgram | undefined> {
  const search: Search = { script, folders, store, dependencies };
  const commands = (script.config?.parsed.shell?.commands ?? []).toSorted((a, b) => b.words.length - a.words.length);
  for (const command of commands) {
    const program = programOf(command);
    const named = program === undefined ? undefined : await programFile(program, folders, search);
    if (named === undefined) continue;
    const alone = (await wrappedProgram(named, folders, search)) ?? named;
    const document = await withImported(alone, folders, store);
    for (const one of document.code?.dependencies ?? []) dependencies.add(one);
    const imported = await importedOptions(document, folders, search);
    const read = readProgram(document, { script, command }, imported.entries);
    if (read !== undefined) return read;
  }
  return undefined;
}

/** Format of a script whose command says nothing of a training, but starts a program that is one. */
export async function formatByProgram(
  script: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
): Promise<Format | undefined> {
  if (script.config?.parsed.shell === undefined) return undefined;
  return (await startedProgram(script, folders, store, new Set()))?.commandFormat;
}

/** A program as a command starts it; undefined when it is no training. */
export function readProgram(
  document: LoadedDocument,
  line: CommandLine,
  imported: readonly Entry[] = [],
): StartedProgram | undefined {
  const { whole } = document;
  if (whole?.parsed.python === undefined) return undefined;
  const by = textOf(document).length + 1;
  const { options, spellings } = whole.parsed.python;
  const given = givenOptions(line.command, options, spellings, by);
  const beside = plainDefaults(imported);
  const known = new Map([
    ...trainerDefaults(whole.parsed.python),
    ...beside.map(({ key, value }) => [key, value] as const),
    ...given,
  ]);
  const read = readWith(document, known, [{ document: line.script, from: by }], "linked");
  if (read === undefined) return undefined;
  const commandFormat = writtenIn(inCommands, read.program.format);
  return { ...read.program, commandFormat, ...namedOptions(commandFormat, document, line, given, beside) };
}

/** A program and what is wrong with it. */
interface ReadProgram {
  readonly program: StartedProgram;
  readonly problems: readonly FormatProblem[];
}

/**
 * A program as it is where values are known; undefined when it is no training.
 *
 * @param behind documents that the values are of
 * @param place where it is said that settings behind it stand
 */
export function readWith(
  document: LoadedDocument,
  known: GivenOptions,
  behind: readonly TextBehind[],
  place: Parameters<typeof placedSetting>[3],
): ReadProgram | undefined {
  const { config, code } = document;
  if (config === undefined) return undefined;
  const as: ConfigDocument = { ...config, parsed: { ...config.parsed, ...document.readGiven(known) } };
  const format = recogniseFormat(as)?.format;
  if (format === undefined || !inCode(format)) return undefined;
  const { settings, links, problems } = format.read(as);
  const program = {
    document,
    format,
    commandFormat: undefined,
    flags: [],
    settings: settings.flatMap((setting) =>
      placedSetting(setting, document, [...(code?.behind ?? []), ...behind], place),
    ),
    defaults: [],
    links: links.map((link) => ({ ...link, from: document })),
    ...(code === undefined || code.behind.length === 0 ? {} : { beside: code.behind.map((one) => one.document) }),
  };
  // What is said of a place in a file is said where the script uses it, or not at all.
  return { program, problems: problems.filter(({ end }) => end <= document.text.length) };
}

/** Where a program is looked for that no script of its own names. */
export interface ProgramSearch {
  readonly folders: readonly string[];
  readonly store: DocumentStore;
  readonly dependencies: Set<string>;
}

/** A program's text, with what it imports behind it. */
export function textOf({ text, code }: LoadedDocument): string {
  return code?.text ?? text;
}

/** A program that is given a config's values for its options; undefined when it is no training. */
export function readGiven(
  document: LoadedDocument,
  from: LoadedDocument,
  given: GivenOptions,
): StartedProgram | undefined {
  const { config } = document;
  if (config?.parsed.python === undefined) return undefined;
  const by = textOf(document).length + 1;
  const moved = [...given].map(([key, node]) => [key, shifted(node, by)] as const);
  const known = new Map([...trainerDefaults(config.parsed.python), ...moved]);
  return readWith(document, known, [{ document: from, from: by }], "linked")?.program;
}

/** Parsers that make every field of TrainingArguments an option. */
const TRAINER_PARSER = /(?:^|\.)(?:HfArgumentParser|TrlParser)$/;

/** What TrainingArguments' own fields are when neither the command nor the program says them (`args.fp16`). */
function trainerDefaults({ calls, options }: PythonModule): GivenOptions {
  if (!calls.some(({ callee }) => TRAINER_PARSER.test(callee))) return new Map();
  const own = new Set(options.entries.map(({ key }) => key));
  const at = { start: -1, end: -1 };
  return new Map(
    TRAINING_ARGUMENTS_KEYS.flatMap(({ key, default: value }) =>
      value === undefined || own.has(key) ? [] : [[key, { kind: "scalar" as const, value, raw: "", ...at }]],
    ),
  );
}

/** Defaults that stand in another file: they have no place in the program. */
function plainDefaults(imported: readonly Entry[]): readonly Entry[] {
  const at = { start: -1, end: -1 };
  return imported.flatMap(({ key, value }) =>
    value.kind === "scalar"
      ? [{ key, keySpan: at, value: { kind: "scalar" as const, value: value.value, raw: "", ...at } }]
      : [],
  );
}

/** The command's options by the names that the program reads, places moved behind the program's text. */
function givenOptions(
  command: ShellCommand,
  options: MapNode,
  spellings: PythonModule["spellings"],
  by: number,
): GivenOptions {
  const takes = new Set(options.entries.map(({ key }) => key));
  const given = new Map<string, LocatedNode>();
  for (const { key, value } of command.flags.entries) {
    const written = key.replaceAll("-", "_");
    const name = spellings.get(written) ?? written;
    if (LAUNCHER_OPTIONS.has(name) && !takes.has(name)) continue;
    // absl's has no dash after it (absl/flags/_flag.py, BooleanFlag).
    const negated = /^no_?(.+)$/.exec(name)?.[1];
    const moved = shifted(value, by);
    // `--no_x` of HfArgumentParser and click switches `x` off (transformers/hf_argparser.py, `_parse_dataclass_field`).
    if (negated !== undefined && takes.has(negated) && !takes.has(name) && moved.kind === "scalar")
      given.set(negated, { ...moved, value: moved.value !== true });
    else given.set(name, moved);
  }
  for (const [name, node] of placed(command, options, given)) given.set(name, shifted(node, by));
  return given;
}

/** Words behind the program's name: they are the options that have no default, in their order (typer, fire, click's arguments). */
function placed(
  { positional }: ShellCommand,
  { entries }: MapNode,
  given: ReadonlyMap<string, LocatedNode>,
): (readonly [string, LocatedNode])[] {
  const program = positional.findIndex(({ text }) => /\.py$/.test(text));
  const open = entries.filter(({ key, value }) => value.kind === "unknown" && value.raw === "" && !given.has(key));
  const words = program < 0 ? [] : positional.slice(program + 1);
  return words.slice(0, open.length).map(({ node }, index) => [open[index]!.key, node] as const);
}

/** A document whose text stands behind a program's: places of its values begin at `from`. */
export interface TextBehind {
  readonly document: LoadedDocument;
  readonly from: number;
}

/** A program's setting with its place: in the document behind the program, in their order, where its value was given there. */
export function placedSetting(
  setting: LocatedSetting,
  program: LoadedDocument,
  behind: readonly TextBehind[],
  layer: "document" | "linked",
): Setting[] {
  const written = (setting.node.kind === "scalar" ? setting.node.source : undefined) ?? setting.valueSpan;
  const given = behind.findLast(({ from }) => written.start >= from);
  const span = given && movedSpan(written, -given.from);
  const place: Place =
    given === undefined || span === undefined
      ? { uri: program.uri, keySpan: setting.keySpan, valueSpan: setting.valueSpan }
      : { uri: given.document.uri, keySpan: span, valueSpan: span };
  return located([setting], program.uri, layer).map((one) => ({ ...one, place }));
}

/** What the command's options and the program's defaults mean by their names, to the command's format. */
function namedOptions(
  format: Format | undefined,
  program: LoadedDocument,
  { script, command }: CommandLine,
  given: GivenOptions,
  imported: readonly Entry[],
): Pick<StartedProgram, "flags" | "defaults"> {
  const { config } = script;
  const shell = config?.parsed.shell;
  if (format === undefined || config === undefined || shell === undefined) return { flags: [], defaults: [] };
  const by = script.text.length + 1;
  const { spellings } = program.config?.parsed.python ?? {};
  // One letter says something only through the option that it stands for.
  const stated = command.flags.entries.map((entry) =>
    entry.key.length > 1 ? entry : { ...entry, key: spellings?.get(entry.key) ?? entry.key },
  );
  const beside = imported
    .filter(({ key, value }) => !isNone(value) && !given.has(key))
    .map((entry) => ({ ...entry, keySpan: movedSpan(entry.keySpan, 1), value: shifted(entry.value, 1) }));
  const open = [...beside, ...defaultsOf(program, given)].map(
    ({ key, keySpan, value }): Entry => ({ key, keySpan: movedSpan(keySpan, by), value: shifted(value, by) }),
  );
  const flags: MapNode = { ...command.flags, entries: [...open, ...stated] };
  const only = { ...shell, commands: [{ ...command, flags }] };
  const { settings } = format.read({ ...config, parsed: { ...config.parsed, shell: only } });
  const starts = new Set([...stated, ...command.overrides.entries].map(({ keySpan }) => keySpan.start));
  return {
    flags: located(
      settings.filter(({ keySpan }) => starts.has(keySpan.start)),
      script.uri,
      "linked",
    ),
    defaults: settings
      .filter(({ keySpan }) => keySpan.start >= by)
      .flatMap((setting) => {
        const place = {
          uri: program.uri,
          keySpan: movedSpan(setting.keySpan, -by),
          valueSpan: movedSpan(setting.valueSpan, -by),
        };
        return located([setting], program.uri, "linked").map((one) => ({ ...one, place }));
      }),
  };
}

/** Classes of options for something else than the training, whose names mean other things there. */
const OTHER_OPTIONS = /Generation|Sampling|Inference/;

/** Defaults of options that the command leaves open. */
function defaultsOf({ config }: LoadedDocument, given: GivenOptions): readonly Entry[] {
  const { options, classes } = config?.parsed.python ?? {};
  const others = (classes ?? []).filter(({ name }) => OTHER_OPTIONS.test(name)).flatMap(({ fields }) => fields.entries);
  const other = new Set(others.map(({ key }) => key));
  return (options?.entries ?? []).filter(
    ({ key, value }) => value.kind !== "unknown" && !isNone(value) && !given.has(key) && !other.has(key),
  );
}

function isNone(node: LocatedNode): boolean {
  return node.kind === "scalar" && node.value === null;
}
