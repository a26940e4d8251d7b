/**
 * What a band holds of runs that nobody measured yet: each table's figures against bands whose room was sized on the other tables'. Pure;
 * `coverage.ts` writes what follows into `src/core/uncertainty/claims.json`.
 */
import type { RunKind } from "../src/core/uncertainty/coverage";

/** A figure's place beside the band of the rules alone. */
export interface Need {
  /** Whose table it is of. */
  readonly table: string;
  readonly kind: RunKind;
  /** How far it lies below the band and above it, as shares of the peak; below zero: so far inside. */
  readonly down: number;
  readonly up: number;
}

export type Room = readonly [down: number, up: number];

/** Figures that room may leave outside on each side. */
const OUTSIDE = 0.01;

/** The room that all values but `OUTSIDE` of them need. */
function roomFor(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.max(0, sorted[Math.ceil((1 - OUTSIDE) * sorted.length) - 1] ?? 0);
}

/**
 * Room of a kind. An estimate is too large for the same reasons on one card and on many (lengths, releases), so that side is sized on all
 * figures; what comes on top of it is more on several ranks (buckets, gathers, NCCL), so that side is theirs alone.
 */
export function roomOf(kind: RunKind, needs: readonly Need[]): Room {
  const alike = needs.filter((one) => (one.kind === "ranks") === (kind === "ranks"));
  return [roomFor(needs.map(({ down }) => down)), roomFor(alike.map(({ up }) => up))];
}

/** The figures that lie inside a band with the room that the other tables' figures need. */
export function heldOut<T extends Need>(needs: readonly T[]): readonly T[] {
  const rooms = new Map<string, Room>();
  return needs.filter((one) => {
    const key = `${one.kind} ${one.table}`;
    const others = needs.filter(({ table }) => table !== one.table);
    const [down, up] = rooms.get(key) ?? roomOf(one.kind, others);
    rooms.set(key, [down, up]);
    return one.down <= down && one.up <= up;
  });
}

/** The share that so many figures allow to claim, in whole percents: what was held, and no more than their number can show. */
export function claimOf(inside: number, of: number): number {
  return of === 0 ? 0 : Math.floor(100 * Math.min(inside / of, of / (of + 1))) / 100;
}
