/** Command-line arguments to a request, or a one-line complaint. Pure. */

import { nearNames } from "../analysis/linking/asked";
import type { Locale } from "../analysis/messages";
import { withNear } from "../analysis/pins/complaints";
import { PYTHON_COMMANDS } from "./python/request";
import { type WordId, words } from "./words";

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
  readonly help: WordId;
  /** What people write for it who know other programs. */
  readonly called?: readonly string[];
}

interface CommandRow {
  readonly name: Command;
  /** Positional arguments, as the help shows them; empty: none. */
  readonly takes: "" | "PATH..." | "LOG" | "FILE";
  /** Exit statuses beside 2. */
  readonly exits: WordId;
}

/** Commands with their positional arguments; what they do is `command-<name>`. */
const COMMANDS: readonly CommandRow[] = [
  { name: "check", takes: "PATH...", exits: "exit-check" },
  { name: "plan", takes: "PATH...", exits: "exit-done" },
  { name: "explain", takes: "LOG", exits: "exit-explain" },
  { name: "snapshot", takes: "FILE", exits: "exit-done" },
  { name: "receipts", takes: "PATH...", exits: "exit-done" },
  { name: "devices", takes: "", exits: "exit-done" },
  { name: "models", takes: "", exits: "exit-done" },
];

/** What a command complains of without its argument. */
const NEEDS = { "PATH...": "usage-paths", LOG: "usage-log", FILE: "usage-file" } as const;

const CONFIG_COMMANDS: readonly Command[] = ["check", "plan", "explain"];
const PLAN_COMMANDS: readonly Command[] = ["plan", "explain"];

/** Every option. */
const OPTIONS: readonly Option[] = [
  {
    name: "--device",
    value: "NAME|SIZE",
    commands: CONFIG_COMMANDS,
    help: "option-device",
    called: ["--gpu", "--card", "--vram", "--memory", "-d"],
  },
  {
    name: "--devices",
    value: "N",
    commands: CONFIG_COMMANDS,
    help: "option-devices",
    called: ["--gpus", "--num-gpus", "--num_gpus", "--nproc_per_node", "--nproc-per-node", "--num_processes", "-n"],
  },
  { name: "--set", value: "KEY=VALUE", commands: CONFIG_COMMANDS, help: "option-set", called: ["--override", "-s"] },
  {
    name: "--config",
    value: "PATH",
    commands: ["explain"],
    help: "option-config",
  },
  {
    name: "--format",
    value: "FORMAT",
    commands: ["check", "plan", "explain", "snapshot", "receipts", "devices", "models"],
    choices: (command) => (command === "check" ? ["text", "json", "sarif"] : ["text", "json"]),
    help: "option-format",
    called: ["--json", "--sarif", "--output", "-f", "-o"],
  },
  {
    name: "--fail-on",
    value: "LEVEL",
    commands: ["check"],
    choices: () => ["error", "warning", "never"],
    help: "option-fail-on",
  },
  {
    name: "--export",
    value: "",
    commands: ["receipts"],
    help: "option-export",
  },
  {
    name: "--strict",
    value: "",
    commands: ["check"],
    help: "option-strict",
  },
  {
    name: "--only-configs",
    value: "",
    commands: ["check"],
    help: "option-only-configs",
  },
  {
    name: "--locale",
    value: "LOCALE",
    commands: [...CONFIG_COMMANDS, "snapshot", "receipts"],
    help: "option-locale",
    called: ["--lang", "--language"],
  },
  { name: "--keep-numerics", value: "", commands: PLAN_COMMANDS, help: "option-keep-numerics" },
  { name: "--no-adapters", value: "", commands: PLAN_COMMANDS, help: "option-no-adapters" },
  { name: "--no-packages", value: "", commands: PLAN_COMMANDS, help: "option-no-packages" },
  {
    name: "--free-global-batch",
    value: "",
    commands: PLAN_COMMANDS,
    help: "option-free-global-batch",
  },
];

