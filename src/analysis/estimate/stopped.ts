/** Nobody wants the answer any more: the work on it ends. */
export class Stopped extends Error {
  constructor() {
    super("stopped");
  }
}
