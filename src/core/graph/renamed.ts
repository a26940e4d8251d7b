/**
 * The newest graphs of a family with the names that an earlier release's modules had: what the library renames in checkpoints
 * (transformers/conversion_mapping.py), the other way round.
 */
import type { FamilyGraphs } from "./types";

/** Names in a row, `*` for one of any, and what stands for them. */
interface Renaming {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

/** A path's names with the first that a renaming is of replaced. */
function renamedNames(names: readonly string[], { from, to }: Renaming): readonly string[] {
  const fits = (at: number): boolean => from.every((name, k) => name === "*" || name === names[at + k]);
  for (let at = 0; at + from.length <= names.length; at++) {
    if (!fits(at)) continue;
    const any = from.flatMap((name, k) => (name === "*" ? [names[at + k] ?? ""] : [])).values();
    const own = to.map((name) => (name === "*" ? (any.next().value ?? name) : name));
    return [...names.slice(0, at), ...own, ...names.slice(at + from.length)];
  }
  return names;
}

/** A value with every path in it renamed; what is shared in it stays shared. */
function replacing(pathOf: (path: string) => string): <T>(value: T) => T {
  const known = new Map<unknown, unknown>();
  const replaced = (value: unknown): unknown => {
    if (typeof value === "string") return pathOf(value);
    if (typeof value !== "object" || value === null) return value;
    let own = known.get(value);
    if (own === undefined) {
      own = Array.isArray(value)
        ? value.map(replaced)
        : Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaced(one)]));
      known.set(value, own);
    }
    return own;
  };
  return replaced as <T>(value: T) => T;
}

/** @param pairs the newest names and the release's own, each a path's names or some of them */
export function renamedGraphs(newest: FamilyGraphs, pairs: readonly (readonly [string, string])[]): FamilyGraphs {
  const renamings = pairs.map(([now, before]) => ({ from: now.split("."), to: before.split(".") }));
  const paths = new Map<string, string>();
  const renamed = (path: string): string => {
    // An operand names a parameter by its path behind a sign.
    const [sign, plain] = path.startsWith("@") ? ["@", path.slice(1)] : ["", path];
    return sign + renamings.reduce(renamedNames, plain.split(".")).join(".");
  };
  const pathOf = (path: string): string => {
    if (!path.includes(".")) return path;
    let own = paths.get(path);
    if (own === undefined) {
      own = renamed(path);
      paths.set(path, own);
    }
    return own;
  };
  return { ...newest, graphs: replacing(pathOf)(newest.graphs) };
}
