/** Text of a file's bytes: UTF-8 with or without a byte-order mark, or UTF-16 with one. */
export function decode(bytes: Uint8Array): string {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}

/**
 * The end of a text that is made of some characters alone. An expression like `/\w*$/` does the same in time that grows
 * with the square of a long word.
 *
 * @param part matches one character
 */
export function ending(text: string, part: RegExp): string {
  let start = text.length;
  while (start > 0 && part.test(text.charAt(start - 1))) start--;
  return text.slice(start);
}

/** A text without such an end. */
export function withoutEnding(text: string, part: RegExp): string {
  return text.slice(0, text.length - ending(text, part).length);
}
