/** Command-line arguments to a request, or a one-line complaint. Pure. */

import { complaintText, nearNames } from "../analysis/asked";
import { PYTHON_COMMANDS } from "./python/request";

export type Format = "text" | "json" | "sarif";
export type FailOn = "error" | "warning" | "never";

/** Flags of `plan`: what plans must leave alone. */
export interface Allow {
  readonly keepGlobalBatch: boolean;
  readonly keepNumerics: boolean;
  readonly adapters: boolean;
  readonly packages: boolean;
}

export interface Request {
  readonly command: "check" | "plan" | "explain" | "snapshot" | "receipts" | "devices" | "models";
  readonly paths: readonly string[];
  readonly device: string | undefined;
  readonly deviceCount: number | undefined;
  readonly set: Readonly<Record<string, string>>;
  /** The run's config, for commands that read something else. */
  readonly config: string | undefined;
  readonly format: Format;
  readonly failOn: FailOn;
  /** Receipts are printed without what is private. */
  readonly exports: boolean;
  /** A file of a folder that could not be read fails the check. */
  readonly strict: boolean;
  /** Named files that are no training configs are left out, as a hook names whatever changed. */
  readonly onlyConfigs: boolean;
  readonly allow: Allow;
  readonly locale: string | undefined;
}

export type Parsed =
  | { readonly kind: "request"; readonly request: Request }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" }
  | { readonly kind: "usage"; readonly complaint: string; readonly command: Command | undefined };

type Command = Request["command"];

interface Option {
  readonly name: string;
  /** What stands for the value in the help; empty for a flag, which takes none. */
  readonly value: string;
  readonly commands: readonly Command[];
  readonly choices?: (command: Command) => readonly string[];
  readonly help: string;
}

interface CommandRow {
  readonly name: Command;
  /** Positional arguments, as the help shows them; empty: none. */
  readonly takes: "" | "PATH..." | "LOG" | "FILE";
  readonly help: string;
  /** Exit statuses beside 2. */
  readonly exits: string;
}

/** Exit statuses of commands that find nothing wrong. */
const DONE = "0 done";

/** Commands with their positional arguments and what they print. */
const COMMANDS: readonly CommandRow[] = [
  {
    name: "check",
    takes: "PATH...",
    help: "estimate every run of the files or folders and report what is wrong",
    exits: "0 nothing at or above --fail-on, 1 something",
  },
  { name: "plan", takes: "PATH...", help: "list the changes that make a run fit, best first", exits: DONE },
  {
    name: "explain",
    takes: "LOG",
    help: "say what happened where a log (or -, the input) ran out of memory",
    exits: "0 explained, 1 the log says nothing of memory that ran out",
  },
  {
    name: "snapshot",
    takes: "FILE",
    help: "sum up a memory snapshot (pickle) or a profiler's trace (JSON)",
    exits: DONE,
  },
  {
    name: "receipts",
    takes: "PATH...",
    help: "list what was measured of a config, or read what another tool measured",
    exits: DONE,
  },
  { name: "devices", takes: "", help: "list the GPUs that --device knows by name", exits: DONE },
  { name: "models", takes: "", help: "list the models that are known by name", exits: DONE },
];

/** What a command complains of without its argument. */
const NEEDS: Readonly<Record<CommandRow["takes"], string>> = {
  "": "",
  "PATH...": "at least one file or folder",
  LOG: "a log, or - for the standard input",
  FILE: "a file",
};

const CONFIG_COMMANDS: readonly Command[] = ["check", "plan", "explain"];
const PLAN_COMMANDS: readonly Command[] = ["plan", "explain"];

