/** Columns of numbers that grow: typed arrays have a fixed length, so more room is a wider one. */

/** The wider column, with what the column holds at its beginning. */
export function widened<T extends Float64Array | Int32Array | Uint16Array | Uint8Array>(column: T, wider: T): T {
  wider.set(column);
  return wider;
}
