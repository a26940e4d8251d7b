/**
 * What is said to change memory does: for every setting that a key's row claims it of there is a run whose answer is another one
 * with another value (`effects.jsonl`: a whole run of the attacks' with one key set, or files of its own in two spellings).
 */
import assert from "node:assert/strict";
import { createAnalyzer } from "../../src/analysis";
import { FORMATS } from "../../src/formats";
import type { SettingName } from "../../src/terms/settings";
import { ALL_SEEDS } from "../attack/format-seeds";
import { formatsOf, withKey } from "../attack/numbers";
import { rowsOf } from "../rows";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";

type Files = Readonly<Record<string, string>>;

type Row = { readonly setting: string } & (
  | { readonly seed: string; readonly path: string; readonly key: string; readonly value: string }
  | {
      readonly main: string;
      readonly model?: keyof typeof MODELS;
      readonly files?: Files;
      readonly one: Files;
      readonly other: Files;
    }
);

/** Configs of the models, in small. */
const MODELS = {
  llama: TINY_LLAMA,
  mixtral: {
    ...TINY_LLAMA,
    model_type: "mixtral",
    architectures: ["MixtralForCausalLM"],
    num_local_experts: 4,
    num_experts_per_tok: 2,
  },
  gpt2: { model_type: "gpt2", n_layer: 2, n_embd: 64, n_head: 2, vocab_size: 512, n_positions: 128 },
  t5: { model_type: "t5", d_model: 64, d_ff: 128, d_kv: 16, num_layers: 2, num_heads: 4, vocab_size: 512 },
  llava: {
    model_type: "llava",
    text_config: TINY_LLAMA,
    vision_config: {
      ...{ model_type: "clip_vision_model", hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2 },
      ...{ num_attention_heads: 4, image_size: 56, patch_size: 14 },
    },
  },
};

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

/** Findings on the spelling of a value are no effect of it. */
const SPELLING = /unknown-key|removed-key|invalid-value|wrong-type/;

/** Answers to one workspace after another, with one analyzer: all that is said but what repeats the documents. */
function answering(): (files: Files, main: string) => Promise<string> {
  const runtime = memoryRuntime({});
  const analyzer = createAnalyzer(runtime);
  let now: Files = {};
  return async (files, main) => {
    for (const path of new Set([...Object.keys(now), ...Object.keys(files)]))
      if (now[path] !== files[path]) {
        runtime.write(path, files[path]);
        analyzer.invalidate(uri(path));
      }
    now = files;
    const { report } = await analyzer.analyse(uri(main), { device: "RTX 4090" });
    return JSON.stringify(
      report.runs.map(({ settings: _settings, documents: _documents, id: _id, plans: _plans, findings, ...said }) => ({
        ...said,
        findings: findings.flatMap(({ code, message }) => (SPELLING.test(code) ? [] : [code, message])),
      })),
    );
  };
}

/** Both runs of a row: their files, and the document that is analysed. */
function runsOf(row: Row): readonly [one: Files, other: Files, main: string] {
  if (!("seed" in row)) {
    const model = row.model && { "model/config.json": JSON.stringify(MODELS[row.model]) };
    const files = { ...model, ...row.files };
    return [{ ...files, ...row.one }, { ...files, ...row.other }, row.main];
  }
  const { files, main } = ALL_SEEDS[row.seed]!;
  const text = files[row.path]!;
  const changed = formatsOf(uri(row.path), text)
    .filter(({ keys }) => keys.some(({ key }) => key === row.key))
    .map((format) => withKey(uri(row.path), text, format, row.key, row.value))
    .find((one) => one !== undefined);
  assert.ok(changed, `${row.key} cannot be written into ${row.path}`);
  return [files, { ...files, [row.path]: changed }, main];
}

describe("analysis: claimed effects", () => {
  const rows = rowsOf<Row>(__dirname, "effects.jsonl");

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
