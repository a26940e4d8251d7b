/** Divisors of whole numbers, in steps that follow the number's root: sizes from files may be as large as numbers get. */

/** Numbers above it have more steps than a divisor is worth (a tenth of a second). */
const MOST_DIVIDED = 1e14;

/** The largest divisor of `total` that is no more than `limit`; null where there is none to be told. */
export function divisorAtMost(total: number, limit: number): number | null {
  if (!Number.isSafeInteger(total) || total < 1 || total > MOST_DIVIDED || !(limit >= 1)) return null;
  if (limit >= total) return total;
  let largest = 1;
  for (let k = 1; k * k <= total; k++) {
    if (total % k !== 0) continue;
    // Of the larger ones of the pairs, the first that is small enough is the largest.
    if (total / k <= limit) return total / k;
    if (k <= limit) largest = k;
  }
  return largest;
}

/** The smallest divisor of `total` that is no less than `least`; null where there is none to be told. */
export function divisorAtLeast(total: number, least: number): number | null {
  if (least <= 1) return divisorAtMost(total, 1);
  const other = least > total ? null : divisorAtMost(total, Math.floor(total / least));
  return other === null ? null : total / other;
}
