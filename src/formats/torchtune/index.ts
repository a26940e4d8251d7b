/** torchtune recipes: YAML, and `tune run … key=value` in scripts. */
import { dataView, shellViews } from "../carriers";
import { derived, flatten, NOT_RECOGNISED, schemaFormat, type View } from "../schema";
import { problem } from "../table";
import type { FormatProblem, LocatedSetting } from "../types";
import { TORCHTUNE_KEYS } from "./keys";

function components({ map }: View): number {
  let found = 0;
  for (const { path, entry } of flatten(map)) {
    if (!path.endsWith("_component_") || entry.value.kind !== "scalar") continue;
    if (String(entry.value.value).startsWith("torchtune.")) found++;
  }
  return found;
}

function derive(settings: readonly LocatedSetting[]): readonly LocatedSetting[] {
  const result: LocatedSetting[] = [];
  const builder = settings.find((setting) => setting.name === "model_component");
  if (typeof builder?.value === "string") {
    const name = builder.value.split(".").at(-1) ?? "";
    result.push(derived(builder, "model", builder.value));
    result.push(
      derived(builder, "adapter", name.startsWith("qlora_") ? "qlora" : name.startsWith("lora_") ? "lora" : "none"),
    );
    if (name.startsWith("qlora_")) result.push(derived(builder, "quantization", "nf4"));
  }
  const directory = settings.find((setting) => setting.name === "model_directory" && typeof setting.value === "string");
  if (directory !== undefined && builder === undefined) result.push(derived(directory, "model", directory.value));
  return result;
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
    problems.push(problem("optimizer-in-backward", "error", backward.keySpan, "optimizer-in-backward"));
  const offload = on("offload_activations");
  if (offload !== undefined && on("gradient_checkpointing") === undefined)
    problems.push(
      problem("offloading-needs-checkpointing", "error", offload.keySpan, "offloading-needs-checkpointing.torchtune"),
    );
  return problems;
}

export const torchtune = schemaFormat({
  id: "torchtune",
  keys: TORCHTUNE_KEYS,
  views: (document) => dataView(document, ["yaml"], true),
  recognise(view) {
    const found = components(view);
    return found > 0
      ? { confidence: Math.min(0.99, 0.9 + 0.03 * found), because: `names ${found} torchtune components` }
      : NOT_RECOGNISED;
  },
  derive,
  check,
});

export const torchtuneShell = schemaFormat({
  id: "torchtune",
  carrier: "shell",
  keys: TORCHTUNE_KEYS,
  views: shellViews,
  recognise: (view) =>
    /(?:^|\s)tune\s+run\s/.test(`${view.words.slice(0, 6).join(" ")} `)
      ? { confidence: 0.95, because: "runs a torchtune recipe" }
      : NOT_RECOGNISED,
  derive,
  check,
});
