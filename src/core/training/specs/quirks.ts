/** What releases other than the newest do differently; each is resolved from the libraries' versions. */
export interface Quirks {
  /** Gradients stay between steps, set to zero: `zero_grad` before torch 2.0 (`set_to_none=False`). */
  readonly keepsGradients?: true;
  /** Softmax keeps its input for backward beside its output: torch before 1.11 (pytorch/pytorch pull request 65242). */
  readonly keepsSoftmaxInputs?: true;
  /** A rank's model has its own share of the experts alone: its router, which stands for the whole one, may choose more than those. */
  readonly sharesExperts?: true;
}

/** Experts that routers give tokens to: all alike, or the same for every token. */
export type Routing = "even" | "one";

export const NO_QUIRKS: Quirks = {};
