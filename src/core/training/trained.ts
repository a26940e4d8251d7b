/**
 * Which weights are trained where not all of them are, and no adapter stands for them: patterns of names (axolotl's
 * `unfrozen_parameters`, src/axolotl/utils/freeze.py; ms-swift's `freeze_parameters` and `trainable_parameters`,
 * swift/utils/transformers_utils.py, freeze_parameters and activate_parameters), the first share of the model (ms-swift's `freeze_parameters_ratio`), some layers
 * (LLaMA-Factory's `finetuning_type: freeze`, llamafactory/model/adapter.py, _setup_freeze_tuning).
 */
import { compilePattern } from "../../terms/pattern";
import { isFloating } from "../engine/dtype";
import { numel } from "../engine/shape";
import type { Tensor } from "../engine/tensor";
import { DIMENSIONS } from "../graph/dimensions";
import type { Scope } from "../graph/expression";
import { type Named, partOf } from "./part-of";
import type { PlacedTensor } from "./placed";
import type { TrainedLayers, TrainedSpec, WeightRule } from "./specs/trained";

/** Names of tied weights, each with the one that stands for it. */
export type TiedNames = ReadonlyMap<string, string>;

/**
 * Whether each weight is trained. A rule that fits switches gradients on as well as off (`param.requires_grad = ...` in
 * src/axolotl/utils/freeze.py and swift/utils/transformers_utils.py), so it also reaches what the model leaves as it is.
 */
export function withTrained(
  spec: TrainedSpec | undefined,
  placed: readonly PlacedTensor[],
  scope: Scope,
  tied: TiedNames = new Map(),
): readonly PlacedTensor[] {
  if (spec === undefined) return placed;
  const inLayers = spec.layers === undefined ? () => true : ofLayers(spec.layers, depthOf(scope));
  const rules = (spec.rules ?? []).map((rule) => ({ fits: fitting(rule, placed, tied), trained: rule.trained }));
  const below = firstShare(spec.frozenShare ?? 0, placed);
  return placed.map((item) => {
    const trained = rules.findLast(({ fits }) => fits(item.name))?.trained ?? !(item.frozen || below.has(item.name));
    return { ...item, frozen: !(trained && inLayers(item.name)) };
  });
}

/**
 * Switches gradients on and off once the adapter is there. Packed weights are integers, which have none: what asks for it raises.
 * @param wrapped parameters under the names that peft gives them
 */
export function regrade(
  rules: readonly WeightRule[],
  wrapped: readonly { readonly tensor: Tensor; readonly item: Named }[],
): void {
  const items = wrapped.map(({ item }) => item);
  const all = rules.map((rule) => ({ fits: fitting(rule, items, new Map()), trained: rule.trained }));
  for (const { tensor, item } of wrapped) {
    const rule = all.findLast(({ fits }) => fits(item.name));
    if (rule !== undefined && isFloating(tensor.dtype)) tensor.requiresGradFlag = rule.trained;
  }
}

/**
 * The weights that the optimizer is given; undefined: all that are trained.
 *
 * @param all the parameters by their names, where they are asked for
 */
export function steppedOf(
  { stepped }: TrainedSpec,
  all: () => readonly { readonly tensor: Tensor; readonly item: Named }[],
  tied: TiedNames,
): ReadonlySet<Tensor> | undefined {
  if (stepped === undefined) return undefined;
  const named = all();
  const items = named.map(({ item }) => item);
  const rules = stepped.map((rule) => ({ fits: fitting(rule, items, tied), trained: rule.trained }));
  const given = named.filter(({ item }) => rules.findLast(({ fits }) => fits(item.name))?.trained !== false);
  return new Set(given.map(({ tensor }) => tensor));
}

/** A weight of the script's own, and the module beside the model that it is of; undefined: one around it. */
export interface OwnWeight {
  readonly tensor: Tensor;
  readonly item: Named;
  readonly beside?: string;
}

/**
 * Whether rules mean weights of the script's own: what they ask of the loaded model by its methods is none of these.
 *
 * @returns what the last one that fits says; undefined: none does
 */
