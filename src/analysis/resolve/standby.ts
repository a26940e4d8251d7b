/** The share of a card that an engine takes whose cache sleeps while the policy trains, whatever it was told. */

const GIB = 2 ** 30;

/** Shares by the card's size; of each 95 % are taken beside vLLM 0.11 and newer (unsloth_zoo/vllm_utils.py, `load_vllm`). */
const SHARES: readonly (readonly [least: number, share: number])[] = [
  [40 * GIB, 0.925],
  [25 * GIB, 0.9],
  [20 * GIB, 0.825],
  [14 * GIB, 0.8],
  [10 * GIB, 0.775],
];
const SMALLEST = 0.75;
const TAKEN = 0.95;

/** `deviceBytes`: of the card; null: it is not known. */
export function standbyShare(deviceBytes: number | null): number {
  const share = SHARES.find(([least]) => (deviceBytes ?? 0) >= least)?.[1] ?? SMALLEST;
  return share * TAKEN;
}
