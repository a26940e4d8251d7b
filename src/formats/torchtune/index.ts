/** torchtune recipes: YAML, and `tune run … key=value` in scripts. */

import { table } from "../../terms/table";
import { say } from "../../words/message";
import { dataView, shellViews } from "../carriers";
import type { Deriving } from "../deriving";
import { replacing, setting } from "../fix";
import { LAUNCHER_OPTIONS } from "../launchers/options";
import { flatten } from "../reader";
import { NOT_RECOGNISED, runs } from "../recognition";
import { schemaFormat, type View } from "../schema";
import { problem } from "../table";
import type { Format, FormatProblem, LocatedSetting } from "../types";
import accepted from "./accepted.json";
import { TORCHTUNE_KEYS } from "./keys";
import { builderOf, componentOf, publishedModel } from "./models";
import { withBlocks, withRecipe } from "./recipes";

function components({ map }: View): number {
  let found = 0;
  for (const { path, entry } of flatten(map)) {
    if (!path.endsWith("_component_") || entry.value.kind !== "scalar") continue;
    if (String(entry.value.value).startsWith("torchtune.")) found++;
  }
  return found;
}

/** Linear layers of an attention block as torchtune names them, with the same layers in transformers. */
const ATTENTION: Readonly<Record<string, readonly string[]>> = table({
  q_proj: ["q_proj", "qkv_proj"],
  k_proj: ["k_proj", "qkv_proj"],
  v_proj: ["v_proj", "qkv_proj"],
  output_proj: ["output_proj", "o_proj"],
});
const MLP = ["mlp\\.w1", "mlp\\.w2", "mlp\\.w3", "gate_proj", "up_proj", "down_proj", "gate_up_proj"];

/** Target modules as a regular expression, the way peft takes one. */
function targets(d: Deriving): string | undefined {
  const written = d.find("lora_target_modules")?.node;
  const attention = written?.kind === "list" ? written.items : [];
  const modules = new Set(
    attention.flatMap((item) => (item.kind === "scalar" ? (ATTENTION[String(item.value)] ?? []) : [])),
  );
  if (d.find("lora_on_mlp")?.value === true) for (const module of MLP) modules.add(module);
  if (d.find("lora_on_output")?.value === true) for (const head of ["lm_head", "output"]) modules.add(head);
  return modules.size === 0 ? undefined : `(?:.*\\.)?(?:${[...modules].join("|")})`;
}

/** Losses of recipes that keep models beside the trained one, or generate (torchtune/rlhf/loss, torchtune/dev/grpo/loss.py). */
const PREFERENCE = /\.(?:rlhf|grpo)\.loss\.([A-Za-z]{2,20}?)(?:Simple|With[A-Za-z]{1,40})?Loss$/;

/** What a recipe trains with besides plain fine-tuning, which a component of it says. */
function trainerOf({ name, key, value }: LocatedSetting): string | undefined {
  if (key.endsWith("teacher_model._component_")) return "distillation";
  return name === "loss_component" ? PREFERENCE.exec(String(value))?.[1]?.toLowerCase() : undefined;
}

/**
 * Checkpointing of every nth layer is a switch of its own beside that of all layers, and `full` has no n
 * (recipes/full_finetune_distributed.py; torchtune/training/activations.py). The recipes of adapters have the other switch alone.
 */
function makeCheckpointed(d: Deriving): void {
  const mode = d.find("checkpoint_mode");
  const isOn = d.find("gradient_checkpointing")?.value === true;
  const adapts = builderOf(String(d.find("model_component")?.value ?? "")).adapter !== "none";
  const picks = !isOn && !adapts && /^(?:full|selective)$/.test(String(mode?.value));
  if (picks) d.make(mode, "gradient_checkpointing", true);
  if (!picks || mode?.value === "full") d.make(d.find("checkpoint_every_n_layers"), "checkpoint_every_n_layers", 1);
}

