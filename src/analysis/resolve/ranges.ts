/**
 * Numbers no library can do anything with: none at all (`.nan`, `.inf`), more than a number holds exactly, and sizes of
 * a model or a batch beyond what tensors are indexed by. There is no estimate of a run with such a number.
 */
import type { ModelConfig } from "../../core/training/run";
import { table } from "../../terms/table";
import { say } from "../../words/message";
import type { ResolveContext } from "./context";
import type { Obstacle } from "./types";

/** Elements of a dimension: PyTorch's kernels index with 32 bits where they can, and no config comes near. */
const MOST_ELEMENTS = 2 ** 31 - 1;

/** Steps or layers that are counted one by one. */
export const MOST_COUNTED = 1_000_000;

/** Layers; the deepest published models have some hundreds. */
const MOST_LAYERS = 20_000;

/** Least and largest value of settings that a run multiplies. */
const RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = table({
  micro_batch_size: [1, MOST_COUNTED],
  gradient_accumulation_steps: [1, MOST_ELEMENTS],
  sequence_length: [-1, MOST_ELEMENTS],
  max_prompt_length: [-1, MOST_ELEMENTS],
  max_completion_length: [-1, MOST_ELEMENTS],
  num_generations: [0, MOST_COUNTED],
  eval_batch_size: [0, MOST_COUNTED],
  world_size: [0, MOST_COUNTED],
  lora_rank: [0, MOST_ELEMENTS],
  num_labels: [0, MOST_ELEMENTS],
  loss_mini_batch_size: [1, MOST_COUNTED],
  texts_per_sample: [1, MOST_COUNTED],
});

/** Keys of a model's config that are sizes: a negative one is none. */
const SIZE = /(?:_size|_dim|_layers|_heads|_experts)$|^(?:d_model|d_ff|n_embd|n_layer|n_head|num_layers)$/;
const LAYERS = /_layers$|^n_layer$/;

/** A model's layers, or those of one of its stacks: none, or a part of one, is no model. */
const STACK =
  /^(?:(?:(?:en|de)coder_)?num_hidden_layers|(?:(?:speech|t2u)_)?(?:en|de)coder_layers|n_layers?|num_layers)$/;

/**
 * Sizes that are at least one: a width is divided by the heads (configuration_utils.py, `validate_architecture`), a loss
 * chooses a row of the vocabulary, a picture has channels and patches. Others switch a part off with 0 (`type_vocab_size`).
 */
const AT_LEAST_ONE = /(?:_heads|_channels|patch_size)$|^(?:n_heads?|vocab_size|hidden_size|d_model|n_embd|image_size)$/;

/** Configs inside configs (`text_config`). */
const DEEPEST = 4;

/** What stands in the way of an estimate; empty when every number can be meant. */
export function outOfRange(c: ResolveContext, config: ModelConfig): readonly Obstacle[] {
  return [...leftOut(c), ...ofSettings(c), ...ofModel(config, "", 0)].slice(0, 1);
}

function obstacle(key: string, value: number): Obstacle {
  const shown = String(value).replace("Infinity", "∞");
  return { code: "not-modelled", message: say("not-modelled.number", { key, value: shown }) };
}

/** Numbers that no library starts with, as they are none (`max_length: .inf`, a list): no default stands for them. */
function leftOut(c: ResolveContext): readonly Obstacle[] {
  const tried = new Set(
    c.settings.layers.flatMap(({ id, settings }) => (id === "override" ? settings : [])).map(({ name }) => name),
  );
  return c.inputs.documents
    .flatMap(({ read }) => read.problems)
    .flatMap(({ severity, leaves, message }) => {
      if (severity !== "error" || leaves === undefined || RANGES[leaves] === undefined) return [];
      if (tried.has(leaves)) return [];
      return [{ code: "invalid-value", message: say("obstacle.value", { key: String(message.args["key"]) }) }];
    });
}

function ofSettings(c: ResolveContext): readonly Obstacle[] {
  return c.settings.layers
    .flatMap(({ settings }) => settings)
    .flatMap(({ name, key, value }) => {
      if (typeof value !== "number") return [];
      const [least, most] = RANGES[name] ?? [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
      return value >= least && value <= most ? [] : [obstacle(key, value)];
    });
}

function ofModel(config: Readonly<Record<string, unknown>>, path: string, depth: number): readonly Obstacle[] {
  return Object.entries(config).flatMap(([key, value]): readonly Obstacle[] => {
    const name = `${path}${key}`;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return depth < DEEPEST ? ofModel(value as Readonly<Record<string, unknown>>, `${name}.`, depth + 1) : [];
    if (typeof value !== "number") return [];
    if (Number.isNaN(value)) return [obstacle(name, value)];
    if (AT_LEAST_ONE.test(key) && value < 1) return [obstacle(name, value)];
    if (!SIZE.test(key)) return [];
    if (STACK.test(key) && !(value >= 1 && Number.isInteger(value))) return [obstacle(name, value)];
    return value >= 0 && value <= (LAYERS.test(key) ? MOST_LAYERS : MOST_ELEMENTS) ? [] : [obstacle(name, value)];
  });
}
