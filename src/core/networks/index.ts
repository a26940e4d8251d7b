/** Families whose graph is written from their own config, not captured: their layers follow from lists in it. */
import { table } from "../../terms/table";
import type { FamilyGraphs } from "../graph/types";
import type { ModelConfig } from "../training/run";
import { EFFICIENTNET, efficientnetGraphs } from "./efficientnet";
import { MONAI, monaiGraphs } from "./monai";
import { NNUNET, nnunetGraphs } from "./nnunet";

/** By `model_type`; null where a config describes no network of the family's. */
export const WRITTEN: Readonly<Record<string, ((config: ModelConfig) => FamilyGraphs | null) | undefined>> = table({
  [EFFICIENTNET]: efficientnetGraphs,
  [MONAI]: monaiGraphs,
  [NNUNET]: nnunetGraphs,
});