function derive(d: Deriving): void {
  const builder = d.find("model_component");
  if (typeof builder?.value === "string") {
    const { adapter } = builderOf(builder.value);
    const component = componentOf(builder.value);
    if (d.has("hidden_size")) {
      d.make(builder, "model_type", component?.type);
      if (!d.has("tied_embeddings")) d.make(builder, "tied_embeddings", component?.tied);
    }
    d.make(builder, "model", publishedModel(builder.value));
    d.make(builder, "adapter", adapter);
    if (adapter === "qlora") {
      d.make(builder, "quantization", "nf4");
      // NF4Tensor quantizes its scales, too (torchao/dtypes/nf4tensor.py).
      d.make(builder, "double_quantization", true);
    }
    if (adapter !== "none") {
      // Adapters are made in the model's dtype (torchtune/modules/peft/lora.py).
      d.make(builder, "autocast_adapter_dtype", false);
      d.make(builder, "prepare_for_kbit", false);
      const from = d.find("lora_target_modules") ?? builder;
      d.make({ ...from, node: builder.node }, "lora_target_modules", targets(d));
    }
  }
  const directory = d.stated.find(({ name, value }) => name === "model_directory" && typeof value === "string");
  if (builder === undefined) d.make(directory, "model", directory?.value);
  for (const setting of d.stated) d.make(setting, "rl", trainerOf(setting));
  makeCheckpointed(d);
  d.makeFused();
}

function check(settings: readonly LocatedSetting[]): readonly FormatProblem[] {
  const on = (name: string) => settings.find((setting) => setting.name === name && setting.value === true);
  const problems: FormatProblem[] = [];
  const backward = on("optimizer_in_backward");
  const accumulation = settings.find(
    (setting) =>
      setting.name === "gradient_accumulation_steps" && typeof setting.value === "number" && setting.value > 1,
  );
  if (backward !== undefined && accumulation !== undefined)
    problems.push(
      problem("optimizer-in-backward", "error", backward.keySpan, "optimizer-in-backward", {}, [
        replacing(backward, "false", true),
        setting(accumulation.key, { name: "gradient_accumulation_steps", value: 1 }, false),
      ]),
    );
  const offload = on("offload_activations");
  if (offload !== undefined && on("gradient_checkpointing") === undefined)
    problems.push(
      problem(
        "offloading-needs-checkpointing",
        "error",
        offload.keySpan,
        "offloading-needs-checkpointing.torchtune",
        {},
        [setting("enable_activation_checkpointing", { name: "gradient_checkpointing", value: true }, true)],
      ),
    );
  return problems;
}

const SHARED = {
  id: "torchtune",
  keys: TORCHTUNE_KEYS,
  unknownKeys: { known: new Set([...accepted.names, ...LAUNCHER_OPTIONS]) },
  derive,
  check,
} as const;

export const torchtune = schemaFormat({
  ...SHARED,
  views: (document) => dataView(document, ["yaml"], true),
  recognise(view) {
    const found = components(view);
    return found > 0
      ? {
          confidence: Math.min(0.99, 0.9 + 0.03 * found),
          because: say("because.components", { count: found, of: "torchtune" }),
        }
      : NOT_RECOGNISED;
  },
});

const COMMAND = {
  ...SHARED,
  carrier: "shell",
  views: shellViews,
  recognise: (view: View) =>
    /(?:^|\s)tune\s+run\s/.test(`${view.words.slice(0, 6).join(" ")} `)
      ? { confidence: 0.95, because: runs("torchtune") }
      : NOT_RECOGNISED,
} as const;

/** What a config of torchtune's own says is read, and changed by the command's words. */
export const torchtuneShell: Format = {
  ...schemaFormat({ ...COMMAND, views: (document) => shellViews(document).map(withRecipe) }),
  edit: schemaFormat({ ...COMMAND, views: (document) => shellViews(document).map(withBlocks) }).edit,
};
