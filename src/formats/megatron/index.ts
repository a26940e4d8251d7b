/** Megatron-LM: flags in scripts (arrays and strings of flags too), and the YAML that lists them. */

import type { Entry, MapNode } from "../../syntax/tree";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import { dataView, shellViews } from "../carriers";
import { Deriving } from "../deriving";
import { removing } from "../fix";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { has, hasKeys, NOT_RECOGNISED, passes, type Recognition, runs } from "../recognition";
import { count, lookUp, schemaFormat, type View, valueAt } from "../schema";
import { batchMultiple, problem } from "../table";
import type { ConfigDocument, FormatProblem, LocatedSetting, SettingChange } from "../types";
import accepted from "./accepted.json";
import { MEGATRON_KEYS } from "./keys";

const MARKS = [
  "tensor_model_parallel_size",
  "pipeline_model_parallel_size",
  "micro_batch_size",
  "global_batch_size",
  "num_layers",
  "hidden_size",
  "num_attention_heads",
  "seq_length",
  "train_iters",
  "train_samples",
  "use_distributed_optimizer",
  "sequence_parallel",
  "use_mcore_models",
  "distributed_backend",
  "lr_decay_style",
  "ffn_hidden_size",
];
const ARCHITECTURE = ["num_layers", "hidden_size", "num_attention_heads", "use_checkpoint_args"];

/** The captured family nearest to what the arguments build (`megatron/training/arguments.py`). */
function modelType(d: Deriving, view: View): string | undefined {
  const script = view.words.find((word) => /pretrain_\w{1,80}\.py$/.test(word)) ?? "";
  if (/pretrain_(?:t5|ict|vision|vlm|retro)/.test(script)) return undefined;
  if (/pretrain_bert/.test(script)) return "bert";
  // One expert is none (Megatron-DeepSpeed's default).
  if ((d.number("num_experts") ?? 1) > 1) return "mixtral";
  if (d.said("swiglu", true) !== undefined || valueAt(view.map, "normalization") === "RMSNorm") return "llama";
  const rotary =
    valueAt(view.map, "position_embedding_type") === "rope" ||
    valueAt(view.map, "use_rotary_position_embeddings") === true;
  return rotary ? "gpt_neox" : "gpt2";
}

/**
 * What slime's programs say around Megatron's arguments: GPUs by the actor, and micro-batches that are packed until they have so many
 * tokens on each GPU (slime/utils/arguments.py, slime/backends/megatron_utils/data.py).
 */
function makeRollout(d: Deriving, { map }: View): void {
  const gpus = d.find("actor_gpus");
  if (!d.has("world_size")) d.make(gpus, "world_size", (d.number("actor_gpus") ?? 8) * (d.number("actor_nodes") ?? 1));
  if (count(map, ["rollout_batch_size", "hf_checkpoint"]) === 0) return;
  const tokens = d.said("dynamic_batch", true) && d.numeric("tokens_per_micro_batch");
  const first = tokens ?? d.stated[0];
  d.make(first, "micro_batch_size", tokens === undefined ? (d.number("micro_batch_size") ?? 1) : 1);
  d.make(tokens, "sequence_length", Number(tokens?.value) * (d.number("context_parallel") ?? 1));
  d.make(tokens, "packing", true);
  if (!d.has("bf16", "fp16")) d.make(first, "bf16", true);
  if (!d.has("distributed_optimizer", "zero_stage")) d.make(first, "zero_stage", 1);
}

/** What tells Megatron-DeepSpeed, whose experts are DeepSpeed's: in every second layer, without gates, rows cut at a capacity. */
const DEEPSPEED_EXPERTS: ReadonlySet<string> = new Set(["moe_expert_parallel_size", "deepspeed_config", "deepspeed"]);

function derive(d: Deriving, view: View): void {
  if ((d.number("num_experts") ?? 1) > 1)
    d.make(
      d.stated.find(({ key }) => DEEPSPEED_EXPERTS.has(key)),
      "deepspeed_moe",
      true,
    );
  d.make(d.numeric("hidden_size"), "model_type", modelType(d, view));
  const experts = d.stated.findLast(({ key }) => key === "moe_ffn_hidden_size");
  if (d.has("num_experts")) d.make(experts, "ffn_hidden_size", experts?.value);
  makeRollout(d, view);
  if (!d.has("zero_stage")) d.make(d.said("distributed_optimizer", true), "zero_stage", 1);
  if (!d.has("fsdp")) d.make(d.said("megatron_fsdp", true), "fsdp", "full_shard");
  const devices = d.number("devices");
  if (devices !== undefined && !d.has("world_size"))
    d.make(d.find("devices"), "world_size", devices * (d.number("nodes") ?? 1));
  const degrees = ["tensor_parallel", "pipeline_parallel", "context_parallel"] as const;
  const copies = Number(d.number("world_size")) / degrees.reduce((all, name) => all * (d.number(name) ?? 1), 1);
  if (d.number("gradient_accumulation_steps") === undefined && Number.isInteger(copies) && copies >= 1)
    d.makeAccumulation(copies);
}

/** `megatron/core/num_microbatches_calculator.py` and `transformer_config.py`. */
function check(settings: readonly LocatedSetting[]): readonly FormatProblem[] {
  return [...pipelineLayers(settings), ...batchMultiple(settings), ...recomputation(settings)];
}

const RECOMPUTED: readonly SettingChange[] = [
  { name: "recompute_method", value: "uniform" },
  { name: "recompute_num_layers", value: 1 },
];

