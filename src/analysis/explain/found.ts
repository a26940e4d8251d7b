/** What is said of the tensor that found no room. */
import type { ComponentKind } from "../../core/report/estimate";
import type { Part } from "../../evidence/log/phase-rules";

export interface ExplainedTensor {
  readonly phase: Part;
  readonly kind: ComponentKind;
  readonly operator: string;
  readonly scope: string;
  readonly parameters: readonly string[];
  readonly bytes: number;
  /** Alive before it by the estimate. */
  readonly aliveBytes: number;
  /** Sentences about it, the naming one first. */
  readonly said: readonly string[];
}

export interface TensorFound {
  readonly tensor: ExplainedTensor | null;
  /** Why there is none; empty where there is one. */
  readonly missing: readonly string[];
}
