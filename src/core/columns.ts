/** Columns of numbers that grow: typed arrays have a fixed length, so more room is a wider one. */

/** The wider column, with what the column holds at its beginning. */
export function widened<T extends Float64Array | Int32Array | Uint16Array | Uint8Array>(column: T, wider: T): T {
  wider.set(column);
  return wider;
}

/** Numbers that grow at the end. */
export class Numbers {
  private room: Int32Array;
  length = 0;

  /** @param expected how many there will be, as far as it is known */
  constructor(expected: number) {
    this.room = new Int32Array(Math.max(1, expected));
  }

  push(value: number): void {
    if (this.length === this.room.length) this.room = widened(this.room, new Int32Array(2 * this.length));
    this.room[this.length++] = value;
  }

  at(index: number): number {
    return this.room[index]!;
  }

  set(index: number, value: number): void {
    this.room[index] = value;
  }

  values(): Int32Array {
    return this.length === this.room.length ? this.room : this.room.slice(0, this.length);
  }
}
