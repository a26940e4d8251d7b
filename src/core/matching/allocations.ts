/**
 * Which allocation of a run it was that found no room: those of the event stream whose segment has the size that was asked for,
 * the likeliest first by the part of the run, by what was alive, and by the names on the stack.
 */
import { oldSegmentBytes, segmentBytes } from "../allocator/segment";
import type { Ledger } from "../engine/ledger";
import type { ComponentKind, Phase } from "../report/estimate";
import type { ParameterBlock, Simulation } from "../simulate";
import { wordsOfOperator } from "./operators";

/** A figure and how far the true one may lie from it. Bytes. */
export interface Interval {
  readonly bytes: number;
  readonly within: number;
}

export interface Wanted {
  /** The segment that was asked for; null: unknown, and every size will do. */
  readonly segment: Interval | null;
  /** Whether the message may be of PyTorch 1.0, which rounded otherwise. */
  readonly old: boolean;
  /** Alive just before. */
  readonly allocated: Interval | null;
  /** Phases that it may have been in; null: any. */
  readonly phases: readonly Phase[] | null;
  /** Whether only the loss's own tensors are meant. */
  readonly ofLoss: boolean;
  /** Names of modules and functions on the stack. */
  readonly names: ReadonlySet<string>;
  /** Names in the innermost frames: what was just called. */
  readonly called: ReadonlySet<string>;
  /** Modules that the innermost line calls: none of them runs, or their own lines would be further in. */
  readonly outside: ReadonlySet<string>;
}

export interface Allocation {
  readonly phase: Phase;
  readonly operator: string;
  /** With `*` in place of the layers' numbers. */
  readonly scope: string;
  readonly kind: ComponentKind;
  readonly bytes: number;
  /** Parameters that it is, or is of, with `*` in place of the layers' numbers; empty: none, or it is not known which. */
  readonly parameters: readonly string[];
  /** Allocations of the two steps that are alike. */
  readonly count: number;
  /** Alive before the one that comes nearest to what was said. */
  readonly aliveBytes: number;
  /** How well it goes with what is known besides the size; larger is better. */
  readonly score: number;
}

/** What the estimate's stream leaves out may shift what is alive: cuBLAS's workspaces and what a loop keeps besides. */
const SLACK_BYTES = 128 * 2 ** 20;
const SLACK_SHARE = 0.02;

/** Blocks of one group that are remembered, to name parameters. */
const MOST_IDS = 64;

const SCORES = {
  phase: 6,
  otherPhase: -6,
  loss: 3,
  alive: 5,
  module: 1.5,
  calledModule: 2.5,
  outside: -2,
  operator: 2.5,
} as const;

/** A module's path with `*` in place of the layers' numbers. */
export function starred(scope: string): string {
  return scope.replace(/\.\d+(?=\.|$)/g, ".*");
}

/**
 * How near what was alive is to what was said, from 0 to 1: three quarters for being within what the stream leaves out, falling
 * to nothing at a quarter off; the rest for being as said, which tells neighbours apart where nothing is left out.
 */
function nearness(alive: number, said: Interval): number {
  const off = Math.max(0, Math.abs(alive - said.bytes) - said.within);
  const beyond = Math.max(0, off - SLACK_BYTES - SLACK_SHARE * said.bytes);
  const rough = Math.max(0, 1 - beyond / (0.25 * Math.max(said.bytes, 1)));
  return 0.75 * rough + 0.25 * Math.exp(-off / SLACK_BYTES);
}

interface Group extends Omit<Allocation, "score" | "aliveBytes" | "count" | "parameters"> {
  /** Blocks of it, the first ones. */
  readonly ids: number[];
  count: number;
  aliveBytes: number;
  nearness: number;
}

/** Whether a request of so many bytes asks the driver for the segment. */
function asks(bytes: number, { segment, old }: Wanted): boolean {
  if (segment === null) return bytes >= 2 ** 20;
  const near = (size: number): boolean => Math.abs(size - segment.bytes) <= segment.within + 1;
  return near(segmentBytes(bytes)) || (old && near(oldSegmentBytes(bytes)));
}

