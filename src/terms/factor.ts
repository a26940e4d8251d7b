/** How a change of time is said, by one rule on every surface. Pure. */

/** From twice on a factor is said: "2.1×", not "+109 %". */
const FROM = 2;
/** From here on without a decimal. */
const WHOLE = 9.95;

/** The factor as it is said, where one is: `2.1`, `3`, `13`; undefined where a percentage is. Rounded figures decide, as they are what is read. */
export function saidAsFactor(factor: number): string | undefined {
  if (Math.round(factor * 100) < FROM * 100) return undefined;
  return String(factor < WHOLE ? Math.round(factor * 10) / 10 : Math.round(factor));
}
