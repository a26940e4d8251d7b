/**
 * NVIDIA cards from Turing on, and those of Pascal and Volta that are still trained on.
 *
 * Memory is what `nvidia-smi` prints (MiB) and, where an out-of-memory message of PyTorch was found in public logs
 * ("GPU 0 has a total capacity of 23.52 GiB") of that card or of one of its generation with the same memory, the
 * smallest such total (GiB). Bandwidth (GB/s) and dense rates
 * (TFLOP/s, float32 on the vector units, 16-bit on the matrix units with float32 accumulation) are those of NVIDIA's
 * data sheets and architecture white papers (Turing WP-09183, Ampere GA102 V2, Ada V2, Hopper V1.04, Blackwell).
 * Links are GB/s per direction.
 */
import { table } from "../../terms/table";
import type { Device, DeviceGroup, MigProfile } from "./types";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const PCIE3 = 15.75;
const PCIE4 = 31.5;
const PCIE5 = 63;

/** name, MiB, PyTorch GiB (0: not recorded), GB/s, float32 and 16-bit TFLOP/s, PCIe, NVLink (0: none), other names. */
type Row = readonly [string, number, number, number, number, number, number, number, ...string[]];

const G = "NVIDIA GeForce ";

const PASCAL: readonly Row[] = [
  ["Tesla P100-PCIE-16GB", 16384, 15.89, 732, 9.3, 18.7, PCIE3, 0, "P100", "Kaggle P100"],
];

const PASCAL_CONSUMER: readonly Row[] = [
  [`${G}GTX 1060 6GB`, 6144, 0, 192, 4.4, 4.4, PCIE3, 0, "GTX 1060"],
  [`${G}GTX 1070`, 8192, 0, 256, 6.5, 6.5, PCIE3, 0],
  [`${G}GTX 1070 Ti`, 8192, 0, 256, 8.2, 8.2, PCIE3, 0],
  [`${G}GTX 1080`, 8192, 0, 320, 8.9, 8.9, PCIE3, 0],
  [`${G}GTX 1080 Ti`, 11264, 10.91, 484, 11.3, 11.3, PCIE3, 0],
];

const VOLTA: readonly Row[] = [
  ["Tesla V100-SXM2-16GB", 16384, 15.77, 900, 15.7, 125, PCIE3, 150, "V100", "V100-16GB"],
  ["Tesla V100-SXM2-32GB", 32768, 31.73, 900, 15.7, 125, PCIE3, 150, "V100-32GB", "V100-32"],
  ["Tesla V100-PCIE-16GB", 16384, 15.77, 900, 14, 112, PCIE3, 0],
  ["Tesla V100-PCIE-32GB", 32768, 31.73, 900, 14, 112, PCIE3, 0],
];

