/**
 * A log as lines of single processes: what launchers, loggers and terminals put around a line is taken off, and which rank said
 * it is kept.
 */

export interface LogLine {
  /** Of the whole log, from zero. */
  readonly number: number;
  /** What the launcher calls the process: `rank0`, `pid=123`; empty where it says nothing. */
  readonly source: string;
  readonly text: string;
}

/** Lines of a log that are read, from its end: what failed is said last. */
const MOST_LINES = 200_000;
/** Characters of one line that are read: a progress bar that rewrites itself may be one line of megabytes. */
const LONGEST_LINE = 4000;

const ESCAPE = "\u001b[";

/** A text without the sequences that colour it. */
function uncoloured(text: string): string {
  const [first = "", ...rest] = text.split(ESCAPE);
  return first + rest.map((part) => part.replace(/^[0-9;?]*[A-Za-z]/, "")).join("");
}

/** What stands before the text, with the name of its process, as each launcher writes it. */
const PREFIXES: readonly { readonly pattern: RegExp; readonly named: boolean }[] = [
  // GitHub Actions, Kubernetes, CloudWatch: a time in front of every line.
  { pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)? /, named: false },
  // torchrun with `--tee`, and the excepthook of torch.distributed: `[rank0]:`, `[default3]:`.
  { pattern: /^\[((?:rank|default|worker)\s?\d+)\]:? ?/i, named: true },
  // DeepSpeed over pdsh, srun --label, MPI: `worker-0: `, `3: `, `[1,2]<stderr>:`.
  { pattern: /^(\d{1,4}|[\w-]+-\d{1,4}):(?: |$)/, named: true },
  { pattern: /^\[(\d+,\d+)\]<std(?:err|out)>: ?/, named: true },
  // Ray actors and vLLM's workers: `(WorkerDict pid=123, ip=10.0.0.1) `, `(EngineCore_0 pid=7) `.
  { pattern: /^\(([\w:.]+ pid=\d+)[^)]{0,60}\) ?/, named: true },
  // vLLM's logger: `ERROR 06-28 06:11:45 [worker_base.py:145] `, `ERROR 06-28 06:11:45 worker_base.py:145] `.
  { pattern: /^(?:ERROR|WARNING|CRITICAL|INFO) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./]+:\d+\] ?/, named: false },
  // ParlAI: `rank:  3 | 2022-04-03 18:44:26,615 CRITICAL | `.
  { pattern: /^(rank: {1,3}\d+) \| [^|]{0,80}\| ?/, named: true },
  // A quotation.
  { pattern: /^> ?/, named: false },
];

/** A line without what was put around it; the last named prefix says whose it is. */
function unwrapped(raw: string): { source: string; text: string } {
  let text = uncoloured(raw);
  let source = "";
  for (let round = 0; round < 4; round++) {
    const found = PREFIXES.map((prefix) => ({ prefix, match: prefix.pattern.exec(text) })).find(
      ({ match }) => match !== null,
    );
    if (found?.match == null) break;
    if (found.prefix.named) source = (found.match[1] ?? "").replace(/\s/g, "").toLowerCase();
    text = text.slice(found.match[0].length);
  }
  return { source, text: unboxed(text) };
}

/** What stands inside a box that rich draws around a traceback; other lines as they are. */
function unboxed(text: string): string {
  const start = text.trimStart();
  if (!/^[│┃|╭╰]/.test(start) || !/[│┃|╮╯]\s*$/.test(start)) return text;
  return start.slice(1).trimEnd().slice(0, -1).replace(/^ /, "").trimEnd();
}

/** The number of a rank in a process's name; null where it is none (a process id). */
export function rankOf(source: string): number | null {
  const found = /^(?:rank|default|worker|rank:)(\d+)$/.exec(source) ?? /^(\d{1,4})$/.exec(source);
  return found === null ? null : Number(found[1]);
}

/** A log's lines. A carriage return begins a line anew: what a progress bar wrote over is gone. */
export function logLines(log: string): readonly LogLine[] {
  const raw = log.split("\n");
  const first = Math.max(0, raw.length - MOST_LINES);
  const lines: LogLine[] = [];
  for (let number = first; number < raw.length; number++) {
    const whole = (raw[number] ?? "").replace(/\r$/, "");
    const shown = whole.slice(whole.lastIndexOf("\r") + 1).slice(0, LONGEST_LINE);
    lines.push({ number, ...unwrapped(shown) });
  }
  return lines;
}
