/**
 * Apple silicon. Memory is shared: Metal lets a process use about two thirds of it up to 36 GB and three quarters
 * above (`recommendedMaxWorkingSetSize`, which PyTorch's MPS allocator takes as its base). Bandwidths are Apple's
 * technical specifications; float32 rates follow from cores × 128 lanes × 2 × clock, and 16-bit runs at that rate.
 */
import type { Device } from "./types";

/** chip, sizes in GB that it is sold with, GB/s, float32 TFLOP/s (null: not published). */
const CHIPS: readonly (readonly [string, readonly number[], number, number | null])[] = [
  ["M5", [16, 24, 32], 153, null],
  ["M4 Max", [36, 48, 64, 128], 546, 18.4],
  ["M4 Pro", [24, 48, 64], 273, 9.2],
  ["M4", [16, 24, 32], 120, 4.6],
  ["M3 Ultra", [96, 256, 512], 819, 32.8],
  ["M3 Max", [36, 48, 64, 96, 128], 400, 16.4],
  ["M3 Pro", [18, 36], 150, 7.4],
  ["M3", [8, 16, 24], 102, 4.1],
  ["M2 Ultra", [64, 128, 192], 800, 27.2],
  ["M2 Max", [32, 64, 96], 400, 13.6],
  ["M2 Pro", [16, 32], 200, 6.8],
  ["M2", [8, 16, 24], 102, 3.6],
  ["M1 Ultra", [64, 128], 800, 21.2],
  ["M1 Max", [32, 64], 400, 10.6],
  ["M1 Pro", [16, 32], 200, 5.3],
  ["M1", [8, 16], 68, 2.6],
];
const GIB = 2 ** 30;

/** Share of unified memory that Metal hands to one process. */
function metalShare(gigabytes: number): number {
  return gigabytes <= 36 ? 2 / 3 : 3 / 4;
}

export const APPLE: readonly Device[] = CHIPS.flatMap(([chip, sizes, bandwidth, tflops]) =>
  sizes.map((size) => ({
    name: `Apple ${chip} ${size}GB`,
    aliases: [`${chip} ${size}GB`],
    vendor: "apple" as const,
    group: "apple" as const,
    architecture: "apple",
    memoryBytes: size * GIB,
    runtimeBytes: Math.floor(size * GIB * metalShare(size)),
    unified: true,
    bandwidth: bandwidth * 1e9,
    peak:
      tflops === null
        ? null
        : {
            float32: tflops * 1e12,
            tfloat32: null,
            float16: tflops * 1e12,
            bfloat16: tflops * 1e12,
            float8: null,
          },
    peerBandwidth: 5e9,
    hostBandwidth: bandwidth * 1e9,
    mig: [],
  })),
);
