/**
 * Prompt learning: the model is frozen and gets trained vectors before its inputs, looked up (prompt tuning) or made by a
 * small network (p-tuning). Sources: peft/peft_model.py (PeftModelForCausalLM.forward, get_prompt),
 * peft/tuners/{prompt_tuning,p_tuning,prefix_tuning}/model.py.
 */
import type { DType } from "../../engine/dtype";
import type { NamedTensor, WrappedInputs, Wrapper } from "../../engine/interpreter/options";
import { embedding } from "../../engine/ops/gathering";
import { cat, repeat, slice } from "../../engine/ops/layout";
import { linear } from "../../engine/ops/linear";
import { unary } from "../../engine/ops/unary";
import { hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { AdapterSpec } from "../run";
import { castInput, done, parameter } from "./layer";
import type { PrefixCache } from "./prefix";
import type { PromptSizes } from "./prompt-sizes";

/** Types that put tokens before the inputs; the weights of the model stay as they are. */
const PROMPT_TYPES: ReadonlySet<AdapterSpec["type"]> = new Set(["prompt-tuning", "p-tuning", "prefix-tuning"]);

/** peft's default of `num_virtual_tokens` is none: it must be written. */
const VIRTUAL_TOKENS = 20;

/** Virtual tokens before each sequence; 0 for adapters that have none. */
export function virtualTokens(adapter: AdapterSpec | null): number {
  return adapter !== null && PROMPT_TYPES.has(adapter.type) ? (adapter.virtualTokens ?? VIRTUAL_TOKENS) : 0;
}

export interface PromptEncoder {
  readonly parameters: readonly Tensor[];
  /** Vectors that it makes for a sample: of two stacks', the first are put before what the encoder reads. */
  readonly vectors: number;
  /** Vectors for a batch of token indices. */
  readonly encode: (torch: Torch, indices: Tensor) => Tensor;
}

/** Prompt encoders are float32, whatever the model is loaded in. */
export function promptEncoder(torch: Torch, adapter: AdapterSpec, sizes: PromptSizes): PromptEncoder {
  const tokens = virtualTokens(adapter);
  const prefix = adapter.type === "prefix-tuning";
  // A prefix is as wide as the keys of one layer, and so is what its network takes (_prepare_prompt_learning_config).
  const width = prefix ? sizes.keyHeads * sizes.keyWidth : sizes.hidden;
  const inner = adapter.encoderHiddenSize ?? width;
  const make = (name: string, shape: readonly number[]): Tensor =>
    parameter(torch, `prompt_encoder.${name}`, shape, "float32");
  const layers = (widths: readonly number[]): [Tensor, Tensor][] =>
    widths.slice(1).map((width, k) => [make(`mlp.${k}.weight`, [width, widths[k]!]), make(`mlp.${k}.bias`, [width])]);
  const keysAndValues = sizes.layers * 2 * width;
  const projected = prefix && adapter.prefixProjection === true;
  const vectors = prefix ? tokens : tokens * sizes.stacks;
  const table = make("embedding.weight", [vectors, prefix && !projected ? keysAndValues : width]);
  const network =
    adapter.type === "p-tuning"
      ? layers([width, inner, inner, width])
      : projected
        ? layers([width, inner, keysAndValues])
        : [];
  return {
    parameters: [table, ...network.flat()],
    vectors,
    encode: (torch, indices) => {
      let x = embedding(torch, table, indices);
      network.forEach(([weight, bias], k) => {
        x = done(linear(torch, x, weight, bias), x);
        if (k + 1 < network.length) x = done(unary(torch, projected ? "tanh" : "relu", x), x);
      });
      return x;
    },
  };
}

/** What is put before the inputs. */
interface Prompting {
  readonly encoder: PromptEncoder;
  readonly tokens: number;
  /** A decoder of its own writes the labels. */
  readonly writes: boolean;
}

/**
 * Embeds the ids and puts the prompt before them; a mask gets as many ones, labels as many ignored ones, unless a decoder `writes`
 * them. `words` is the embedding's weight and `told` whether its output is told to require grad (checkpointing).
 */
function prompted(
  torch: Torch,
  { encoder, tokens, writes }: Prompting,
  words: Tensor,
  told: boolean,
  batch: readonly NamedTensor[],
): WrappedInputs {
  const held: Tensor[] = [];
  const hold = (tensor: Tensor): Tensor => {
    held.push(tensor);
    return tensor;
  };
  const ids = batch.find(({ name }) => name === "input_ids")!.tensor;
  const rows = ids.size(0);
  const integers = (sizes: readonly number[]): Tensor => torch.empty("_to_copy", sizes, "int64");
  const embedded = embedding(torch, words, ids);
  if (told) embedded.requiresGradFlag = true;
  const given = batch.map(({ name, tensor }) => {
    if (name === "input_ids") return hold(hostTensor(torch.ledger, [rows, ids.size(1) + tokens], "int64"));
    // The mask gets ones of torch's default type, which the forward's frame names as long as it runs.
    if (name === "attention_mask" && tensor.rank === 2)
      return hold(cat(torch, [hold(torch.empty("_to_copy", [rows, tokens], "float32")), tensor], 1));
    if (name !== "labels" || tensor.rank < 2 || writes) return tensor;
    const ignored = hold(integers([rows, tokens]));
    return hold(cat(torch, [ignored, tensor], 1));
  });
  // Indices come for the whole batch; one row of them is encoded and the result repeated.
  const indices = integers([rows, encoder.vectors]);
  const row = slice(torch, indices, 0, 0, 1);
  const one = done(encoder.encode(torch, row), row, indices);
  const made = done(repeat(torch, one, [rows, 1, 1]), one);
  const prompts = hold(done(castInput(torch, made, embedded.dtype), made));
  const before = encoder.vectors === tokens ? prompts : hold(slice(torch, prompts, 1, 0, tokens));
  const embeds = hold(done(cat(torch, [before, embedded], 1), embedded));
  return {
    batch: given,
    embeds,
    release: () => {
      for (const tensor of held) tensor.release();
    },
  };
}

/** The prefix of every row of a batch, encoded. */
function encodedPrefix(torch: Torch, encoder: PromptEncoder, tokens: number, rows: number): Tensor {
  const indices = torch.empty("_to_copy", [rows, tokens], "int64");
  return done(encoder.encode(torch, indices), indices);
}

/** The prefix as keys and values of their own before those of every layer. */
function prefixedLayers(
  torch: Torch,
  encoder: PromptEncoder,
  tokens: number,
  dtype: DType,
  cache: PrefixCache,
  batch: readonly NamedTensor[],
): WrappedInputs {
  const ids = batch.find(({ name }) => name === "input_ids")?.tensor ?? batch[0]!.tensor;
  cache.fill(torch, encodedPrefix(torch, encoder, tokens, ids.size(0)), dtype, ids.size(1));
  return { batch: batch.map(({ tensor }) => tensor), embeds: null, release: () => cache.release() };
}

/**
 * The prefix where it is not followed: it exists through the forward, and its tokens stand before the sequence's, through
 * which its gradient comes. `words` is the embedding's weight, null where the model reads no words.
 */
function prefixed(
  torch: Torch,
  { encoder, tokens, writes }: Prompting,
  dtype: DType,
  words: Tensor | null,
  batch: readonly NamedTensor[],
): WrappedInputs {
  const rows = batch[0]!.tensor.size(0);
  const made = encodedPrefix(torch, encoder, tokens, rows);
  const states = done(castInput(torch, made, dtype), made);
  // A decoder that writes has it among its own keys: what it reads is no longer.
  const added = writes ? 0 : tokens;
  const longer = batch.map(({ name, tensor }) =>
    name === "input_ids" || (name === "labels" && tensor.rank > 1)
      ? hostTensor(torch.ledger, [rows, tensor.size(1) + added], tensor.dtype)
      : tensor.retain(),
  );
  // Of a decoder's ids, its labels have the sizes.
  const ids = batch.find(({ name }) => name === (writes ? "labels" : "input_ids"))?.tensor;
  const embeds = words === null || ids === undefined ? null : standingBefore(torch, states, added, words, ids);
  return {
    batch: longer,
    embeds,
    ofDecoder: writes,
    release: () => {
      for (const tensor of [states, ...longer, ...(embeds === null ? [] : [embeds])]) tensor.release();
    },
  };
}

/** Embedded ids behind as many tokens as the prefix has, whose gradient is the prefix's. */
function standingBefore(torch: Torch, states: Tensor, tokens: number, words: Tensor, ids: Tensor): Tensor {
  const embedded = embedding(torch, words, ids);
  const node = torch.record("PrefixBackward", [states], (torch, [gradient]) => [
    gradient ? torch.empty("prefix", states.sizes, states.dtype) : null,
  ]);
  const before = torch.attach(node, torch.empty("prefix", [ids.size(0), tokens, words.size(1)], embedded.dtype));
  return done(cat(torch, [before, embedded], 1), before, embedded);
}

/**
 * The module that puts the prompt before the inputs of every forward. `words` is the weight of the input embedding;
 * `prefix` holds the prefix where it stands apart; `writes`: a decoder of its own writes the labels, which stay as they are
 * (peft/peft_model.py, PeftModelForSeq2SeqLM.forward).
 */
export function promptWrapper(
  adapter: AdapterSpec,
  { encoder, writes }: Pick<Prompting, "encoder" | "writes">,
  words: Tensor | null,
  dtype: DType,
  checkpointing: boolean,
  prefix: PrefixCache | null,
): Wrapper {
  const tokens = virtualTokens(adapter);
  const prompting = { encoder, tokens, writes };
  if (prefix !== null)
    return {
      cache: prefix,
      atHead: () => prefix.releaseMask(),
      enter: (torch, batch) => prefixedLayers(torch, encoder, tokens, dtype, prefix, batch),
    };
  return {
    enter: (torch, batch) =>
      adapter.type === "prefix-tuning" || words === null || batch.every(({ name }) => name !== "input_ids")
        ? prefixed(torch, prompting, dtype, words, batch)
        : prompted(torch, prompting, words, checkpointing, batch),
  };
}
