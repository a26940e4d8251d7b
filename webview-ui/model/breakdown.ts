/** Rows of the breakdown: components, the modules below each, and the settings they come from. */
import type { ReportRun } from "../../src/core/report/schema";
import { type PartKind, partsOf } from "./bar";

type Origin = NonNullable<ReportRun["perDevice"]>["components"][number]["origins"][number];

/** What a person finds at the place. */
export const nameOf = ({ key, written }: Origin): string => written ?? key;

export interface ModuleRow {
  /** Path with `*` for repeated layers; empty for what no module holds. */
  readonly module: string;
  readonly bytes: number;
  /** Of the whole peak, 0..1. */
  readonly share: number;
}

export interface BreakdownRow {
  readonly kind: PartKind;
  readonly bytes: number;
  readonly share: number;
  readonly origins: readonly Origin[];
  readonly modules: readonly ModuleRow[];
}

/** One row per part of the peak; shares are of the used peak, so that they add up to 100 %. */
export function breakdownOf(run: ReportRun): readonly BreakdownRow[] {
  const device = run.perDevice;
  if (device === null) return [];
  const total = Math.max(1, device.usedPeakBytes);
  return partsOf(run).map(({ kind, bytes }) => ({
    kind,
    bytes,
    share: bytes / total,
    origins: distinctOrigins(device.components.find((component) => component.kind === kind)?.origins ?? []),
    modules: modulesOf(device.modules ?? [], kind, total),
  }));
}

/** Modules with bytes of `kind`, largest first; none when all of it lies outside modules: that would say nothing. */
function modulesOf(
  shares: NonNullable<NonNullable<ReportRun["perDevice"]>["modules"]>,
  kind: PartKind,
  total: number,
): readonly ModuleRow[] {
  const rows = shares
    .filter((share) => share.kind === kind && share.bytes > 0)
    .map(({ module, bytes }) => ({ module, bytes, share: bytes / total }))
    .sort((a, b) => b.bytes - a.bytes);
  return rows.every((row) => row.module === "") ? [] : rows;
}

function distinctOrigins(origins: readonly Origin[]): readonly Origin[] {
  const seen = new Set<string>();
  return origins.filter((origin) => {
    const id = `${origin.uri} ${origin.key} ${origin.range.start.line}`;
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}
