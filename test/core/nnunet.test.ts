/**
 * nnU-Net's networks against PyTorch: random plans whose peaks `capture/truth/nnunet_receipts.py` took from nnU-Net's own networks and
 * losses on fake CUDA tensors.
 */
import { strict as assert } from "node:assert";
import { NNUNET, nnunetGraphs } from "../../src/core/networks/nnunet";
import { simulate } from "../../src/core/simulate";
import type { ModelConfig, TrainingRun } from "../../src/core/training/run";
import { english } from "../english";
import { rowsOf } from "../rows";
import { causalRun } from "./runs";

interface Case {
  readonly id: string;
  readonly network: string;
  readonly arch_kwargs: Readonly<Record<string, unknown>>;
  readonly patch_size: readonly number[];
  readonly batch_size: number;
  readonly channels: number;
  readonly classes: number;
  readonly batch_dice: boolean;
  readonly regions: boolean;
  readonly ignore: boolean;
}

function configOf(c: Case): ModelConfig {
  return {
    network_class_name: c.network,
    arch_kwargs: c.arch_kwargs,
    patch_size: c.patch_size,
    num_input_channels: c.channels,
    num_output_channels: c.classes,
    batch_dice: c.batch_dice,
    has_regions: c.regions,
    has_ignore_label: c.ignore,
  };
}

function runOf(c: Case): TrainingRun {
  return causalRun({
    model: { name: c.id, family: NNUNET, source: "config.json", config: configOf(c) },
    task: "image-segmentation",
    microBatchSize: c.batch_size,
    sequenceLength: 0,
    loadDtype: "float32",
    autocast: "float16",
    plainLoop: true,
    maxGradNorm: 12,
    optimizer: { name: "sgd", oneGroup: true, args: { momentum: "0.99", nesterov: "True", weight_decay: "3e-5" } },
  });
}

describe("networks of nnU-Net", () => {
  const rows = rowsOf<{ case: Case; truth: number }>(__dirname, "nnunet.jsonl");
  for (const { case: c, truth } of rows) {
    it(`${c.id}: ${c.network}`, () => {
      const graphs = nnunetGraphs(configOf(c));
      assert.ok(graphs);
      const result = simulate(runOf(c), graphs);
      assert.ok(result.ok, result.ok ? "" : english(result.reason));
      assert.equal(result.simulation.ledger.peak, truth);
    });
  }

  it("plans whose lists do not go together make no network", () => {
    const { case: c } = rows[0]!;
    assert.equal(nnunetGraphs({ ...configOf(c), patch_size: [8] }), null);
    assert.equal(nnunetGraphs({ ...configOf(c), network_class_name: "MyNet" }), null);
    assert.equal(
      nnunetGraphs({ ...configOf(c), arch_kwargs: { ...c.arch_kwargs, features_per_stage: [32, 64] } }),
      null,
    );
  });
});
