/** Sizes as messages print them: a number with few decimals and a unit, so each is an interval. */

/** Bytes as printed, and how far the true figure may lie from it (half a step of the last digit). */
export interface PrintedSize {
  readonly bytes: number;
  readonly within: number;
}

const POWERS = ["", "K", "M", "G", "T", "P"];

/** `2.32 GiB`, `15.8G`, `6291456 bytes`, `512`; undefined for anything else. All prefixes are powers of 1024, as the printers mean them. */
export function printedSize(number: string, unit = "bytes"): PrintedSize | undefined {
  const plain = number.replaceAll(",", "");
  const value = Number(plain);
  if (plain === "" || !Number.isFinite(value) || value < 0) return undefined;
  const power = /^b/i.test(unit) ? 0 : POWERS.indexOf(unit.charAt(0).toUpperCase());
  if (power < 0 || !/^(?:bytes?|B|[KMGTP](?:i?B)?)[.,;:)\]]*$/i.test(unit)) return undefined;
  const scale = 1024 ** power;
  const point = plain.indexOf(".");
  const decimals = point < 0 ? 0 : plain.length - point - 1;
  const within = power === 0 ? 0 : (scale * 10 ** -decimals) / 2;
  return { bytes: value * scale, within };
}

const JOINED = /^([\d.,]+)([A-Za-z]+)$/;

/** The size at the end of a text (`reversed`), or at its beginning. */
function sizeOfWords(words: readonly string[], reversed: boolean): PrintedSize | undefined {
  const [first = "", second = ""] = reversed ? words.slice(-2) : words;
  const near = reversed ? (words.at(-1) ?? "") : first;
  const joined = JOINED.exec(near.split(/[;:()]/, 1)[0]?.replace(/[.,]$/, "") ?? "");
  if (joined !== null) return printedSize(joined[1] ?? "", joined[2]);
  return printedSize(first.replace(/^\(/, ""), second);
}

/** Words around a place that are looked at: a number and its unit. */
const NEAR = 40;

/** The size that stands right after a phrase; undefined when the phrase or the size is not there. */
export function sizeAfter(text: string, phrase: string): PrintedSize | undefined {
  const at = text.indexOf(phrase);
  if (at < 0) return undefined;
  const from = at + phrase.length;
  return sizeOfWords(
    text
      .slice(from, from + NEAR)
      .trimStart()
      .split(/\s+/),
    false,
  );
}

/** The size that stands right before a phrase. */
export function sizeBefore(text: string, phrase: string): PrintedSize | undefined {
  const at = text.indexOf(phrase);
  if (at < 0) return undefined;
  return sizeOfWords(
    text
      .slice(Math.max(0, at - NEAR), at)
      .trimEnd()
      .split(/\s+/),
    true,
  );
}
