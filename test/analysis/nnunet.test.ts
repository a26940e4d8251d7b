/** nnU-Net's plans: the network, the batch of one GPU, and what `dataset.json` adds. */
import { strict as assert } from "node:assert";
import { editsFor } from "../../src/analysis/levers/edits";
import { resolveRun } from "../../src/analysis/resolve";
import { estimate } from "../../src/core/estimate";
import { ARCHITECTURE } from "./nnunet-plans";
import { gatherFiles, resolveFiles } from "./resolve-run";

const FULL = {
  batch_size: 3,
  patch_size: [16, 32, 32],
  normalization_schemes: ["ZScoreNormalization", "ZScoreNormalization"],
  batch_dice: false,
  architecture: ARCHITECTURE,
};

function plans(configurations: object): string {
  return JSON.stringify({ dataset_name: "Dataset007_Knee", plans_name: "nnUNetPlans", configurations }, null, 2);
}

const dataset = (labels: object): string =>
  JSON.stringify({ channel_names: { 0: "T1", 1: "T2", 2: "FLAIR" }, labels, numTraining: 3, file_ending: ".nii.gz" });

describe("analysis: nnU-Net's plans", () => {
  it("are found by the command that trains by them, with the configuration that it names", async () => {
    const folder = "nnUNet_preprocessed/Dataset007_Knee";
    const low = { ...FULL, batch_size: 5, patch_size: [8, 16, 16] };
    const files = {
      "train.sh": "#!/bin/bash\nnnUNetv2_train 7 3d_lowres 0 --npz\n",
      "named.sh": "nnUNetv2_train Dataset007_Knee 3d_fullres all -p Own\n",
      "lost.sh": "nnUNetv2_train 8 3d_fullres 0\n",
      [`${folder}/nnUNetPlans.json`]: plans({
        "3d_fullres": FULL,
        "3d_lowres": { ...low, inherits_from: "3d_fullres" },
      }),
      [`${folder}/Own.json`]: plans({ "3d_fullres": { ...FULL, batch_size: 9 } }),
      [`${folder}/dataset.json`]: dataset({ background: 0, bone: 1 }),
    };
    const { run } = await resolveFiles(files, "train.sh");
    assert.deepEqual([run?.microBatchSize, run?.model.config["patch_size"]], [5, [8, 16, 16]]);
    assert.equal(run?.model.config["num_input_channels"], 3);
    assert.equal((await resolveFiles(files, "named.sh")).run?.microBatchSize, 9);
    assert.equal((await resolveFiles(files, "lost.sh")).run, null);
  });

  it("give the network, the trainer's own loop and the largest share of the batch", async () => {
    const files = {
      "nnUNetPlans.json": plans({ "3d_fullres": FULL }),
      ".vramlens.yaml": 'runs:\n  - match: "**"\n    device: { name: RTX 4090, count: 2 }\n',
    };
    const { run, suppositions, obstacles } = await resolveFiles(files, "nnUNetPlans.json");
    assert.deepEqual(obstacles, []);
    assert.ok(run);
    assert.deepEqual([run.microBatchSize, run.autocast, run.plainLoop, run.maxGradNorm], [2, "float16", true, 12]);
    assert.equal(run.optimizer.name, "sgd");
    assert.deepEqual([run.model.config["num_input_channels"], run.model.config["num_output_channels"]], [2, 2]);
    assert.ok(suppositions.some(({ settleWith }) => settleWith === "dataset.json"));
  });

  it("are estimated", async () => {
    const files = { "nnUNetPlans.json": plans({ "3d_fullres": FULL }) };
    const inputs = await gatherFiles(files, "nnUNetPlans.json");
    const { run } = await resolveFiles(files, "nnUNetPlans.json");
    assert.ok(run);
    const result = estimate(run, inputs.graphs);
    assert.ok(result.ok && result.estimate.allocatedPeakBytes > 1e6);
    assert.ok(result.estimate.components.some(({ kind }) => kind === "activations"));
  });

  it("take channels and classes from dataset.json, regions and missing labels too", async () => {
    const found = async (labels: object) => {
      const files = { "nnUNetPlans.json": plans({ "3d_fullres": FULL }), "dataset.json": dataset(labels) };
      const { run } = await resolveFiles(files, "nnUNetPlans.json");
      const config = run?.model.config ?? {};
      return ["num_input_channels", "num_output_channels", "has_regions", "has_ignore_label"].map((key) => config[key]);
    };
    assert.deepEqual(await found({ background: 0, edema: 1, tumour: 2 }), [3, 3, false, false]);
    assert.deepEqual(await found({ background: 0, whole: [1, 2, 3], core: [2, 3], ignore: 4 }), [3, 2, true, true]);
  });

  it("inherit, and are read as they were before `architecture` stood in them", async () => {
    const { architecture: _, ...rest } = FULL;
    const older = {
      ...rest,
      UNet_class_name: "PlainConvUNet",
      UNet_base_num_features: 8,
      unet_max_num_features: 20,
      n_conv_per_stage_encoder: [2, 2, 2],
      n_conv_per_stage_decoder: [2, 2],
      pool_op_kernel_sizes: ARCHITECTURE.arch_kwargs.strides,
      conv_kernel_sizes: ARCHITECTURE.arch_kwargs.kernel_sizes,
    };
    const configurations = { base: older, "3d_fullres": { inherits_from: "base", batch_size: 5 } };
    const { run } = await resolveFiles({ "plans.json": plans(configurations) }, "plans.json");
    assert.equal(run?.microBatchSize, 5);
    const kwargs = run?.model.config["arch_kwargs"] as { features_per_stage: readonly number[] };
    assert.deepEqual(kwargs.features_per_stage, [8, 16, 20]);
  });

  it("get a smaller batch where the person lets it change", async () => {
    const files = { "plans.json": plans({ "3d_fullres": { ...FULL, batch_size: 64 }, "2d": FULL }) };
    const inputs = await gatherFiles(files, "plans.json");
    const resolution = resolveRun(inputs, {});
    const result = editsFor(inputs, resolution, [{ name: "micro_batch_size", value: 16 }]);
    assert.ok("edits" in result, JSON.stringify(result));
    assert.deepEqual(
      result.edits.map(({ newText }) => newText),
      ["16"],
    );
    const [edit] = result.edits;
    const line = files["plans.json"].split("\n")[edit?.range.start.line ?? 0];
    assert.match(line ?? "", /"batch_size": 64/);
  });

  it("of a network that is not nnU-Net's own have no estimate, and say so", async () => {
    const architecture = { ...ARCHITECTURE, network_class_name: "my.nets.SwinThing" };
    const { run, obstacles } = await resolveFiles(
      { "plans.json": plans({ "3d_fullres": { ...FULL, architecture } }) },
      "plans.json",
    );
    assert.equal(run, null);
    assert.deepEqual(
      obstacles.map(({ code, message }) => [code, message.args["network"]]),
      [["not-modelled", "SwinThing"]],
    );
  });
});