/** Every option. */
const OPTIONS: readonly Option[] = [
  {
    name: "--device",
    value: "NAME|SIZE",
    commands: CONFIG_COMMANDS,
    help: "GPU by name (`vram-lens devices` lists them) or memory size (24GB)",
  },
  { name: "--devices", value: "N", commands: CONFIG_COMMANDS, help: "number of GPUs when nothing else says it" },
  { name: "--set", value: "KEY=VALUE", commands: CONFIG_COMMANDS, help: "override one setting; may be repeated" },
  {
    name: "--config",
    value: "PATH",
    commands: ["explain"],
    help: "config of the run; otherwise those beside the log are tried",
  },
  {
    name: "--format",
    value: "FORMAT",
    commands: ["check", "plan", "explain", "snapshot", "receipts", "devices", "models"],
    choices: (command) => (command === "check" ? ["text", "json", "sarif"] : ["text", "json"]),
    help: "text (default), json, or sarif for check",
  },
  {
    name: "--fail-on",
    value: "LEVEL",
    commands: ["check"],
    choices: () => ["error", "warning", "never"],
    help: "least severity that makes the exit status 1: error (default), warning, never",
  },
  {
    name: "--export",
    value: "",
    commands: ["receipts"],
    help: "print the receipts for a bug report, nothing private in them",
  },
  {
    name: "--strict",
    value: "",
    commands: ["check"],
    help: "exit 2 when a folder has a config that cannot be read",
  },
  {
    name: "--only-configs",
    value: "",
    commands: ["check"],
    help: "leave out named files that are no training configs (for hooks)",
  },
  {
    name: "--locale",
    value: "LOCALE",
    commands: [...CONFIG_COMMANDS, "snapshot", "receipts"],
    help: "language of messages: en, zh-cn (text follows LANG)",
  },
  { name: "--keep-numerics", value: "", commands: PLAN_COMMANDS, help: "only plans that compute the same results" },
  { name: "--no-adapters", value: "", commands: PLAN_COMMANDS, help: "no LoRA or QLoRA where the config has none" },
  { name: "--no-packages", value: "", commands: PLAN_COMMANDS, help: "no plan that needs another package" },
  {
    name: "--free-global-batch",
    value: "",
    commands: PLAN_COMMANDS,
    help: "a smaller micro-batch without accumulation",
  },
];

/** Languages that are spoken, with a region and an encoding as `LANG` has them. */
const LANGUAGES = /^(?:en|zh)(?:[-_.]|$)/i;

/** A name that nobody has, with the nearest of those that there are. */
function unknown(what: string, name: string, known: readonly string[]): string {
  return complaintText({ what, near: nearNames(name, known) });
}

/** Splits `--name=value`; a bare `--name` takes the next argument. */
function splitOption(argument: string): { readonly name: string; readonly inline: string | undefined } {
  const at = argument.indexOf("=");
  return at < 0
    ? { name: argument, inline: undefined }
    : { name: argument.slice(0, at), inline: argument.slice(at + 1) };
}

/**
 * Reads `vram-lens` arguments (without the program's own name).
 *
 * @returns a request, or what to print instead of one
 */
