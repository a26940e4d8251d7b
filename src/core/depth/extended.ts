/** What two depths say of a run, as it is at a greater one. */

/** The two are not alike but for their numbers. */
export class Unlike extends Error {}

/**
 * A value of the third depth with each of its numbers as many times further on from the second's as `times` says.
 *
 * @throws Unlike where the two are not alike but for their numbers
 */
export function extended<T>(near: T, far: T, times: number): T {
  return value(near, far, times) as T;
}

function value(near: unknown, far: unknown, times: number): unknown {
  if (typeof near === "number" && typeof far === "number") return near === far ? far : far + times * (far - near);
  if (Array.isArray(near) && Array.isArray(far)) {
    if (near.length !== far.length) throw new Unlike();
    return far.map((one, k) => value(near[k], one, times));
  }
  if (typeof near !== "object" || typeof far !== "object" || near === null || far === null) {
    if (near !== far) throw new Unlike();
    return far;
  }
  const [before, after] = [Object.entries(near), Object.entries(far)];
  if (before.length !== after.length) throw new Unlike();
  return Object.fromEntries(
    after.map(([key, one], k) => {
      if (before[k]![0] !== key) throw new Unlike();
      return [key, value(before[k]![1], one, times)];
    }),
  );
}
