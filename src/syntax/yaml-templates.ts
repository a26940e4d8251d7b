/** Jinja templates in YAML (`{{ x }}`, `{% if %}`): put out of the parser's way in a text of the same length. */
import { say } from "../words/message";
import { blankSpan } from "./text";
import type { Span, SyntaxProblem } from "./tree";

const MOST_PROBLEMS = 50;

interface Masked {
  readonly text: string;
  readonly spans: readonly Span[];
  readonly problems: SyntaxProblem[];
}

/** Replaces templates outside of quotes and block texts by plain words, and lines of statements by blanks. */
export function maskTemplates(text: string): Masked {
  const spans: Span[] = [];
  const problems: SyntaxProblem[] = [];
  if (!text.includes("{{") && !text.includes("{%")) return { text, spans, problems };
  const masked: string[] = [];
  let blockIndent = -1;
  let offset = 0;
  for (const line of text.split("\n")) {
    const start = offset;
    offset += line.length + 1;
    const indent = line.search(/\S/);
    if (blockIndent >= 0 && (indent < 0 || indent > blockIndent)) {
      masked.push(line);
      continue;
    }
    blockIndent = startsBlock(line) ? indent : -1;
    if (/^\s*\{%.*%\}\s*$/.test(line)) {
      masked.push(blankSpan(line, 0, line.trimEnd().length));
      continue;
    }
    let kept = "";
    let last = 0;
    for (const { start: from, end: to } of templatesIn(line)) {
      kept += line.slice(last, from) + "T".repeat(to - from);
      last = to;
      const span = { start: start + from, end: start + to };
      spans.push(span);
      if (problems.length < MOST_PROBLEMS)
        problems.push({ code: "template", message: say("syntax.template"), ...span });
    }
    masked.push(kept + line.slice(last));
  }
  return { text: masked.join("\n"), spans, problems };
}

/** Whether a block text (`key: |`) begins on a line. */
function startsBlock(line: string): boolean {
  const code = (line.split(/\s#/, 1)[0] ?? "").trimEnd();
  const mark = /[|>][-+0-9]{0,9}$/.exec(code);
  if (mark === null) return false;
  const before = code.slice(0, mark.index);
  return before === "" || (/\s$/.test(before) && /[:-]$/.test(before.trimEnd()));
}

/** Templates of a line that stand outside of quotes and before any comment. */
function templatesIn(line: string): Span[] {
  const spans: Span[] = [];
  const quotes = { '"': 0, "'": 0 };
  let counted = 0;
  for (let from = line.indexOf("{{"); from >= 0; ) {
    const close = line.indexOf("}}", from + 2);
    if (close < 0) break;
    for (; counted < from; counted++) {
      const char = line.charAt(counted);
      if (char === "#") return spans;
      if (char === '"' || char === "'") quotes[char] += 1;
    }
    if (quotes['"'] % 2 === 0 && quotes["'"] % 2 === 0) spans.push({ start: from, end: close + 2 });
    from = line.indexOf("{{", close + 2);
  }
  return spans;
}
