/** Offsets of a text as zero-based lines and UTF-16 characters, and back. */
import type { Range } from "../../core/report/schema";
import type { Placing } from "../../syntax/moved";
import type { Span } from "../../syntax/tree";

export class LineIndex {
  private readonly starts: readonly number[];

  constructor(private readonly text: string) {
    const starts = [0];
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code === 13 && text.charCodeAt(index + 1) === 10) continue;
      if (code === 10 || code === 13) starts.push(index + 1);
    }
    this.starts = starts;
  }

  position(offset: number): Range["start"] {
    const at = Math.max(0, Math.min(offset, this.text.length));
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low, character: at - (this.starts[low] ?? 0) };
  }

  /** Offset of a position; past the end of a line it is the line's end. */
  offset(line: number, character: number): number {
    if (line >= this.starts.length) return this.text.length;
    const start = this.starts[Math.max(0, line)] ?? 0;
    const end = this.starts[line + 1] ?? this.text.length;
    return Math.min(start + Math.max(0, character), end);
  }

  range(span: Span): Range {
    return { start: this.position(span.start), end: this.position(span.end) };
  }
}

/** Lines of a text whose places stand, in the same order, in another one. */
export class LinesElsewhere extends LineIndex {
  /** @param length of the text. UTF-16 units. */
  constructor(
    private readonly lines: LineIndex,
    private readonly place: Placing,
    private readonly length: number,
  ) {
    super("");
  }

  override position(offset: number): Range["start"] {
    return this.lines.position(this.place({ start: offset, end: offset }).start);
  }

  /** The first offset of the text that stands at a position of the other one, or behind it. */
  override offset(line: number, character: number): number {
    const sought = this.lines.offset(line, character);
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.place({ start: middle, end: middle }).start < sought) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  override range(span: Span): Range {
    return this.lines.range(this.place(span));
  }
}
