/** The catalogue of accelerators and how to find one by whatever a person calls it. */
import { table } from "../../terms/table";
import { withoutEnding } from "../../terms/text";
import type { DeviceSpec } from "../training/run";
import { AMD_AND_INTEL } from "./amd";
import { APPLE } from "./apple";
import { INSTANCE_TYPES } from "./instances";
import { NVIDIA } from "./nvidia";
import type { Device } from "./types";

export type { Device, DeviceGroup, MigProfile, PeakRates, Vendor } from "./types";
export { DEVICE_GROUPS } from "./types";

const GIB = 2 ** 30;

/** Every known accelerator; newest data-centre cards first, so that ambiguous names find them. */
/** GPUs of one machine; beyond that collectives cross the network. */
export const DEVICES_PER_MACHINE = 8;

export const DEVICES: readonly Device[] = [...NVIDIA, ...AMD_AND_INTEL, ...APPLE];

/** Sizes to compare against when no card is chosen, each with a card people know it by; smallest first. */
export const COMMON_SIZES: readonly Device[] = [
  "NVIDIA GeForce RTX 4060",
  "NVIDIA GeForce RTX 3060",
  "NVIDIA GeForce RTX 4080",
  "NVIDIA GeForce RTX 4090",
  "NVIDIA GeForce RTX 5090",
  "NVIDIA A100-SXM4-40GB",
  "NVIDIA L40S",
  "NVIDIA H100 80GB HBM3",
  "NVIDIA H200",
  "NVIDIA B200",
  "NVIDIA B300 SXM6 AC",
].flatMap((name) => DEVICES.filter((device) => device.name === name));

/** A card, or a slice of one, and how many. */
export interface DeviceMatch {
  readonly device: Device;
  readonly count: number;
}

/**
 * Bytes that a process can have, its CUDA context included; other processes' memory is not subtracted.
 *
 * Where PyTorch's own total was recorded for the card, that. Otherwise what NVIDIA's driver keeps for itself is taken
 * off the total it reports: 0.2 GiB and 1.5 %, at most 0.65 GiB, which covers every recorded card but the smallest
 * recorded readings of the 15 GiB (T4) and 22.5 GiB (A10G, L4) data-centre cards, whose own values are listed. A plain
 * size stands for a card of that size and follows the same rule.
 */
export function usableBytes(device: Device): number {
  if (device.runtimeBytes !== null) return device.runtimeBytes;
  if (device.vendor !== "nvidia" && device.vendor !== "generic") return device.memoryBytes;
  const kept = Math.min(0.65 * GIB, 0.2 * GIB + 0.015 * device.memoryBytes);
  return Math.floor(device.memoryBytes - kept);
}

/** The device of a run: what `DeviceSpec` needs of a match. */
export function deviceSpec(match: DeviceMatch): DeviceSpec {
  const { name, memoryBytes, architecture } = match.device;
  return { name, memoryBytes, architecture, count: match.count };
}

/** The catalogue's entry for a run's device; a plain one of the same size when the name is not in it. */
export function deviceOf(spec: DeviceSpec): Device {
  const found = findDevice(spec.name)?.device;
  if (found !== undefined && found.memoryBytes === spec.memoryBytes) return found;
  const base = sized(spec.memoryBytes);
  return { ...base, name: spec.name, architecture: spec.architecture };
}

/** A card known by its size only. Rates are unknown, so no time can be told for it. */
function sized(bytes: number): Device {
  return {
    name: `${Number((bytes / GIB).toFixed(1))}GB`,
    aliases: [],
    vendor: "generic",
    group: "size",
    architecture: "unknown",
    memoryBytes: bytes,
    runtimeBytes: null,
    unified: false,
    bandwidth: 0,
    peak: null,
    peerBandwidth: 0,
    hostBandwidth: 0,
    mig: [],
  };
}

const NOISE = /\b(nvidia|geforce|tesla|quadro|amd|radeon|instinct|intel|apple|mac|macbook|gpu|graphics|card)\b/g;