/** Languages that are spoken, with a region and an encoding as `LANG` has them. */
const LANGUAGES = /^(?:en|zh)(?:[-_.]|$)/i;

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
export function parseArguments(argv: readonly string[], locale: Locale): Parsed {
  const say = words(locale);
  const [first = "help", ...rest] = argv;
  const command = COMMANDS.find((one) => one.name === first);
  if (first === "help" || argv.includes("--help") || argv.includes("-h")) {
    const about = command ?? COMMANDS.find((one) => one.name === rest[0]);
    return { kind: "help", text: about === undefined ? helpText(locale) : commandHelp(about, locale) };
  }
  if (argv.includes("--version")) return { kind: "version" };
  const usage = (complaint: string): Parsed => ({ kind: "usage", complaint, command: command?.name });
  if (command === undefined) {
    const names = [...COMMANDS.map(({ name }) => name), ...PYTHON_COMMANDS.map(({ name }) => name)];
    return usage(withNear(say("usage-command", { name: first }), nearNames(first, names), locale));
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
      const meant = options.filter(({ called }) => called?.includes(name.toLowerCase()));
      const near =
        meant.length > 0
          ? meant.map((one) => one.name)
          : nearNames(
              name,
              options.map((one) => one.name),
            );
      return usage(withNear(say("usage-option", { name, command: command.name }), near, locale));
    }
    if (option.value === "") {
      if (inline !== undefined) return usage(say("usage-flag", { name }));
      values.set(name, "");
      continue;
    }
    const value = inline ?? rest[++i];
    if (value === undefined) return usage(say("usage-value", { name, value: option.value }));
    const choices = option.choices?.(command.name);
    if (choices !== undefined && !choices.includes(value))
      return usage(say("usage-choices", { name, list: choices.join(", ") }));
    if (name === "--set") {
      const at = value.indexOf("=");
      if (at < 1) return usage(say("usage-pair", { value }));
      set[value.slice(0, at)] = value.slice(at + 1);
    } else {
      values.set(name, value);
    }
  }

  const { takes } = command;
  if (takes !== "" && paths.length === 0) return usage(say(NEEDS[takes], { command: command.name }));
  if (takes === "" && paths.length > 0) return usage(say("usage-no-path", { command: command.name }));
  if (takes !== "PATH..." && paths.length > 1) return usage(say("usage-one-file", { command: command.name }));
  const count = values.get("--devices");
  if (count !== undefined && !/^[1-9]\d{0,6}$/.test(count)) return usage(say("usage-count", { value: count }));
  const language = values.get("--locale");
  if (language !== undefined && !LANGUAGES.test(language)) return usage(say("usage-locale", { value: language }));
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
      locale: language,
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

/** The help text, made from the tables above. */
function helpText(locale: Locale): string {
  const say = words(locale);
  return [
    say("help-usage", { what: "vram-lens COMMAND [options]" }),
    "",
    say("help-about"),
    say("help-path"),
    "",
    ...listed(COMMANDS.map(({ name, takes }) => [`${name} ${takes}`, say(`command-${name}`)])),
    ...listed(PYTHON_COMMANDS.map(({ usage, help }) => [usage, say(help)])),
    "",
    ...listed(OPTIONS.map(({ name, value, help }) => [`${name} ${value}`, say(help)])),
    "",
    say("help-more"),
    say("help-exits", { exits: say("exit-check") }),
    "",
  ].join("\n");
}

/** The help text of one command. */
function commandHelp({ name, takes, exits }: CommandRow, locale: Locale): string {
  const say = words(locale);
  const help = say(`command-${name}`);
  return [
    say("help-usage", { what: ["vram-lens", name, takes, "[options]"].filter(Boolean).join(" ") }),
    "",
    say("help-sentence", { what: `${help.charAt(0).toUpperCase()}${help.slice(1)}` }),
    "",
    ...listed(optionsOf(name).map((option) => [`${option.name} ${option.value}`, say(option.help)])),
    "",
    say("help-exits", { exits: say(exits) }),
    "",
  ].join("\n");
}
