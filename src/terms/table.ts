/**
 * A table that is looked up by names out of files: it has the entries it is given and none that every object has, such
 * as `constructor` and `__proto__`. `test/architecture.test.ts` asks for it.
 */
// @__NO_SIDE_EFFECTS__
export function table<T extends object>(entries: T): T {
  return Object.assign(Object.create(null), entries);
}

/** Tables inside a table. */
// @__NO_SIDE_EFFECTS__
export function tables<T extends object>(entries: T): T {
  return table(Object.fromEntries(Object.entries(entries).map(([name, inner]) => [name, table(inner)]))) as T;
}
