/** Short notation for the tables of keys. */
import type { KeySpec } from "./types";

type Extra = Partial<Omit<KeySpec, "key" | "name" | "type" | "effect" | "memory">>;

/** A key that changes GPU memory. */
export function memoryKey(
  key: string,
  name: string | null,
  type: KeySpec["type"],
  effect: string,
  extra: Extra = {},
): KeySpec {
  return { key, name, type, effect, memory: true, ...extra };
}

/** A key that costs no GPU memory but decides something about the run. */
export function plainKey(
  key: string,
  name: string | null,
  type: KeySpec["type"],
  effect: string,
  extra: Extra = {},
): KeySpec {
  return { key, name, type, effect, memory: false, ...extra };
}
