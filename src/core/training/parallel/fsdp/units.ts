/** Which modules of a model are sharded together. */
import type { Tensor } from "../../../engine/tensor";
import type { FsdpSpec } from "../../specs/parallel";
import type { UnitOf } from "../../ties";
import type { ModelEnds } from "../strategy";

/** Modules given to one call of `fully_shard`, and the parameters that no call before has taken. */
export interface Unit {
  /** Paths; the model itself is the empty one. */
  readonly modules: readonly string[];
  readonly parameters: readonly Tensor[];
  /** `reshard_after_forward`. */
  readonly resharded: boolean | number;
  /** Experts that are spread already: over which ranks they are sharded, the policy of their group says. */
  readonly areExperts?: true;
}

/** A model as those who shard it see it. */
export interface ShardedModel extends ModelEnds {
  /** In the order of `model.parameters()`, frozen ones too. */
  readonly parameters: readonly Tensor[];
}

/** Which modules are units beside the layers, and which layers are none. */
export type UnitRules = Pick<FsdpSpec, "unsplit" | "apart" | "loose">;

type NamedWeight = Pick<Tensor, "name" | "pattern" | "layer">;

/** Path of the layer that a parameter belongs to. */
function layerOf({ pattern, layer }: NamedWeight): string | null {
  const at = pattern?.indexOf("{i}") ?? -1;
  return pattern === null || at < 0 || layer === null ? null : `${pattern.slice(0, at)}${layer}`;
}

/** Whether a unit with these parameters stands inside of a layer. */
export function isInsideLayer(path: string, parameters: readonly Tensor[]): boolean {
  return parameters.some((parameter) => path.length > (layerOf(parameter)?.length ?? path.length));
}

const NUMBER = /^\d+$/;

/**
 * Modules on the way to a name that are those of some paths, the outermost first. A path has `{i}` for every number in it or for none;
 * it may be anybody's text (torchtune's `custom_sharded_layers`), so that it is compared and no pattern.
 */
function onTheWay(paths: readonly string[]): (name: string) => string[] {
  const known = new Set(paths);
  return (name) => {
    const found: string[] = [];
    let [path, anyOf] = ["", ""];
    for (const part of known.size === 0 ? [] : name.split(".")) {
      path += path === "" ? part : `.${part}`;
      anyOf += `${anyOf === "" ? "" : "."}${NUMBER.test(part) ? "{i}" : part}`;
      if (known.has(path) || known.has(anyOf)) found.push(path);
    }
    return found;
  };
}

/** Paths of the units that a parameter's module is in, the outermost first. */
function aroundIt({ unsplit, apart = [], loose = [] }: UnitRules): (parameter: NamedWeight) => string[] {
  const named = onTheWay(apart);
  const free = onTheWay(loose);
  return (parameter) => {
    const layer = unsplit === true ? null : layerOf(parameter);
    const paths = named(parameter.name ?? "");
    if (layer !== null && free(layer).at(-1) !== layer) paths.push(layer);
    return paths.sort((a, b) => a.length - b.length);
  };
}

/** Which unit weights are in, layers and the rules' modules or the model itself. */
export function unitOf(rules: UnitRules): UnitOf {
  const around = aroundIt(rules);
  return ({ name, pattern, index }) => around({ name, pattern, layer: index }).at(-1) ?? "";
}

/** The same of accelerate's FSDP2: the ends are units of their own, one where they have one weight. */
export function unitWithEnds(rules: UnitRules): UnitOf {
  const inside = unitOf(rules);
  return (item, ends) => {
    const unit = inside(item, ends);
    const { embedding, head, isTied } = ends;
    const isOf = (path: string | null): boolean => path !== null && item.name.startsWith(`${path}.`);
    if (unit !== "") return unit;
    if (isOf(head)) return "tail";
    if (isOf(embedding)) return isTied ? "tail" : "embedding";
    return "";
  };
}

/**
 * Modules inside of the model in the order of `named_modules`, each with the parameters that none inside of it has: layers, and
 * those at the paths of the rules, around layers or inside of them.
 */
function modulesOf(parameters: readonly Tensor[], rules: UnitRules): ReadonlyMap<string, Tensor[]> {
  const around = aroundIt(rules);
  const modules = new Map<string, Tensor[]>();
  for (const parameter of parameters) {
    const paths = around(parameter);
    for (const path of paths) if (!modules.has(path)) modules.set(path, []);
    const inner = paths.at(-1);
    if (inner !== undefined) modules.get(inner)!.push(parameter);
  }
  return modules;
}

