/**
 * Each key that is said to change memory does, in its own format: for every one there is a run whose answer is another one with the key
 * set (`key-effects.jsonl`: by run and document, values of keys). `UPDATE_DOCS=1 npx mocha FILE` looks for runs of keys that have none.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { frameworkOf } from "../../src/analysis/frameworks/frameworks";
import { FORMATS } from "../../src/formats";
import type { KeySpec, SchemaId } from "../../src/formats/types";
import { formatsOf, withKey } from "../attack/numbers";
import { rowsOf } from "../rows";
import { answering } from "./answers";
import { KEY_SEEDS } from "./key-seeds";
import { uri } from "./memory-runtime";

const FILE = join(__dirname, "key-effects.jsonl");

/** Values of one run's document, by key. */
interface Row {
  readonly seed: string;
  readonly path: string;
  readonly format: SchemaId;
  readonly keys: Readonly<Record<string, string>>;
}

/** Keys that no run here shows, by format, and why. */
const WITHOUT: readonly (readonly [format: RegExp, keys: RegExp, why: string])[] = [
  [/^lightning$/, /^[\w-]+\.r$|^load\.0$|^lora_alpha$/, "its adapters are read by the same rows as TRL's"],
  [
    /^openrlhf$/,
    /num_nodes$|tokens_per_gpu$|dynamic_batch_enable$|colocate_|^vllm|^(?:reward|critic)_pretrain$|rollout_batch_size|prompt_max_len|generate_max_len|n_samples/,
    "of its reinforcement learning, which has no estimate",
  ],
  [/^openrlhf$/, /^ref_pretrain$/, "a model beside, which is read where its files are"],
  [/^openrlhf$/, /^flash_attn$/, "the kernel that it has anyway"],
  [
    /^(?:openrlhf|hf-training-arguments)$/,
    /^lora_(?:alpha|dropout|target_modules)$|^target_modules$|grad_accum_dtype$|freeze_visual_encoder$/,
    "read by the same rows as TRL's and DeepSpeed's",
  ],
  [
    /^megatron$/,
    /^(?:moe_ffn_hidden_size|max_tokens_per_gpu|use_dynamic_batch_size|actor_num_\w+)$/,
    "of experts, and of slime's programs, tried in `other-scripts.test.ts`",
  ],
  [
    /^(?:llama-factory|ms-swift|nemo)$/,
    /moe_token_dispatcher_type$/,
    "of spread experts alone, as Megatron-LM's, whose key is tried",
  ],
  [/^lightning$/, /class_path$|^model\.init_args\.model_name$/, "classes of one's own have no estimate"],
  [/^lightning$/, /init_args\.pin_memory$/, "of what is offloaded, tried in DeepSpeed's files"],
  [/^(?:hf-training-arguments|trl)$/, /^adaption-prompt\.r$/, "this adapter has no rank"],
  [/^accelerate$/, /dp_shard_size$/, "follows from what is replicated"],
  [/^accelerate$/, /cp_comm_strategy$/, "the Trainer's key for it is tried"],
  [/^axolotl$/, /^lora_model_dir$/, "a folder with an adapter, tried in `adapters.test.ts`"],
  [/^axolotl$/, /ConstantPruningModifier/, "tried in `pruning.test.ts`"],
  [
    /^(?:axolotl|ms-swift|verl|torchtune)$/,
    /num_generations$/,
    "decides how many prompts a batch has, of as many texts",
  ],
  [/^diffusers$/, /^(?:use_\w+|boft_\w+|lora_\w+|max_num_frames)$/, "scripts with these options have no estimate"],
  [
    /^(?:hf-training-arguments|trl|lightning)$/,
    /^dora\./,
    "LoRA's rows of a fork's class, tried in `adapters.test.ts`",
  ],
  [/^ai-toolkit$/, /^/, "its keys stand in a list of processes, tried in `diffusion.test.ts`"],
  [/^sd-scripts$/, /^network_alpha$/, "of linear layers and convolutions, where it takes nothing"],
  [/^sd-scripts$/, /^(?:xformers|sdpa)$/, "keeps what the attention keeps that is counted"],
  [/^sd-scripts$/, /^network_module$/, "networks of other kinds have no estimate"],
  [/^sd-scripts$/, /^train_text_encoder$/, "another spelling of `network_train_unet_only`"],
  [/^diffusers$/, /xformers/, "keeps what the attention keeps that is counted"],
  [
    /^gpt-neox$/,
    /quantized|allgather_bucket_size$/,
    "of a part of ZeRO whose peak is elsewhere, tried in DeepSpeed's files",
  ],
  [/^llama-factory$/, /^(?:peft|quant|dist|optim)_config\./, "of the v1 schema, tried in `own-names.test.ts`"],
  [/^(?:llama-factory|ms-swift|ms-swift\.train)$/, /^sequence_parallel$/, "of Megatron's run, with tensor parallelism"],
  [/^megatron$/, /^(?:seq_length|decoder_seq_length)$/, "stated by every run here, in another spelling"],
  [/^megatron$/, /accumulate_allreduce_grads_in_fp32/, "the default beside bfloat16"],
  [/^ms-swift$/, /^(?:train|rollout|teacher)\./, "of a file for Ray, whose rows are those of the command"],
  [
    /^(?:nemo|verl)$/,
    /(?:expert_(?:model|tensor)_parallel_size|sequence_parallel|use_distributed_optimizer)$/,
    "Megatron's, tried in its own command",
  ],
  [/^ms-swift$/, /^move_model_batches$/, "tried in `test/core/handover.test.ts`"],
  [/^ms-swift$/, /^teacher_model$/, "a model beside, which is read where its files are"],
  [/^ms-swift$/, /^fsdp\./, "a block of the file's, whose options the command has too"],
  [/^llm-foundry$/, /^algorithms$/, "a block of algorithms, whose options have rows"],
  [/^megatron$/, /^disable_bias_linear$/, "a switch for what is counted anyway"],
  [/^megatron$/, /^fp8_recipe$/, "Transformer Engine's recipes differ in scales alone"],
  [/^nemo$/, /^trainer\.devices$/, "pins say the number here"],
  [/^(?:nemo|verl)$/, /(?:peft|lora)\.alpha$/, "takes memory for matrices of experts alone, which TRL's runs have"],
  [
    /^verl$/,
    /padding_free$|freeze_vision_tower$/,
    "EasyR1's name of a setting that verl's and the Trainer's runs show",
  ],
  [/^timm$/, /^channels_last$/, "changes the order of bytes, not their number"],
  [/^torchtitan$/, /pipeline_parallel_microbatch_size$/, "tried in `test/formats/frameworks.test.ts`"],
  [/^torchtune$/, /^(?:max_generated_tokens|num_generations|ref_checkpointer)$/, "recipes with these have no estimate"],
  [/^verl$/, /^reward_model\.model\.path$/, "a run with a reward model has no estimate"],
];