const TURING_DATA_CENTRE: readonly Row[] = [
  ["Tesla T4", 15360, 14.56, 320, 8.1, 65, PCIE3, 0, "T4", "Colab T4", "Kaggle T4"],
];
const TURING_CONSUMER: readonly Row[] = [
  [`${G}GTX 1650`, 4096, 0, 128, 2.98, 5.97, PCIE3, 0],
  [`${G}GTX 1650 SUPER`, 4096, 0, 192, 4.42, 8.84, PCIE3, 0],
  [`${G}GTX 1660`, 6144, 0, 192, 5.03, 10.05, PCIE3, 0],
  [`${G}GTX 1660 SUPER`, 6144, 0, 336, 5.03, 10.05, PCIE3, 0],
  [`${G}GTX 1660 Ti`, 6144, 0, 288, 5.44, 10.87, PCIE3, 0],
  [`${G}RTX 2060`, 6144, 5.77, 336, 6.45, 25.8, PCIE3, 0],
  [`${G}RTX 2060 12GB`, 12288, 0, 336, 7.18, 28.7, PCIE3, 0],
  [`${G}RTX 2060 SUPER`, 8192, 0, 448, 7.18, 28.7, PCIE3, 0],
  [`${G}RTX 2070`, 8192, 0, 448, 7.46, 29.9, PCIE3, 0],
  [`${G}RTX 2070 SUPER`, 8192, 0, 448, 9.06, 36.3, PCIE3, 0],
  [`${G}RTX 2080`, 8192, 0, 448, 10.07, 40.3, PCIE3, 25],
  [`${G}RTX 2080 SUPER`, 8192, 0, 496, 11.15, 44.6, PCIE3, 25],
  [`${G}RTX 2080 Ti`, 11264, 10.56, 616, 13.45, 53.8, PCIE3, 50],
  ["NVIDIA TITAN RTX", 24576, 0, 672, 16.3, 130.5, PCIE3, 50],
];
const TURING_LAPTOP: readonly Row[] = [
  [`${G}GTX 1650 Ti`, 4096, 0, 192, 3.04, 6.08, PCIE3, 0],
  [`${G}RTX 2060 with Max-Q Design`, 6144, 0, 264, 4.55, 18.2, PCIE3, 0],
  [`${G}RTX 2070 with Max-Q Design`, 8192, 0, 384, 5.46, 21.8, PCIE3, 0],
  [`${G}RTX 2080 with Max-Q Design`, 8192, 0, 384, 6.45, 25.8, PCIE3, 0],
];
const TURING_WORKSTATION: readonly Row[] = [
  ["Quadro RTX 4000", 8192, 0, 416, 7.1, 57, PCIE3, 0],
  ["Quadro RTX 5000", 16384, 0, 448, 11.2, 89.2, PCIE3, 25],
  ["Quadro RTX 6000", 24576, 0, 672, 16.3, 130.5, PCIE3, 50],
  ["Quadro RTX 8000", 49152, 0, 672, 16.3, 130.5, PCIE3, 50],
];

