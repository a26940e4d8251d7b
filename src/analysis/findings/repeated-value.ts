/** Numbers without digits as a reader knows them; a setting of words has them as text. */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ["Infinity", "∞"],
  ["-Infinity", "-∞"],
  ["NaN", "nan"],
]);

/** A setting's value as a finding repeats it. */
export function repeatedValue(value: unknown): string {
  const text = String(value);
  return SIGNS.get(text) ?? text;
}
