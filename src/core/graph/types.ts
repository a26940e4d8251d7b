/**
 * Captured architecture graphs of one model family, as stored in `models/graphs/<family>.json`.
 *
 * A graph is what the model's own Python code does in a training forward (loss included), written down at the level
 * of PyTorch's composite operators: above autocast and above autograd, so that the engine can apply either. It also
 * holds when Python let go of each tensor, which is what decides what is alive.
 */

import type { MessageId } from "../../words/message";
import type { Expressions } from "./expression";
import type { Kept } from "./kept";

/**
 * Integer, float, boolean or string expression over the run and the model's config.
 *
 * Grammar: numbers, config keys (as in `config.json`, nested with dots: `text_config.hidden_size`), the run's sizes
 * `B` (micro batch), `S` (tokens per sequence), `T` (target tokens), `I` (image side), `A` (samples of sound), `C` (choices of a question, each of them one of `B`), `i` (index of the layer),
 * operators `+ - * // % == != < <= > >= and or not`, parentheses, `min(a,b)`, `max(a,b)`, `ceil_div(a,b)`, `null`, `true`, `false`,
 * and single-quoted strings.
 */
export type Expression = string;

/**
 * Operand of an instruction:
 * - `"%name"`: a value made earlier (or an input of the function);
 * - `"@name"`: a parameter or buffer; inside a block, `{i}` in the name is the index of the layer, `{k}` the number of a round;
 * - `"=expr"`: an {@link Expression};
 * - `"$float32"`: a dtype; `"self"`: that of the first operand; `"$dtype(%name)"`: the dtype of that value; `"$load"`: dtype the weights are loaded in;
 * - number, boolean, null: themselves; an array: a list of operands; any other string: itself.
 */
export type Operand = string | number | boolean | null | readonly Operand[];

/** One operator at the level above autograd: `aten.linear`-like name without namespace, with overload (`add.Tensor`). */
export interface OpInstruction {
  readonly op: string;
  /** Positional operands, in the schema's order. */
  readonly in: readonly Operand[];
  /** Keyword operands that differ from the schema's default. */
  readonly kw?: Readonly<Record<string, Operand>>;
  /** Values made; null for outputs nobody keeps. In-place operators name their input again. */
  readonly out: readonly (string | null)[];
  /** Runs with autocast switched off (`torch.autocast(enabled=False)`). */
  readonly noamp?: true;
  /** Runs under `torch.no_grad()`. */
  readonly nograd?: true;
  /** The model tells the result to require grad when gradient checkpointing is on (T5's empty position bias). */
  readonly checkpointgrad?: true;
  /** Output of a module that embeds inputs: see `CallInstruction`. */
  readonly inputgrad?: true;
}

/**
 * Call of a leaf module that adapters, quantization or the config may replace. The engine knows its forward.
 * Kinds: `Linear` (`attrs.apart`: the bias is added after the product), `Conv1D` (transformers' transposed linear), `Embedding`, `Conv2d`, `Activation` (by the name in
 * `attrs.fn`). Parameters are `<path>.weight` and, where it exists, `<path>.bias`.
 */
export interface CallInstruction {
  readonly call: string;
  /** Full module path; inside a block `{i}` is the index of the layer, and `{k}` the number of a round of a loop in it. */
  readonly path: string;
  readonly in: readonly Operand[];
  readonly attrs?: Readonly<Record<string, Operand>>;
  readonly out: readonly (string | null)[];
  /** Runs with autocast switched off. */
  readonly noamp?: true;
  /** Runs under `torch.no_grad()`. */
  readonly nograd?: true;
  /** Gradient checkpointing tells the output to require grad (`enable_input_require_grads`). */
  readonly inputgrad?: true;
}

/** Python let go of these values here (an input of a block may be named too). */
export interface DropInstruction {
  readonly drop: readonly string[];
}

/** The layer's code puts these values, outputs of the block too, into a dictionary that every layer is given. */
export interface StoreInstruction {
  readonly store: readonly string[];
}

/** Following instructions belong to this module (for the breakdown); `{i}` as above. */
export interface ScopeInstruction {
  readonly scope: string;
}

/**
 * Runs a function of the graph once, as one checkpointing unit (transformers' `GradientCheckpointingLayer`).
 */