const AMPERE_DATA_CENTRE: readonly Row[] = [
  ["NVIDIA A2", 15356, 0, 200, 4.5, 18, PCIE4 / 2, 0],
  ["NVIDIA A10", 23028, 21.98, 600, 31.2, 125, PCIE4, 0],
  ["NVIDIA A10G", 23028, 21.98, 600, 31.5, 70, PCIE4, 0],
  ["NVIDIA A16", 15356, 0, 200, 4.5, 18, PCIE4 / 2, 0],
  ["NVIDIA A30", 24576, 0, 933, 10.3, 165, PCIE4, 100],
  ["NVIDIA A40", 46068, 44.34, 696, 37.4, 149.7, PCIE4, 56.25],
  [
    "NVIDIA A100-SXM4-40GB",
    40960,
    39.38,
    1555,
    19.5,
    312,
    PCIE4,
    300,
    "A100-40GB",
    "A100 40G",
    "A100-40",
    "A100-SXM-40GB",
  ],
  ["NVIDIA A100-PCIE-40GB", 40960, 39.38, 1555, 19.5, 312, PCIE4, 300, "A100 PCIe 40GB"],
  [
    "NVIDIA A100-SXM4-80GB",
    81920,
    79.14,
    2039,
    19.5,
    312,
    PCIE4,
    300,
    "A100",
    "A100-80GB",
    "A100 80G",
    "A100 SXM",
    "A100-SXM-80GB",
  ],
  ["NVIDIA A100 80GB PCIe", 81920, 79.14, 1935, 19.5, 312, PCIE4, 300, "A100 PCIe"],
  ["NVIDIA A800-SXM4-80GB", 81920, 79.14, 2039, 19.5, 312, PCIE4, 200, "A800", "A800-80GB"],
  ["NVIDIA A800 80GB PCIe", 81920, 79.14, 1935, 19.5, 312, PCIE4, 200, "A800 PCIe"],
];
const AMPERE_CONSUMER: readonly Row[] = [
  [`${G}RTX 3050`, 8192, 0, 224, 9.1, 18.2, PCIE4 / 2, 0],
  [`${G}RTX 3060`, 12288, 11.63, 360, 12.7, 25.5, PCIE4, 0],
  [`${G}RTX 3060 Ti`, 8192, 0, 448, 16.2, 32.4, PCIE4, 0],
  [`${G}RTX 3070`, 8192, 7.66, 448, 20.3, 40.6, PCIE4, 0],
  [`${G}RTX 3070 Ti`, 8192, 0, 608, 21.75, 43.5, PCIE4, 0],
  [`${G}RTX 3080`, 10240, 9.65, 760, 29.8, 59.5, PCIE4, 0],
  [`${G}RTX 3080 12GB`, 12288, 0, 912, 30.6, 61.3, PCIE4, 0],
  [`${G}RTX 3080 Ti`, 12288, 11.63, 912, 34.1, 68.2, PCIE4, 0],
  [`${G}RTX 3090`, 24576, 23.55, 936, 35.6, 71.2, PCIE4, 56.25],
  [`${G}RTX 3090 Ti`, 24564, 23.55, 1008, 40, 80, PCIE4, 56.25],
];
const AMPERE_LAPTOP: readonly Row[] = [
  [`${G}RTX 3050 Laptop GPU`, 4096, 0, 192, 5.5, 11, PCIE4 / 2, 0],
  [`${G}RTX 3050 Ti Laptop GPU`, 4096, 0, 192, 5.3, 10.6, PCIE4 / 2, 0],
  [`${G}RTX 3060 Laptop GPU`, 6144, 0, 336, 10.9, 21.9, PCIE4 / 2, 0],
  [`${G}RTX 3070 Laptop GPU`, 8192, 0, 448, 15.9, 31.9, PCIE4 / 2, 0],
  [`${G}RTX 3070 Ti Laptop GPU`, 8192, 0, 448, 16.6, 33.2, PCIE4 / 2, 0],
  [`${G}RTX 3080 Laptop GPU`, 16384, 0, 448, 18.9, 37.9, PCIE4 / 2, 0],
  [`${G}RTX 3080 Ti Laptop GPU`, 16384, 0, 512, 23.6, 47.2, PCIE4 / 2, 0],
];
const AMPERE_WORKSTATION: readonly Row[] = [
  ["NVIDIA RTX A2000", 6138, 0, 288, 8, 31.9, PCIE4, 0],
  ["NVIDIA RTX A2000 12GB", 12282, 0, 288, 8, 31.9, PCIE4, 0],
  ["NVIDIA RTX A4000", 16376, 15.6, 448, 19.2, 76.7, PCIE4, 0],
  ["NVIDIA RTX A4500", 20470, 0, 640, 23.7, 94.6, PCIE4, 56.25],
  ["NVIDIA RTX A5000", 24564, 23.55, 768, 27.8, 111.1, PCIE4, 56.25],
  ["NVIDIA RTX A5500", 24564, 0, 768, 34.1, 136.4, PCIE4, 56.25],
  ["NVIDIA RTX A6000", 49140, 47.4, 768, 38.7, 154.8, PCIE4, 56.25, "A6000"],
];

