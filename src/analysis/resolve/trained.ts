/** Which weights a run trains where it leaves others as they are and puts no adapter on them. */

import type { TrainedSpec, WeightRule } from "../../core/training/specs/trained";
import { ruleOf } from "../../formats/hf-scripts/freezing";
import type { SettingName } from "../../terms/settings";
import { say } from "../../words/message";
import type { ResolveContext } from "./context";

/** @param adapted whether an adapter is trained instead */
export function trainedOf(c: ResolveContext, adapted: boolean): TrainedSpec | undefined {
  const written = ofScript(c);
  const given = (c.settings.list("optimizer_weights") ?? []).flatMap((text) => ruleOf(text) ?? []);
  const stepped = given.length > 0 ? { stepped: given } : {};
  if (adapted) {
    // What is set before is lost: an adapter that is put on leaves the model as it is (BaseTuner._mark_only_adapters_as_trainable).
    const besideAdapter = written.filter((rule) => rule.adapted === true);
    return besideAdapter.length === 0 && given.length === 0 ? undefined : { besideAdapter, ...stepped };
  }
  const rules = [...only(stated(c)), ...written, ...only(ofAxolotl(c)), ...ofSwift(c)];
  const frozenShare = c.settings.number("freeze_parameters_ratio") ?? 0;
  const layers = layersOf(c);
  return rules.length === 0 && frozenShare === 0 && layers === undefined && given.length === 0
    ? undefined
    : { rules, frozenShare, ...(layers && { layers }), ...dtypeOf(c), ...stepped };
}

/** What a script sets `requires_grad` to; what of it cannot be followed is said. */
function ofScript(c: ResolveContext): readonly WeightRule[] {
  const unfollowed = c.settings.list("weights_unfollowed") ?? [];
  if (unfollowed.length > 0)
    c.suppose(say("assume.weights-unfollowed", { what: [...new Set(unfollowed)].join(", ") }), "trained_parameters");
  const rules = (c.settings.list("weight_rules") ?? []).flatMap((text) => ruleOf(text) ?? []);
  if (unfollowed.length === 0) return rules;
  // Where all is frozen and what is trained again is among what cannot be followed, all is counted as trained.
  const whole = rules.findLastIndex(({ pattern, trained }) => pattern === "" && !trained);
  return rules.slice(whole + 1).some(({ trained }) => trained) ? rules : rules.slice(whole + 1);
}

/** `trained_parameters` of the pins: what a script does to a model no config says. */
function stated(c: ResolveContext): readonly string[] {
  return c.settings.list("trained_parameters") ?? [];
}

/**
 * axolotl's patterns: dots are dots, and a name is matched from its beginning. Rows in brackets (`[:32000]`) are the ones
 * whose gradient is kept; the whole weight has one (src/axolotl/utils/freeze.py, LayerNamePattern).
 */
function ofAxolotl(c: ResolveContext): readonly string[] {
  const patterns = c.settings.list("unfrozen_parameters") ?? [];
  return patterns.map((text) => {
    const name = /^(.+)\[\d*(?::\d*)?\]$/.exec(text)?.[1] ?? text;
    return `^(?:${name.replaceAll(/\.(?!\+)/g, "\\.")})`;
  });
}

/** Nothing but what the patterns fit is trained; without patterns they say nothing. */
function only(patterns: readonly string[]): readonly WeightRule[] {
  if (patterns.length === 0) return [];
  return [{ pattern: "", trained: false }, ...patterns.map((pattern) => ({ pattern, trained: true }))];
}

/** ms-swift's beginnings of names, then its patterns; what is to be trained goes last. */
function ofSwift(c: ResolveContext): readonly WeightRule[] {
  const named = (name: "freeze_parameters" | "trainable_parameters", trained: boolean): WeightRule[] => [
    ...(c.settings.list(name) ?? []).map((start) => ({ pattern: `^${escaped(start)}`, trained })),
    ...(c.settings.list(`${name}_regex`) ?? []).map((pattern) => ({ pattern, trained })),
  ];
  return [...named("freeze_parameters", false), ...named("trainable_parameters", true)];
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** LLaMA-Factory's `finetuning_type: freeze`. */
function layersOf(c: ResolveContext): TrainedSpec["layers"] {
  const count = c.settings.number("trained_layers");
  if (count === undefined) return undefined;
  const modules = words(c, "freeze_trainable_modules");
  return {
    count,
    modules: modules.length === 0 || modules.includes("all") ? null : modules,
    besides: words(c, "freeze_extra_modules"),
  };
}

/** A list, or names with commas between. */
function words(c: ResolveContext, name: SettingName): readonly string[] {
  return (c.settings.list(name) ?? []).flatMap((text) => text.split(",").map((word) => word.trim())).filter(Boolean);
}

function dtypeOf(c: ResolveContext): Pick<TrainedSpec, "dtype"> {
  return c.settings.string("trained_dtype") === "float32" ? { dtype: "float32" } : {};
}
