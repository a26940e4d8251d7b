/** `vram-lens snapshot FILE`: what a memory snapshot or a profiler's trace comes to. */
import { resolve } from "node:path";
import { exact, type Locale, localeOf, messageId, t } from "../../analysis/messages";
import { readRecording } from "../../evidence/snapshot/read";
import { type DeviceSummary, type Share, summarise } from "../../evidence/snapshot/summary";
import { readLarge } from "../../host/large";
import { allPrintable } from "../../words/printable";
import type { Request } from "../arguments";
import type { Io } from "../io";
import { words } from "../words";
import { languageOf } from "./language";

function partName(part: string | null, locale: Locale): string {
  const id = part === null ? undefined : (messageId(`phase.${part}`) ?? messageId(`part.${part}`));
  return t(locale, id ?? "recording.no-part");
}

function shares(title: string, list: readonly Share[], nameOf: (share: Share) => string): string[] {
  if (list.length === 0) return [];
  return [title, ...list.map((share) => `  ${exact(share.bytes).padStart(11)}  ${nameOf(share)} (${share.count})`)];
}

function deviceText(device: DeviceSummary, locale: Locale): string {
  const { peakBytes, peakReservedBytes, pool, failures } = device;
  const peak = { size: exact(peakBytes), part: partName(device.peakPart, locale) };
  return [
    t(locale, "recording.device", { device: device.device, entries: device.entries, tensors: device.tensors }),
    device.peakAt < 0
      ? t(locale, "recording.no-trace", { size: exact(peakBytes) })
      : peakReservedBytes === 0
        ? t(locale, "recording.peak-alone", peak)
        : t(locale, "recording.peak", { ...peak, reserved: exact(peakReservedBytes) }),
    ...failures.map(({ requestedBytes, aliveBytes, freeBytes, part }) =>
      t(locale, "recording.failure", {
        part: partName(part, locale),
        size: exact(requestedBytes),
        alive: exact(aliveBytes),
        free: exact(freeBytes),
      }),
    ),
    ...(pool === null
      ? []
      : [
          t(locale, "recording.pool", {
            reserved: exact(pool.reservedBytes),
            allocated: exact(pool.allocatedBytes),
            segments: pool.segments,
          }),
          t(locale, "recording.gaps", {
            gaps: exact(pool.gapBytes),
            largest: exact(pool.largestGapBytes),
            cached: exact(pool.cachedBytes),
          }),
        ]),
    ...shares(t(locale, "recording.alive"), device.parts, ({ name }) => partName(name === "" ? null : name, locale)),
    ...shares(t(locale, "recording.lines"), device.lines, ({ name }) =>
      name === "" ? t(locale, "recording.no-stack") : name,
    ),
  ].join("\n");
}

/** @returns exit status: 0 summed up, 2 the file cannot be read or is no recording */
export async function snapshotCommand(request: Request, io: Io): Promise<number> {
  const locale = localeOf(languageOf(request, io));
  const [path = ""] = request.paths;
  const bytes = await readLarge(resolve(io.cwd, path));
  if (bytes === undefined) {
    io.stderr(`vram-lens: ${words(locale)("unreadable", { path })}\n`);
    return 2;
  }
  const read = readRecording(bytes);
  if (!read.ok) {
    const why = t(locale, `recording.${read.why}`, { what: read.what, at: read.at });
    io.stderr(`vram-lens: ${allPrintable({ why: `${path}: ${why}` }).why}\n`);
    return 2;
  }
  const devices = allPrintable(summarise(read.recording));
  io.stdout(
    request.format === "json"
      ? `${JSON.stringify({ schema: "vram-lens/recording/1", kind: read.recording.kind, devices })}\n`
      : `${devices.map((device) => deviceText(device, locale)).join("\n\n")}\n`,
  );
  return 0;
}
