/** What a cluster's job says in YAML: the script that it runs, what that script knows, and the GPUs that it asks for. */
import type { Entry, LocatedNode, ScalarNode } from "../tree";

export interface Job {
  /** The texts that a shell runs, or the words of one command. */
  readonly run: { readonly script: readonly ScalarNode[] } | { readonly words: readonly ScalarNode[] };
  /** Variables that are set before the script runs. */
  readonly environment: readonly Entry[];
  /** What the job asks of the cluster, by the names of `src/formats/jobs/keys.ts`; keys and values stand where they are written. */
  readonly asks: readonly Entry[];
}

/** The entry of a map that has the key; undefined in anything else. */
export function entryOf(node: LocatedNode | undefined, key: string): Entry | undefined {
  return node?.kind === "map" ? node.entries.findLast((entry) => entry.key === key) : undefined;
}

export function childOf(node: LocatedNode | undefined, ...path: readonly string[]): LocatedNode | undefined {
  return path.reduce<LocatedNode | undefined>((at, key) => entryOf(at, key)?.value, node);
}

export function textOf(node: LocatedNode | undefined): ScalarNode | undefined {
  return node?.kind === "scalar" && typeof node.value === "string" && node.value.trim() !== "" ? node : undefined;
}

/** A whole number of at least one, however it is written. */
export function countOf(node: LocatedNode | undefined): number | undefined {
  if (node?.kind !== "scalar") return undefined;
  const count = Number(node.value);
  return Number.isSafeInteger(count) && count >= 1 && count <= 1_000_000 ? count : undefined;
}

/** A scalar that stands where another node is written. */
export function standing(at: LocatedNode, value: string | number): ScalarNode {
  return { kind: "scalar", value, raw: String(value), start: at.start, end: at.end };
}

export function isScalar(node: LocatedNode): node is ScalarNode {
  return node.kind === "scalar";
}

/** Scalars of a map as variables. */
export function variablesOf(node: LocatedNode | undefined): Entry[] {
  return node?.kind === "map"
    ? node.entries.filter(({ value }) => value.kind === "scalar" && value.value !== null)
    : [];
}

/** A variable that the cluster sets: it is written nowhere but at what decides it. */
export function variable(key: string, at: LocatedNode, value: number): Entry {
  return { key, keySpan: { start: at.start, end: at.end }, value: standing(at, value) };
}
