/**
 * Steps that free all that they allocate leave a pool as they found it, unless it changes on the way: free neighbours are
 * always joined, so that the blocks in use say where the free ones lie. One that was played since the pool last changed would
 * find what it found then, and is left out.
 */

/** A stretch of events that frees all that it allocates, in which the cache is not emptied. */
export interface ClosedStep {
  readonly from: number;
  /** The event after its last. */
  readonly to: number;
  /** Steps of one length do the same. */
  readonly length: number;
}

export class Repeated {
  /** Lengths of the steps that were played since the pool last changed. */
  private readonly played = new Set<number>();
  private next = 0;
  /** Length of the step that runs, if the pool did not change in it. */
  private running: number | null = null;
  /** Where the running step ends, or the next one begins. */
  private border: number;

  constructor(private readonly steps: readonly ClosedStep[] = []) {
    this.border = steps[0]?.from ?? Number.POSITIVE_INFINITY;
  }

  /** The event to go on with, at event `k`. */
  skipped(k: number): number {
    if (k !== this.border) return k;
    const { steps, played } = this;
    if (this.running !== null) played.add(this.running);
    let at = k;
    let step = steps[this.next];
    for (; step?.from === at && played.has(step.length); step = steps[++this.next]) at = step.to;
    const begins = step?.from === at;
    this.running = begins ? step!.length : null;
    this.border = (begins ? step!.to : step?.from) ?? Number.POSITIVE_INFINITY;
    if (begins) this.next++;
    return at;
  }

  /** Segments came or went. */
  changed(): void {
    this.played.clear();
    this.running = null;
  }
}
