/**
 * A model's `config.json` seen through its family's defaults, aliases and derived values, as the config class of the
 * library would fill it in.
 */
import { table } from "../../terms/table";
import type { ModelConfig, TrainingRun } from "../training/run";
import { Expressions, type Scope, truthy, type Value } from "./expression";
import type { ArchitectureGraph, FamilyGraphs } from "./types";

/** Sizes of the run that expressions may use. */
export interface RunSizes {
  /** Sequences or images per device and forward. */
  readonly B: number;
  /** Tokens per sequence. */
  readonly S: number;
  /** Target tokens of a sequence-to-sequence model. */
  readonly T: number;
  /** Side of an image in pixels. */
  readonly I: number;
  /** Samples of a sound wave. */
  readonly A: number;
  /** Sequences that one question is: its choices; 1 where a sample is no question. */
  readonly C?: number;
}

export function sizesOf(run: TrainingRun): RunSizes {
  return {
    B: run.microBatchSize,
    S: run.sequenceLength,
    T: run.targetLength,
    I: run.imageSize,
    A: run.audioSamples ?? 0,
    C: run.choices ?? 1,
  };
}

/**
 * What models compute themselves where their config class leaves a key out
 * (`getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads`).
 */
const CONVENTIONS: Readonly<Record<string, string>> = table({ head_dim: "hidden_size//num_attention_heads" });

/**
 * Kinds of layers as older files spell them (configuration_utils.py, `remap_legacy_layer_types`), and the letters of
 * `hybrid_override_pattern` (configuration_nemotron_h.py, `_pattern_to_list`).
 */
const KINDS: Readonly<Record<string, string>> = table({
  mamba: "linear_attention",
  attention: "full_attention",
  M: "linear_attention",
  "*": "full_attention",
  E: "moe",
  "-": "mlp",
});

/** An element of a list of the config, as expressions name it. */
const LISTED = /^(.*)\.(\d+)$/;

/**
 * Names inside a layer: its number `i`, its `kind`, and what lists of the config have for it (`mlp_layer_types.i`).
 */
export function layerScope(scope: Scope, index: number, kind: string | null): Scope {
  return (name) => {
    if (name === "i") return index;
    if (name === "kind") return kind;
    return scope(name.endsWith(".i") ? `${name.slice(0, -1)}${index}` : name);
  };
}

export interface ConfigView {
  readonly scope: Scope;
  /** Evaluates the expressions of the family's graphs. */
  readonly expressions: Expressions;
  /** Kind of layer `index` (`layer_types`), or null where the family has none. */
  layerKind(index: number): string | null;
}

function asValue(value: unknown): Value | undefined {
  if (value === null || typeof value === "number" || typeof value === "string" || typeof value === "boolean")
    return value;
  return undefined;
}

/** Whether a file states a list, a map or a truth, which no number of a config class is read from. */
function isNoNumber(stated: unknown): boolean {
  return typeof stated === "boolean" || (typeof stated === "object" && stated !== null);
}

/** Whether a file states something else where the class has a list: none of the list's elements stands for it. */
function isNoList(config: ModelConfig, defaults: ModelConfig, name: string): boolean {
  const list = LISTED.exec(name)?.[1];
  if (list === undefined || !Array.isArray(lookup(defaults, list))) return false;
  const stated = lookup(config, list);
  return stated !== undefined && stated !== null && typeof stated !== "object";
}

function lookup(source: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(source, path)) return source[path];
  if (!path.includes(".")) return undefined;
  let current: unknown = source;
  for (const part of path.split(".")) {
    if (typeof current !== "object" || current === null) return undefined;
    if (Array.isArray(current) && part === "length") return current.length;
    current = (current as Record<string, unknown>)[part];
  }
  return current;
}

/** The family's own, or new ones for a family that was not read from a file. */
function expressionsOf({ expressions }: FamilyGraphs): Expressions {
  return expressions ?? new Expressions();
}

