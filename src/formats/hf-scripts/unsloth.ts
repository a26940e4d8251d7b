/**
 * What Unsloth's loaders say by themselves: weights in the half precision of the card, its own kind of checkpointing, which sends
 * the layers' inputs to the host, and vLLM beside training. Source: unsloth/models/{loader,llama,vision}.py (`from_pretrained`,
 * `get_peft_model`, `fast_inference`), unsloth_zoo/gradient_checkpointing.py.
 */

import type { Entry, PythonCall, PythonModule } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import type { LocatedSetting } from "../types";

const LOADER = /(?:^|\.)Fast\w*Model\.from_pretrained$/;
const ADAPTS = /(?:^|\.)Fast\w*Model\.get_peft_model$/;

function keyword(call: PythonCall | undefined, name: string): Entry | undefined {
  return call?.keywords.entries.find(({ key }) => key === name);
}

function plainOf(entry: Entry | undefined): string | number | boolean | null | undefined {
  return entry?.value.kind === "scalar" ? entry.value.value : undefined;
}

/** Settings of a script that loads its model with Unsloth; none where it does not. */
export function unslothSettings({ calls }: PythonModule): readonly LocatedSetting[] {
  const load = calls.find(({ callee }) => LOADER.test(callee));
  if (load === undefined) return [];
  const adapts = calls.find(({ callee }) => ADAPTS.test(callee));
  const said = (name: SettingName, value: string | number | boolean, entry?: Entry): LocatedSetting => {
    const keySpan = entry?.keySpan ?? load.calleeSpan;
    const node = entry?.value ?? { kind: "scalar" as const, value, raw: String(value), ...load.calleeSpan };
    const valueSpan = { start: node.start, end: node.end };
    return { name, key: entry?.key ?? load.callee, value, node, keySpan, valueSpan };
  };
  const dtype = plainOf(keyword(load, "dtype"));
  const checkpoints = keyword(adapts, "use_gradient_checkpointing") ?? keyword(load, "use_gradient_checkpointing");
  const kind = plainOf(checkpoints) ?? "unsloth";
  const share = keyword(load, "gpu_memory_utilization");
  const generates = plainOf(keyword(load, "fast_inference")) === true;
  return [
    said("use_unsloth", true),
    ...(typeof dtype === "string" ? [] : [said("load_dtype", "bfloat16")]),
    ...(kind === false
      ? [said("gradient_checkpointing", false, checkpoints)]
      : [said("gradient_checkpointing", true, checkpoints), said("use_reentrant", true, checkpoints)]),
    ...(kind === "unsloth" ? [said("offload_activations", "legacy", checkpoints)] : []),
    ...(adapts !== undefined && keyword(adapts, "target_modules") === undefined
      ? [said("lora_target_modules", "all-linear")]
      : []),
    ...(generates
      ? [
          said("use_vllm", true, keyword(load, "fast_inference")),
          said("vllm_mode", "colocate", keyword(load, "fast_inference")),
          // The loader's own default (unsloth/models/loader.py).
          said("vllm_gpu_memory_utilization", Number(plainOf(share) ?? 0.5), share),
        ]
      : []),
  ];
}
