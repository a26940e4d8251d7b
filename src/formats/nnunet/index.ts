/** nnU-Net: its plans, and `nnUNetv2_train` in scripts, which do not say where the plans are. */

import { dataView, shellViews } from "../carriers";
import { has, NOT_RECOGNISED, trains } from "../recognition";
import { count, schemaFormat } from "../schema";
import type { Format } from "../types";
import { CONFIGURATIONS, NNUNET_KEYS } from "./keys";

const plans = schemaFormat({
  id: "nnunet",
  // A plan is read whole, as the library reads it (src/analysis/models/nnunet.ts).
  readsBeside: () => true,
  keys: NNUNET_KEYS,
  views: (document) => dataView(document, ["json"]),
  recognise({ map }) {
    const own = count(map, [
      "plans_name",
      "configurations",
      "dataset_name",
      "experiment_planner_used",
      "label_manager",
      "original_median_spacing_after_transp",
      "image_reader_writer",
      "foreground_intensity_properties_per_channel",
    ]);
    if (count(map, ["configurations"]) > 0 && own >= 2) return { confidence: 0.98, because: has("configurations") };
    return count(map, ["plans_per_stage"]) > 0 ? { confidence: 0.85, because: has("plans_per_stage") } : NOT_RECOGNISED;
  },
  derive(d) {
    const used = CONFIGURATIONS.find((name) => d.has(`nnunet.${name}.batch_size`));
    if (used === undefined) return;
    const batch = d.find(`nnunet.${used}.batch_size`);
    const network = d.find(`nnunet.${used}.network`);
    d.make(batch, "global_batch_size", batch?.value);
    d.make(network, "model", network?.value);
  },
});

/** A change of the batch is one of the configuration that the run uses, as each states its own. */
export const nnunet: Format = {
  ...plans,
  edit(document, changes) {
    const stated = plans.read(document).settings.find(({ name }) => name === "global_batch_size");
    const configuration = CONFIGURATIONS.find((name) => stated?.key.startsWith(`configurations.${name}.`));
    return plans.edit(
      document,
      changes.map((change) =>
        change.name === "global_batch_size" && configuration !== undefined
          ? { ...change, name: `nnunet.${configuration}.batch_size` }
          : change,
      ),
    );
  },
};

export const nnunetShell = schemaFormat({
  id: "nnunet",
  carrier: "shell",
  keys: NNUNET_KEYS,
  views: shellViews,
  recognise: (view) =>
    /^nnUNet(?:v2)?_(?:train|plan)/.test(view.words[0] ?? "") || view.words.some((word) => /nnUNetv2_train/.test(word))
      ? { confidence: 0.95, because: trains("nnU-Net") }
      : NOT_RECOGNISED,
});