export function decidedFor(
  rules: readonly WeightRule[],
  own: readonly OwnWeight[],
): (weight: OwnWeight) => boolean | undefined {
  const items = own.map(({ item }) => item);
  const all = rules.map((rule) => {
    const [first] = rule.part ?? [];
    const isOfModel = typeof first === "object" && "method" in first;
    return { rule, fits: isOfModel ? () => false : fitting(rule, items, new Map()) };
  });
  return ({ item, beside }) =>
    all.findLast(({ rule, fits }) => (beside === undefined ? fits(item.name) : rule.beside === beside))?.rule.trained;
}

/** Whether a rule means a weight. A part of the model has its tied weights, too, under names of its own. */
function fitting(rule: WeightRule, placed: readonly Named[], tied: TiedNames): (name: string) => boolean {
  const { pattern, part, modules, except, around, beside } = rule;
  if (beside !== undefined) return () => false;
  if (modules !== undefined) {
    const inside = fitting({ pattern, trained: rule.trained, ...(part && { part }) }, placed, tied);
    const own = new Set(placed.flatMap(({ name, module }) => (modules.includes(module) ? [name] : [])));
    const fits = around === undefined ? () => true : searched(around);
    return (name) => own.has(name) && fits(name.slice(0, Math.max(0, name.lastIndexOf(".")))) && inside(name);
  }
  const left = new Set(placed.flatMap(({ name, module }) => (except?.includes(module) === true ? [name] : [])));
  const found = around === undefined ? searched(pattern) : inModules(searched(around), (name) => left.has(name));
  if (part === undefined || part.length === 0) return found;
  const rest = partOf(part, placed, tied);
  const others = new Map<string, string[]>();
  for (const [name, to] of tied) others.set(to, [...(others.get(to) ?? []), name]);
  return (name) =>
    [name, ...(others.get(name) ?? [])].some((one) => {
      const inside = rest(one);
      return inside !== null && found(inside);
    });
}

function searched(pattern: string): (name: string) => boolean {
  const compiled = compilePattern(pattern);
  return (name) => compiled.ok && compiled.matches(name, "anywhere");
}

/**
 * Whether a module around a weight has a name that fits.
 *
 * @param isLeft weights whose own module does not count
 */
function inModules(fits: (name: string) => boolean, isLeft: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>();
  const asked = (module: string): boolean => {
    const found = known.get(module) ?? fits(module);
    known.set(module, found);
    return found;
  };
  return (name) => {
    let module = name;
    for (let own = true; module !== ""; own = false) {
      module = module.slice(0, Math.max(0, module.lastIndexOf(".")));
      if (!(own && isLeft(name)) && asked(module)) return true;
    }
    return false;
  };
}

/** Layers of the text side, by the names that configs have for them. */
function depthOf(scope: Scope): number {
  const keys = ["text_config.num_hidden_layers", ...DIMENSIONS.layers];
  return Number(keys.map((key) => scope(key)).find((value) => typeof value === "number") ?? 0);
}

function ofLayers({ count, modules, besides }: TrainedLayers, depth: number): (name: string) => boolean {
  const [from, to] = count > 0 ? [Math.max(0, depth - count), depth] : [0, Math.min(-count, depth)];
  const own = Array.from({ length: to - from }, (_, k) => from + k).flatMap((index) =>
    (modules ?? [""]).map((module) => `.${index}.${module}`),
  );
  return (name) => [...own, ...besides].some((text) => name.includes(text));
}

/** Weights before the one in which the share of all elements ends. */
function firstShare(share: number, placed: readonly PlacedTensor[]): ReadonlySet<string> {
  const limit = Math.floor(share * placed.reduce((sum, { sizes }) => sum + numel(sizes), 0));
  const names = new Set<string>();
  let elements = 0;
  for (const { name, sizes } of share > 0 ? placed : []) {
    elements += numel(sizes);
    if (elements > limit) break;
    names.add(name);
  }
  return names;
}
