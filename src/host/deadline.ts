/**
 * Waiting for the file system, with an end. A system call that never returns (a share whose host is gone) keeps one of
 * Node's few I/O threads; once some are lost nothing more is asked, so that the rest still serve.
 */

/** A disk answers in milliseconds, a slow share within a second or two. Milliseconds. */
const LONGEST_WAIT = 5000;

/** Calls that may hang before no more are made: half of libuv's four threads. */
const MOST_HANGING = 2;

/** Calls of this process that are under way, and those of them that are overdue: its threads are its own, too. */
const calls = { pending: 0, hanging: 0 };

/** Whether the process cannot end by itself: a call that never returns keeps the event loop alive. */
export function isStuck(): boolean {
  return calls.hanging > 0;
}

/** Makes `process.exit` end the process whatever hangs: at exit libuv waits for its threads to finish. */
export function alwaysExit(): void {
  process.once("exit", () => {
    if (calls.pending > 0) process.kill(process.pid, "SIGKILL");
  });
}

export class Deadline {
  constructor(private readonly milliseconds = LONGEST_WAIT) {}

  /** What `ask` finds; undefined when it fails, when it takes too long, and when too many hang already. */
  async within<T>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
    if (calls.hanging >= MOST_HANGING) return undefined;
    let isLate = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        isLate = true;
        calls.hanging += 1;
        resolve(undefined);
      }, this.milliseconds);
      timer.unref?.();
    });
    calls.pending += 1;
    const answer = ask()
      .catch(() => undefined)
      .finally(() => {
        clearTimeout(timer);
        calls.pending -= 1;
        if (isLate) calls.hanging -= 1;
      });
    return Promise.race([answer, late]);
  }
}
