/** What runs of one family have alike, made once for them and kept as long as the family is: the last few of it. */

/** Answers that are kept, the one that was asked for longest ago let go of first. */
const MOST_KEPT = 6;

export class Kept {
  private readonly answers = new Map<string, object>();
  private readonly numbers = new WeakMap<object, number>();
  private next = 0;

  /** A number that stands for an object: parts of graphs are compared by what they are, not by what they say. */
  numberOf(value: object): number {
    const known = this.numbers.get(value);
    if (known !== undefined) return known;
    this.numbers.set(value, this.next);
    return this.next++;
  }

  /**
   * The answer to a question; `make` gives it where it is not kept.
   *
   * @param question all that the answer depends on
   * @param kind class of the answer
   */
  of<T extends object>(question: string, kind: new (...given: never[]) => T, make: () => T): T {
    const known = this.answers.get(question);
    const answer = known instanceof kind ? known : make();
    this.answers.delete(question);
    this.answers.set(question, answer);
    const oldest = this.answers.size > MOST_KEPT ? this.answers.keys().next().value : undefined;
    if (oldest !== undefined) this.answers.delete(oldest);
    return answer;
  }
}
