/** torchtitan: TOML job configs, the Python registry that replaced them, and `--section.key` flags in scripts. */

import type { Entry, MapNode, PythonCall } from "../../syntax/tree";
import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { builds, has, hasKeys, NOT_RECOGNISED, runs } from "../recognition";
import { lookUp, schemaFormat, type View } from "../schema";
import type { ConfigDocument } from "../types";
import accepted from "./accepted.json";
import { TORCHTITAN_KEYS } from "./keys";
import { publishedModel } from "./models";

/** Degrees that multiply with the sharding one to the number of GPUs (`torchtitan/distributed/parallel_dims.py`). */
const DEGREES = ["dp_replicate_size", "tensor_parallel", "pipeline_parallel", "context_parallel"] as const;

function derive(d: Deriving): void {
  const name = d.find("model_name");
  const flavor = d.find("model_flavor");
  if (typeof flavor?.value === "string")
    d.make(flavor, "model", publishedModel(name === undefined ? undefined : String(name.value), flavor.value));
  const shard = d.find("dp_shard_size");
  if (shard?.value !== 1 && !d.has("fsdp")) d.make(shard, "fsdp", "full_shard");
  const degrees = DEGREES.map((name) => d.find(name)?.value ?? 1);
  if (typeof shard?.value === "number" && shard.value >= 1 && degrees.every((value) => typeof value === "number"))
    d.make(
      shard,
      "world_size",
      degrees.reduce<number>((all, value) => all * Number(value), shard.value),
    );
  d.make(d.said("float8", true), "compute_dtype", "fp8");
  // Since 2026 the micro-batch is stated in tokens.
  const tokens = d.find("tokens_per_micro_batch");
  const length = d.find("sequence_length");
  if (typeof tokens?.value === "number" && typeof length?.value === "number" && length.value > 0)
    d.make(tokens, "micro_batch_size", Math.max(1, Math.floor(tokens.value / length.value)));
}

const SHARED = {
  id: "torchtitan",
  keys: TORCHTITAN_KEYS,
  unknownKeys: { known: new Set([...accepted.names, ...LAUNCHER_OPTIONS]), stops: "torchtitan" },
  derive,
} as const;

export const torchtitan = schemaFormat({
  ...SHARED,
  views: (document) => dataView(document, ["toml", "yaml", "json"]),
  recognise({ map }) {
    const stated = (path: string) => lookUp(map, path) !== undefined;
    if (stated("model.name") && stated("model.flavor") && stated("training"))
      return { confidence: 0.98, because: has("model.flavor", "training") };
    const sections = [
      "training.seq_len",
      "parallelism.tensor_parallel_degree",
      "parallelism.data_parallel_shard_degree",
      "training.local_batch_size",
      "activation_checkpoint.mode",
      "experimental.pipeline_parallel_degree",
      "job.dump_folder",
    ];
    const found = sections.filter(stated).length;
    return found >= 2 ? { confidence: 0.85 + 0.02 * found, because: hasKeys(found, "torchtitan") } : NOT_RECOGNISED;
  },
});

export const torchtitanShell = schemaFormat({
  ...SHARED,
  carrier: "shell",
  views: shellViews,
  recognise(view) {
    const command = view.words.join(" ");
    const named =
      /torchtitan/.test(command) || view.map.entries.some((entry) => /torchtitan|train_configs/.test(entry.key));
    return named && /--?(?:job|training|parallelism|module|model)[._]|torchtitan[./](?:train|models)/.test(command)
      ? { confidence: 0.92, because: runs("torchtitan") }
      : NOT_RECOGNISED;
  },
});

const CONFIG_CALLS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\.)TrainingConfig(?:\.Config)?$|(?:^|\.)Training$/, "training."],
  [/(?:^|\.)ParallelismConfig(?:\.Config)?$|(?:^|\.)Parallelism$/, "parallelism."],
  [/(?:^|\.)(?:ActivationCheckpointConfig|ActivationCheckpoint)$/, "activation_checkpoint."],
  [/(?:^|\.)CompileConfig$/, "compile."],
  [/(?:^|\.)(?:OptimizersContainer\.Config|OptimizerConfig)$/, "optimizer."],
];
const CHECKPOINT_CALLS: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\.)FullAC(?:\.Config)?$/, "full"],
  [/(?:^|\.)SelectiveAC(?:\.Config)?$/, "selective"],
];

/** One view per `Trainer.Config(…)` of the registry, the first one first. */
function registryViews(document: ConfigDocument): readonly View[] {
  const { python } = document.parsed;
  if (python === undefined || !python.imports.some((name) => /^torchtitan(?:\.|$)/.test(name))) return [];
  const trainers = python.calls.filter((call) =>
    /(?:^|\.)(?:\w*Trainer\.Config|JobConfig|\w*TrainerConfig)$/.test(call.callee),
  );
  return trainers.slice(0, 200).map((trainer) => {
    const inside = python.calls.filter((call) => call.start > trainer.start && call.end <= trainer.end);
    const map: MapNode = {
      kind: "map",
      entries: [...inside.flatMap(entriesOf), ...modelOf(trainer, python.calls)],
      start: trainer.start,
      end: trainer.end,
    };
    return { map, words: [trainer.callee] };
  });
}

function entriesOf(call: PythonCall): Entry[] {
  const prefix = CONFIG_CALLS.find(([pattern]) => pattern.test(call.callee))?.[1];
  if (prefix !== undefined) return call.keywords.entries.map((entry) => ({ ...entry, key: prefix + entry.key }));
  const mode = CHECKPOINT_CALLS.find(([pattern]) => pattern.test(call.callee))?.[1];
  if (mode === undefined) return [];
  const value = {
    kind: "scalar",
    value: mode,
    raw: call.callee,
    start: call.calleeSpan.start,
    end: call.calleeSpan.end,
  } as const;
  return [{ key: "activation_checkpoint.mode", keySpan: call.calleeSpan, value }];
}

/** `model_registry("8B")` nearest before the trainer's end, in the same function. */
function modelOf(trainer: PythonCall, calls: readonly PythonCall[]): Entry[] {
  const call = calls
    .filter((candidate) => /(?:^|\.)model_registry$/.test(candidate.callee) && candidate.start < trainer.end)
    .at(-1);
  const flavor = call?.positional[0];
  return call === undefined || flavor === undefined
    ? []
    : [{ key: "model.flavor", keySpan: call.calleeSpan, value: flavor }];
}

export const torchtitanPython = schemaFormat({
  ...SHARED,
  carrier: "python",
  views: registryViews,
  recognise: () => ({ confidence: 0.95, because: builds("torchtitan Trainer.Config") }),
});
