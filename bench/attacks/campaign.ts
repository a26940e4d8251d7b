/** What a campaign of attacks comes to. */
export interface Outcome {
  /** One sentence's beginning: how many of what were tried. */
  readonly tried: string;
  readonly faults: readonly string[];
  /** Milliseconds of processor time of the longest answer, or of the longest time that the server did not listen. */
  readonly longest: number;
  readonly longestOf: "answer" | "gap";
  /** Processor time of the server's own in a gap at most, in milliseconds, where the system tells. */
  readonly own?: number;
  /** Whose it was, where that is known. */
  readonly longestWhat?: string;
}

/**
 * @param every of the inputs, one in so many is tried
 * @param from the first that is: shares with other beginnings try other inputs, and all of them are the whole
 */
export type Campaign = (every: number, from: number) => Promise<Outcome>;

/** Counts inputs: says of each whether it is the turn of one that is tried. */
export function turns(every: number, from: number): () => boolean {
  let input = 0;
  return () => input++ % every === from;
}

/** Faults and the longest of many answers. */
export class Tally {
  readonly faults: string[] = [];
  tried = 0;
  longest = 0;
  private longestWhat = "";

  async of(what: string, answer: () => Promise<readonly string[]>): Promise<void> {
    const started = process.cpuUsage();
    const faults = await answer().catch((error: unknown) => [`threw ${String(error)}`]);
    const { user, system } = process.cpuUsage(started);
    const took = (user + system) / 1000;
    if (took > this.longest) this.longestWhat = what;
    this.longest = Math.max(this.longest, took);
    this.tried++;
    for (const fault of faults) this.faults.push(`${what}: ${fault}`);
  }

  outcome(tried: string): Outcome {
    const { faults, longest, longestWhat } = this;
    return { tried, faults, longest, longestOf: "answer", longestWhat };
  }
}
