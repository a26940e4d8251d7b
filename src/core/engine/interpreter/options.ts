/** What a run puts around, and in the place of, the code a graph records. */
import type { Expressions, Scope } from "../../graph/expression";
import type { DType } from "../dtype";
import type { Fold } from "../folding/plan";
import type { ModuleHooks } from "../module-hooks";
import type { Argument } from "../ops/arguments";
import type { SelectiveKeeping } from "../selective";
import type { Settling } from "../settling";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";

/** Replaces the forward of the leaf module at one path (adapters, quantized linears); `rest` are its further arguments. */
export type ModuleForward = (torch: Torch, input: Tensor, rest?: readonly Argument[]) => Tensor;

/** What stands for parameters of a module while it runs. */
export interface ModuleParameters {
  /** The tensor in a parameter's place, borrowed; undefined: the parameter itself. */
  get(torch: Torch, path: string): Tensor | undefined;
  leave(): void;
}

/** Parametrizes a module for the time it runs (adapters on parameters). */
export interface ParameterWrapper {
  enter(torch: Torch): ModuleParameters;
}

/** A key-value cache, as attention meets it in generation, and with a trained prefix. */
export interface AttentionCache {
  /**
   * The running attention's new keys and values go in.
   *
   * @param queries tokens of the running query
   * @param repeats whether the graph repeats the heads of keys and values before attention (the cache is before that)
   * @param heads heads of the running query
   * @returns what the names of the new ones refer to from now on and what attention reads, owned by the caller
   */
  update(
    torch: Torch,
    queries: number,
    key: Tensor,
    value: Tensor,
    repeats: boolean,
    heads: number,
  ): AttentionOperandPair;
  /** In place of that: takes keys and values as the model hands them to it, and attention goes on with its own. */
  readonly keep?: (key: Tensor, value: Tensor) => void;
  /** Takes those of attention that is written out as products around a softmax; absent: such attention has no cache. */
  readonly keepWritten?: (keyOrValue: Tensor | undefined) => void;
}

export interface AttentionOperandPair {
  readonly key: Tensor;
  readonly value: Tensor;
  /** What attention reads where that is something else, with the mask that takes its own one's place. */
  readonly reads?: { readonly key: Tensor; readonly value: Tensor; readonly mask: Tensor };
}

/** How layers are checkpointed. */
export interface CheckpointingOptions {
  readonly useReentrant: boolean;
  /** Only every so many layers are checkpointed (`every_n_layers`); 1 when absent. */
  readonly everyNLayers?: number;
  /** The first that is, counted from 0: transformers begins with the first layer, torchtune and torchtitan end with the nth. */
  readonly firstLayer?: number;
  /** Only so many layers, from the first on, are checkpointed (Megatron's `block`). */
  readonly firstLayers?: number;
  /** So many layers are one segment, which keeps the input of the first (Megatron's `uniform`); 1 when absent. */
  readonly layersTogether?: number;
  /** The saved layer inputs wait in pinned host memory (`offload` of transformers, Unsloth's and axolotl's kind). */
  readonly offloads?: boolean;
  /** Outputs of attention and of every other matrix product are kept (torchtitan's `selective` by `op`). */
  readonly selective?: SelectiveKeeping;
  /**
   * The models' loops over layers are written anew: every list of layers is checkpointed, and layers are called with positions
   * alone, so that the reentrant kind detaches all that they are given (unsloth_zoo/compiler.py).
   */
  readonly rewritten?: boolean;
  /** A module of its own stands around every checkpointed layer (`CheckpointWrapper`), with hooks where layers have some. */
  readonly wrapped?: boolean;
}

export interface InterpreterOptions {
  /** Values of config keys and of `B`, `S`, `T`, `I`. */
  readonly scope: Scope;
  /** Evaluates what the graph's instructions say. */
  readonly expressions: Expressions;
  readonly layerKind: (index: number) => string | null;
  readonly parameters: ReadonlyMap<string, Tensor>;
  readonly modules: ReadonlyMap<string, ModuleForward>;
  /** Buffers among the parameters that the first forward converts. */
  readonly settling?: Settling;
  /** Modules whose parameters something stands for while they run, by path. */
  readonly parametrized?: ReadonlyMap<string, ParameterWrapper>;
  readonly loadDtype: DType;
  /** null: no gradient checkpointing. */
  readonly checkpointing: CheckpointingOptions | null;
  /** Whether peft has put adapters into the model. */
  readonly adapted?: boolean;
  /** Equal for layers whose parameters are alike; null: every layer is run. */
  readonly layerSignature: ((index: number) => string) | null;
  /** How layers are left out, where they are. */
  readonly fold?: Fold;
  /** Layers that are run before the one that is copied, where it takes more of them until all do the same. */
  readonly layersToSettle?: number;
  /** Module path of the output head: from there on, bytes are logits and loss. */
  readonly head: string | null;
  /** The caller's `position_ids`, in the place of a row that the model counts itself. */
  readonly positions?: Tensor;
  /** Takes part in the attention of decoders; absent where none is kept. */
  readonly cache?: AttentionCache;
  /** A module around the model. */
  readonly wrapper?: Wrapper;
  /** Whether embeddings are told to require grad; absent: under checkpointing, as the newest transformers does. */
  readonly tellsInputs?: boolean;
  /** Of them the table of tokens alone, where there is one. */
  readonly tellsTextsAlone?: boolean;
  /** Modules whose outputs hooks have require grad, by their paths. */
  readonly tellsModules?: ReadonlySet<string>;
  /** Dropout that is a module of its own is off (`disable_dropout_in_model`); attention's stays. */
  readonly noDropout?: boolean;
  /** Attention's dropout is a module of its own, too, whose rate is read from it. */
  readonly attentionDropoutModule?: boolean;
  /**
   * Takes the states between layers, owned (`output_hidden_states`): what the first layer is given and what each gives, the
   * last one's in their final form (transformers/utils/output_capturing.py).
   */
  readonly hiddenStates?: Tensor[];
  /** Hooks around modules outside the layers, and around each layer. */
  readonly hooks?: ModuleHooks | undefined;
  /** Numbers the repeats of all interpreters of one pass; an interpreter alone counts its own. */
  readonly repeats?: RepeatCounter;
}

/** A tensor of the batch by the name the graph gives it. */
export interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor;
}

/** What the forward of a wrapper hands to the model. */
export interface WrappedInputs {
  readonly batch: readonly Tensor[];
  /** Given in place of embedded ids (`inputs_embeds`); null: the model embeds them itself. */
  readonly embeds: Tensor | null;
  /** They are a decoder's, which embeds ids of its own. */
  readonly ofDecoder?: boolean;
  /** The names of the wrapper's forward go. */
  release(): void;
}

/** A module around the model (peft's): what it makes of the inputs, and of the loss, which it takes over. */
export interface Wrapper {
  enter?(torch: Torch, batch: readonly NamedTensor[]): WrappedInputs;
  /** What `enter` puts before the keys and values of every layer. */
  readonly cache?: AttentionCache;
  /** The layers are done and the head is called. */
  atHead?(): void;
  leave?(torch: Torch, loss: Tensor): Tensor;
}

/** Repeats begun in one pass, over all models it runs. */
export interface RepeatCounter {
  count: number;
}
