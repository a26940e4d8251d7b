/** Waiting until a document was left alone for a while, so that half-typed states are not answered. */

export class QuietTimes {
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly waiting = new Map<string, (() => void)[]>();

  /** @param delayMs quiet time in milliseconds */
  constructor(private readonly delayMs: number) {}

  /** Starts the quiet time of a document again; `then` runs when it is over, unless it is started again first. */
  schedule(uri: string, then: () => void): void {
    clearTimeout(this.timers.get(uri));
    this.timers.set(
      uri,
      setTimeout(() => {
        this.stop(uri);
        then();
      }, this.delayMs),
    );
  }

  /** Resolves when the document is quiet; at once when nothing is scheduled for it. */
  quiet(uri: string): Promise<void> {
    if (!this.timers.has(uri)) return Promise.resolve();
    return new Promise((resolve) => this.waiting.set(uri, [...(this.waiting.get(uri) ?? []), resolve]));
  }

  /** Twice the quiet time. */
  pause(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, 2 * this.delayMs));
  }

  /** Forgets what is scheduled for a document and lets go who waits for it. */
  stop(uri: string): void {
    clearTimeout(this.timers.get(uri));
    this.timers.delete(uri);
    const waiting = this.waiting.get(uri) ?? [];
    this.waiting.delete(uri);
    for (const resolve of waiting) resolve();
  }

  stopAll(): void {
    for (const uri of [...this.timers.keys()]) this.stop(uri);
  }
}
