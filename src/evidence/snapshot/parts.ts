/** Which part of a run a stack lies in, and which line of the person's own code it comes from. */

import { PHASES } from "../../core/report/estimate";
import type { Frame } from "../log/frames";
import { partOf } from "../log/phase";
import type { Part } from "../log/phase-rules";
import type { Lifetimes } from "./lifetimes";
import { ACTIONS, type Place, type Recording, type Trace } from "./types";

const ALLOC = ACTIONS.indexOf("alloc");

/** What C++ frames and the profiler's spans say where Python's are missing: backward runs on threads of its own. */
const NAMED: readonly { readonly words: readonly string[]; readonly part: Part }[] = [
  {
    words: ["torch::autograd::Engine::", "autograd::engine::evaluate_function", "Backward0", "Backward1"],
    part: "backward",
  },
  { words: ["Optimizer.step#", "Optimizer.step"], part: "optimizer" },
  { words: ["Optimizer.zero_grad#"], part: "zero" },
];

function frameOf({ file, line, name }: Place): Frame {
  return { file, line, name, code: "" };
}

/** The part of one stack (innermost first); null where nothing says it. */
function partOfStack(stack: Int32Array, places: readonly Frame[]): Part | null {
  const frames: Frame[] = [];
  for (let k = stack.length - 1; k >= 0; k--) frames.push(places[stack[k]!]!);
  const found = partOf(frames);
  if (found !== null && found.part !== "forward") return found.part;
  for (const { words, part } of NAMED)
    if (frames.some(({ name }) => words.some((word) => name.includes(word)))) return part;
  return found?.part ?? null;
}

/** Stacks are many, and are asked for by every view of a recording: each is told apart once. */
const known = new WeakMap<Recording, readonly (Part | null)[]>();

/** Parts of all stacks of a recording, by number. */
export function partsOf(recording: Recording): readonly (Part | null)[] {
  let parts = known.get(recording);
  if (parts === undefined) {
    const places = recording.places.map(frameOf); // shared, so that what a place says of the run is looked up once
    parts = recording.stacks.map((stack) => partOfStack(stack, places));
    known.set(recording, parts);
  }
  return parts;
}

/** Parts by their number in the columns; one beyond them is none. */
export const PARTS: readonly Part[] = [...PHASES, "saving"];
const NO_PART = PARTS.length;

const BACKWARD = PARTS.indexOf("backward");
/** Where autograd's threads take over: they have no Python on their stacks (torch/csrc/autograd/engine.cpp, thread_main). */
const BEFORE_BACKWARD = new Set([PARTS.indexOf("forward"), PARTS.indexOf("loss"), BACKWARD]);

/** The part of every entry of a trace. What has no stack after a forward pass is backward's. */
export function entryParts(recording: Recording, { actions, stacks }: Trace): Uint8Array {
  const numbers = partsOf(recording).map((part) => (part === null ? NO_PART : PARTS.indexOf(part)));
  const parts = new Uint8Array(actions.length).fill(NO_PART);
  let last = NO_PART;
  for (let k = 0; k < parts.length; k++) {
    const allocates = actions[k] === ALLOC;
    const own = numbers[stacks[k]!] ?? NO_PART;
    if (allocates && own !== NO_PART) last = own;
    else if (allocates && stacks[k] === 0 && BEFORE_BACKWARD.has(last)) last = BACKWARD;
    parts[k] = allocates ? (own !== NO_PART ? own : stacks[k] === 0 ? last : NO_PART) : last;
  }
  return parts;
}

/** The part that allocated each tensor of a trace. */
export function tensorParts(recording: Recording, trace: Trace, { births, stacks }: Lifetimes): Uint8Array {
  const ofEntries = entryParts(recording, trace);
  const numbers = partsOf(recording).map((part) => (part === null ? NO_PART : PARTS.indexOf(part)));
  return Uint8Array.from(births, (birth, id) => (birth < 0 ? (numbers[stacks[id]!] ?? NO_PART) : ofEntries[birth]!));
}

/** Files of libraries, which nobody looks for a cause in first. */
const LIBRARIES = ["/torch/", "/site-packages/", "/dist-packages/", "/lib/python3"];

function isPython({ file }: Place): boolean {
  return file.endsWith(".py") || file.startsWith("<");
}

/** The innermost line of the person's own code; else of a library but PyTorch itself; else any; -1: the stack is empty. */
export function ownPlace(stack: Int32Array, places: readonly Place[]): number {
  let best = -1;
  let rank = 0;
  for (const index of stack) {
    const place = places[index]!;
    const own = isPython(place) && !LIBRARIES.some((part) => place.file.includes(part));
    const library = isPython(place) && !place.file.includes("/torch/");
    const found = own ? 3 : library ? 2 : 1;
    if (found > rank) {
      rank = found;
      best = index;
    }
  }
  return best;
}

/** `modeling_llama.py:245 forward`. */
export function placeText({ file, line, name }: Place): string {
  const short = file.slice(file.lastIndexOf("/") + 1);
  return short === "" ? name : `${short}:${line} ${name}`.trim();
}