/** Names an expression can look up, for one config and one run. */
export function configView(family: FamilyGraphs, config: ModelConfig, sizes: RunSizes): ConfigView {
  const values = new Map<string, Value>(Object.entries(sizes));
  const expressions = expressionsOf(family);
  const stated = (name: string): Value | undefined => {
    // The config class counts the labels it is given names for.
    const labels = name === "num_labels" ? config["id2label"] : undefined;
    if (typeof labels === "object" && labels !== null) return Object.keys(labels).length;
    for (const [alias, target] of Object.entries(family.aliases)) {
      if (target !== name) continue;
      const value = asValue(lookup(config, alias));
      if (value !== undefined && value !== null) return value;
    }
    const value = asValue(lookup(config, name));
    // What a list of the config does not hold is nothing: no element of the class's own list.
    const list = name.slice(0, Math.max(0, name.lastIndexOf(".")));
    return value === undefined && Array.isArray(lookup(config, list)) ? null : value;
  };
  /** An element of a list that the config leaves out and its class computes from the layer's number. */
  const ofLayer = (name: string): Value => {
    const [, list, index] = LISTED.exec(name) ?? [];
    const derived = list === undefined ? undefined : family.derived[`${list}.i`];
    if (derived === undefined || Array.isArray(lookup(config, list ?? ""))) return null;
    return expressions.evaluate(derived, (other) => (other === "i" ? Number(index) : scope(other)));
  };
  const scope: Scope = (name) => {
    const known = values.get(name);
    if (known !== undefined) return known;
    const fallback = asValue(lookup(family.defaults, name));
    // A number that is stated as something else is no number: the class's own does not stand for it.
    const isBroken =
      typeof fallback === "number" && (isNoNumber(lookup(config, name)) || isNoList(config, family.defaults, name));
    let value = isBroken ? Number.NaN : stated(name);
    if (value === undefined || value === null) {
      // An explicit null in the config means null, unless the library computes the value then.
      if (value === undefined && fallback !== undefined) value = fallback;
      const derived = family.derived[name] ?? CONVENTIONS[name];
      if ((value === undefined || value === null) && derived !== undefined) {
        values.set(name, null);
        value = expressions.evaluate(derived, scope);
      }
      value ??= ofLayer(name);
    }
    const found = value ?? null;
    values.set(name, found);
    return found;
  };
  // Some families call the list by an older name; those of pictures and text keep it with the text.
  const pattern = config["hybrid_override_pattern"];
  const types =
    config["layer_types"] ??
    config["layers_block_type"] ??
    lookup(config, "text_config.layer_types") ??
    (typeof pattern === "string" ? [...pattern] : undefined);
  const ofTower = family.layerKind?.includes("vision_config.") ?? false;
  return {
    scope,
    expressions,
    layerKind(index) {
      // What a tower's own keys say of its layers (SAM's windows) goes before the list of the text's.
      const listed: unknown = Array.isArray(types) && !ofTower ? types[index] : undefined;
      if (typeof listed === "string") return KINDS[listed] ?? listed;
      if (family.layerKind === null) return null;
      const kind = expressions.evaluate(family.layerKind, (name) => (name === "i" ? index : scope(name)));
      return typeof kind === "string" ? kind : null;
    },
  };
}

/** Graphs of a task that a kind of attention may run on, in order. */
function candidates(family: FamilyGraphs, task: string, attention: string): readonly ArchitectureGraph[] {
  const own = family.graphs.filter((graph) => graph.task === task);
  if (own.some((graph) => graph.attention === "none")) return own;
  const kind = attention === "sdpa" && !own.some((graph) => graph.attention === "sdpa") ? "eager" : attention;
  return own.filter((graph) => graph.attention === kind);
}

/** Whether what a run of the task would run on is the code of an earlier release, not the newest one's in its stead. */
export function isOfRelease(family: FamilyGraphs, task: string, attention: string): boolean {
  const kind = attention === "eager" ? attention : "sdpa";
  return candidates(family, task, kind).some(({ release }) => release !== undefined);
}

/** Conditions of a graph that a config does not meet, each by itself where several are joined. */
function unmet({ when }: ArchitectureGraph, expressions: Expressions, scope: Scope): readonly string[] {
  const fails = (condition: string): boolean => !truthy(expressions.evaluate(condition, scope));
  return when.filter(fails).flatMap((condition) => joined(condition).filter(fails));
}

/** What a condition without alternatives asks for: the parts between its `and`. */
function joined(condition: string): readonly string[] {
  return /\bor\b|\(/.test(condition) ? [condition] : condition.split(" and ");
}

/**
 * The graph of a task and attention whose conditions hold, or undefined. A family whose code has no SDPA runs eager, as
 * the library chooses by itself; one without attention (convolutional networks) has no kinds of it.
 */
export function selectGraph(
  family: FamilyGraphs,
  task: string,
  attention: string,
  scope: Scope,
): ArchitectureGraph | undefined {
  const expressions = expressionsOf(family);
  return candidates(family, task, attention).find((graph) => unmet(graph, expressions, scope).length === 0);
}

/** A graph with the parameters of a task: kernels that no graph was captured with run on those of the fused attention. */
export function parametersGraph(
  family: FamilyGraphs,
  task: string,
  attention: string,
  scope: Scope,
): ArchitectureGraph | undefined {
  return selectGraph(family, task, attention, scope) ?? selectGraph(family, task, "sdpa", scope);
}

/** A graph that stands in for a branch of the code that was not captured. */
export interface NearestGraph {
  readonly graph: ArchitectureGraph;
  /** What is not so in the config. */
  readonly unmet: readonly string[];
}

/**
 * The graph of a task and attention with the fewest conditions that a config does not meet; one of another kind of attention
 * where none of that kind was captured.
 */
export function nearestGraph(
  family: FamilyGraphs,
  task: string,
  attention: string,
  scope: Scope,
): NearestGraph | undefined {
  const expressions = expressionsOf(family);
  let nearest: NearestGraph | undefined;
  const own = candidates(family, task, attention);
  for (const graph of own.length > 0 ? own : family.graphs.filter((graph) => graph.task === task)) {
    const other = own.length > 0 ? [] : [`attn_implementation == '${graph.attention}'`];
    const missing = [...other, ...unmet(graph, expressions, scope)];
    if (nearest === undefined || missing.length < nearest.unmet.length) nearest = { graph, unmet: missing };
  }
  return nearest;
}

/** `hidden_size` as HF finds it: its own, the largest of `hidden_sizes`, the text model's. */
export function hiddenSize(config: ModelConfig): number | undefined {
  const own = config["hidden_size"] ?? config["n_embd"] ?? config["d_model"];
  if (typeof own === "number") return own;
  const sizes = config["hidden_sizes"];
  if (Array.isArray(sizes) && sizes.length > 0) return Math.max(...sizes.map(Number));
  const text = config["text_config"];
  return typeof text === "object" && text !== null ? hiddenSize(text as ModelConfig) : undefined;
}
