/** OpenRLHF: flags of `openrlhf.cli.train_*`, plain or through `ray job submit`, and the same names in YAML. */

import { table } from "../../terms/table";
import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { hasKeys, NOT_RECOGNISED, passes, runs } from "../recognition";
import { count, schemaFormat, type View } from "../schema";
import { batchMultiple } from "../table";
import type { LocatedSetting } from "../types";
import accepted from "./accepted.json";
import { OPENRLHF_KEYS } from "./keys";

const MARKS = [
  "micro_train_batch_size",
  "micro_rollout_batch_size",
  "rollout_batch_size",
  "prompt_max_len",
  "generate_max_len",
  "actor_num_gpus_per_node",
  "adam_offload",
  "packing_samples",
  "input_key",
  "apply_chat_template",
  "vllm_num_engines",
  "colocate_all_models",
  "zpg",
];

/** Programs by what they train (`openrlhf/cli/train_*.py`): the loss's name, what a command has by default, and what its loop names of a batch. */
const PROGRAMS: Readonly<Record<string, { readonly rl: string; readonly micro: number; readonly length: number }>> =
  table({
    sft: { rl: "nll", micro: 8, length: 2048 },
    dpo: { rl: "dpo", micro: 8, length: 512 },
    rm: { rl: "rm", micro: 1, length: 512 },
    ppo_ray: { rl: "ppo", micro: 1, length: 2048 },
  });

/** Names of YAML, where no program stands, that only reinforcement learning has. */
const REINFORCES = [
  "rollout_batch_size",
  "max_completion_length",
  "vllm_gpu_memory_utilization",
  "reward_model",
] as const;

function derive(d: Deriving, { words }: View): void {
  const gpus = d.find("actor_gpus");
  if (!d.has("world_size")) d.make(gpus, "world_size", (d.number("actor_gpus") ?? 1) * (d.number("actor_nodes") ?? 1));
  const answer = d.find("max_completion_length");
  if (d.has("max_prompt_length") && !d.has("sequence_length"))
    d.make(answer, "sequence_length", (d.number("max_prompt_length") ?? 0) + (d.number("max_completion_length") ?? 0));
  const adapts = (d.number("lora_rank") ?? 0) > 0;
  d.make(d.find("lora_rank"), "adapter", !adapts ? "none" : d.find("load_in_4bit")?.value === true ? "qlora" : "lora");
  const named = words.map((word) => /train_(sft|dpo|rm|ppo_ray)(?:\.py)?$/.exec(word)?.[1]).find((name) => name);
  const model = d.find("model") ?? d.stated[0];
  makeProgram(d, model, PROGRAMS[named ?? (d.has(...REINFORCES) ? "ppo_ray" : "")]);
  makeEngine(d, model);
  d.makeAccumulation(d.number("world_size"));
}

/** What the program that is run says: its loss, its defaults, and the reference, which is the policy again unless another is named. */
function makeProgram(
  d: Deriving,
  model: LocatedSetting | undefined,
  program: (typeof PROGRAMS)[string] | undefined,
): void {
  if (program === undefined) return;
  d.make(model, "rl", program.rl);
  if (!d.has("micro_batch_size")) d.make(model, "micro_batch_size", program.micro);
  if (!d.has("global_batch_size")) d.make(model, "global_batch_size", 128);
  if (d.numeric("sequence_length") === undefined) d.make(model, "sequence_length", program.length);
  // The results of a forward are named until the next one's (openrlhf/trainer/sft_trainer.py, fit).
  d.make(model, "loop_holds", program.rl === "nll" ? "outputs" : "loss");
  if (program.rl === "dpo" && !d.has("ref_model")) d.make(model, "ref_model", model?.value);
}

/** What its DeepSpeed engine and its models are made with where nothing says otherwise (openrlhf/utils/deepspeed, openrlhf/models/actor.py). */
function makeEngine(d: Deriving, model: LocatedSetting | undefined): void {
  if (!d.has("zero_stage")) d.make(model, "zero_stage", 2);
  if (!d.has("attention")) d.make(model, "attention", "flash_attention_2");
  if (!d.has("compute_dtype")) {
    d.make(model, "compute_dtype", "bf16");
    d.make(model, "load_dtype", "bfloat16");
  }
  const packed = d.said("load_in_4bit", true);
  d.make(packed, "double_quantization", true);
  d.make(packed, "prepare_for_kbit", false);
  if ((d.number("lora_rank") ?? 0) > 0 && !d.has("lora_target_modules"))
    d.make(d.find("lora_rank"), "lora_target_modules", "all-linear");
}

/** What says which data there are, how they are written out, and what is logged and saved. */
const COSTLESS =
  /^(?:data\.(?!max_len)|ckpt\.|logger\.|eval\.|(?:actor\.|critic\.)?(?:adam|muon)\.|algo\.kl\.|apply_chat_template$|(?:input|output|prompt|chosen|rejected|label)_key$|load_checkpoint$|train\.agent_func_path$)/;

const SHARED = {
  id: "openrlhf",
  keys: OPENRLHF_KEYS,
  unknownKeys: { known: new Set([...accepted.names, ...LAUNCHER_OPTIONS]), stops: "OpenRLHF" },
  readsBeside: (path: string) => COSTLESS.test(path),
  derive,
  check: batchMultiple,
} as const;

export const openrlhf = schemaFormat({
  ...SHARED,
  views: (document) => dataView(document, ["yaml", "json"]),
  recognise({ map }) {
    const marks = count(map, MARKS);
    return marks >= 2
      ? { confidence: Math.min(0.95, 0.84 + 0.03 * marks), because: hasKeys(marks, "OpenRLHF") }
      : NOT_RECOGNISED;
  },
});

export const openrlhfShell = schemaFormat({
  ...SHARED,
  carrier: "shell",
  views: shellViews,
  recognise(view) {
    if (view.words.some((word) => /openrlhf[./]cli|^openrlhf/.test(word)))
      return { confidence: 0.99, because: runs("OpenRLHF") };
    const marks = count(view.map, MARKS);
    return marks >= 3 ? { confidence: 0.9, because: passes(marks, "OpenRLHF") } : NOT_RECOGNISED;
  },
});
