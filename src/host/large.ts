/** Large files that a person names one by one: read whole, regular files only, up to a size. */
import { readFile, stat } from "node:fs/promises";

/** What a buffer holds and a person waits for. Bytes. */
const LARGEST = 2 * 2 ** 30 - 1;

/** Bytes of a file; undefined when it is none, is too large, or cannot be read. */
export async function readLarge(path: string): Promise<Uint8Array | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() && found.size <= LARGEST ? await readFile(path) : undefined;
  } catch {
    return undefined;
  }
}
