/** What every view gets besides its data: words, and ways to say what a person did. */
import type { PageToHost } from "../../src/server/panelProtocol";
import type { Translate } from "../messages";
import type { Action, State } from "../state";

export interface View {
  readonly state: State;
  readonly t: Translate;
  /** Tells the host. */
  readonly send: (message: PageToHost) => void;
  /** Changes the page's own state. */
  readonly act: (action: Action) => void;
}

/** Name of a component kind; a kind newer than this page reads as it is. */
export const kindName = (t: Translate, kind: string): string => t.named(`kind.${kind}`, kind);
export const phaseName = (t: Translate, phase: string): string => t.named(`phase.${phase}`, phase);
