/** Trees whose places are translated from one text to another. */
import type { Span } from "./tree";

export type Placing = (at: Span) => Span;

/** What was read of a text, with every place in it translated: whatever has a start and an end. */
export function moved<T>(value: T, place: Placing): T;
export function moved(value: unknown, place: Placing): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => moved(item, place));
  // Names that imports bind have no places.
  if (value instanceof Map || value instanceof Set) return value;
  if (typeof value !== "object" || value === null) return value;
  const parts = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, moved(part, place)]));
  const { start, end } = value as Partial<Span>;
  return typeof start === "number" && typeof end === "number" ? { ...parts, ...place({ start, end }) } : parts;
}
