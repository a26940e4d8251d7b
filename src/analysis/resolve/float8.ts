/**
 * Matrix products in 8 bits: which library makes them and which layers it leaves out. Sources: accelerate/accelerator.py
 * (torchao is taken first when no backend is named) and utils/ao.py; llamafactory/extras/misc (fp8_backend) and
 * train/fp8_utils.py; torchtune/training/quantization.py (convert_to_float8_training); torchtitan/components/quantization/
 * float8.py; Megatron's and NeMo's linear layers are Transformer Engine's, which keep their 8-bit weights.
 */

import type { Float8Recipe, Float8Spec } from "../../core/training/run";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import type { Setting } from "../frameworks/settings";
import type { ResolveContext } from "./context";

const RECIPES: ReadonlySet<string> = new Set<Float8Recipe>(["tensorwise", "rowwise", "rowwise_with_gw_hp"]);

/** Backends by the words of accelerate and LLaMA-Factory. */
const BACKENDS: Readonly<Record<string, Float8Spec["backend"]>> = table({
  ao: "torchao",
  torchao: "torchao",
  te: "transformer-engine",
  "transformer-engine": "transformer-engine",
});

/** The setting that switches 8-bit products on, or undefined. */
function switchOf(c: ResolveContext): Setting | undefined {
  const compute = c.settings.find("compute_dtype");
  if (compute?.value === "fp8") return compute;
  const on = (["fp8", "float8"] as const)
    .map((name) => c.settings.find(name))
    .find((setting) => setting?.value === true);
  const converted = c.settings.list("converters")?.some((name) => /(^|\.)float8$/.test(name));
  return on ?? (converted ? c.settings.find("converters") : undefined);
}

export function float8Of(c: ResolveContext): Float8Spec | null {
  const stated = switchOf(c);
  if (stated === undefined) return null;
  const own = c.framework.float8;
  const name = c.settings.find("fp8_backend");
  const named = BACKENDS[String(name?.value ?? "").toLowerCase()];
  const backend = named ?? own?.backend ?? "torchao";
  const recipe = c.settings.string("fp8_recipe") ?? "";
  const left = c.settings.list("fp8_skip_modules") ?? [];
  if (String(name?.value ?? "").toUpperCase() === "MSAMP")
    c.suppose(say("assume.ms-amp"), name?.key ?? stated.key, { fp8_backend: "te" });
  else if (named === undefined && own === undefined)
    c.suppose(say("assume.fp8-backend"), "fp8_config.backend", { fp8_backend: "te" });
  if (backend === "transformer-engine") c.suppose(say("assume.transformer-engine"), stated.key);
  const gathers =
    backend === "torchao" &&
    !(RECIPES.has(recipe) && recipe !== "tensorwise") &&
    c.value("float8_all_gather", false) === true;
  return {
    backend,
    ...(gathers ? { gathers } : {}),
    recipe: RECIPES.has(recipe) ? (recipe as Float8Recipe) : "tensorwise",
    // accelerate swaps every linear layer for Transformer Engine's, all but the first and the last for torchao's.
    keeps: left.some((path) => /^(output|lm_head)$/.test(path))
      ? "head"
      : (own?.keeps ?? (backend === "torchao" ? "first-and-last" : "none")),
    cachesWeights: backend === "transformer-engine" && own?.cachesWeights === true,
  };
}