/** Values that keys of some names want, before those that their type has. */
const WORDS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/fp8_format/, ["hybrid", "e4m3"]],
  [/rank_pattern|freeze|trainable/, ["all", "mlp", ".*mlp.*"]],
  [/backward_prefetch/, ["BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH", "backward_pre"]],
  [/mixed_precision$/, ["PURE", "DEFAULT", "FULL", "bf16", "fp16"]],
  [/state_dict_type/, ["FULL_STATE_DICT", "SHARDED_STATE_DICT"]],
  [/(?:transformer|ac)_?layer_cls|wrap_policy/, ["LlamaMLP", "SIZE_BASED_WRAP", "NO_WRAP"]],
  [/optim_args/, ["rank=8", "rank=32"]],
  [
    /plugins/,
    ["[axolotl.integrations.liger.LigerPlugin]", "[axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]"],
  ],
  [/target_parameters/, ["[mlp.experts.gate_up_proj]", "mlp.experts.gate_up_proj"]],
  [/rotate_method|comm_strategy/, ["alltoall", "allgather"]],
  [/recipe/, ["tensorwise", "rowwise", "delayed", "blockwise", "mxfp8"]],
  [/sharded_layers/, ['["tok_embeddings"]', '["tok_embeddings", "output"]']],
  [/target/, ["q_proj", "all-linear", "all"]],
  [/init_weights|init_lora/, ["pissa", "olora"]],
  [/modules_to_save/, ["lm_head"]],
  [/backend/, ["TE", "AO", "MSAMP", "inductor"]],
  [/train_batch_size/, ["32", "64", "128"]],
  [
    /(?:_component_|optimizer)/,
    ["torchtune.models.qwen2_5.qwen2_5_1_5b", "torch.optim.SGD", "torchtune.rlhf.loss.DPOLoss"],
  ],
  [/recompute_modules/, ["mlp", "core_attn"]],
  [/ac_mode/, ["selective", "full"]],
];

function valuesOf({ key, type, values, means, also }: KeySpec): readonly string[] {
  const meant = [means, ...(also ?? []).map((one) => one.means)].flatMap((one) => Object.keys(one ?? {}));
  const words = [...(values ?? []), ...meant].filter((word) => word !== "" && word !== "null");
  const named = WORDS.flatMap(([pattern, own]) => (pattern.test(key) ? own : []));
  const common = [
    "true",
    "false",
    "3",
    "1",
    "8",
    "64",
    "0",
    "something",
    "bf16",
    "fp16",
    '["q_proj"]',
    "cpu",
    "./model",
  ];
  if (type === "boolean") return ["true", "false"];
  if (type === "integer") return ["3", "1", "0", "64", "2", "4", "1000000"];
  if (type === "number") return ["0.3", "0", "1", "8", "2.5"];
  if (type === "enum") return [...named, ...words];
  return [...named, ...words, ...(type === "list" ? ['["q_proj"]', '["lm_head"]', "[1, 2]", "[]"] : common)];
}