export interface BlockInstruction {
  readonly block: number;
  /** Index of the layer, for `{i}`. */
  readonly index: Expression;
  readonly in: readonly Operand[];
  readonly out: readonly (string | null)[];
  /** Whether gradient checkpointing wraps it. */
  readonly checkpoint: boolean;
  /** Which inputs the reentrant kind saves: positions of positional tensor arguments in `in`. */
  readonly positional: readonly number[];
  /** It is no layer, but a part of the model's own code with a backward of its own. */
  readonly segment?: Again | OwnForward | OwnBackward | undefined;
}

/** What the model's own code computes again in backward. */
export interface Again {
  readonly reentrant: boolean;
  /** false where the recomputation runs as backward does, without autocast. */
  readonly autocast?: boolean | undefined;
}

/**
 * Forward of an autograd function of the model's own, which runs without gradients; the next block that says so is its backward.
 * `gradients`: outputs that are differentiable; `zeros`: others, of which the backward is given zeros; `weights`: paths of those that it is given beside its inputs.
 */
export interface OwnForward {
  readonly gradients: readonly number[];
  readonly zeros: readonly number[];
  readonly weights: readonly string[];
}

/**
 * Backward of the function before it: it is given the first `saved` inputs as saved tensors, further ones as what its context refers to,
 * and, at the `positional` ones, the gradients. `to`: the input of the forward, or the weight
 * behind them, that each output is the gradient of.
 */
export interface OwnBackward {
  readonly saved: number;
  readonly to: readonly number[];
}

/** Runs blocks for `i` from `from` to `to` (exclusive), feeding outputs to the next round. */
export interface RepeatInstruction {
  /** It stands in a unit of checkpointing that was made of a part of `main`: its rounds are layers all the same. */
  readonly ofUnit?: true;
  readonly repeat: {
    readonly from: Expression;
    readonly to: Expression;
    /** Which function runs at index `i`: the first whose `when` is true (evaluated with `i`; `layer_types[i]` is `kind`). */
    readonly bodies: readonly {
      readonly block: number;
      readonly when: Expression;
      /** Inputs that layers of other kinds are given and these are not; where no body says, `given.ts` tells. */
      readonly withheld?: readonly number[];
    }[];
    readonly in: readonly Operand[];
    /** Per input: the output of the previous round that replaces it, or null when it stays the same. */
    readonly carry: readonly (number | null)[];
    readonly out: readonly (string | null)[];
    readonly checkpoint: boolean;
    readonly positional: readonly number[];
    /**
     * Per output: name (`*name`) of the Python list that keeps it of every round (of all but the last where the output
     * is carried). The list stands in operand lists and in drops by that name.
     */
    readonly collect?: readonly (string | null)[];
    /**
     * Inputs that live through a round without being given to it: what the loop's variable still names of the round
     * before (attention weights in a tuple). Checkpointing does not keep them.
     */
    readonly passing?: readonly number[];
  };
}

export type Instruction =
  | OpInstruction
  | CallInstruction
  | DropInstruction
  | ScopeInstruction
  | StoreInstruction
  | BlockInstruction
  | RepeatInstruction;

/** A straight program with named inputs and outputs. */
export interface GraphFunction {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly body: readonly Instruction[];
}

/** A parameter or buffer. `{i}` in the name stands for every layer index of `layers`. */
export interface TensorSpec {
  readonly name: string;
  readonly shape: readonly Expression[];
  /**
   * Dtype when it does not follow the load dtype (`$float32` for rotary frequencies, `$int64` for position ids); `$states`:
   * that of the hidden states, to which a conformer's first forward converts its positions for good.
   */
  readonly dtype?: string;
  /** Range of layer indices, `[from, to)`; absent for a tensor that exists once. */
  readonly layers?: readonly [Expression, Expression];
  /**
   * How many of it there are side by side, counted in the name by `{h}` (norms of every head) or by `{k}` (experts, each of
   * which a round of a loop names); absent for one.
   */
  readonly count?: Expression;
  /** Exists only when true (`attention_bias`, `kind == 'sparse'`); evaluated with `i`. */
  readonly when?: Expression;
  /** Layers that have it take turns at this many tensors: the n-th of them uses that of the n-th again (Zamba's blocks). */
  readonly turns?: Expression;
  /** The library itself never trains it (sinusoidal positions kept as a parameter). */
  readonly frozen?: true;
  /** Kind of the module that owns it: `Linear`, `Conv1D`, `Embedding`, `LayerNorm`, … (class name). */
  readonly module: string;
}

