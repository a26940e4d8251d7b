/** What a run was measured at by its receipts, beside its estimate. */
import type { Estimate } from "../../core/report/estimate";
import type { ReportRun } from "../../core/report/schema";
import type { Receipt } from "../../evidence/receipts/schema";
import { normalise, relativePath } from "../documents/uris";
import { overrideValue } from "../linking/asked";
import type { FoundReceipt } from "../linking/receipts";
import { type Locale, size, t } from "../messages";

/** What a run was measured at. */
type Measurement = NonNullable<ReportRun["measured"]>;

/** Two values of one setting, however each is spelled. */
function isSame(a: unknown, b: unknown): boolean {
  const plain = (value: unknown): string =>
    String(typeof value === "string" ? overrideValue(value) : value).toLowerCase();
  return plain(a) === plain(b);
}

/** Whether a receipt is of a run: one of its documents is named, and no setting that both state differs. */
function isOf(
  { folder, receipt: { run } }: FoundReceipt,
  documents: readonly string[],
  settings: ReadonlyMap<string, unknown>,
): boolean {
  const own = new Set(documents.map((uri) => relativePath(folder, normalise(uri))));
  if (!run.documents.some(({ path }) => own.has(path))) return false;
  return Object.entries(run.settings ?? {}).every(([name, value]) => {
    const stated = settings.get(name);
    return stated === undefined || stated === null || value === null || isSame(stated, value);
  });
}

/** Ranks of one run write within this time of one another. Milliseconds. */
const TOGETHER = 120_000;

/** The fullest rank of the newest run among receipts; undefined: there is none. */
function newestOf(
  receipts: readonly FoundReceipt[],
): { readonly found: FoundReceipt; readonly ranks: number } | undefined {
  const timed = receipts
    .filter(({ receipt }) => receipt.outcome !== "out-of-memory")
    .map((found) => ({ found, time: Date.parse(found.receipt.when) }))
    .filter(({ time }) => Number.isFinite(time))
    .sort((a, b) => b.time - a.time);
  const ranks = timed.filter(({ time }) => (timed[0]?.time ?? 0) - time < TOGETHER);
  const [fullest] = [...ranks].sort((a, b) => b.found.receipt.peak.reservedBytes - a.found.receipt.peak.reservedBytes);
  return fullest && { found: fullest.found, ranks: ranks.length };
}

/** What is a difference: more than rounding and a library's workspace. */
const DIFFERS_SHARE = 0.02;
const DIFFERS_BYTES = 64 * 2 ** 20;

/** The first phase whose peaks differ; undefined where they agree, or the receipt knows no phases. */
function firstDifference({ phases }: Receipt, estimate: Estimate): Measurement["differs"] {
  for (const { phase, peakBytes } of estimate.phases) {
    const measuredBytes = phases.find((one) => one.phase === phase)?.allocatedBytes;
    if (measuredBytes === undefined) continue;
    const off = Math.abs(measuredBytes - peakBytes);
    if (off > DIFFERS_BYTES && off > DIFFERS_SHARE * peakBytes)
      return { phase, measuredBytes, estimatedBytes: peakBytes };
  }
  return undefined;
}

/** What a run was measured at, beside its estimate; null: no receipt is of it. */
export function measurementOf(
  receipts: readonly FoundReceipt[],
  documents: readonly string[],
  settings: readonly { readonly name: string; readonly value: unknown }[],
  estimate: Estimate | undefined,
): Measurement | null {
  const stated = new Map(settings.map(({ name, value }) => [name, value]));
  const newest = newestOf(receipts.filter((found) => isOf(found, documents, stated)));
  if (newest === undefined) return null;
  const { found, ranks } = newest;
  const { peak, card, when } = found.receipt;
  const differs = estimate === undefined ? undefined : firstDifference(found.receipt, estimate);
  return {
    uri: found.uri,
    when,
    card: card.name,
    ranks,
    allocatedBytes: peak.allocatedBytes,
    reservedBytes: peak.reservedBytes,
    usedBytes: peak.usedBytes ?? null,
    changed: found.changed,
    ...(differs === undefined ? {} : { differs }),
  };
}

/** One line of what was measured beside the estimate, and why they differ as far as it is known. */
export function measuredText(measured: Measurement, estimatedBytes: number, locale: Locale): string {
  const { card, when, allocatedBytes, reservedBytes, changed, differs } = measured;
  const said = t(locale, "receipt.measured", {
    card,
    date: when.slice(0, 10),
    allocated: size(allocatedBytes),
    estimated: size(estimatedBytes),
    reserved: size(reservedBytes),
  });
  const more = [
    changed ? t(locale, "receipt.changed") : null,
    differs === undefined
      ? null
      : t(locale, "receipt.differs", {
          phase: t(locale, `phase.${differs.phase}`),
          measured: size(differs.measuredBytes),
          estimated: size(differs.estimatedBytes),
        }),
  ].filter((part) => part !== null);
  return [said, ...more].join("; ");
}
