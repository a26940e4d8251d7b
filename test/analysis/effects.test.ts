/**
 * What is said to change memory does: for every setting that a key's row claims it of there is a run whose answer is another one
 * with another value (`effects.jsonl`: a whole run of the attacks' with one key set, or files of its own in two spellings).
 */
import assert from "node:assert/strict";
import { FORMATS } from "../../src/formats";
import type { SettingName } from "../../src/terms/settings";
import { rowsOf } from "../rows";
import { answering, type Files } from "./answers";
import { type EffectRow, runsOf } from "./effect-runs";

/** Settings that no such run has, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  actor_gpus: "read by the format alone, into the number of GPUs",
  actor_nodes: "read by the format alone, into the number of GPUs",
  rollout_batch_size: "read by the format alone, into the number of sequences",
  megatron_amp_o2: "read by the format alone, into the dtype of the weights",
  ref_model: "the reference is the policy's own model unless it is named; named, it is read as a model beside",
  num_mini_batches: "decides how often a piece of the batch is gone through; pieces are of the same size",
  move_model_batches:
    "decides how much is gathered for vLLM where weights are sharded, tried in `test/core/handover.test.ts`",
  vllm_tensor_parallel_size:
    "decides what vLLM wakes up while weights are handed over, tried in `test/core/handover.test.ts`",
  ds3_gather_for_generation: "decides between two phases of a run that generates under ZeRO-3",
  badam_start_block: "decides which of equal blocks is trained first",
  fsdp_config: "a map, or the path of a file with it",
  device_map: "tried with several cards in `own-names.test.ts`",
  use_cache: "tried with loops of one's own in `own-loop.test.ts`",
  pipeline_micro_batch: "decides how often a stage works, tried in `test/formats/frameworks.test.ts`",
  network_module: "networks of other kinds than LoRA have no estimate",
  frames: "scripts of diffusers that make videos have no estimate",
  device_list: "Ultralytics has no estimate",
  freeze: "Ultralytics has no estimate",
  optim_wrapper: "OpenMMLab has no estimate",
  channels_last: "timm's loop changes the order of bytes, not their number",
  ...Object.fromEntries(
    ["2d", "3d_lowres", "3d_fullres", "3d_cascade_fullres"].flatMap((plan) =>
      ["batch_size", "patch_size", "network"].map((key) => [`nnunet.${plan}.${key}`, "tried in `nnunet.test.ts`"]),
    ),
  ),
};

describe("analysis: claimed effects", () => {
  const rows = rowsOf<EffectRow>(__dirname, "effects.jsonl");

  it("are each tried", () => {
    const claimed = new Set<SettingName>(
      FORMATS.flatMap(({ keys }) =>
        keys.flatMap(({ memory, name, type }) => (memory && name !== null && type !== "map" ? [name] : [])),
      ),
    );
    const tried = new Set([...rows.map(({ setting }) => setting), ...Object.keys(WITHOUT)]);
    assert.deepEqual(
      [...claimed].filter((name) => !tried.has(name)),
      [],
    );
  });

  const answer = answering();
  const known = new Map<Files, string>();
  for (const row of rows)
    it(row.setting, async () => {
      const [one, other, main] = runsOf(row);
      const before = known.get(one) ?? (await answer(one, main));
      known.set(one, before);
      assert.ok(before !== (await answer(other, main)), "another value gives the same answer");
    });
});
