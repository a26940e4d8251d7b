/** What readers of Python do where something stands that they do not read: they stop, and whoever began has nothing. */

/** Something stands there that is not read. */
export class Unread extends Error {}

/** What a reader makes; undefined: it stopped. */
export function unlessUnread<T>(how: () => T): T | undefined {
  try {
    return how();
  } catch (error) {
    if (error instanceof Unread) return undefined;
    throw error;
  }
}