/** What one combination of task, attention and structural choices does in a training step's forward. */
export interface ArchitectureGraph {
  /** The earlier release of the library whose code it is of; absent: the newest one's. */
  readonly release?: string;
  readonly task: string;
  readonly attention: string;
  /** All must be true for the run; graphs are tried in order. */
  readonly when: readonly Expression[];
  /** In the order of `model.parameters()`; a tied parameter is listed once, under its first name. */
  readonly parameters: readonly TensorSpec[];
  readonly buffers: readonly TensorSpec[];
  /** Other names of tied parameters, `lm_head.weight -> model.embed_tokens.weight`, each with its condition. */
  readonly tied: readonly { readonly name: string; readonly to: string; readonly when: Expression }[];
  /**
   * Names of the batch's tensors that `main` takes, in order, with shape and dtype; `$input` is float32 under autocast,
   * else the dtype of the weights.
   */
  readonly batch: readonly BatchTensor[];
  /** Modules that `main` has written out and that checkpointing recomputes one by one. */
  readonly units?: readonly string[];
  /** As `units`, of layers that are checkpointed as the run says: stages, whose repeats stand in `main`. */
  readonly stages?: readonly string[];
  /** `main_input_name` of the model's class, where the batch holds text and that is not its main input (BLIP). */
  readonly mainInput?: string;
  /** `main` takes the batch and gives the loss first, then what else the model returns (logits). */
  readonly main: GraphFunction;
  readonly blocks: readonly GraphFunction[];
}

/** A tensor of the batch: what `main` takes, in order. */
export interface BatchTensor {
  readonly name: string;
  readonly shape: readonly Expression[];
  readonly dtype: string;
}

/**
 * The loss of a trainer that calls models and does more than add up cross-entropies (`models/trainers`). Its calls of
 * `Backbone` give hidden states, those of `Model` logits; `policy` is trained, `reference` is not. Expressions name `B`
 * (samples; pairs for preferences), `S`, `P` and `T` (tokens of sequence, prompt, completion), `C` (scored tokens) and `V`
 * (words of the vocabulary).
 */
export interface TrainerGraph {
  readonly trainer: string;
  /** What its code branches on: one of these must be what the run says. */
  readonly when: readonly Readonly<Record<string, boolean | string>>[];
  readonly batch: readonly BatchTensor[];
  readonly main: GraphFunction;
  /**
   * Of a loop that looks at its micro-batches afterwards: what makes the names of the one before, which `main` lets go of
   * as it binds them anew, and what runs after the optimizer with the names that `main` gives after the loss.
   */
  readonly carried?: readonly Instruction[];
  readonly after?: GraphFunction;
  /** Outputs that live on under their names until the next round's are bound. */
  readonly outlives?: readonly string[];
}

export interface FamilyGraphs {
  readonly family: string;
  /** Versions of what was captured: of transformers, or of the library whose own code it is. */
  readonly captured: Readonly<Record<string, string>>;
  /** Config keys the library fills in when `config.json` lacks them: constants. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Config keys the library computes from others when they are absent or null, in evaluation order. */
  readonly derived: Readonly<Record<string, Expression>>;
  /** Per-layer kind (`layer_types[i]`) when the config does not list it, evaluated with `i`; null when the family has none. */
  readonly layerKind: Expression | null;
  /** Other names of config keys (`n_embd` for `hidden_size`), old → name used in expressions. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Graphs of the models beside the trained one (a teacher), where their families are others. */
  readonly beside?: readonly FamilyGraphs[];
  /** Modules the library would hand to peft as `all-linear`, excluded head included in neither. */
  readonly head: string | null;
  /** Packages whose fused kernels the library would use where they are installed, and the modules they would replace. */
  readonly kernels?: { readonly packages: readonly string[]; readonly module: string };
  /** What of the data decides which code runs for some tasks, and what it is taken to be. */
  readonly assumes?: readonly {
    readonly tasks: readonly string[];
    readonly what: MessageId;
    readonly settleWith: string;
  }[];
  readonly graphs: readonly ArchitectureGraph[];
  /** The earlier release of the library that some of the graphs are of; absent: all are of the newest. */
  readonly release?: string;
  /** The release that the run is on, where its code may be another than the newest one's; absent: the newest one's stands, or it is no library's. */
  readonly askedOf?: string;
  /** What was parsed of the graphs' expressions; made when the file is read. */
  readonly expressions?: Expressions;
  /** What runs of the family have alike; made when the file is read. */
  readonly kept?: Kept;
  /** Losses of trainers, the same for every family; attached when the file is read. */
  readonly trainers?: readonly TrainerGraph[];
}
