/** Receipts of a run: what was measured of it, and what context and libraries took on its card. */
import type { Estimate } from "../core/report/estimate";
import type { ReportRun } from "../core/report/schema";
import { readReceipt } from "../evidence/receipts/read";
import type { Receipt } from "../evidence/receipts/schema";
import { overrideValue } from "./asked";
import { type Locale, size, t } from "./messages";
import type { DocumentStore } from "./store";
import { joinUri, normalise, relativePath } from "./uris";

/** A receipt and where it lies. */
export interface FoundReceipt {
  readonly uri: string;
  /** Whether a document that it names by its hash is another one now. */
  readonly changed: boolean;
  /** Folder that its paths are relative to. */
  readonly folder: string;
  readonly receipt: Receipt;
}

/** Receipts of one folder that are read, the newest: they are named after their time. */
const MOST_RECEIPTS = 64;

/** Where receipts lie below a folder. */
export const RECEIPTS_FOLDER = ".vramlens/receipts";

/** Receipts in the folders given, nearest first; every folder looked at is a dependency. */
export async function findReceipts(
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<readonly FoundReceipt[]> {
  const found: FoundReceipt[] = [];
  for (const folder of folders) {
    const place = joinUri(folder, RECEIPTS_FOLDER);
    dependencies.add(place);
    const names = (await store.list(place))
      .filter(({ name, type }) => type === "file" && name.endsWith(".json"))
      .map(({ name }) => name)
      .sort()
      .slice(-MOST_RECEIPTS);
    for (const name of names) {
      const uri = joinUri(place, name);
      dependencies.add(uri);
      const document = await store.load(uri);
      const read = document === undefined ? undefined : readReceipt(document.text);
      if (read?.ok !== true) continue;
      const { receipt } = read;
      found.push({ uri, folder, receipt, changed: await hasChanged(receipt, folder, store) });
    }
  }
  return found;
}

/** SHA-256 of a text in UTF-8, in hexadecimal; undefined where the platform has none. */
async function hashOf(text: string): Promise<string | undefined> {
  const digest = await globalThis.crypto?.subtle
    ?.digest("SHA-256", new TextEncoder().encode(text))
    .catch(() => undefined);
  return digest && [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Documents of a receipt whose hashes are compared. */
const MOST_HASHED = 8;

async function hasChanged({ run }: Receipt, folder: string, store: DocumentStore): Promise<boolean> {
  for (const { path, sha256 } of run.documents.slice(0, MOST_HASHED)) {
    if (sha256 === undefined) continue;
    const document = await store.load(joinUri(folder, path));
    const hash = document === undefined ? undefined : await hashOf(document.text);
    if (hash !== undefined && hash !== sha256.toLowerCase()) return true;
  }
  return false;
}

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

/** What context and libraries took, by the newest receipt of a card. Bytes. */
export interface MeasuredOverhead {
  readonly bytes: number;
  readonly when: string;
  readonly card: string;
}

/** Of cards that are called so, with as many ranks together or alone: NCCL's buffers count. */
export function overheadOn(
  receipts: readonly FoundReceipt[],
  isCard: (name: string) => boolean,
  worldSize: number,
): MeasuredOverhead | null {
  const [newest] = receipts
    .map(({ receipt }) => receipt)
    .filter(
      ({ card, world, overheadBytes }) =>
        overheadBytes != null && isCard(card.name) && world.size > 1 === worldSize > 1,
    )
    .sort((a, b) => Date.parse(b.when) - Date.parse(a.when));
  return newest?.overheadBytes == null
    ? null
    : { bytes: newest.overheadBytes, when: newest.when, card: newest.card.name };
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
