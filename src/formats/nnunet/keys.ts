/** nnU-Net plans: batch, patch and network of each configuration. Source: `nnunetv2/experiment_planning` at 0e49508. */
import { memory, other } from "../effects";
import type { KeySpec } from "../types";

/** The configuration a run uses is on the command line; where none is known, the first that exists stands for it. */
export const CONFIGURATIONS = ["3d_fullres", "2d", "3d_lowres", "3d_cascade_fullres"] as const;

export const NNUNET_KEYS: readonly KeySpec[] = [
  other("dataset_name", null, "string"),
  other("plans_name", null, "string"),
  memory("configurations", null, "map"),
  ...CONFIGURATIONS.flatMap((name) => [
    memory(`configurations.${name}.batch_size`, `nnunet.${name}.batch_size`, "integer", "3d_fullres.batch_size", {
      min: 1,
    }),
    memory(`configurations.${name}.patch_size`, `nnunet.${name}.patch_size`, "list", "patch_size"),
    memory(`configurations.${name}.architecture`, null, "map", "architecture"),
    memory(`configurations.${name}.architecture.network_class_name`, `nnunet.${name}.network`, "string", "model"),
    memory(`configurations.${name}.architecture.arch_kwargs.features_per_stage`, null, "list", "features_per_stage"),
    memory(`configurations.${name}.UNet_base_num_features`, null, "integer", "UNet_base_num_features", { min: 1 }),
    memory(`configurations.${name}.UNet_class_name`, `nnunet.${name}.network`, "string", "model"),
  ]),
];
