/** Frames of Python's tracebacks, in every way they are printed: plainly, by IPython, by rich. */

export interface Frame {
  /** With forward slashes. */
  readonly file: string;
  /** From 1; 0 where it is not said. */
  readonly line: number;
  /** Name of the function, without its class. */
  readonly name: string;
  /** Source of the line; empty where it is not shown. */
  readonly code: string;
}

/** Where a traceback begins. */
export function beginsTraceback(text: string): boolean {
  return text.includes("Traceback (most recent call last)");
}

function frame(file: string, line: number, name: string): Frame {
  const [bare = ""] = name.trim().split("(", 1);
  return { file: file.replaceAll("\\", "/"), line, name: bare.slice(bare.lastIndexOf(".") + 1), code: "" };
}

/** `path:line` apart; undefined where there is no number at the end. */
function placed(place: string): { file: string; line: number } | undefined {
  const colon = place.lastIndexOf(":");
  const digits = place.slice(colon + 1);
  return colon > 0 && /^\d+$/.test(digits) ? { file: place.slice(0, colon), line: Number(digits) } : undefined;
}

/** A frame's head on one line; undefined for other lines. */
export function frameAt(text: string): Frame | undefined {
  const bare = text.trim();
  if (bare.startsWith('File "')) {
    const close = bare.indexOf('", line ', 6);
    if (close < 0) return undefined;
    const rest = bare.slice(close + 8);
    const comma = rest.indexOf(", in ");
    return frame(bare.slice(6, close), Number.parseInt(rest, 10) || 0, comma < 0 ? "" : rest.slice(comma + 5));
  }
  // IPython 8: `File ~/x/trainer.py:2113, in Trainer.evaluate(self)`, `Cell In[21], line 2`.
  if (bare.startsWith("File ")) {
    const comma = bare.indexOf(", in ");
    const place = placed(comma < 0 ? bare.slice(5) : bare.slice(5, comma));
    return place && frame(place.file, place.line, comma < 0 ? "" : bare.slice(comma + 5));
  }
  // IPython before: `~/x/trainer.py in predict(self, test_dataset)`; rich: `/x/trainer.py:3782 in training_step`.
  const at = bare.indexOf(" in ");
  const before = at < 0 ? (bare.endsWith(" in") ? bare.slice(0, -3) : "") : bare.slice(0, at);
  if (before === "" || before.includes(" ") || !/\.py(?::\d+)?$|^<[\w -]+>(?::\d+)?$/.test(before.trim()))
    return undefined;
  const place = placed(before);
  const name = at < 0 ? "" : bare.slice(at + 4);
  if (name.includes(" ") && !name.includes("(")) return undefined;
  return frame(place?.file ?? before, place?.line ?? 0, name);
}

/** What marks the line that was running: rich's `❱ 629 │ code`, IPython's `---> 30 code`. */
const MARK = /^(?:❱|-{1,8}>)/;

/** The source that a line of a traceback shows of the frame before it; undefined where it shows none of it. */
function codeAt(text: string, styled: boolean): string | undefined {
  const bare = text.trim();
  const mark = MARK.exec(bare);
  if (mark !== null) {
    const [, ...rest] = bare
      .slice(mark[0].length)
      .replace(/[│|]/g, " ")
      .trim()
      .split(/(?<=^\d+)\s/);
    return rest.join(" ").trim();
  }
  if (styled || bare === "" || /^[~^]+$/.test(bare.replace(/\s/g, ""))) return undefined;
  return bare;
}

/** Frames of a traceback's lines, outermost first. */
export function framesOf(lines: readonly string[]): readonly Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < lines.length; at++) {
    const text = lines[at] ?? "";
    const found = frameAt(text);
    if (found !== undefined) {
      // rich breaks a long line after the path.
      const next = (lines[at + 1] ?? "").trim();
      const isBroken = found.name === "" && /^[\w<>.]+$/.test(next);
      frames.push(isBroken ? { ...found, name: next } : found);
      if (isBroken) at++;
      continue;
    }
    const last = frames.at(-1);
    if (last === undefined || last.code !== "") continue;
    const isPlain = isPlainHead(lines, at);
    const code = codeAt(text, !isPlain);
    if (code !== undefined) frames[frames.length - 1] = { ...last, code };
  }
  return frames;
}

/** Whether the line before is a plain traceback's head: its source follows at once. */
function isPlainHead(lines: readonly string[], at: number): boolean {
  return (lines[at - 1] ?? "").trim().startsWith('File "');
}
