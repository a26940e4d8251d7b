/** What a step of a script's own does behind its first gradients, in its order: further passes of the same batch, and copies kept meanwhile. */
export type StepAction =
  /** A forward and its backward, of the batch that the first pass was given. */
  | { readonly do: "pass" }
  /** Gradients are let go of. */
  | { readonly do: "zero" }
  /** Copies of what is trained, where all of these texts stand in a weight's name. */
  | {
      readonly do: "keep";
      readonly of: "weights" | "gradients";
      readonly into: string;
      readonly named: readonly string[];
    }
  /** Kept copies take the gradients' place. */
  | { readonly do: "restore"; readonly from: string }
  /** Kept copies go, or what they take the place of does, which is as large. */
  | { readonly do: "forget"; readonly from: string };