/** Groups of a stream's allocations that have the segment, by what they are. */
function grouped(ledger: Ledger, wanted: Wanted, phaseOf: (phase: Phase) => Phase): Map<string, Group> {
  const { events, phaseList } = ledger;
  const groups = new Map<string, Group>();
  const { allocated } = wanted;
  let alive = 0;
  let at = 0;
  for (let k = 0; k < events.length; k++) {
    while (at + 1 < phaseList.length && phaseList[at + 1]!.firstEvent <= k) at++;
    const id = events[k]!;
    if (id < 0) {
      alive -= ledger.sizeOf(~id);
      continue;
    }
    const bytes = ledger.sizeOf(id);
    const before = alive;
    alive += bytes;
    if (!asks(bytes, wanted)) continue;
    const phase = phaseOf(phaseList[at]!.phase);
    const key = `${phase} ${ledger.labelIndexOf(id)} ${bytes}`;
    const near = allocated === null ? 0 : nearness(before, allocated);
    const known = groups.get(key);
    if (known === undefined) {
      const { operator, kind, scope } = ledger.labelOf(id);
      groups.set(key, {
        ids: [id],
        phase,
        operator,
        scope: starred(scope),
        kind,
        bytes,
        count: 1,
        aliveBytes: before,
        nearness: near,
      });
      continue;
    }
    if (known.ids.length < MOST_IDS) known.ids.push(id);
    known.count++;
    if (near > known.nearness) {
      known.nearness = near;
      known.aliveBytes = before;
    }
  }
  return groups;
}

function merged(groups: Iterable<Group>): Group[] {
  const alike = new Map<string, Group>();
  for (const group of groups) {
    const key = JSON.stringify([group.phase, group.operator, group.scope, group.kind, group.bytes]);
    const known = alike.get(key);
    if (known === undefined) {
      alike.set(key, group);
      continue;
    }
    known.ids.push(...group.ids.slice(0, MOST_IDS - known.ids.length));
    known.count += group.count;
    if (group.nearness > known.nearness) {
      known.nearness = group.nearness;
      known.aliveBytes = group.aliveBytes;
    }
  }
  return [...alike.values()];
}

function scoreOf(group: Group, wanted: Wanted): number {
  const { phase, operator, scope, kind } = group;
  let score = wanted.allocated === null ? 0 : SCORES.alive * group.nearness;
  if (wanted.phases !== null) score += wanted.phases.includes(phase) ? SCORES.phase : SCORES.otherPhase;
  if (wanted.ofLoss && kind === "logits-and-loss") score += SCORES.loss;
  const modules = scope.split(".").filter((name) => name !== "*" && name !== "");
  for (const name of modules)
    if (wanted.outside.has(name)) score += name === modules.at(-1) ? SCORES.outside : 0;
    else if (wanted.called.has(name)) score += SCORES.calledModule;
    else if (wanted.names.has(name)) score += SCORES.module;
  if (wordsOfOperator(operator).some((word) => wanted.called.has(word))) score += SCORES.operator;
  return score;
}

/** Kinds whose tensors are parameters or as large as one. */
const OF_PARAMETERS: readonly ComponentKind[] = ["weights", "adapters", "gradients", "optimizer"];

/** Names of the parameters that a group's blocks are, or have the size of: an optimizer's states have none of their own. */
function parametersOf({ ids, kind, bytes, phase }: Group, blocks: readonly ParameterBlock[]): readonly string[] {
  const moved = phase === "load" && kind === "temporaries";
  if (!moved && !OF_PARAMETERS.includes(kind)) return [];
  const own = blocks.filter(({ block }) => ids.includes(block));
  const widths = moved ? MOVED_WIDTHS : WIDTHS;
  const alike =
    own.length > 0 ? own : blocks.filter(({ elements }) => widths.some((width) => fills(elements * width, bytes)));
  return [...new Set(alike.map(({ name }) => starred(name)))].filter((name) => name !== "");
}

/** Bytes of an element of weights, gradients and states. */
const WIDTHS = [4, 2, 1];
/** What loading moves before it is packed: two elements of a weight of four bits are one of the packed tensor. */
const MOVED_WIDTHS = [8, ...WIDTHS];

/** Whether a tensor of so many bytes takes a block of so many. */
function fills(bytes: number, block: number): boolean {
  return bytes <= block && block - bytes < 512;
}

/** Allocations of a simulated run that may be the one that found no room, likeliest first. */
export function allocationsLike(simulation: Simulation, wanted: Wanted): readonly Allocation[] {
  const { ledger } = simulation;
  const loading = simulation.loading();
  const blocks = simulation.parameterBlocks();
  const groups = [...grouped(ledger, wanted, (phase) => phase).values()];
  if (loading !== null) groups.push(...grouped(loading, wanted, () => "load").values());
  return merged(groups)
    .map((group) => ({ group, score: scoreOf(group, wanted) }))
    .sort((a, b) => b.score - a.score || b.group.bytes - a.group.bytes || b.group.count - a.group.count)
    .map(({ group, score }) => {
      const { nearness: _, ids: _ids, ...rest } = group;
      return { ...rest, parameters: parametersOf(group, blocks), score };
    });
}
