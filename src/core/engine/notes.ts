/**
 * What happens in a micro-batch beside its allocations, between the events of the ledger: gradients that are complete,
 * modules that begin and end, views of parameters that backward needs. Strategies that do their work in such hooks are told of it, in a micro-batch that is played
 * again at the same places (`folding/region.ts`).
 */
import type { Tensor } from "./tensor";
import type { Torch } from "./torch";

/** Hooks of a module: before and after its forward, before its backward, and once the gradients of its inputs are there; a parameter of it that another's code reads. */
export type Moment = "forward" | "forwarded" | "backward" | "backwarded" | "read";

export type Note =
  /** `register_post_accumulate_grad_hook`: the gradient of this parameter is complete for the pass. */
  | { readonly kind: "gradient"; readonly leaf: Tensor }
  /** A hook of the module at `path`, of what is read the parameter's path; `tracked`: its inputs require grad. */
  | { readonly kind: "module"; readonly path: string; readonly moment: Moment; readonly tracked: boolean }
  /** A node saves a view of this parameter, or lets go of the one it saved last. */
  | { readonly kind: "view"; readonly leaf: Tensor; readonly saved: boolean };

/** A note among the events: it stands before event `event`, and belongs to the layer `layer` (see `folding/label.ts`). */
export interface PlacedNote {
  event: number;
  readonly layer: number;
  readonly note: Note;
}

/** Who is told. */
export interface Watcher {
  gradient(torch: Torch, leaf: Tensor): void;
  /** Absent: nobody asks for modules. */
  module?(torch: Torch, path: string, moment: Moment, tracked: boolean): void;
  /** Absent: nobody asks for views. */
  view?(torch: Torch, leaf: Tensor, saved: boolean): void;
}

/** Hands a note to a watcher. */
export function tell(torch: Torch, watcher: Watcher, note: Note): void {
  if (note.kind === "gradient") watcher.gradient(torch, note.leaf);
  else if (note.kind === "view") watcher.view?.(torch, note.leaf, note.saved);
  else watcher.module?.(torch, note.path, note.moment, note.tracked);
}
