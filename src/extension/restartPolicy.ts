/** How often a crashed language server is started again: four times within three minutes, then not any more. */

const MOST_RESTARTS = 4;
const WINDOW_MS = 3 * 60 * 1000;

export class RestartPolicy {
  private readonly crashes: number[] = [];

  /**
   * Notes a crash.
   *
   * @param now milliseconds of any steady clock
   * @returns whether the server should be started again
   */
  crashed(now: number): boolean {
    this.crashes.push(now);
    if (this.crashes.length <= MOST_RESTARTS) return true;
    const first = this.crashes.shift() ?? now;
    return now - first > WINDOW_MS;
  }
}

/**
 * Runs one task at a time and remembers at most one more: any number of requests while one runs leads to a single
 * further run.
 */
export class CoalescedTask {
  private running: Promise<void> | undefined;
  private queued: Promise<void> | undefined;

  constructor(private readonly task: () => Promise<void>) {}

  /** Resolves when a run that began after this call has ended; rejects when that run failed. */
  request(): Promise<void> {
    if (this.running === undefined) {
      this.running = this.task().finally(() => {
        this.running = undefined;
      });
      return this.running;
    }
    this.queued ??= this.running
      .catch(() => {})
      .then(() => {
        this.queued = undefined;
        return this.request();
      });
    return this.queued;
  }
}