/** The same as units. */
function unitsOf(parameters: readonly Tensor[], rules: UnitRules, resharded: boolean | number): Unit[] {
  return [...modulesOf(parameters, rules)].map(([path, own]) => ({ modules: [path], parameters: own, resharded }));
}

/**
 * Every layer, and the model with what is left (`fully_shard` from the inside out).
 *
 * @param apart paths of modules that are groups, too
 * @param root what becomes of the model's own after forward; false where the call leaves it open (torch/distributed/fsdp/_fully_shard/_fsdp_state.py, `_lazy_init`)
 */
export function byLayers(
  { parameters }: ShardedModel,
  resharded: boolean | number,
  root: boolean | number,
  apart: readonly string[] = [],
): readonly Unit[] {
  const units = unitsOf(parameters, { apart }, resharded);
  return [rest(parameters, units, root), ...units];
}

/** The model itself, with the parameters that no unit has. */
function rest(parameters: readonly Tensor[], units: readonly Unit[], resharded: boolean | number): Unit {
  const taken = new Set(units.flatMap((unit) => unit.parameters));
  return { modules: [""], parameters: parameters.filter((parameter) => !taken.has(parameter)), resharded };
}

/**
 * As accelerate does (accelerate/utils/fsdp_utils.py, fsdp2_prepare_model): every layer; the embedding where the head has a weight
 * of its own; the last norm and the head together, with the embedding where they share its weight, which stay gathered; the rest.
 *
 * @param tailResharded the last norm and the head do not stay gathered
 */
export function byLayersAndEnds(
  model: ShardedModel,
  resharded: boolean | number,
  rules: UnitRules = {},
  tailResharded = false,
): readonly Unit[] {
  const { parameters, embedding, head } = model;
  const layers = unitsOf(parameters, rules, resharded);
  const tied = embedding !== null && head !== null && embedding.weight === head.weight;
  const taken = new Set(layers.flatMap((unit) => unit.parameters));
  const take = (path: string): Tensor[] => {
    const own = parameters.filter(
      (parameter) => !taken.has(parameter) && (parameter.name === path || parameter.name?.startsWith(`${path}.`)),
    );
    for (const parameter of own) taken.add(parameter);
    return own;
  };
  const first = model.said?.embedding ?? embedding?.path ?? null;
  const lookup: Unit[] = first === null || tied ? [] : [{ modules: [first], parameters: take(first), resharded }];
  const norm = finalNorm(model);
  const last = [norm, tied ? embedding.path : null, head?.path ?? null].filter((path) => path !== null);
  const modules = last.filter((path, k) => last.indexOf(path) === k);
  const tail: Unit[] =
    modules.length === 0 ? [] : [{ modules, parameters: modules.flatMap(take), resharded: tailResharded }];
  const inside = [...lookup, ...layers, ...tail];
  const root = rest(parameters, inside, false);
  return tied ? [root, ...tail, ...layers] : [root, ...inside];
}

/**
 * `_find_final_norm`: the last norm among the direct children of the base model, whose name (`base_model_prefix`) is the first of
 * the embedding's path. Around peft's wrapper the name `model` is the wrapped model's, whose children are no norms.
 */
function finalNorm({ parameters, embedding, adapted, said }: ShardedModel): string | null {
  const prefix = (said?.norm ?? embedding?.path)?.split(".")[0];
  if (prefix === undefined || (adapted && prefix === "model")) return null;
  if (said !== undefined) return said.norm === "" ? null : said.norm;
  const norms = parameters.filter(
    ({ name, layer, moduleKind }) =>
      layer === null &&
      moduleKind?.includes("Norm") === true &&
      name?.startsWith(`${prefix}.`) === true &&
      name.split(".").length === prefix.split(".").length + 2,
  );
  return norms.at(-1)?.name?.replace(/\.[^.]+$/, "") ?? null;
}

const EXPERTS = /Experts$/;

/** A module with experts that lie in one matrix for all of them. */
export function isExpert({ moduleKind, rank }: Tensor): boolean {
  return rank === 3 && moduleKind !== null && EXPERTS.test(moduleKind);
}

