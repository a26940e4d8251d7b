/** OpenRLHF: flags of `openrlhf.cli.train_*`, plain or through `ray job submit`, and the same names in YAML. */

import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { hasKeys, NOT_RECOGNISED, passes, runs } from "../recognition";
import { count, schemaFormat } from "../schema";
import { batchMultiple } from "../table";
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

function derive(d: Deriving): void {
  const gpus = d.find("actor_gpus");
  if (!d.has("world_size")) d.make(gpus, "world_size", (d.number("actor_gpus") ?? 1) * (d.number("actor_nodes") ?? 1));
  const answer = d.find("max_completion_length");
  if (d.has("max_prompt_length") && !d.has("sequence_length"))
    d.make(answer, "sequence_length", (d.number("max_prompt_length") ?? 0) + (d.number("max_completion_length") ?? 0));
  const adapts = (d.number("lora_rank") ?? 0) > 0;
  d.make(d.find("lora_rank"), "adapter", !adapts ? "none" : d.find("load_in_4bit")?.value === true ? "qlora" : "lora");
  d.makeAccumulation(d.number("world_size"));
}

const SHARED = {
  id: "openrlhf",
  keys: OPENRLHF_KEYS,
  unknownKeys: { known: new Set([...accepted.names, ...LAUNCHER_OPTIONS]), stops: "OpenRLHF" },
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
      return { confidence: 0.98, because: runs("OpenRLHF") };
    const marks = count(view.map, MARKS);
    return marks >= 3 ? { confidence: 0.9, because: passes(marks, "OpenRLHF") } : NOT_RECOGNISED;
  },
});
