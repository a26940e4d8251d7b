/** nnU-Net plans: batch, patch and network of each configuration. Source: `nnunetv2/experiment_planning` at 0e49508. */
import { EFFECT, memory, other } from "../effects";
import type { KeySpec } from "../types";

/** The configuration a run uses is on the command line; where none is known, the first that exists stands for it. */
export const CONFIGURATIONS = ["3d_fullres", "2d", "3d_lowres", "3d_cascade_fullres"] as const;

export const NNUNET_KEYS: readonly KeySpec[] = [
  other("dataset_name", null, "string", "Dataset the plans were made for."),
  other("plans_name", null, "string", "Name of the plans."),
  memory("configurations", null, "map", "One network per configuration."),
  ...CONFIGURATIONS.flatMap((name) => [
    memory(
      `configurations.${name}.batch_size`,
      `nnunet.${name}.batch_size`,
      "integer",
      "Patches per step over all GPUs; each needs its share.",
      { min: 1 },
    ),
    memory(
      `configurations.${name}.patch_size`,
      `nnunet.${name}.patch_size`,
      "list",
      "Voxels of a patch: activations grow in proportion.",
    ),
    memory(`configurations.${name}.architecture`, null, "map", "Network of this configuration."),
    memory(`configurations.${name}.architecture.network_class_name`, `nnunet.${name}.network`, "string", EFFECT.model),
    memory(
      `configurations.${name}.architecture.arch_kwargs.features_per_stage`,
      null,
      "list",
      "Channels per stage: activations of the first stages dominate.",
    ),
    memory(`configurations.${name}.UNet_base_num_features`, null, "integer", "Channels of the first stage.", {
      min: 1,
    }),
    memory(`configurations.${name}.UNet_class_name`, `nnunet.${name}.network`, "string", EFFECT.model),
  ]),
];
