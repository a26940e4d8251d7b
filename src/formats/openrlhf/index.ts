/** OpenRLHF: flags of `openrlhf.cli.train_*`, plain or through `ray job submit`, and the same names in YAML. */

import { dataView, shellViews } from "../carriers";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { hasKeys, NOT_RECOGNISED, passes, runs } from "../recognition";
import { count, derived, schemaFormat } from "../schema";
import { batchMultiple } from "../table";
import type { LocatedSetting } from "../types";
import accepted from "./accepted.json";
import { OPENRLHF_KEYS } from "./keys";

const KNOWN: ReadonlySet<string> = new Set([...accepted.names, ...LAUNCHER_OPTIONS]);

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

function derive(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  const result: LocatedSetting[] = [];
  const find = (name: string) => settings.findLast((setting) => setting.name === name);
  const number = (setting: LocatedSetting | undefined, fallback: number): number =>
    typeof setting?.value === "number" ? setting.value : fallback;
  const gpus = find("actor_gpus");
  if (gpus !== undefined && find("world_size") === undefined)
    result.push(derived(gpus, "world_size", number(gpus, 1) * number(find("actor_nodes"), 1)));
  const prompt = find("max_prompt_length");
  const answer = find("max_completion_length");
  if (prompt !== undefined && answer !== undefined && find("sequence_length") === undefined)
    result.push(derived(answer, "sequence_length", number(prompt, 0) + number(answer, 0)));
  const rank = find("lora_rank");
  if (rank !== undefined)
    result.push(
      derived(
        rank,
        "adapter",
        number(rank, 0) > 0 ? (find("load_in_4bit")?.value === true ? "qlora" : "lora") : "none",
      ),
    );
  const global = find("global_batch_size");
  const micro = find("micro_batch_size");
  const world = [...settings, ...result].findLast((setting) => setting.name === "world_size");
  const steps = number(global, Number.NaN) / (number(micro, Number.NaN) * number(world, Number.NaN));
  if (global !== undefined && Number.isInteger(steps) && steps >= 1)
    result.push(derived(global, "gradient_accumulation_steps", steps));
  return result;
}

export const openrlhf = schemaFormat({
  id: "openrlhf",
  keys: OPENRLHF_KEYS,
  unknownKeys: { known: KNOWN, stops: "OpenRLHF" },
  views: (document) => dataView(document, ["yaml", "json"]),
  derive,
  check: batchMultiple,
  recognise({ map }) {
    const marks = count(map, MARKS);
    return marks >= 2
      ? { confidence: Math.min(0.95, 0.84 + 0.03 * marks), because: hasKeys(marks, "OpenRLHF") }
      : NOT_RECOGNISED;
  },
});

export const openrlhfShell = schemaFormat({
  id: "openrlhf",
  carrier: "shell",
  keys: OPENRLHF_KEYS,
  unknownKeys: { known: KNOWN, stops: "OpenRLHF" },
  views: shellViews,
  derive,
  check: batchMultiple,
  recognise(view) {
    if (view.words.some((word) => /openrlhf[./]cli|^openrlhf/.test(word)))
      return { confidence: 0.98, because: runs("OpenRLHF") };
    const marks = count(view.map, MARKS);
    return marks >= 3 ? { confidence: 0.9, because: passes(marks, "OpenRLHF") } : NOT_RECOGNISED;
  },
});