export function parseArguments(argv: readonly string[]): Parsed {
  const [first = "help", ...rest] = argv;
  const command = COMMANDS.find((one) => one.name === first);
  if (first === "help" || argv.includes("--help") || argv.includes("-h")) {
    const about = command ?? COMMANDS.find((one) => one.name === rest[0]);
    return { kind: "help", text: about === undefined ? helpText() : commandHelp(about) };
  }
  if (argv.includes("--version")) return { kind: "version" };
  const usage = (complaint: string): Parsed => ({ kind: "usage", complaint, command: command?.name });
  if (command === undefined) {
    const names = [...COMMANDS.map(({ name }) => name), ...PYTHON_COMMANDS.map(({ name }) => name)];
    return usage(unknown(`unknown command "${first}"`, first, names));
  }

  const values = new Map<string, string>();
  const set: Record<string, string> = {};
  const paths: string[] = [];
  for (let i = 0, optionsEnded = false; i < rest.length; i++) {
    const argument = rest[i] ?? "";
    if (optionsEnded || !argument.startsWith("-") || argument === "-") {
      paths.push(argument);
      continue;
    }
    if (argument === "--") {
      optionsEnded = true;
      continue;
    }
    const { name, inline } = splitOption(argument);
    const options = optionsOf(command.name);
    const option = options.find((one) => one.name === name);
    if (option === undefined) {
      const names = options.map((one) => one.name);
      return usage(unknown(`unknown option "${name}" for ${command.name}`, name, names));
    }
    if (option.value === "") {
      if (inline !== undefined) return usage(`${name} takes no value`);
      values.set(name, "");
      continue;
    }
    const value = inline ?? rest[++i];
    if (value === undefined) return usage(`${name} needs a value (${option.value})`);
    const choices = option.choices?.(command.name);
    if (choices !== undefined && !choices.includes(value)) return usage(`${name} is one of ${choices.join(", ")}`);
    if (name === "--set") {
      const at = value.indexOf("=");
      if (at < 1) return usage(`--set needs KEY=VALUE, not "${value}"`);
      set[value.slice(0, at)] = value.slice(at + 1);
    } else {
      values.set(name, value);
    }
  }

  const { takes } = command;
  if (takes !== "" && paths.length === 0) return usage(`${command.name} needs ${NEEDS[takes]}`);
  if (takes === "" && paths.length > 0) return usage(`${command.name} takes no path`);
  if (takes !== "PATH..." && paths.length > 1) return usage(`${command.name} takes one file`);
  const count = values.get("--devices");
  if (count !== undefined && !/^[1-9]\d{0,6}$/.test(count))
    return usage(`--devices needs a whole number from 1 on, not "${count}"`);
  const locale = values.get("--locale");
  if (locale !== undefined && !LANGUAGES.test(locale)) return usage(`--locale is en or zh-cn, not "${locale}"`);
  return {
    kind: "request",
    request: {
      command: command.name,
      paths,
      device: values.get("--device"),
      deviceCount: count === undefined ? undefined : Number(count),
      set,
      config: values.get("--config"),
      format: (values.get("--format") ?? "text") as Format,
      failOn: (values.get("--fail-on") ?? "error") as FailOn,
      exports: values.has("--export"),
      strict: values.has("--strict"),
      onlyConfigs: values.has("--only-configs"),
      allow: {
        keepGlobalBatch: !values.has("--free-global-batch"),
        keepNumerics: values.has("--keep-numerics"),
        adapters: !values.has("--no-adapters"),
        packages: !values.has("--no-packages"),
      },
      locale,
    },
  };
}

/** Options of one command. */
function optionsOf(command: Command): readonly Option[] {
  return OPTIONS.filter(({ commands }) => commands.includes(command));
}

/** Lines of a list: a name, and what it does. */
function listed(rows: readonly (readonly [string, string])[]): readonly string[] {
  return rows.map(([name, help]) => `  ${name.trimEnd().padEnd(24)}${help}`);
}

const optionRow = ({ name, value, help }: Option) => [`${name} ${value}`, help] as const;

/** The help text, made from the tables above. */
function helpText(): string {
  return [
    "usage: vram-lens COMMAND [options]",
    "",
    "Tells whether a training config fits on its GPU, what takes the memory, and the smallest change that makes it fit.",
    "PATH is a config file, or a folder whose every recognised config is meant.",
    "",
    ...listed(COMMANDS.map(({ name, takes, help }) => [`${name} ${takes}`, help])),
    ...listed(PYTHON_COMMANDS.map(({ usage, help }) => [usage, help])),
    "",
    ...listed(OPTIONS.map(optionRow)),
    "",
    "`vram-lens COMMAND --help` has the options of one command.",
    "Exit status: 0 nothing at or above --fail-on, 1 something, 2 bad usage or an unreadable input.",
    "",
  ].join("\n");
}

/** The help text of one command. */
function commandHelp({ name, takes, help, exits }: CommandRow): string {
  return [
    `usage: ${["vram-lens", name, takes, "[options]"].filter(Boolean).join(" ")}`,
    "",
    `${help.charAt(0).toUpperCase()}${help.slice(1)}.`,
    "",
    ...listed(optionsOf(name).map(optionRow)),
    "",
    `Exit status: ${exits}, 2 bad usage or an unreadable input.`,
    "",
  ].join("\n");
}
