/** Commands that a person's own Python carries out: what is this program's of their arguments, and what is handed on. Pure. */

import { table } from "../../terms/table";
import type { Say, WordId } from "../words";

/** Seconds that a command may take where nothing says it; `watch` trains for as long as it takes. */
const LIMITS = { trace: 900, check: 900, watch: 0, bench: 3600 } as const;

export type PythonCommand = keyof typeof LIMITS;

export interface PythonRequest {
  readonly command: PythonCommand;
  /** The interpreter; undefined: the active environment's. */
  readonly python: string | undefined;
  /** Seconds; 0: no end. */
  readonly timeLimit: number;
  readonly json: boolean;
  /** The GPU of the estimate that a check stands beside. */
  readonly device: string | undefined;
  /** Only what the command takes is asked for. */
  readonly help: boolean;
  /** Arguments for the package's own command line. */
  readonly rest: readonly string[];
  /** The script among them; empty: none. */
  readonly script: string;
  /** Processes that a check follows the first of, as its options say; the file of `accelerate launch` may say more. */
  readonly ranks: number;
  /** The config of `accelerate launch`; empty: none. */
  readonly accelerate: string;
  /** What stands behind the script. */
  readonly words: readonly string[];
  /** Names of options that this command takes, too, and that stand behind the script: they are the script's own. */
  readonly taken: readonly string[];
}

/** By the name that a person writes. */
const NAMES: Readonly<Record<string, PythonCommand>> = table({
  trace: "trace",
  watch: "watch",
  "bench-card": "bench",
});
const AGAINST = "--against-pytorch";

/** Words of the package's own command line that a value stands behind. */
const VALUED: ReadonlySet<string> = new Set(
  ["steps", "card", "rows", "words", "ranks", "accelerate", "events", "catalogue", "root", "minutes"].map(
    (name) => `--${name}`,
  ),
);

/** Options that this program keeps for itself, with what stands for their values. */
const VALUES: Readonly<Record<string, string>> = table({
  "--format": "FORMAT",
  "--python": "PATH",
  "--time-limit": "SECONDS",
  "--device": "NAME|SIZE",
});
const KEPT: ReadonlySet<string> = new Set(Object.keys(VALUES));

/** Commands as the help lists them. */
export const PYTHON_COMMANDS: readonly { readonly name: string; readonly usage: string; readonly help: WordId }[] = [
  { name: "trace", usage: "trace FILE[:MODEL]", help: "command-trace" },
  { name: "check", usage: `check ${AGAINST}`, help: "command-against" },
  { name: "watch", usage: "watch SCRIPT", help: "command-watch" },
  { name: "bench-card", usage: "bench-card", help: "command-bench-card" },
];

/** What this program takes for itself; the rest of the help is Python's own. */
export const PYTHON_OPTIONS: readonly (readonly [option: string, help: WordId])[] = [
  ["--python PATH", "option-python"],
  ["--time-limit SECONDS", "option-time-limit"],
  ["--format FORMAT", "option-python-format"],
];

/** The request of a command that Python carries out; undefined for all others, a text where it makes no sense. */
export function pythonRequest(argv: readonly string[], say: Say): PythonRequest | string | undefined {
  const [first = "", ...words] = argv;
  const against = first === "check" && words.includes(AGAINST);
  const command = against ? "check" : NAMES[first];
  if (command === undefined) return undefined;
  const own = new Map<string, string>();
  const rest: string[] = [];
  let script = "";
  for (let k = 0; k < words.length; k++) {
    const word = words[k] ?? "";
    // What stands behind the script is the script's.
    if (script !== "" && command !== "trace") rest.push(word);
    else if (word === AGAINST && against) own.set(word, "");
    else if (KEPT.has(word) && (word !== "--device" || against)) {
      const value = words[++k];
      if (value === undefined) return say("usage-value", { name: word, value: VALUES[word] ?? "" });
      own.set(word, value);
    } else {
      rest.push(word);
      const value = VALUED.has(word) && command !== "trace" ? words[++k] : undefined;
      if (value !== undefined) {
        rest.push(value);
        own.set(word, value);
      } else if (!word.startsWith("-")) script ||= word;
    }
  }
  const limit = own.get("--time-limit");
  if (limit !== undefined && !/^\d{1,7}$/.test(limit)) return say("usage-seconds", { value: limit });
  const format = own.get("--format") ?? "text";
  if (format !== "text" && format !== "json") return say("usage-choices", { name: "--format", list: "text, json" });
  if (command !== "bench" && rest.length === 0) return say("usage-file", { command: first });
  const given = script === "" ? [] : rest.slice(rest.indexOf(script) + 1);
  return {
    command,
    python: own.get("--python"),
    timeLimit: limit === undefined ? LIMITS[command] : Number(limit),
    json: format === "json",
    device: own.get("--device"),
    help: helpAsked(rest, script),
    rest,
    script,
    ranks: Number(own.get("--ranks") ?? 1) || 1,
    accelerate: own.get("--accelerate") ?? "",
    words: given,
    taken: alsoOurs(given),
  };
}

/** Options of this program among those that the script is given. */
function alsoOurs(given: readonly string[]): readonly string[] {
  const names = given.map((word) => word.split("=")[0] ?? "");
  return [...new Set(names)].filter((name) => name === AGAINST || KEPT.has(name) || VALUED.has(name));
}

/** Whether help stands before the script; behind it, it is the script's. */
function helpAsked(rest: readonly string[], script: string): boolean {
  return rest
    .slice(0, script === "" ? undefined : rest.indexOf(script))
    .some((word) => word === "--help" || word === "-h");
}
