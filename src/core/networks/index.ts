/** Families whose graph is written from their own config, not captured: their layers follow from lists in it. */
import { table } from "../../terms/table";
import type { FamilyGraphs } from "../graph/types";
import type { ModelConfig } from "../training/run";
import { EFFICIENTNET, efficientnetGraphs } from "./efficientnet";
import { MONAI, monaiGraphs } from "./monai";
import { NNUNET, nnunetGraphs } from "./nnunet";

export interface Written {
  /** Null where a config describes no network of the family's. */
  readonly graphs: (config: ModelConfig) => FamilyGraphs | null;
  /** What it describes otherwise is unlike every family that was captured: none stands for it. */
  readonly alone?: true;
}

/** By `model_type`. */
export const WRITTEN: Readonly<Record<string, Written>> = table({
  [EFFICIENTNET]: { graphs: efficientnetGraphs },
  [MONAI]: { graphs: monaiGraphs },
  [NNUNET]: { graphs: nnunetGraphs, alone: true },
});
