/** What a failure says of the allocation that found no room, in the words of the event stream. */
import type { Interval, Wanted } from "../../core/matching/allocations";
import type { Phase } from "../../core/report/estimate";
import type { Failure } from "../../evidence/log/failures";
import type { Frame } from "../../evidence/log/frames";
import { saysCached } from "../../evidence/log/messages";
import type { Part } from "../../evidence/log/phase-rules";
import { table } from "../../terms/table";

/** Phases of the stream that a part of a traceback may be in: a loss inside the model is its forward pass. */
const PHASES_OF: Readonly<Record<Part, readonly Phase[]>> = table({
  load: ["load"],
  data: ["data"],
  forward: ["forward", "loss"],
  loss: ["loss", "forward"],
  backward: ["backward"],
  clip: ["clip", "optimizer"],
  optimizer: ["optimizer"],
  zero: ["zero"],
  evaluation: ["evaluation"],
  generation: ["generation"],
  saving: [],
});

const NAME = /[A-Za-z_]\w*/g;

/** Files whose source calls modules by generic names. */
const PLUMBING = ["/torch/nn/modules/module.py", "/accelerate/", "/torch/utils/", "/torch/_dynamo/", "/functools.py"];

function isPlumbing(frame: Frame | undefined): boolean {
  return PLUMBING.some((part) => frame?.file.includes(part) === true);
}

/** Frames whose names say what was called, counted from the innermost. */
const INNERMOST = 2;

function namesIn(frames: readonly Frame[]): Set<string> {
  return new Set(frames.flatMap(({ code, name }) => [...(code.match(NAME) ?? []), name]));
}

const CALLED_MODULE = /\bself\.(\w+)\(/g;

/** Modules that a line of a module's code calls. */
function modulesCalled(frame: Frame | undefined): readonly string[] {
  return [...(frame?.code ?? "").matchAll(CALLED_MODULE)].map(([, name = ""]) => name);
}

/** Modules that the innermost line calls and that do not run; one that is called by the name it has outside runs (`self.act(x)` in `act`). */
function notEntered(frames: readonly Frame[]): Set<string> {
  const around = new Set(modulesCalled(frames.at(-2)));
  return new Set(modulesCalled(frames.at(-1)).filter((name) => !around.has(name)));
}

/** A traceback that somebody cut: a forward pass on it may be backward's, which computes it again. */
function isCut([outermost]: readonly Frame[]): boolean {
  return outermost !== undefined && outermost.name !== "<module>" && !outermost.file.startsWith("<");
}

/** Phases that a failure may lie in where its part of the run has no such tensor. */
export function phasesInstead({ part, frames }: Failure): readonly Phase[] {
  return part?.part === "forward" && isCut(frames) ? ["backward"] : [];
}

function interval(size: { readonly bytes: number; readonly within: number } | null): Interval | null {
  return size === null ? null : { bytes: size.bytes, within: size.within };
}

export function wantedOf(failure: Failure): Wanted {
  const frames = failure.frames.filter((frame) => !isPlumbing(frame));
  const part = failure.part?.part;
  const phases = part === undefined ? null : PHASES_OF[part];
  // Only the framework's own allocator asks for segments.
  const asks = failure.kind === "allocator" && failure.backend !== "mps" && failure.backend !== "xla";
  return {
    segment: asks ? interval(failure.requested) : null,
    old: saysCached(failure.message),
    allocated: interval(failure.allocated),
    phases: phases !== null && phases.length === 0 ? null : phases,
    ofLoss: part === "loss",
    names: namesIn(frames),
    // What is plumbing on the way is the cause at its end: accelerate raises a model's outputs to float32 itself.
    called: namesIn(failure.frames.slice(-INNERMOST)),
    outside: isPlumbing(failure.frames.at(-1)) ? new Set() : notEntered(frames),
  };
}
