/** Command-line arguments to a request, or a one-line complaint. Pure. */

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
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "usage"; readonly complaint: string };

type Command = Request["command"];

interface Option {
  readonly name: string;
  /** What stands for the value in the help; empty for a flag, which takes none. */
  readonly value: string;
  readonly commands: readonly Command[];
  readonly choices?: (command: Command) => readonly string[];
  readonly help: string;
}

/** Commands with their positional arguments and what they print. */
export const COMMANDS: readonly { readonly name: Command; readonly paths: boolean; readonly help: string }[] = [
  { name: "check", paths: true, help: "estimate every run of the files or folders and report what is wrong" },
  { name: "plan", paths: true, help: "list the changes that make a run fit, best first" },
  { name: "explain", paths: true, help: "say what happened where a log (or -, the input) ran out of memory" },
  { name: "snapshot", paths: true, help: "sum up a memory snapshot (pickle) or a profiler's trace (JSON)" },
  { name: "receipts", paths: true, help: "list what was measured of a config, or read what another tool measured" },
  { name: "devices", paths: false, help: "list the GPUs that --device knows by name" },
  { name: "models", paths: false, help: "list the models that are known by name" },
];

const CONFIG_COMMANDS: readonly Command[] = ["check", "plan", "explain"];
const ONE_FILE: readonly Command[] = ["explain", "snapshot"];
const PLAN_COMMANDS: readonly Command[] = ["plan", "explain"];

/** Every option. */
const OPTIONS: readonly Option[] = [
  {
    name: "--device",
    value: "NAME|SIZE",
    commands: CONFIG_COMMANDS,
    help: "GPU by name or memory size (A100-80GB, 24GB)",
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

function usage(complaint: string): Parsed {
  return { kind: "usage", complaint };
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
  const [first, ...rest] = argv;
  if (first === undefined || first === "help" || argv.includes("--help") || argv.includes("-h"))
    return { kind: "help" };
  if (argv.includes("--version")) return { kind: "version" };
  const command = COMMANDS.find((one) => one.name === first);
  if (command === undefined) return usage(`unknown command "${first}"`);

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
    const option = OPTIONS.find((one) => one.name === name && one.commands.includes(command.name));
    if (option === undefined) return usage(`unknown option "${name}" for ${command.name}`);
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

  if (command.paths && paths.length === 0) return usage(`${command.name} needs at least one file or folder`);
  if (ONE_FILE.includes(command.name) && paths.length > 1) return usage(`${command.name} takes one file`);
  if (!command.paths && paths.length > 0) return usage(`${command.name} takes no path`);
  const count = values.get("--devices");
  if (count !== undefined && !/^[1-9]\d{0,6}$/.test(count))
    return usage(`--devices needs a whole number, not "${count}"`);
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
      locale: values.get("--locale"),
    },
  };
}

/** The help text, made from the tables above. */
export function helpText(): string {
  const commands = COMMANDS.map((one) => `  ${`${one.name}${one.paths ? " PATH..." : ""}`.padEnd(24)}${one.help}`);
  const python = PYTHON_COMMANDS.map(([name, help]) => `  ${name.padEnd(24)}${help}`);
  const options = OPTIONS.map((one) => `  ${`${one.name} ${one.value}`.trimEnd().padEnd(24)}${one.help}`);
  return [
    "usage: vram-lens check PATH... [options]",
    "",
    "Tells whether a training config fits on its GPU, what takes the memory, and the smallest change that makes it fit.",
    "PATH is a config file, or a folder whose every recognised config is meant.",
    "",
    ...commands,
    ...python,
    "",
    ...options,
    "",
    "Exit status: 0 nothing at or above --fail-on, 1 something, 2 bad usage or an unreadable input.",
    "",
  ].join("\n");
}
