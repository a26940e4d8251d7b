/** What of a module never runs. */
import type { Span } from "../tree";

export class Dead {
  private readonly spans: Span[] = [];
  private sorted: { readonly of: number; readonly spans: readonly Span[] } | undefined;

  add(span: Span): void {
    this.spans.push(span);
  }

  has({ from, to }: { readonly from: number; readonly to: number }): boolean {
    const spans = this.outermost();
    let [low, high] = [0, spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((spans[middle] as Span).start <= from) low = middle + 1;
      else high = middle;
    }
    const before = spans[low - 1];
    return before !== undefined && to <= before.end;
  }

  /** In the order of the text, without what stands in another that does not run. */
  private outermost(): readonly Span[] {
    if (this.sorted?.of !== this.spans.length) {
      const spans: Span[] = [];
      for (const one of this.spans.toSorted((a, b) => a.start - b.start || b.end - a.end))
        if (one.end > (spans.at(-1)?.end ?? -1)) spans.push(one);
      this.sorted = { of: this.spans.length, spans };
    }
    return this.sorted.spans;
  }
}
