/** A card of this machine, as its own tool shows it. */

/** Memory of one card now, in bytes. */
export interface LocalCard {
  readonly name: string;
  readonly totalBytes: number;
  readonly usedBytes: number;
}
