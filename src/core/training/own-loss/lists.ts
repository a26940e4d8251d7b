/** Python's functions of lists, as forwards of scripts go over their modules. */
import { table } from "../../../terms/table";
import { letGo, NotFollowed, numberOf, Part, type Value } from "./values";

/** Numbers that a range of a forward may have. */
const LONGEST_RANGE = 64;

function listOf(value: Value | undefined): readonly Value[] {
  if (!Array.isArray(value)) throw new NotFollowed();
  return value as readonly Value[];
}

/** By name; each takes values that it owns, and gives those that it made of them. */
export const OF_LISTS: Readonly<Record<string, (args: readonly Value[]) => Value>> = table({
  enumerate: ([list]) => listOf(list).map((one, k) => [k, one]),
  len: ([list]) => {
    const { length } = listOf(list);
    for (const one of listOf(list)) letGo(one);
    return length;
  },
  zip: (all) => {
    const lists = all.map(listOf);
    const [first = []] = lists;
    // Of lists that are not as long as each other, what is over would have to be let go of.
    if (lists.some(({ length }) => length !== first.length)) throw new NotFollowed();
    return first.map((_, k) => lists.map((list) => list[k]!));
  },
  range: (args) => {
    const [from, to] = args.length === 1 ? [0, numberOf(args[0])] : args.map(numberOf);
    if (args.length > 2 || !(to! - from! <= LONGEST_RANGE)) throw new NotFollowed();
    return Array.from({ length: Math.max(0, to! - from!) }, (_, k) => from! + k);
  },
});

/** The name that a module has in the one that holds it. */
function nameOf({ path }: Part): string {
  return path.split(".").at(-1) ?? "";
}

/** The module of a name in one that holds several by their names; undefined: none. */
export function partNamed(list: readonly Value[], name: string): Part | undefined {
  return list.find((one): one is Part => one instanceof Part && nameOf(one) === name);
}

/** `items`, `keys` and `values` of a module that holds others by their names; undefined: it is none, or another method. */
export function ofModules(object: Value, method: string): Value | undefined {
  if (!Array.isArray(object) || !object.every((one) => one instanceof Part)) return undefined;
  if (method === "values") return object;
  if (method === "keys") return object.map(nameOf);
  return method === "items" ? object.map((part) => [nameOf(part), part]) : undefined;
}