const ADA_DATA_CENTRE: readonly Row[] = [
  ["NVIDIA L4", 23034, 22.03, 300, 30.3, 121, PCIE4, 0],
  ["NVIDIA L20", 46068, 44.34, 864, 59.8, 119.5, PCIE4, 0],
  ["NVIDIA L40", 46068, 44.34, 864, 90.5, 181, PCIE4, 0],
  ["NVIDIA L40S", 46068, 44.34, 864, 91.6, 362, PCIE4, 0],
];
const ADA_CONSUMER: readonly Row[] = [
  [`${G}RTX 4060`, 8188, 7.63, 272, 15.1, 30.2, PCIE4 / 2, 0],
  [`${G}RTX 4060 Ti`, 8188, 7.63, 288, 22.1, 44.1, PCIE4 / 2, 0],
  [`${G}RTX 4060 Ti 16GB`, 16380, 15.58, 288, 22.1, 44.1, PCIE4 / 2, 0],
  [`${G}RTX 4070`, 12282, 11.63, 504, 29.1, 58.3, PCIE4, 0],
  [`${G}RTX 4070 SUPER`, 12282, 11.63, 504, 35.5, 71, PCIE4, 0],
  [`${G}RTX 4070 Ti`, 12282, 11.63, 504, 40.1, 80.2, PCIE4, 0],
  [`${G}RTX 4070 Ti SUPER`, 16376, 15.57, 672, 44.1, 88.2, PCIE4, 0],
  [`${G}RTX 4080`, 16376, 15.57, 717, 48.7, 97.5, PCIE4, 0],
  [`${G}RTX 4080 SUPER`, 16376, 15.57, 736, 52.2, 104.4, PCIE4, 0],
  [`${G}RTX 4090`, 24564, 23.52, 1008, 82.6, 165.2, PCIE4, 0],
  [`${G}RTX 4090 D`, 24564, 23.52, 1008, 73.5, 147, PCIE4, 0],
];
const ADA_LAPTOP: readonly Row[] = [
  [`${G}RTX 4050 Laptop GPU`, 6141, 0, 192, 9, 18, PCIE4 / 2, 0],
  [`${G}RTX 4060 Laptop GPU`, 8188, 0, 256, 11.6, 23.2, PCIE4 / 2, 0],
  [`${G}RTX 4070 Laptop GPU`, 8188, 0, 256, 15.6, 31.2, PCIE4 / 2, 0],
  [`${G}RTX 4080 Laptop GPU`, 12282, 0, 432, 24.7, 49.4, PCIE4 / 2, 0],
  [`${G}RTX 4090 Laptop GPU`, 16376, 15.57, 576, 33, 66, PCIE4 / 2, 0],
];
const ADA_WORKSTATION: readonly Row[] = [
  ["NVIDIA RTX 2000 Ada Generation", 16380, 0, 224, 12, 48, PCIE4 / 2, 0, "RTX 2000 Ada"],
  ["NVIDIA RTX 4000 Ada Generation", 20475, 0, 360, 26.7, 107, PCIE4, 0, "RTX 4000 Ada"],
  ["NVIDIA RTX 4000 SFF Ada Generation", 20475, 0, 280, 19.2, 77, PCIE4, 0, "RTX 4000 SFF Ada"],
  ["NVIDIA RTX 4500 Ada Generation", 24570, 0, 432, 39.6, 158.5, PCIE4, 0, "RTX 4500 Ada"],
  ["NVIDIA RTX 5000 Ada Generation", 32760, 0, 576, 65.3, 261, PCIE4, 0, "RTX 5000 Ada"],
  ["NVIDIA RTX 5880 Ada Generation", 49140, 0, 960, 69.3, 277, PCIE4, 0, "RTX 5880 Ada"],
  ["NVIDIA RTX 6000 Ada Generation", 49140, 47.4, 960, 91.1, 364, PCIE4, 0, "RTX 6000 Ada"],
];

const HOPPER: readonly Row[] = [
  ["NVIDIA H100 80GB HBM3", 81559, 79.1, 3352, 67, 989, PCIE5, 450, "H100", "H100 SXM", "H100 SXM5", "H100-80GB"],
  ["NVIDIA H100 PCIe", 81559, 79.1, 2039, 51, 756, PCIE5, 300],
  ["NVIDIA H100 NVL", 95830, 93.02, 3938, 60, 835, PCIE5, 300],
  ["NVIDIA H800", 81559, 79.1, 3352, 67, 989, PCIE5, 200, "H800 SXM", "H800-80GB"],
  ["NVIDIA H20", 97871, 95.0, 4000, 44, 148, PCIE5, 450, "H20-96GB"],
  ["NVIDIA GH200 480GB", 97871, 94.5, 4000, 67, 989, 450, 450, "GH200", "GH200 120GB", "GH200 96GB"],
  ["NVIDIA H200", 143771, 139.72, 4800, 67, 989, PCIE5, 450, "H200 SXM", "H200-141GB"],
  ["NVIDIA H200 NVL", 143771, 139.72, 4800, 60, 835, PCIE5, 450],
];