/** Lower case, words only: `NVIDIA A100-SXM4-80GB` → `a100 sxm4 80gb`. */
function words(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, " ")
    .replace(NOISE, " ")
    .replace(/(\d)\s+(gb|gib)\b/g, "$1gb")
    .replace(/(\d)(?:gib|g)\b/g, "$1gb")
    .replace(/\brtx(\d)/g, "rtx $1")
    .replace(/\bgtx(\d)/g, "gtx $1")
    .replace(/(\d)(ti|super|xtx?)\b/g, "$1 $2")
    .replace(/\s+/g, " ")
    .trim();
}

const INDEX: ReadonlyMap<string, Device> = (() => {
  const index = new Map<string, Device>();
  for (const device of DEVICES) {
    for (const name of [device.name, ...device.aliases]) {
      const key = words(name);
      if (!index.has(key)) index.set(key, device);
    }
  }
  return index;
})();
const KEYS: readonly (readonly [ReadonlySet<string>, Device])[] = [...INDEX].map(
  ([key, device]) => [new Set(key.split(" ")), device] as const,
);
/** Machine types are written with and without the service's prefix: `ml.p4d.24xlarge`, `ND96isr_H100_v5`. */
const PREFIX = /^(?:ml\.|standard_)/;
const INSTANCES: ReadonlyMap<string, DeviceMatch> = new Map(
  INSTANCE_TYPES.flatMap(({ name, device, count }) => {
    const found = INDEX.get(words(device));
    return found === undefined ? [] : [[name.toLowerCase().replace(PREFIX, ""), { device: found, count }] as const];
  }),
);

/** Bare model numbers are one brand's: `4090`, `3080 ti`, `a6000`, `6000 ada`. */
function withBrand(text: string): readonly string[] {
  return [text, `rtx ${text}`, `gtx ${text}`, `rx ${text}`, `rtx ${text} generation`];
}

function whole(text: string): Device | undefined {
  for (const candidate of withBrand(text)) {
    const exact = INDEX.get(candidate);
    if (exact !== undefined) return exact;
  }
  const asked = text.split(" ");
  if (!/[a-z]/.test(text) || !/\d/.test(text)) return undefined;
  // The name with the fewest words besides those asked for: "a100 80gb" finds "a100 80gb pcie" only when asked with pcie.
  let best: Device | undefined;
  let extra = 3;
  for (const [key, device] of KEYS) {
    if (key.size - asked.length < extra && asked.every((word) => key.has(word))) {
      best = device;
      extra = key.size - asked.length;
    }
  }
  return best;
}

/** The size that a name ends in ("RTX 3090 24GB") says nothing new when the card has it. */
function withoutSize(text: string): Device | undefined {
  const match = /\b(\d{1,6}(?:\.\d{1,6})?)gb$/.exec(text);
  const card = text.slice(0, match?.index ?? 0).trimEnd();
  const device = card === "" ? undefined : whole(card);
  return device !== undefined && Math.abs(device.memoryBytes / GIB - Number(match?.[1])) < 0.06 * Number(match?.[1])
    ? device
    : undefined;
}

function slice(base: string, profile: string): Device | undefined {
  const card = base === "" ? DEVICES.find((device) => device.mig.some((mig) => mig.name === profile)) : single(base);
  const mig = card?.mig.find((candidate) => candidate.name === profile);
  if (card === undefined || mig === undefined) return undefined;
  const rate = (value: number | null) => (value === null ? null : value * mig.compute);
  return {
    ...card,
    name: `${card.name} MIG ${mig.name}`,
    aliases: [],
    memoryBytes: mig.memoryBytes,
    runtimeBytes: mig.memoryBytes,
    bandwidth: (card.bandwidth * mig.memoryBytes) / card.memoryBytes,
    peak: card.peak && {
      float32: card.peak.float32 * mig.compute,
      tfloat32: rate(card.peak.tfloat32),
      float16: card.peak.float16 * mig.compute,
      bfloat16: rate(card.peak.bfloat16),
      float8: rate(card.peak.float8),
    },
    // Slices have no peer access: traffic between them goes through the host.
    peerBandwidth: card.hostBandwidth,
    mig: [],
  };
}

