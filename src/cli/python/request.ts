/** Commands that a person's own Python carries out: what is this program's of their arguments, and what is handed on. Pure. */

import { table } from "../../terms/table";

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
  /** Arguments for the package's own command line. */
  readonly rest: readonly string[];
}

/** By the name that a person writes. */
const NAMES: Readonly<Record<string, PythonCommand>> = table({
  trace: "trace",
  watch: "watch",
  "bench-card": "bench",
});
const AGAINST = "--against-pytorch";

/** Lines of the help. */
export const PYTHON_COMMANDS: readonly (readonly [string, string])[] = [
  ["trace FILE[:MODEL]", "make a graph of a model of your own, by your own Python; `trace --help` says more"],
  [`check ${AGAINST}`, "run a SCRIPT with its arguments on a GPU that is not there, beside the estimate"],
  ["watch SCRIPT", "run a script on the card and keep a receipt of what it took"],
  ["bench-card", "measure small real runs on this card and keep their receipts"],
];

/** The request of a command that Python carries out; undefined for all others, a text where it makes no sense. */
export function pythonRequest(argv: readonly string[]): PythonRequest | string | undefined {
  const [first = "", ...words] = argv;
  const against = first === "check" && words.includes(AGAINST);
  const command = against ? "check" : NAMES[first];
  if (command === undefined) return undefined;
  const own = new Map<string, string>();
  const rest: string[] = [];
  for (let k = 0; k < words.length; k++) {
    const word = words[k] ?? "";
    // What stands behind the script is the script's.
    if (rest.some((one) => !one.startsWith("-")) && command !== "trace") rest.push(word);
    else if (word === AGAINST && against) own.set(word, "");
    else if (
      word === "--format" ||
      word === "--python" ||
      word === "--time-limit" ||
      (word === "--device" && against)
    ) {
      const value = words[++k];
      if (value === undefined) return `${word} needs a value`;
      own.set(word, value);
    } else rest.push(word);
  }
  const limit = own.get("--time-limit");
  if (limit !== undefined && !/^\d{1,7}$/.test(limit)) return `--time-limit is a number of seconds, not "${limit}"`;
  const format = own.get("--format") ?? "text";
  if (format !== "text" && format !== "json") return "--format is one of text, json";
  if (command !== "bench" && rest.length === 0) return `${first} needs a file`;
  return {
    command,
    python: own.get("--python"),
    timeLimit: limit === undefined ? LIMITS[command] : Number(limit),
    json: format === "json",
    device: own.get("--device"),
    rest,
  };
}
