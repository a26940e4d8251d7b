/** How the event stream tells layers apart: by a repeat's number and the ordinal of the layer within it. */

/** What belongs to no layer. */
export const NO_LAYER = -1;
/** Repeats that one of several passes can count: the next one's numbers follow. */
export const REPEATS_EACH = 256;
/** Layers that one repeat can count. */
const REPEAT = 65536;

export function layerLabel(repeat: number, ordinal: number): number {
  return repeat * REPEAT + ordinal;
}

/** The repeat's number in a layer's label. */
export function repeatOf(label: number): number {
  return Math.floor(label / REPEAT);
}

/** The layer's ordinal within its repeat. */
export function ordinalOf(label: number): number {
  return label % REPEAT;
}
