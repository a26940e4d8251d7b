/**
 * A profiler's trace (`torch.profiler.profile(profile_memory=True).export_chrome_trace`): its `[memory]` events to columns. They
 * have no stacks of their own; the operators that were running on the same thread stand for one. Source:
 * torch/csrc/autograd/profiler_kineto.cpp (`[memory]`, `Addr`, `Bytes`, `Total Allocated`, `Device Type`), Kineto's
 * output_json.cpp.
 */
import { Stacks } from "./stacks";
import { ACTIONS, emptyTrace, type RecordingRead, type Trace } from "./types";

type Event = Readonly<Record<string, unknown>>;

function isEvent(value: unknown): value is Event {
  return typeof value === "object" && value !== null;
}

function number(value: unknown): number {
  const found = typeof value === "string" ? Number(value) : value;
  return typeof found === "number" && Number.isFinite(found) ? found : 0;
}

/** `DeviceType` of what holds tensors (c10/core/DeviceType.h): CUDA, HIP, XPU, MPS, PrivateUse1. */
const CARDS: ReadonlySet<number> = new Set([1, 6, 12, 13, 20]);

interface Change {
  readonly at: number;
  readonly device: number;
  readonly address: number;
  readonly bytes: number;
  readonly thread: string;
}

function changesOf(events: readonly Event[]): Change[] {
  const changes: Change[] = [];
  for (const event of events) {
    if (event["name"] !== "[memory]" || !isEvent(event["args"])) continue;
    const { args } = event;
    if (!CARDS.has(number(args["Device Type"]))) continue;
    changes.push({
      at: number(event["ts"]),
      device: Math.max(0, number(args["Device Id"])),
      address: number(args["Addr"]),
      bytes: number(args["Bytes"]),
      thread: `${String(event["pid"])} ${String(event["tid"])}`,
    });
  }
  return changes.sort((a, b) => a.at - b.at);
}

interface Span {
  readonly from: number;
  readonly to: number;
  readonly name: string;
}

const CALLS = new Set(["cpu_op", "user_annotation", "python_function", "Operator"]);

/** Spans of what ran on each thread, outer ones first where they begin together. */
function spansOf(events: readonly Event[]): Map<string, Span[]> {
  const threads = new Map<string, Span[]>();
  for (const event of events) {
    if (event["ph"] !== "X" || !CALLS.has(String(event["cat"]))) continue;
    const from = number(event["ts"]);
    const thread = `${String(event["pid"])} ${String(event["tid"])}`;
    const spans = threads.get(thread) ?? [];
    spans.push({ from, to: from + number(event["dur"]), name: String(event["name"]) });
    threads.set(thread, spans);
  }
  for (const spans of threads.values()) spans.sort((a, b) => a.from - b.from || b.to - a.to);
  return threads;
}

/** Walks a thread's spans along with time: which are open. */
class Walk {
  private next = 0;
  private readonly open: Span[] = [];

  constructor(private readonly spans: readonly Span[]) {}

  /** Innermost first. Times may only grow. */
  at(time: number): readonly Span[] {
    while (this.next < this.spans.length && this.spans[this.next]!.from <= time)
      this.open.push(this.spans[this.next++]!);
    while (this.open.length > 0 && this.open.at(-1)!.to < time) this.open.pop();
    return this.open.filter(({ to }) => to >= time).reverse();
  }
}

const ALLOC = ACTIONS.indexOf("alloc");
const FREE = ACTIONS.indexOf("free");

/** `path/file.py(123): name` of Python functions, where the profiler recorded them. */
function placeOf(name: string, stacks: Stacks): number {
  const close = name.indexOf("): ");
  const open = close < 0 ? -1 : name.lastIndexOf("(", close);
  if (open <= 0) return stacks.place("", 0, name);
  return stacks.place(name.slice(0, open), Number.parseInt(name.slice(open + 1), 10) || 0, name.slice(close + 3));
}

function traceOf(changes: readonly Change[], device: number, walks: Map<string, Walk>, stacks: Stacks): Trace {
  const { length } = changes;
  const trace = emptyTrace(device, length);
  for (let k = 0; k < length; k++) {
    const { at, address, bytes, thread } = changes[k]!;
    trace.actions[k] = bytes >= 0 ? ALLOC : FREE;
    trace.addresses[k] = address;
    trace.sizes[k] = Math.abs(bytes);
    trace.times[k] = at;
    const open = walks.get(thread)?.at(at) ?? [];
    trace.stacks[k] = stacks.stack(open.map(({ name }) => placeOf(name, stacks)));
  }
  return trace;
}

/** Reads a trace's text; never throws. */
export function readProfile(text: string): RecordingRead {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, why: "broken", what: error instanceof Error ? error.message.slice(0, 120) : "", at: 0 };
  }
  const list = Array.isArray(value) ? value : isEvent(value) ? value["traceEvents"] : undefined;
  if (!Array.isArray(list)) return { ok: false, why: "other", what: "", at: 0 };
  const events = list.filter(isEvent);
  const changes = changesOf(events);
  if (changes.length === 0) return { ok: false, why: "other", what: "[memory]", at: 0 };
  const spans = spansOf(events);
  const stacks = new Stacks();
  const devices = [...new Set(changes.map(({ device }) => device))].sort((a, b) => a - b);
  const traces = devices.map((device) => {
    const walks = new Map([...spans].map(([thread, own]) => [thread, new Walk(own)]));
    return traceOf(
      changes.filter((change) => change.device === device),
      device,
      walks,
      stacks,
    );
  });
  const { places, stacks: all } = stacks;
  return { ok: true, recording: { kind: "profile", places, stacks: all, traces, segments: [], settings: {} } };
}
