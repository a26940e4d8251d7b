/**
 * AMD Instinct and Radeon cards, and Intel's accelerators that PyTorch trains on.
 *
 * Memory is what `rocm-smi --showmeminfo vram` and PyTorch on ROCm report (MI300X: 191.69 GiB in public logs); a
 * dual-die card (MI250, MI250X) is two devices and stands here as one of them. Rates and bandwidth are AMD's and
 * Intel's data sheets (CDNA 2, 3 and 4 white papers, RDNA 3 product pages, Gaudi 2 and 3 white papers).
 */
import type { Device, DeviceGroup, Vendor } from "./types";

const GIB = 2 ** 30;

interface Row {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly vendor?: Vendor;
  readonly group?: DeviceGroup;
  readonly architecture: string;
  readonly gib: number;
  readonly runtimeGib?: number;
  readonly unified?: true;
  /** GB/s. */
  readonly bandwidth: number;
  /** TFLOP/s: float32, float16, bfloat16 (null: none), float8 (null: none). */
  readonly rates: readonly [number, number, number | null, number | null];
  /** GB/s per direction: to a peer, to the host. */
  readonly links: readonly [number, number];
}

const ROWS: readonly Row[] = [
  {
    name: "AMD Instinct MI355X",
    architecture: "cdna4",
    gib: 288,
    bandwidth: 8000,
    rates: [157.3, 2500, 2500, 5000],
    links: [538, 63],
  },
  {
    name: "AMD Instinct MI350X",
    architecture: "cdna4",
    gib: 288,
    bandwidth: 8000,
    rates: [144.2, 2300, 2300, 4600],
    links: [538, 63],
  },
  {
    name: "AMD Instinct MI325X",
    architecture: "cdna3",
    gib: 256,
    bandwidth: 6000,
    rates: [163.4, 1307, 1307, 2615],
    links: [448, 63],
  },
  {
    name: "AMD Instinct MI300X",
    aliases: ["MI300"],
    architecture: "cdna3",
    gib: 192,
    runtimeGib: 191.69,
    bandwidth: 5300,
    rates: [163.4, 1307, 1307, 2615],
    links: [448, 63],
  },
  {
    name: "AMD Instinct MI300A",
    architecture: "cdna3",
    gib: 128,
    unified: true,
    runtimeGib: 125,
    bandwidth: 5300,
    rates: [122.6, 980, 980, 1961],
    links: [192, 5300],
  },
  {
    name: "AMD Instinct MI250X",
    aliases: ["AMD Instinct MI250X / MI250", "MI250", "AMD Instinct MI250"],
    architecture: "cdna2",
    gib: 64,
    runtimeGib: 63.98,
    bandwidth: 1638,
    rates: [23.9, 191.5, 191.5, null],
    links: [100, 31.5],
  },
  {
    name: "AMD Instinct MI210",
    architecture: "cdna2",
    gib: 64,
    runtimeGib: 63.98,
    bandwidth: 1638,
    rates: [22.6, 181, 181, null],
    links: [100, 31.5],
  },
  {
    name: "AMD Instinct MI100",
    architecture: "cdna1",
    gib: 32,
    runtimeGib: 31.98,
    bandwidth: 1228,
    rates: [23.1, 184.6, 92.3, null],
    links: [92, 31.5],
  },
  {
    name: "AMD Instinct MI60",
    architecture: "gcn5",
    gib: 32,
    bandwidth: 1024,
    rates: [14.7, 29.5, null, null],
    links: [92, 31.5],
  },
  {
    name: "AMD Instinct MI50",
    architecture: "gcn5",
    gib: 16,
    bandwidth: 1024,
    rates: [13.3, 26.5, null, null],
    links: [92, 31.5],
  },
  {
    name: "AMD Radeon PRO W7900",
    aliases: ["W7900"],
    group: "workstation",
    architecture: "rdna3",
    gib: 48,
    runtimeGib: 47.98,
    bandwidth: 864,
    rates: [61.3, 122.6, 122.6, null],
    links: [31.5, 31.5],
  },
  {
    name: "AMD Radeon PRO W7800",
    aliases: ["W7800"],
    group: "workstation",
    architecture: "rdna3",
    gib: 32,
    bandwidth: 576,
    rates: [45.2, 90.5, 90.5, null],
    links: [31.5, 31.5],
  },
  {
    name: "AMD Radeon AI PRO R9700",
    aliases: ["R9700"],
    group: "workstation",
    architecture: "rdna4",
    gib: 32,
    bandwidth: 640,
    rates: [47.8, 191, 191, 383],
    links: [63, 63],
  },
  {
    name: "AMD Radeon RX 9070 XT",
    aliases: ["9070 XT"],
    group: "consumer",
    architecture: "rdna4",
    gib: 16,
    runtimeGib: 15.92,
    bandwidth: 640,
    rates: [48.7, 195, 195, 389],
    links: [63, 63],
  },
  {
    name: "AMD Radeon RX 7900 XTX",
    aliases: ["7900 XTX"],
    group: "consumer",
    architecture: "rdna3",
    gib: 24,
    runtimeGib: 23.98,
    bandwidth: 960,
    rates: [61.4, 122.8, 122.8, null],
    links: [31.5, 31.5],
  },
  {
    name: "AMD Radeon RX 7900 XT",
    aliases: ["7900 XT"],
    group: "consumer",
    architecture: "rdna3",
    gib: 20,
    runtimeGib: 19.98,
    bandwidth: 800,
    rates: [51.5, 103, 103, null],
    links: [31.5, 31.5],
  },
  {
    name: "AMD Radeon RX 7900 GRE",
    aliases: ["7900 GRE"],
    group: "consumer",
    architecture: "rdna3",
    gib: 16,
    runtimeGib: 15.98,
    bandwidth: 576,
    rates: [46, 92, 92, null],
    links: [31.5, 31.5],
  },
  {
    name: "Intel Gaudi 3",
    aliases: ["Gaudi3", "HL-325L"],
    vendor: "intel",
    architecture: "gaudi",
    gib: 128,
    bandwidth: 3700,
    rates: [229, 1678, 1678, 1678],
    links: [525, 63],
  },
  {
    name: "Intel Gaudi 2",
    aliases: ["Gaudi2", "HL-225H"],
    vendor: "intel",
    architecture: "gaudi",
    gib: 96,
    runtimeGib: 94.6,
    bandwidth: 2450,
    rates: [11, 432, 432, 865],
    links: [262, 31.5],
  },
  {
    name: "Intel Data Center GPU Max 1550",
    aliases: ["PVC 1550", "Max 1550"],
    vendor: "intel",
    architecture: "xe",
    gib: 64,
    bandwidth: 1638,
    rates: [26.2, 419, 419, null],
    links: [26.5, 63],
  },
];

export const AMD_AND_INTEL: readonly Device[] = ROWS.map((row) => ({
  name: row.name,
  aliases: row.aliases ?? [],
  vendor: row.vendor ?? "amd",
  group: row.group ?? "data-centre",
  architecture: row.architecture,
  memoryBytes: row.gib * GIB,
  runtimeBytes: row.runtimeGib === undefined ? null : Math.round(row.runtimeGib * GIB),
  unified: row.unified ?? false,
  bandwidth: row.bandwidth * 1e9,
  peak: {
    float32: row.rates[0] * 1e12,
    tfloat32: null,
    float16: row.rates[1] * 1e12,
    bfloat16: row.rates[2] === null ? null : row.rates[2] * 1e12,
    float8: row.rates[3] === null ? null : row.rates[3] * 1e12,
  },
  peerBandwidth: row.links[0] * 1e9,
  hostBandwidth: row.links[1] * 1e9,
  mig: [],
}));