function single(text: string): Device | undefined {
  const size = /^(\d+(?:\.\d+)?)\s*(gb|gib|g|mib|mb|)$/i.exec(text.trim());
  if (size !== null) {
    const amount = Number(size[1]);
    const unit = (size[2] ?? "").toLowerCase();
    const named = unit === "" ? whole(words(text)) : undefined;
    if (named !== undefined) return named;
    const bytes = unit.startsWith("m") ? amount * 2 ** 20 : amount * GIB;
    // A bare number is a size only in the range that cards have.
    return bytes > 0 && (unit !== "" || amount <= 1024) ? sized(Math.round(bytes)) : undefined;
  }
  const asked = text.trim();
  const mig = /(\d{1,3}g\.\d{1,4}gb)(?:\+me)?$/i.exec(asked);
  if (mig?.[1] !== undefined) {
    const before = withoutEnding(asked.slice(0, mig.index), /[\s-]/).replace(/mig$/i, "");
    return slice(
      withoutEnding(before, /[\s,:-]/)
        .replace(/\bmig\b/i, "")
        .trim(),
      mig[1].toLowerCase(),
    );
  }
  const plain = words(text);
  return plain === "" ? undefined : (whole(plain) ?? withoutSize(plain));
}

/** No card has a longer name; characters. */
const LONGEST_NAME = 200;

/**
 * The card that a name, a size or a cloud machine type means; null when none does.
 *
 * Takes what drivers and PyTorch print (`NVIDIA A100-SXM4-80GB`), what people write (`4090`, `A100-80GB`, `8xH100`,
 * `2 x RTX 3090`), slices (`H100 MIG 3g.40gb`), sizes (`24GB`, `24`, `24576MiB`) and machine types (`p4d.24xlarge`).
 */
export function findDevice(text: string): DeviceMatch | null {
  const asked = text.trim();
  if (asked.length > LONGEST_NAME) return null;
  const instance = INSTANCES.get(asked.toLowerCase().replace(PREFIX, ""));
  if (instance !== undefined) return instance;
  const direct = single(asked);
  if (direct !== undefined) return { device: direct, count: 1 };
  const before = /^(\d{1,9})\s{0,9}[x×*](.+)$/i.exec(asked);
  const after = /[x×*]\s{0,9}(\d{1,9})$/i.exec(asked);
  const [name = "", count] = before ? [before[2], before[1]] : [asked.slice(0, after?.index ?? 0), after?.[1]];
  const device = name.trim() === "" ? undefined : single(name.trim());
  const number = Number(count);
  return device === undefined || number < 1 ? null : { device, count: number };
}

/** Letters typed for digits: `4O90`, `A1OO`, `H1l0`. */
const MISTAKEN_DIGITS: Readonly<Record<string, string>> = table({ o: "0", l: "1", i: "1" });

/** A model number with the digits that were meant. */
function withDigits(word: string): string {
  return /\d/.test(word) ? word.replace(/[oli]/g, (letter) => MISTAKEN_DIGITS[letter] ?? letter) : word;
}

/** Cards whose names share the most words with `text`, for "did you mean": at most `limit`. */
export function suggestDevices(text: string, limit = 3): readonly Device[] {
  if (text.length > LONGEST_NAME) return [];
  const spelled = words(text).split(" ");
  const asked = [...new Set([...spelled, ...spelled.map(withDigits)])].filter((word) => word.length > 1);
  // A number alone is the beginning of a size: `A100 80` asks for 80gb.
  const begins = (part: string, word: string) => part.startsWith(word) && (word.length > 2 || /^\d+$/.test(word));
  const shared = (key: ReadonlySet<string>) =>
    asked.filter((word) => [...key].some((part) => part === word || begins(part, word))).length;
  return KEYS.map(([key, device]) => ({ device, score: shared(key) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ device }) => device)
    .filter((device, index, all) => all.indexOf(device) === index)
    .slice(0, limit);
}