/** Experts as units of their own inside their layers' (torchtitan/models/llama4/infra/parallelize.py, apply_fsdp). */
export function withExpertsApart(units: readonly Unit[]): readonly Unit[] {
  return units.flatMap((unit) => {
    const experts = unit.parameters.filter(isExpert);
    const path = experts[0]?.name?.replace(/\.[^.]+$/, "");
    if (path === undefined) return [unit];
    const others = unit.parameters.filter((parameter) => !isExpert(parameter));
    return [
      { ...unit, parameters: others },
      { ...unit, modules: [path], parameters: experts, areExperts: true as const },
    ];
  });
}

/** What is gathered ahead of its turn (`set_modules_to_forward_prefetch`, `set_modules_to_backward_prefetch`), by the first module of each unit. */
export interface Ahead {
  readonly forward: ReadonlyMap<string, readonly string[]>;
  readonly backward: ReadonlyMap<string, readonly string[]>;
}

/**
 * As `apply_fsdp` says it where experts are spread: what runs next, in a layer its experts too; the first layer's and the last
 * one's are left to themselves, seen from the embedding and from the head.
 */
export function nextAhead(units: readonly Unit[]): Ahead {
  const path = ({ modules }: Unit): string => modules[0]!;
  const stops = units.filter((unit) => path(unit) !== "" && unit.areExperts !== true).map(path);
  const expertsOf = (stop: string): readonly string[] =>
    units.filter((unit) => unit.areExperts === true && path(unit).startsWith(`${stop}.`)).map(path);
  const isLayer = new Set(units.filter(({ parameters }) => parameters[0]?.layer !== null).map(path));
  const ahead = (order: readonly string[]): ReadonlyMap<string, readonly string[]> =>
    new Map(
      order
        .slice(0, -1)
        .map((stop, k) => [stop, [order[k + 1]!, ...(isLayer.has(stop) ? expertsOf(order[k + 1]!) : [])]]),
    );
  return { forward: ahead(stops), backward: ahead(stops.toReversed()) };
}

/** A wrapped module and the parameters that are flattened together. */
export interface FlatUnitParameters {
  readonly path: string;
  readonly parameters: readonly Tensor[];
}

/** A factor of an adapter is a linear layer in a dictionary of them, with a bias at most; DoRA's magnitudes are a module, too. */
const FACTOR = /^(.+\.lora_(?:[AB]|magnitude_vector))(?:_bias)?$/;
const PLAIN = /^(.+)\.(?:weight|bias)$/;

/** The innermost module that a parameter belongs to, where that has nothing but a weight and a bias; null: there is none. */
function leafModule({ name }: Tensor): string | null {
  const of = name ?? "";
  return (FACTOR.exec(of) ?? PLAIN.exec(of))?.[1] ?? null;
}

function isWeight({ name }: Tensor): boolean {
  return name?.endsWith("bias") === false;
}

/** Modules without others inside whose weight is trained, each with its parameters (peft/utils/other.py, `lambda_policy_fn`). */
function trainedModules(parameters: readonly Tensor[]): ReadonlyMap<string, readonly Tensor[]> {
  const modules = new Map<string, Tensor[]>();
  for (const parameter of parameters) {
    const path = leafModule(parameter);
    if (path === null) continue;
    const own = modules.get(path);
    if (own === undefined) modules.set(path, [parameter]);
    else own.push(parameter);
  }
  return new Map([...modules].filter(([, own]) => own.some((one) => isWeight(one) && one.requiresGradFlag)));
}

/**
 * As accelerate wraps them (accelerate/utils/dataclasses.py, set_auto_wrap_policy): every layer, other modules whose class is to be kept
 * together, and the model with what is left.
 * Around adapters every module with a trained weight is a unit inside its layer's (peft/utils/other.py, fsdp_auto_wrap_policy).
 */
export function byFlatUnits(
  parameters: readonly Tensor[],
  apartAdapters: boolean,
  rules: UnitRules = {},
): readonly FlatUnitParameters[] {
  const layers = unitsOf(parameters, rules, true);
  const apart: ReadonlyMap<string, readonly Tensor[]> = apartAdapters ? trainedModules(parameters) : new Map();
  const taken = new Set([...apart.values()].flat());
  const around = [rest(parameters, layers, true), ...layers].map(({ modules, parameters: own }) => ({
    path: modules[0]!,
    parameters: own.filter((parameter) => !taken.has(parameter)),
  }));
  return [...around, ...[...apart].map(([path, own]) => ({ path, parameters: own }))];
}