const BLACKWELL_DATA_CENTRE: readonly Row[] = [
  ["NVIDIA B100", 183359, 178.35, 8000, 60, 1750, PCIE5, 900],
  ["NVIDIA B200", 183359, 178.35, 8000, 75, 2250, PCIE5, 900, "B200 SXM"],
  ["NVIDIA GB200", 189471, 184.31, 8000, 80, 2500, 450, 900],
  ["NVIDIA B300 SXM6 AC", 275040, 267.69, 8000, 75, 2250, PCIE5, 900, "B300", "B300 SXM"],
  ["NVIDIA GB300", 284208, 0, 8000, 80, 2500, 450, 900],
];
const BLACKWELL_CONSUMER: readonly Row[] = [
  [`${G}RTX 5050`, 8151, 0, 320, 13.2, 26.3, PCIE5 / 2, 0],
  [`${G}RTX 5060`, 8151, 0, 448, 19.2, 38.4, PCIE5 / 2, 0],
  [`${G}RTX 5060 Ti`, 16311, 15.47, 448, 23.7, 47.4, PCIE5 / 2, 0, "RTX 5060 Ti 16GB"],
  [`${G}RTX 5060 Ti 8GB`, 8151, 0, 448, 23.7, 47.4, PCIE5 / 2, 0],
  [`${G}RTX 5070`, 12227, 11.49, 672, 30.9, 61.7, PCIE5, 0],
  [`${G}RTX 5070 Ti`, 16303, 15.47, 896, 43.9, 87.9, PCIE5, 0],
  [`${G}RTX 5080`, 16303, 15.47, 960, 56.3, 112.6, PCIE5, 0],
  [`${G}RTX 5090`, 32607, 31.36, 1792, 104.8, 209.5, PCIE5, 0],
  [`${G}RTX 5090 D`, 32607, 31.36, 1792, 104.8, 209.5, PCIE5, 0],
];
const BLACKWELL_LAPTOP: readonly Row[] = [
  [`${G}RTX 5060 Laptop GPU`, 8151, 0, 384, 13.3, 26.6, PCIE5 / 2, 0],
  [`${G}RTX 5070 Laptop GPU`, 8151, 0, 384, 15.9, 31.8, PCIE5 / 2, 0],
  [`${G}RTX 5070 Ti Laptop GPU`, 12227, 0, 672, 22, 44, PCIE5 / 2, 0],
  [`${G}RTX 5080 Laptop GPU`, 16303, 0, 896, 28, 56, PCIE5 / 2, 0],
  [`${G}RTX 5090 Laptop GPU`, 24463, 0, 896, 36, 72, PCIE5 / 2, 0],
];
const BLACKWELL_WORKSTATION: readonly Row[] = [
  ["NVIDIA RTX PRO 4000 Blackwell", 24467, 0, 672, 46.9, 188, PCIE5, 0, "RTX PRO 4000"],
  ["NVIDIA RTX PRO 4500 Blackwell", 32623, 0, 896, 54.9, 220, PCIE5, 0, "RTX PRO 4500"],
  ["NVIDIA RTX PRO 5000 Blackwell", 48935, 0, 1344, 65.3, 261, PCIE5, 0, "RTX PRO 5000"],
  [
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    97887,
    94.97,
    1792,
    125,
    504,
    PCIE5,
    0,
    "RTX PRO 6000",
    "RTX 6000 Blackwell",
  ],
  ["NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887, 94.97, 1792, 110, 439, PCIE5, 0],
  ["NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, 94.97, 1597, 120, 480, PCIE5, 0],
];

/** name, GiB that the slice has, sevenths of the compute (quarters on A30): NVIDIA MIG user guide, `-lgip` listings. */
type MigRow = readonly [string, number, number];
const MIG: Readonly<Record<string, readonly MigRow[]>> = table({
  "NVIDIA A30": [
    ["1g.6gb", 5.81, 1 / 4],
    ["2g.12gb", 11.69, 2 / 4],
    ["4g.24gb", 23.44, 1],
  ],
  "A100 40": [
    ["1g.5gb", 4.75, 1 / 7],
    ["1g.10gb", 9.62, 1 / 7],
    ["2g.10gb", 9.62, 2 / 7],
    ["3g.20gb", 19.5, 3 / 7],
    ["4g.20gb", 19.5, 4 / 7],
    ["7g.40gb", 39.25, 1],
  ],
  "A100 80": [
    ["1g.10gb", 9.5, 1 / 7],
    ["1g.20gb", 19.5, 1 / 7],
    ["2g.20gb", 19.5, 2 / 7],
    ["3g.40gb", 39.25, 3 / 7],
    ["4g.40gb", 39.25, 4 / 7],
    ["7g.80gb", 78.75, 1],
  ],
  "H100 80": [
    ["1g.10gb", 9.62, 1 / 7],
    ["1g.20gb", 19.5, 1 / 7],
    ["2g.20gb", 19.5, 2 / 7],
    ["3g.40gb", 39.25, 3 / 7],
    ["4g.40gb", 39.25, 4 / 7],
    ["7g.80gb", 78.75, 1],
  ],
  "H100 94": [
    ["1g.12gb", 10.75, 1 / 7],
    ["1g.24gb", 22.75, 1 / 7],
    ["2g.24gb", 22.75, 2 / 7],
    ["3g.47gb", 46, 3 / 7],
    ["4g.47gb", 46, 4 / 7],
    ["7g.94gb", 92.5, 1],
  ],
  H200: [
    ["1g.18gb", 16, 1 / 7],
    ["1g.35gb", 32.5, 1 / 7],
    ["2g.35gb", 32.5, 2 / 7],
    ["3g.71gb", 69.5, 3 / 7],
    ["4g.71gb", 69.5, 4 / 7],
    ["7g.141gb", 139, 1],
  ],
  B200: [
    ["1g.23gb", 21.5, 1 / 7],
    ["1g.45gb", 44, 1 / 7],
    ["2g.45gb", 44, 2 / 7],
    ["3g.90gb", 88.75, 3 / 7],
    ["4g.90gb", 88.75, 4 / 7],
    ["7g.180gb", 178, 1],
  ],
});
const MIG_OF: Readonly<Record<string, string>> = table({
  "NVIDIA A30": "NVIDIA A30",
  "NVIDIA A100-SXM4-40GB": "A100 40",
  "NVIDIA A100-PCIE-40GB": "A100 40",
  "NVIDIA A100-SXM4-80GB": "A100 80",
  "NVIDIA A100 80GB PCIe": "A100 80",
  "NVIDIA A800-SXM4-80GB": "A100 80",
  "NVIDIA A800 80GB PCIe": "A100 80",
  "NVIDIA H100 80GB HBM3": "H100 80",
  "NVIDIA H100 PCIe": "H100 80",
  "NVIDIA H800": "H100 80",
  "NVIDIA H100 NVL": "H100 94",
  "NVIDIA H200": "H200",
  "NVIDIA H200 NVL": "H200",
  "NVIDIA B200": "B200",
});

/** Whether 16-bit matrix units take bfloat16 and TF32 (from Ampere) and float8 (from Ada). */
const UNITS: Readonly<Record<string, { readonly bfloat16: boolean; readonly float8: boolean }>> = table({
  pascal: { bfloat16: false, float8: false },
  volta: { bfloat16: false, float8: false },
  turing: { bfloat16: false, float8: false },
  ampere: { bfloat16: true, float8: false },
  ada: { bfloat16: true, float8: true },
  hopper: { bfloat16: true, float8: true },
  blackwell: { bfloat16: true, float8: true },
});

function migProfiles(name: string): readonly MigProfile[] {
  const rows = MIG[MIG_OF[name] ?? ""] ?? [];
  return rows.map(([profile, gib, compute]) => ({ name: profile, memoryBytes: Math.round(gib * GIB), compute }));
}

function cards(architecture: string, group: DeviceGroup, rows: readonly Row[]): Device[] {
  const units = UNITS[architecture] ?? { bfloat16: false, float8: false };
  return rows.map(([name, mib, gib, bandwidth, float32, half, host, link, ...aliases]) => ({
    name,
    aliases,
    vendor: "nvidia",
    group,
    architecture,
    memoryBytes: mib * MIB,
    runtimeBytes: gib === 0 ? null : Math.round(gib * GIB),
    unified: false,
    bandwidth: bandwidth * 1e9,
    peak: {
      float32: float32 * 1e12,
      tfloat32: units.bfloat16 ? (half / 2) * 1e12 : null,
      float16: half * 1e12,
      bfloat16: units.bfloat16 ? half * 1e12 : null,
      float8: units.float8 ? half * 2e12 : null,
    },
    peerBandwidth: (link === 0 ? host : link) * 1e9,
    hostBandwidth: host * 1e9,
    mig: migProfiles(name),
  }));
}

/** DGX Spark: memory shared with the Grace processor; `nvidia-smi` prints no total. */
const SPARK: Device = {
  name: "NVIDIA GB10",
  aliases: ["DGX Spark"],
  vendor: "nvidia",
  group: "workstation",
  architecture: "blackwell",
  memoryBytes: 128 * GIB,
  runtimeBytes: Math.round(119.6 * GIB),
  unified: true,
  bandwidth: 273e9,
  peak: { float32: 31e12, tfloat32: 62e12, float16: 125e12, bfloat16: 125e12, float8: 250e12 },
  peerBandwidth: 25e9,
  hostBandwidth: 273e9,
  mig: [],
};

/** Newest first, so that a name that fits several cards finds the newest. */
export const NVIDIA: readonly Device[] = [
  ...cards("blackwell", "data-centre", BLACKWELL_DATA_CENTRE),
  ...cards("hopper", "data-centre", HOPPER),
  ...cards("ada", "data-centre", ADA_DATA_CENTRE),
  ...cards("ampere", "data-centre", AMPERE_DATA_CENTRE),
  ...cards("turing", "data-centre", TURING_DATA_CENTRE),
  ...cards("volta", "data-centre", VOLTA),
  ...cards("pascal", "data-centre", PASCAL),
  ...cards("blackwell", "workstation", BLACKWELL_WORKSTATION),
  SPARK,
  ...cards("ada", "workstation", ADA_WORKSTATION),
  ...cards("ampere", "workstation", AMPERE_WORKSTATION),
  ...cards("turing", "workstation", TURING_WORKSTATION),
  ...cards("blackwell", "consumer", BLACKWELL_CONSUMER),
  ...cards("ada", "consumer", ADA_CONSUMER),
  ...cards("ampere", "consumer", AMPERE_CONSUMER),
  ...cards("turing", "consumer", TURING_CONSUMER),
  ...cards("pascal", "consumer", PASCAL_CONSUMER),
  ...cards("blackwell", "laptop", BLACKWELL_LAPTOP),
  ...cards("ada", "laptop", ADA_LAPTOP),
  ...cards("ampere", "laptop", AMPERE_LAPTOP),
  ...cards("turing", "laptop", TURING_LAPTOP),
];
