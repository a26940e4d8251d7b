/**
 * Text out of files, made fit to be shown. One function for each surface: a sentence, a code span and running text of
 * Markdown, HTML and SVG, a sentence of plain text, JSON that a terminal prints, a message of SARIF.
 */

/** Characters that move a cursor, start a terminal's commands, turn the reading direction or are not seen. */
const CONTROL = /[\p{Cc}\u2028\u2029\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/gu;

const SHORT: Readonly<Partial<Record<string, string>>> = Object.assign(Object.create(null), {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
});

function visible(char: string): string {
  return SHORT[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** One line without anything that a terminal or an editor acts on: `ESC` is shown as `\u001b`. */
export function printable(text: string): string {
  return text.replace(CONTROL, visible);
}

/** Text of several lines, each as `printable` makes it. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** Text inside an element or a quoted attribute of HTML or SVG. */
export function inMarkup(text: string): string {
  return printable(text).replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/**
 * A sentence with spans of code in Markdown: what stands between backticks stays code, in the rest is no link, picture, tag,
 * emphasis or end of a cell. Parentheses stay: without brackets before them they are nothing else.
 */
export function sentenceInMarkdown(text: string): string {
  const plain = (part: string): string => printable(part).replace(/[\\`*_[\]<>|~&]/g, "\\$&");
  const parts = text.split("`");
  // A backtick without another opens nothing.
  if (parts.length % 2 === 0) return plain(text);
  return parts.map((part, at) => (at % 2 === 1 ? `\`${inCode(part)}\`` : plain(part))).join("");
}

/** Marks around code where no Markdown is shown, by language. */
const QUOTES = { en: ["'", "'"], "zh-cn": ["“", "”"] } as const;

/** A sentence with spans of code in plain text: what stands between backticks stands in quotes. */
export function sentenceInText(text: string, locale: keyof typeof QUOTES): string {
  const [open, close] = QUOTES[locale];
  return text.replace(/`([^`]*)`/g, (_, code: string) => `${open}${code}${close}`);
}

/** What may stand between backticks: no backtick, which would end the span, and no line break, which would end more. */
export function inCode(text: string): string {
  return printable(text).replaceAll("`", "'");
}

/** Running text of Markdown: no link, picture, tag, emphasis, heading or end of a table's cell. */
export function inMarkdown(text: string): string {
  return printable(text).replace(/[\\`*_{}[\]()<>#|!~&]/g, "\\$&");
}

/** JSON whose strings a terminal cannot act on; C0 is escaped already. */
export function inJson(json: string): string {
  return json.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, visible);
}

/** A plain-text message of SARIF, in which brackets would be a link (SARIF 2.1.0, 3.11.6). */
export function inSarif(text: string): string {
  return printable(text).replace(/[\\[\]]/g, "\\$&");
}

/** Every string of plain data made printable; URIs are percent-encoded and are looked up, so they stay. */
export function allPrintable<T>(value: T): T {
  if (typeof value === "string") return printable(value) as T;
  if (Array.isArray(value)) return value.map(allPrintable) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, STAYS.has(key) ? item : allPrintable(item)]);
  return Object.fromEntries(entries) as T;
}

/** Fields that are compared or written into files, not shown. */
const STAYS: ReadonlySet<string> = new Set(["uri", "documents", "edits", "newText"]);