function recomputation(settings: readonly LocatedSetting[]): readonly FormatProblem[] {
  const of = (key: string) => settings.findLast((setting) => setting.key === key && setting.value !== null);
  const granularity = of("recompute_granularity");
  const written = granularity?.node.kind === "scalar" ? granularity.node.value : undefined;
  if (granularity === undefined) return [];
  const layers = of("recompute_num_layers");
  if (written === "selective" && layers !== undefined)
    return [
      problem("recompute-method", "error", layers.keySpan, "recompute-method.selective", { key: layers.key }, [
        removing(layers),
      ]),
    ];
  const missing = RECOMPUTED.filter(({ name }) => of(name) === undefined);
  const [first] = missing;
  if (written !== "full" || first === undefined) return [];
  // Each layer by itself: what Megatron's own examples ask for.
  const title = say("fix.replace", { key: first.name, value: String(first.value) });
  const fixes = [{ title, safe: true, changes: missing }];
  return [problem("recompute-method", "error", granularity.keySpan, "recompute-method", { key: first.name }, fixes)];
}

function pipelineLayers(settings: readonly LocatedSetting[]): readonly FormatProblem[] {
  const said = new Deriving(settings);
  const layers = said.numeric("num_layers");
  const stages = said.numeric("pipeline_parallel");
  if (layers === undefined || stages === undefined || Number(layers.value) % Number(stages.value) === 0) return [];
  return [
    problem("pipeline-layers", "warning", stages.valueSpan, "pipeline-layers", {
      layers: Number(layers.value),
      stages: Number(stages.value),
    }),
  ];
}

const SHARED = {
  id: "megatron",
  keys: MEGATRON_KEYS,
  unknownKeys: { parents: [""], known: new Set([...accepted.names, ...LAUNCHER_OPTIONS]) },
  derive,
  check,
} as const;

export const megatronShell = schemaFormat({
  ...SHARED,
  carrier: "shell",
  views: shellViews,
  recognise(view): Recognition {
    if (
      count(view.map, ["tuner_type", "train_type", "rlhf_type"]) > 0 ||
      /(?:^|\s)(?:swift|llamafactory-cli|megatron\s+(?:sft|pt|rlhf))(?:\s|$)/.test(view.words.slice(0, 12).join(" "))
    )
      return NOT_RECOGNISED;
    if (view.map.entries.some((entry) => /^(?:actor_rollout_ref|trainer|model)\./.test(entry.key)))
      return NOT_RECOGNISED;
    const marks = count(view.map, MARKS);
    const script = view.words.find((word) => /(?:^|\/)(?:pretrain|finetune|train)_?\w*\.py$/.test(word));
    if (count(view.map, ["tensor_model_parallel_size", "pipeline_model_parallel_size"]) > 0 && marks >= 3)
      return { confidence: 0.96, because: passes(marks, "Megatron-LM") };
    if (count(view.map, ARCHITECTURE) >= 2 && marks >= 4)
      return { confidence: 0.94, because: passes(marks, "Megatron-LM") };
    return script !== undefined && /pretrain_/.test(script) && marks >= 2
      ? { confidence: 0.9, because: runs(script) }
      : NOT_RECOGNISED;
  },
});

/** `MODEL_ARGS` of Megatron's test configs: flags with their dashes, or NeMo's dotted paths. */
function argumentMap(document: ConfigDocument): readonly View[] {
  return dataView(document, ["yaml", "json"]).flatMap((view) => {
    const inner = view.map.entries.find((entry) => entry.key === "MODEL_ARGS")?.value;
    const map = inner?.kind === "map" ? inner : view.map;
    const entries = map.entries.map((entry): Entry => ({ ...entry, key: normalised(entry.key) }));
    const nested = ["model_parallel", "language_model", "training"].flatMap((block) => {
      const node = lookUp(map, block);
      return node?.kind === "map" ? node.entries : [];
    });
    const flat: MapNode = { ...map, entries: [...entries, ...nested] };
    return [{ map: flat, target: map, words: inner === undefined ? [] : ["MODEL_ARGS"] }];
  });
}

const NEMO_PATHS: Readonly<Record<string, string>> = table({
  "trainer.num_nodes": "nodes",
  "trainer.devices": "devices",
});

function normalised(key: string): string {
  if (key.startsWith("-")) return key.replace(/^-+/, "").replaceAll("-", "_");
  const path = NEMO_PATHS[key];
  if (path !== undefined) return path;
  return /^(?:trainer|model|data|optim)\./.test(key) ? (key.split(".").at(-1) ?? key) : key;
}

export const megatron = schemaFormat({
  ...SHARED,
  keys: [
    ...MEGATRON_KEYS,
    { key: "nodes", name: "nodes", type: "integer", effect: "nodes", memory: false },
    { key: "devices", name: "devices", type: "any", effect: "megatron.devices", memory: false },
  ],
  views: argumentMap,
  recognise(view) {
    const marks = count(view.map, MARKS);
    if (view.words.includes("MODEL_ARGS")) return { confidence: 0.96, because: has("ModelArguments") };
    if (
      count(view.map, [
        "trainer",
        "exp_manager",
        "pipe_parallel_size",
        "train_micro_batch_size_per_gpu",
        "zero_optimization",
        "dataset",
        "template",
      ]) > 0
    )
      return NOT_RECOGNISED;
    const named = count(view.map, [
      "tensor_model_parallel_size",
      "pipeline_model_parallel_size",
      "language_model",
      "model_parallel",
    ]);
    return named > 0 && marks >= 3 ? { confidence: 0.85, because: hasKeys(marks, "Megatron-LM") } : NOT_RECOGNISED;
  },
});