const answer = answering();
const known = new Map<string, string>();

/** Whether the answer to a run is another one with a key set; undefined where it cannot be set. */
async function changes(seed: string, path: string, format: SchemaId, key: string, value: string) {
  const { files, main } = KEY_SEEDS[seed]!;
  const text = files[path]!;
  const [read] = formatsOf(uri(path), text);
  const changed = read?.id === format ? withKey(uri(path), text, read, key, value) : undefined;
  if (changed === undefined || formatsOf(uri(path), changed)[0]?.id !== format) return undefined;
  const before = known.get(seed) ?? (await answer(files, main));
  known.set(seed, before);
  return before !== (await answer({ ...files, [path]: changed }, main));
}

/** Keys that are said to change memory, by format; a block leaves it to its keys. */
function claimed(): Map<SchemaId, Map<string, KeySpec>> {
  const found = new Map<SchemaId, Map<string, KeySpec>>();
  for (const format of FORMATS) {
    const { readOnly, part } = frameworkOf(format);
    if (readOnly !== undefined && part === undefined) continue;
    const keys = found.get(format.id) ?? new Map<string, KeySpec>();
    found.set(format.id, keys);
    const isBlock = ({ key, type }: KeySpec) =>
      type === "map" || format.keys.some((other) => other.key.startsWith(`${key}.`));
    for (const key of format.keys) if (key.memory && !isBlock(key)) keys.set(key.key, key);
  }
  for (const row of rowsOf<Row>(FILE)) settle(found, row);
  for (const [format, keys] of found)
    for (const key of [...keys.keys()])
      if (WITHOUT.some(([formats, pattern]) => formats.test(format) && pattern.test(key))) keys.delete(key);
  return found;
}

/** Takes the keys out that a row shows; the Trainer's own arguments stand in one table for all that run it. */
function settle(open: Map<SchemaId, Map<string, KeySpec>>, { format, keys }: Row): void {
  const shown = open.get(format);
  const ofTrainer = frameworkOf({ id: format }).trainer !== undefined;
  for (const key of Object.keys(keys)) {
    const spec = shown?.get(key);
    shown?.delete(key);
    for (const [other, left] of open)
      if (ofTrainer && frameworkOf({ id: other }).trainer !== undefined && left.get(key)?.name === spec?.name)
        left.delete(key);
  }
}

/** Looks for a run of each key that has none, and writes those that are there. */
async function search(rows: readonly Row[]): Promise<void> {
  const open = claimed();
  const found: Row[] = [...rows];
  for (const [seed, { files }] of Object.entries(KEY_SEEDS))
    for (const [path, text] of Object.entries(files)) {
      const format = formatsOf(uri(path), text)[0]?.id;
      const left = format === undefined ? undefined : open.get(format);
      if (format === undefined || left === undefined) continue;
      const keys: Record<string, string> = {};
      for (const [key, spec] of [...left])
        for (const value of valuesOf(spec)) {
          const isOther = await changes(seed, path, format, key, value);
          if (isOther === undefined) break;
          if (!isOther) continue;
          keys[key] = value;
          break;
        }
      if (Object.keys(keys).length === 0) continue;
      const row = { seed, path, format, keys };
      settle(open, row);
      found.push(row);
    }
  writeFileSync(FILE, found.map((row) => `${JSON.stringify(row)}\n`).join(""));
}

describe("analysis: keys that change memory", () => {
  before(async function () {
    if (process.env["UPDATE_DOCS"] === undefined) return;
    this.timeout(0);
    await search(rowsOf<Row>(FILE));
  });

  it("each have a run, or a reason", () => {
    const open = claimed();
    for (const { format, keys } of rowsOf<Row>(FILE))
      for (const key of Object.keys(keys)) open.get(format)?.delete(key);
    assert.deepEqual(
      [...open].flatMap(([format, keys]) => [...keys.keys()].map((key) => `${format} ${key}`)),
      [],
    );
  });

  for (const { seed, path, format, keys } of rowsOf<Row>(FILE))
    it(`${format}: ${seed}`, async () => {
      for (const [key, value] of Object.entries(keys))
        assert.equal(await changes(seed, path, format, key, value), true, `${key}: ${value} changes nothing`);
    });
});
