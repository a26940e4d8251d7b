/** The size of a card on which a process could use so many bytes, in the words that a device is asked for by. */

const GIB = 2 ** 30;

/**
 * @param usable what the driver says there is for a process (`total capacity` of a message); the inverse of `usableBytes` of a
 *   plain size
 * @returns `24.31GB`, to be looked up like any device
 */
export function sizeWithRoom(usable: number): string {
  const small = (usable + 0.2 * GIB) / 0.985;
  const whole = 0.2 * GIB + 0.015 * small <= 0.65 * GIB ? small : usable + 0.65 * GIB;
  return `${(whole / GIB).toFixed(2)}GB`;
}
