/**
 * Executes a captured graph on the engine. Values live as Python's names did: until the recorded drop, or the end of
 * the function.
 */
import { layerScope } from "../graph/config";
import { evaluate, isOfLayer, type Scope, truthy, type Value } from "../graph/expression";
import { withheldInputs } from "../graph/given";
import { type Parts, withParts } from "../graph/parts";
import { nameOf } from "../graph/reads";
import { type Stores, storesOf } from "../graph/stores";
import type {
  ArchitectureGraph,
  BlockInstruction,
  CallInstruction,
  GraphFunction,
  Instruction,
  Operand,
  OpInstruction,
  RepeatInstruction,
  StoreInstruction,
} from "../graph/types";
import { withUnits } from "../graph/units";
import { activate } from "./activations";
import { checkpoint, type Segment } from "./checkpoint";
import type { DType } from "./dtype";
import { inputEmbeddings } from "./embeddings";
import { layerLabel, NO_LAYER } from "./folding/label";
import { type Fold, type Folding, leftOut, planAcrossKinds, planFolding } from "./folding/plan";
import { type Loop, NO_ROUND, roundLabel } from "./folding/rounds";
import { type Argument, Arguments } from "./ops/arguments";
import { add, isTensor } from "./ops/arithmetic";
import { select, slice, view } from "./ops/layout";
import { addmmOperator, linear } from "./ops/linear";
import { convolution, embedding } from "./ops/model";
import { dispatch } from "./ops/table";
import { checkpointWith, Shelf } from "./shelf";
import { hostTensor, type Tensor } from "./tensor";
import type { Torch } from "./torch";

/** Replaces the forward of the leaf module at one path (adapters, quantized linears); `rest` are its further arguments. */
export type ModuleForward = (torch: Torch, input: Tensor, rest?: readonly Argument[]) => Tensor;

/** Steps of a convolution along each side. */
interface Geometry {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

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
  readonly everyNLayers?: number;
  readonly firstLayer?: number;
  readonly firstLayers?: number;
  readonly layersTogether?: number;
  readonly offloads?: boolean;
  readonly selective?: boolean;
}

/** Which layers are run one after the other, and how. */
interface LayerRounds {
  readonly indices: readonly number[];
  readonly layer: (index: number, ordinal: number, owned: readonly Input[]) => Tensor[];
}

export interface InterpreterOptions {
  /** Values of config keys and of `B`, `S`, `T`, `I`. */
  readonly scope: Scope;
  readonly layerKind: (index: number) => string | null;
  readonly parameters: ReadonlyMap<string, Tensor>;
  readonly modules: ReadonlyMap<string, ModuleForward>;
  /** Modules whose parameters something stands for while they run, by path. */
  readonly parametrized?: ReadonlyMap<string, ParameterWrapper>;
  readonly loadDtype: DType;
  /** null: no gradient checkpointing. */
  readonly checkpointing: CheckpointingOptions | null;
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
  /** Dropout that is a module of its own is off (`disable_dropout_in_model`); attention's stays. */
  readonly noDropout?: boolean;
  /** Attention's dropout is a module of its own, too, whose rate is read from it. */
  readonly attentionDropoutModule?: boolean;
  /**
   * Takes the states between layers, owned (`output_hidden_states`): what the first layer is given and what each gives, the
   * last one's in their final form (transformers/utils/output_capturing.py).
   */
  readonly hiddenStates?: Tensor[];
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

/** Something the graph needs and the engine does not know. */
export class NotModelled extends Error {}

const ATTENTION = "scaled_dot_product_attention";
/** Place of its rate of dropout: after query, key, value and mask. */
const ATTENTION_DROPOUT = 4;
/** Operators that a module of one convolution is in a graph. */
const CONVOLUTIONS: ReadonlySet<string> = new Set(["conv1d", "conv3d"]);
/** Scopes whose attention sees every token at once and keeps nothing. */
const ENCODER = /(?:^|\.)encoder(?:\.|$)/;

/** Names as they stand in graphs, and what stands behind their sigil: few of them, met over and over. */
const bare = new Map<string, string>();

/** The name of a value or parameter, an expression or a dtype without what marks it as one. */
function withoutSigil(text: string): string {
  let name = bare.get(text);
  if (name === undefined) {
    name = /^[%@=$]/.test(text) ? text.slice(1) : text;
    bare.set(text, name);
  }
  return name;
}

/** Whether a value is made by repeating heads (`repeat_kv`: expanded, then made contiguous). */
function isRepeated(fn: GraphFunction, operand: Operand | undefined): boolean {
  let name = typeof operand === "string" && operand.startsWith("%") ? operand.slice(1) : undefined;
  for (let k = fn.body.length - 1; k >= 0 && name !== undefined; k--) {
    const instruction = fn.body[k]!;
    if (!("op" in instruction) || !instruction.out.includes(name)) continue;
    if (instruction.op === "expand") return true;
    const [source] = instruction.in;
    const passes = /^(?:reshape|view|contiguous|clone|alias|_unsafe_view)/.test(instruction.op);
    name = passes && typeof source === "string" && source.startsWith("%") ? source.slice(1) : undefined;
  }
  return false;
}

const NO_KEYWORDS: Readonly<Record<string, Argument>> = {};

const DROPOUTS: ReadonlySet<string> = new Set(["dropout", "dropout_", "native_dropout"]);

/** The operator that stands for head and loss together. */
const FUSED_LOSS = "liger_fused_linear_cross_entropy";

/**
 * Whether layers add to one another's gradient of something they all read (an encoder's output, a bias of positions): the
 * last layer, whose backward runs first, has nothing to add to.
 */
function joinsGradients({ repeat: { carry } }: RepeatInstruction, inputs: readonly Input[]): boolean {
  const carried = carry.filter((source) => source !== null).length;
  return carried > 1 || inputs.some((input, k) => carry[k] === null && input?.requiresGrad);
}

/** The tensors of a list an operand names, or null for any other operand. */
function listed(operand: Operand, context: Context): Tensor[] | null {
  return typeof operand === "string" && operand.startsWith("%*") ? (context.lists.get(operand.slice(1)) ?? []) : null;
}

/** A function's names go when it ends. */
function leave(context: Context): void {
  for (const tensor of context.frame.values()) tensor.release();
  for (const name of context.lists.keys()) dropList(name, context);
  context.inside?.parameters.leave();
}

/** What goes with an output, as a name of its own. */
function apart(output: Tensor): Tensor {
  const name = hostTensor(output.ledger, [0], "uint8");
  name.along = output.along;
  output.along = null;
  return name;
}

function dropList(name: string, context: Context): void {
  for (const tensor of context.lists.get(name) ?? []) tensor.release();
  context.lists.delete(name);
}

type Frame = Map<string, Tensor>;

type Input = Tensor | null;

interface Context {
  readonly fn: GraphFunction;
  readonly frame: Frame;
  readonly index: number | null;
  readonly scope: Scope;
  /** Python lists of what rounds made (`*name`). */
  readonly lists: Map<string, Tensor[]>;
  /** Dtypes of values let go of: code reads a dtype early and uses it late. */
  readonly dtypes: Map<string, DType>;
  /** The parametrized module that runs. */
  inside: { readonly path: string; readonly parameters: ModuleParameters } | null;
}

/** The layer's function, its index, what it is given, whether it is checkpointed and how, names, what it was called with, and what only lives on. */
type LayerArguments = readonly [
  block: number,
  index: number,
  inputs: readonly Input[],
  wrapped: boolean,
  positional: readonly number[],
  scope: Scope,
  operands: readonly Operand[],
  unseen?: readonly number[],
];

export class Interpreter {
  /** What the last `main` left out, per repeat. */
  foldings: Folding[] = [];
  private readonly repeats: RepeatCounter;
  /** Layers that may be checkpointed, before the running list of them. */
  private wrappedBefore = 0;
  private readonly memo = new Map<string, Value>();
  private readonly dropped = new Map<GraphFunction, ReadonlySet<string>>();
  /** Paths by how graphs write them, and by layer. */
  private readonly paths = new Map<string, Map<number, string>>();
  /** Operands that live as long as the operator that takes them. */
  private readonly passing: Tensor[] = [];

  /**
   * What makes the output that is told to require grad: the embedding of `input_ids`, when checkpointing is on and the
   * class's `main_input_name` says so (transformers/modeling_utils.py, gradient_checkpointing_enable).
   */
  private readonly inputEmbeddings: ReadonlySet<Instruction>;
  /** What makes the output that the caller may give instead. */
  private readonly givenEmbeddings: ReadonlySet<Instruction>;
  private embeds: Tensor | null = null;
  /** Whether the states between layers have their final form. */
  private finished = false;
  private readonly graph: ArchitectureGraph;
  /** Which inputs of its layers are parts of what their caller has. */
  private readonly parts: Parts;
  /** What layers store for one another. */
  private readonly stores: Stores;
  /** Names of the main function that stand in the dictionary. */
  private readonly shelved: ReadonlySet<string>;
  /** The dictionary, under checkpointing. */
  private shelf: Shelf | null = null;

  constructor(
    private readonly torch: Torch,
    graph: ArchitectureGraph,
    private readonly options: InterpreterOptions,
  ) {
    const { checkpointing } = options;
    const units = checkpointing === null ? graph : withUnits(graph);
    const parted = checkpointing?.useReentrant === true ? withParts(units) : { graph: units, parts: [] };
    this.graph = parted.graph;
    this.parts = parted.parts;
    this.repeats = options.repeats ?? { count: 0 };
    // Models whose main input is text are always told to; others by the Trainer, for adapters under the reentrant kind.
    const ofText = graph.mainInput === undefined && graph.main.inputs.includes("input_ids");
    const told = checkpointing !== null && (ofText || checkpointing.useReentrant);
    this.inputEmbeddings = told ? inputEmbeddings(graph) : new Set();
    this.givenEmbeddings = options.wrapper?.enter === undefined ? new Set() : inputEmbeddings(graph);
    this.stores = storesOf(this.graph);
    this.shelved = new Set([...this.stores.values()].flatMap((names) => [...names.values()]));
  }

  /** Runs the graph's forward: the loss first, then the other outputs, all owned by the caller. */
  main(batch: readonly Input[]): Tensor[] {
    const { torch } = this;
    const { wrapper, scope } = this.options;
    this.foldings = [];
    if (this.options.repeats === undefined) this.repeats.count = 0;
    this.wrappedBefore = 0;
    const inner = wrapper?.enter?.(
      torch,
      batch.flatMap((tensor, k) => (tensor === null ? [] : [{ name: this.graph.batch[k]!.name, tensor }])),
    );
    this.embeds = inner?.embeds ?? null;
    this.finished = false;
    if (this.stores.size > 0 && this.options.checkpointing !== null && torch.training) this.shelf = new Shelf();
    const [loss, ...rest] = this.run(this.graph.main, inner?.batch ?? batch, null, scope);
    this.shelf?.release();
    this.shelf = null;
    if (!this.finished) this.finishStates(loss!);
    const outputs = [wrapper?.leave === undefined ? loss! : wrapper.leave(torch, loss!), ...rest];
    this.embeds = null;
    inner?.release();
    return outputs;
  }

  /**
   * Runs the graph up to its head, and the head on the last position (`logits_to_keep` = 1): the logits of the next token,
   * owned by the caller.
   *
   * @param positions takes the place of the positions that the model counts itself, once for all sequences
   */
  nextToken(batch: readonly Input[], positions: Tensor): Tensor {
    this.foldings = [];
    if (this.options.repeats === undefined) this.repeats.count = 0;
    this.wrappedBefore = 0;
    const fn = this.graph.main;
    const context: Context = {
      fn,
      frame: new Map(),
      index: null,
      scope: this.options.scope,
      lists: new Map(),
      dtypes: new Map(),
      inside: null,
    };
    fn.inputs.forEach((name, k) => {
      const input = batch[k];
      if (input) context.frame.set(name, input.retain());
    });
    for (const instruction of fn.body) {
      if (!("call" in instruction) || instruction.path !== this.options.head) {
        this.step(instruction, context);
        if ("op" in instruction && instruction.op === "unsqueeze") this.position(instruction, positions, context);
        continue;
      }
      const name = String(instruction.in[0]);
      const hidden = this.value(name, context);
      const last =
        hidden.rank === 3 ? slice(this.torch, hidden, 1, hidden.size(1) - 1, hidden.size(1)) : hidden.retain();
      hidden.release();
      context.frame.set(withoutSigil(name), last);
      this.call(instruction, context);
      const logits = this.value(String(instruction.out[0]), context).retain();
      leave(context);
      return logits;
    }
    throw new NotModelled("a model without a head cannot generate");
  }

  /** `position_ids` of the caller instead of a row of counted ones. */
  private position(instruction: OpInstruction, positions: Tensor, context: Context): void {
    const name = instruction.out[0];
    const counted = typeof name === "string" ? context.frame.get(name) : undefined;
    if (counted === undefined || counted.dtype !== "int64" || counted.rank !== 2) return;
    if (counted.sizes[0] === 1 && counted.sizes[1] === positions.sizes[1])
      this.bind([name!], [positions.retain()], context);
  }

  /** Runs one function on its inputs, taking over those named in `early`; outputs are owned by the caller. */
  private run(
    fn: GraphFunction,
    inputs: readonly Input[],
    index: number | null,
    scope: Scope,
    early: ReadonlySet<string> = new Set(),
  ): Tensor[] {
    const frame: Frame = new Map();
    const context: Context = { fn, frame, index, scope, lists: new Map(), dtypes: new Map(), inside: null };
    fn.inputs.forEach((name, k) => {
      const input = inputs[k];
      if (input) frame.set(name, early.has(name) ? input : input.retain());
    });
    for (const instruction of fn.body) this.step(instruction, context);
    const outputs = fn.outputs.map((name) => this.value(name, context).retain());
    leave(context);
    return outputs;
  }

  private step(instruction: Instruction, context: Context): void {
    if ("op" in instruction) this.operator(instruction, context);
    else if ("call" in instruction) this.call(instruction, context);
    else if ("drop" in instruction) {
      for (const name of instruction.drop) {
        const key = withoutSigil(name);
        if (key.startsWith("*")) dropList(key, context);
        const tensor = context.frame.get(key);
        if (tensor !== undefined) context.dtypes.set(key, tensor.dtype);
        tensor?.release();
        context.frame.delete(key);
      }
    } else if ("store" in instruction) this.store(instruction, context);
    else if ("scope" in instruction) {
      // What a layer runs belongs to one of its modules: a loop inside is captured without a name.
      if (instruction.scope === "" && context.index !== null) return;
      this.torch.scope = this.path(instruction.scope, context.index);
      if (this.options.parametrized !== undefined) this.cross(this.torch.scope, context, this.options.parametrized);
    } else if ("block" in instruction) this.block(instruction, context);
    else this.repeat(instruction, context);
  }

  /** Leaves and enters parametrized modules on the way to `path`. */
  private cross(path: string, context: Context, parametrized: ReadonlyMap<string, ParameterWrapper>): void {
    const { inside } = context;
    if (inside !== null && (path === inside.path || path.startsWith(`${inside.path}.`))) return;
    inside?.parameters.leave();
    const wrapper = parametrized.get(path);
    context.inside = wrapper === undefined ? null : { path, parameters: wrapper.enter(this.torch) };
  }

  /** A path with the layer's index in it. */
  private path(path: string, index: number | null): string {
    if (index === null) return path;
    let ofLayers = this.paths.get(path);
    if (ofLayers === undefined) {
      ofLayers = new Map();
      this.paths.set(path, ofLayers);
    }
    let full = ofLayers.get(index);
    if (full === undefined) {
      full = path.replaceAll("{i}", String(index));
      ofLayers.set(index, full);
    }
    return full;
  }

  private value(name: string, context: Context): Tensor {
    const key = withoutSigil(name);
    const tensor = context.frame.get(key);
    if (tensor === undefined) throw new NotModelled(`value ${name} is not alive`);
    return tensor;
  }

  private bind(names: readonly (string | null)[], results: readonly Tensor[], context: Context): void {
    results.forEach((tensor, k) => {
      const name = names[k];
      if (name === null || name === undefined) {
        tensor.release();
        return;
      }
      const key = withoutSigil(name);
      context.frame.get(key)?.release();
      context.frame.set(key, tensor);
    });
  }

  private evaluate(expression: string, context: Context): Value {
    if (context.index !== null && isOfLayer(expression)) return evaluate(expression, context.scope);
    let value = this.memo.get(expression);
    if (value === undefined) {
      value = evaluate(expression, context.scope);
      this.memo.set(expression, value);
    }
    return value;
  }

  private operand(operand: Operand, context: Context): Argument {
    if (typeof operand !== "string") {
      return Array.isArray(operand)
        ? operand.flatMap((item: Operand) => listed(item, context) ?? [this.operand(item, context)])
        : (operand as Argument);
    }
    switch (operand[0]) {
      case "%": {
        const key = withoutSigil(operand);
        // An input the caller left out is None.
        if (!context.frame.has(key) && context.fn.inputs.includes(key) && !this.namedDrops(context.fn).has(key))
          return null;
        return this.value(operand, context);
      }
      case "@": {
        const path = this.path(withoutSigil(operand), context.index);
        if (path.includes("{h}")) return this.sideBySide(path);
        return context.inside?.parameters.get(this.torch, path) ?? this.options.parameters.get(path) ?? null;
      }
      case "=":
        return this.evaluate(withoutSigil(operand), context);
      case "$":
        return this.dtype(withoutSigil(operand), context);
      default:
        return operand;
    }
  }

  /** Every parameter of a list of modules that `{h}` counts. */
  private sideBySide(path: string): Tensor[] {
    const found: Tensor[] = [];
    for (;;) {
      const next = this.options.parameters.get(path.replace("{h}", String(found.length)));
      if (next === undefined) return found;
      found.push(next);
    }
  }

  private dtype(text: string, context: Context): string {
    if (text === "load") return this.options.loadDtype;
    if (!text.startsWith("dtype(")) return text;
    const inner = text.slice(6, -1);
    const gone =
      inner.startsWith("%") && !context.frame.has(inner.slice(1)) ? context.dtypes.get(inner.slice(1)) : undefined;
    if (gone !== undefined) return gone;
    const of = this.operand(inner, context);
    return isTensor(of) ? of.dtype : this.options.loadDtype;
  }

  /** The forward in place of an embedding that a module of the library's own (one that scales) looks up itself. */
  private replacedEmbedding({ op, in: [table] }: OpInstruction, context: Context): ModuleForward | undefined {
    if (op !== "embedding" || typeof table !== "string" || !/^@.*\.weight$/.test(table)) return undefined;
    return this.options.modules.get(this.path(table.slice(1, -".weight".length), context.index));
  }

  private operator(instruction: OpInstruction, context: Context): void {
    const { torch } = this;
    const replaced = this.replacedEmbedding(instruction, context);
    const ids = replaced && this.operand(instruction.in[1]!, context);
    if (replaced !== undefined && isTensor(ids)) {
      this.bind(instruction.out, [replaced(torch, ids, [])], context);
      return;
    }
    const args = instruction.in.map((operand) => this.operand(operand, context));
    const keywords = instruction.kw === undefined ? NO_KEYWORDS : this.keywords(instruction.kw, context);
    if (this.options.noDropout && DROPOUTS.has(instruction.op)) args[1] = 0;
    if (this.options.noDropout && this.options.attentionDropoutModule && instruction.op === ATTENTION)
      args[ATTENTION_DROPOUT] = 0;
    const { autocastEnabled, gradEnabled } = torch;
    if (instruction.op === FUSED_LOSS) torch.logits = true;
    if (instruction.noamp) torch.autocastEnabled = false;
    if (instruction.nograd) torch.gradEnabled = false;
    const cache = this.options.cache ?? this.options.wrapper?.cache;
    if (instruction.op === ATTENTION && cache !== undefined && !ENCODER.test(torch.scope))
      this.cached(cache, instruction, args, context);
    const given = this.given(instruction);
    const adapted = CONVOLUTIONS.has(instruction.op) ? this.adapterOf(instruction, context) : undefined;
    const [first, ...rest] = args;
    const result =
      given ??
      (adapted !== undefined && isTensor(first)
        ? adapted(torch, first, rest)
        : dispatch(torch, instruction.op, new Arguments(args, keywords)));
    for (let tensor = this.passing.shift(); tensor !== undefined; tensor = this.passing.shift()) tensor.release();
    if (instruction.noamp) torch.autocastEnabled = autocastEnabled;
    torch.gradEnabled = gradEnabled;
    if (result === null) throw new NotModelled(`operator ${instruction.op}`);
    if (instruction.checkpointgrad && this.options.checkpointing !== null && !Array.isArray(result))
      result.requiresGradFlag = true;
    if (given === null && this.inputEmbeddings.has(instruction) && !Array.isArray(result)) this.requireGrad(result);
    this.bind(instruction.out, Array.isArray(result) ? result : [result], context);
    if (this.options.positions !== undefined && context.index === null && instruction.op === "unsqueeze")
      this.position(instruction, this.options.positions, context);
  }

  private keywords(operands: NonNullable<OpInstruction["kw"]>, context: Context): Record<string, Argument> {
    const keywords: Record<string, Argument> = {};
    for (const name in operands) keywords[name] = this.operand(operands[name]!, context);
    return keywords;
  }

  /** What stands on the module whose weight a convolution multiplies with: such modules are operators in a graph. */
  private adapterOf({ in: [, weight] }: OpInstruction, context: Context): ModuleForward | undefined {
    if (typeof weight !== "string" || !weight.startsWith("@")) return undefined;
    return this.options.modules.get(this.path(weight.slice(1), context.index).replace(/\.weight$/, ""));
  }

  /** Hands keys and values to the cache; what it returns takes the place of the operands and of their names. */
  private cached(cache: AttentionCache, instruction: OpInstruction, args: Argument[], context: Context): void {
    const [, keyName, valueName] = instruction.in;
    const [query, key, value] = args;
    if (!isTensor(query) || !isTensor(key) || !isTensor(value)) return;
    const repeats = isRepeated(context.fn, keyName);
    const kept = cache.update(this.torch, query.size(2), key, value, repeats, query.size(1));
    const read = kept.reads ?? kept;
    args[1] = read.key;
    args[2] = read.value;
    if (kept.reads !== undefined) {
      args[3] = kept.reads.mask;
      args[5] = false;
      this.passing.push(read.key, read.value, kept.reads.mask);
    }
    if (repeats) this.passing.push(kept.key, kept.value);
    else this.bind([keyName as string, valueName as string], [kept.key, kept.value], context);
  }

  /** What the caller embedded in place of an instruction's result, owned; null when the model does it. */
  private given(instruction: Instruction): Tensor | null {
    return this.givenEmbeddings.has(instruction) ? (this.embeds?.retain() ?? null) : null;
  }

  /** `output.requires_grad_(True)` of a frozen embedding. */
  private requireGrad(output: Tensor): void {
    if (this.torch.gradEnabled && !output.requiresGrad) output.requiresGradFlag = true;
  }

  /** What a recomputation stores takes the place of what forward did; without checkpointing the names do as well. */
  private store({ store }: StoreInstruction, context: Context): void {
    const { shelf } = this;
    if (shelf === null || this.torch.halted) return;
    const names = this.stores.get(context.fn);
    shelf.put(
      store.flatMap((name): [string, Tensor][] => {
        const outside = names?.get(nameOf(name) ?? name);
        return outside === undefined ? [] : [[outside, this.value(name, context).retain()]];
      }),
    );
  }

  private call(instruction: CallInstruction, context: Context): void {
    const { torch } = this;
    const path = this.path(instruction.path, context.index);
    const outer = torch.scope;
    torch.scope = path;
    if (this.options.head !== null && path === this.options.head) {
      torch.logits = true;
      this.options.wrapper?.atHead?.();
    }
    const input = this.operand(instruction.in[0]!, context);
    if (!isTensor(input)) throw new NotModelled(`call of ${path} without a tensor`);
    if (this.options.head !== null && path === this.options.head) this.finishStates(input);
    const replaced = this.options.modules.get(path);
    const outside = torch.usage !== undefined && torch.layer === NO_LAYER;
    if (outside) torch.usage?.enterModule?.(torch, path, this.parametersOf(path));
    const { gradEnabled } = torch;
    if (instruction.nograd) torch.gradEnabled = false;
    const given = this.given(instruction);
    // A parametrized leaf (a router that is a linear layer of its own).
    const inside = this.options.parametrized?.get(path)?.enter(torch) ?? null;
    torch.launchOn([input]);
    const out =
      given ??
      (replaced === undefined
        ? this.forward(instruction, path, input, context, inside)
        : replaced(torch, input, this.restOf(instruction, path, context)));
    inside?.leave();
    torch.gradEnabled = gradEnabled;
    if (given === null && this.inputEmbeddings.has(instruction)) this.requireGrad(out);
    if (outside) torch.usage?.leaveModule?.(torch, path);
    torch.scope = outer;
    this.bind(instruction.out, instruction.out.length > 1 ? [out, apart(out)] : [out], context);
  }

  /** A module's further arguments; a convolution's are those of its operator. */
  private restOf(instruction: CallInstruction, path: string, context: Context): Argument[] {
    const { call, in: operands } = instruction;
    if (call !== "Conv2d") return operands.slice(1).map((operand) => this.operand(operand, context));
    const { parameters } = this.options;
    const { stride, padding, dilation } = this.geometry(instruction, context);
    const weights = [parameters.get(`${path}.weight`) ?? null, parameters.get(`${path}.bias`) ?? null];
    return [...weights, [...stride], [...padding], [...dilation]];
  }

  /** Elements of a leaf module's parameters. */
  private parametersOf(path: string): number {
    const { parameters } = this.options;
    return (parameters.get(`${path}.weight`)?.elements ?? 0) + (parameters.get(`${path}.bias`)?.elements ?? 0);
  }

  /** The forward of a leaf module as its library wrote it. */
  private forward(
    instruction: CallInstruction,
    path: string,
    input: Tensor,
    context: Context,
    inside: ModuleParameters | null,
  ): Tensor {
    const { torch } = this;
    const { parameters } = this.options;
    const weight = inside?.get(torch, `${path}.weight`) ?? parameters.get(`${path}.weight`);
    const bias = parameters.get(`${path}.bias`) ?? null;
    const attribute = (name: string): Argument | undefined => {
      const operand = instruction.attrs?.[name];
      return operand === undefined ? undefined : this.operand(operand, context);
    };
    if (instruction.call === "Activation") {
      const name = attribute("fn");
      const out = activate(torch, String(name), input);
      if (out === null) throw new NotModelled(`activation ${String(name)}`);
      return out;
    }
    if (weight === undefined) throw new NotModelled(`module ${path} without a weight`);
    switch (instruction.call) {
      case "Linear": {
        if (bias === null || attribute("apart") !== true) return linear(torch, input, weight, bias);
        // transformers/models/falcon/modeling_falcon.py (FalconLinear.forward): a product, then the bias.
        const product = linear(torch, input, weight, null);
        const out = add(torch, product, bias);
        product.release();
        return out;
      }
      case "Conv1D": {
        const flat = view(torch, input, [-1, input.size(-1)]);
        const product = addmmOperator(torch, bias!, flat, weight);
        flat.release();
        const out = view(torch, product, [...input.sizes.slice(0, -1), weight.size(1)]);
        product.release();
        return out;
      }
      case "Embedding":
        return embedding(torch, weight, input);
      case "Conv2d": {
        const { stride, padding, dilation } = this.geometry(instruction, context);
        return convolution(torch, input, weight, bias, stride, padding, dilation);
      }
      default:
        throw new NotModelled(`module kind ${instruction.call}`);
    }
  }

  /** What a call says of a convolution's steps. */
  private geometry(instruction: CallInstruction, context: Context): Geometry {
    const list = (name: string): number[] => {
      const operand = instruction.attrs?.[name];
      const value = operand === undefined ? undefined : this.operand(operand, context);
      return Array.isArray(value) ? value.map(Number) : typeof value === "number" ? [value, value] : [];
    };
    return { stride: list("stride"), padding: list("padding"), dilation: list("dilation") };
  }

  /** Every value a function drops by name. */
  private namedDrops(fn: GraphFunction): ReadonlySet<string> {
    let names = this.dropped.get(fn);
    if (names === undefined) {
      names = new Set(
        fn.body.flatMap((instruction) => ("drop" in instruction ? instruction.drop.map(withoutSigil) : [])),
      );
      this.dropped.set(fn, names);
    }
    return names;
  }

  /** What the model makes of the last layer's states takes their place. */
  private finishStates(final: Tensor): void {
    this.finished = true;
    const states = this.options.hiddenStates;
    if (states === undefined) return;
    states.pop()?.release();
    states.push(final.retain());
  }

  /** Runs one layer, and keeps the states around it where they are asked for; `inputs` are owned and given up, `unseen` ones are not given to it. */
  private layer(...[block, index, inputs, wrapped, positional, ...rest]: LayerArguments): Tensor[] {
    const states = this.options.hiddenStates;
    const given = states?.length === 0 ? inputs[positional[0] ?? 0] : null;
    if (given) states?.push(given.retain());
    const outputs = this.runLayer(block, index, inputs, wrapped, positional, ...rest);
    if (outputs[0] !== undefined) states?.push(outputs[0].retain());
    return outputs;
  }

  private runLayer(
    ...[block, index, whole, wrapped, positional, scope, operands, unseen = []]: LayerArguments
  ): Tensor[] {
    const fn = this.graph.blocks[block]!;
    const kind = this.options.layerKind(index);
    const inner = layerScope(scope, index, kind);
    const { checkpointing } = this.options;
    const parts = this.parts[block];
    const inputs = parts === undefined ? whole : this.pick(parts, whole);
    if (!wrapped || checkpointing === null || !this.torch.training) return this.taken(fn, inputs, index, inner);
    const tensors = parts === undefined ? positional : [...new Set([...positional, ...parts.keys()])];
    const given = inputs.map((input, k) => (unseen.includes(k) ? null : input));
    const { shelf } = this;
    const segment: Segment = (values) => {
      const outer = this.shelf;
      this.shelf = shelf;
      const outputs = this.run(fn, values, index, inner);
      this.shelf = outer;
      return outputs;
    };
    const outputs =
      shelf === null
        ? checkpoint(this.torch, segment, given, tensors, checkpointing)
        : checkpointWith(shelf, this.torch, segment, given, tensors, checkpointing, {
            reads: operands.map((operand) => {
              const name = nameOf(operand);
              return name !== undefined && this.shelved.has(name) ? name : null;
            }),
            stores: fn.outputs.map((name) => this.stores.get(fn)?.get(withoutSigil(name)) ?? null),
          });
    for (const input of inputs) input?.release();
    return outputs;
  }

  /** The part of each input that the layer is given, for the whole; owned. */
  private pick(parts: ReadonlyMap<number, number>, inputs: readonly Input[]): Input[] {
    return inputs.map((input, k) => {
      const dim = parts.get(k);
      if (dim === undefined || input === null) return input;
      const part = select(this.torch, input, dim);
      input.release();
      return part;
    });
  }

  /** Whether the layer in this place among those that may be checkpointed is. */
  private isSelected(ordinal: number): boolean {
    const { everyNLayers = 1, firstLayer = 0, firstLayers } = this.options.checkpointing ?? {};
    if (firstLayers !== undefined) return ordinal < firstLayers;
    return ordinal >= firstLayer && (ordinal - firstLayer) % everyNLayers === 0;
  }

  private tensors(operands: readonly Operand[], context: Context): Input[] {
    return operands.map((operand) => {
      const value = this.operand(operand, context);
      if (value !== null && !isTensor(value)) throw new NotModelled("a block takes tensors only");
      return value;
    });
  }

  private block(instruction: BlockInstruction, context: Context): void {
    const index = Number(this.evaluate(instruction.index, context));
    const inputs = this.tensors(instruction.in, context).map((tensor) => tensor?.retain() ?? null);
    const fn = this.graph.blocks[instruction.block]!;
    this.giveUp(instruction.in, this.namedDrops(fn), fn, context);
    const outputs = this.layer(
      instruction.block,
      index,
      inputs,
      instruction.checkpoint && this.isSelected(this.wrappedBefore),
      instruction.positional,
      context.scope,
      instruction.in,
    );
    if (instruction.checkpoint) this.wrappedBefore++;
    this.bind(instruction.out, outputs, context);
  }

  /** Removes from the frame the values whose last reference the callee holds. */
  private giveUp(operands: readonly Operand[], early: ReadonlySet<string>, fn: GraphFunction, context: Context): void {
    operands.forEach((operand, k) => {
      if (typeof operand !== "string" || !operand.startsWith("%") || !early.has(fn.inputs[k]!)) return;
      const key = withoutSigil(operand);
      context.frame.get(key)?.release();
      context.frame.delete(key);
    });
  }

  private repeat(instruction: RepeatInstruction, context: Context): void {
    const { from, to, bodies, carry, out } = instruction.repeat;
    const first = Number(this.evaluate(from, context));
    const last = Number(this.evaluate(to, context));
    const inputs = this.tensors(instruction.repeat.in, context).map((tensor) => tensor?.retain() ?? null);
    // A carried value that main never drops by name goes with the round that consumes it.
    const named = this.namedDrops(context.fn);
    instruction.repeat.in.forEach((operand, k) => {
      if (carry[k] === null || typeof operand !== "string" || !operand.startsWith("%")) return;
      const key = withoutSigil(operand);
      if (named.has(key)) return;
      context.frame.get(key)?.release();
      context.frame.delete(key);
    });
    const bodyOf = (index: number): number => {
      const kind = this.options.layerKind(index);
      const inner = layerScope(context.scope, index, kind);
      const body = bodies.find(({ when }) => truthy(evaluate(when, inner)));
      if (body === undefined) throw new NotModelled(`no layer for index ${index}`);
      return body.block;
    };
    const run =
      context.index !== null
        ? null
        : (this.segments(instruction, first, last, bodyOf, context) ??
          this.layers(instruction, first, last, bodyOf, context, joinsGradients(instruction, inputs)));
    const loop = context.index === null ? null : this.loop(instruction, first, last);
    const indices =
      run?.indices ?? loop?.indices ?? Array.from({ length: Math.max(0, last - first) }, (_, k) => first + k);
    const outputs = this.rounds(
      instruction,
      indices,
      inputs,
      context,
      run?.layer ?? this.round(bodyOf, context, loop),
      loop,
    );
    if (loop !== null) this.torch.enterRound(NO_ROUND);
    if (run !== null) this.torch.enterLayer(NO_LAYER, false);
    if (run !== null && instruction.repeat.checkpoint) this.wrappedBefore += Math.max(0, last - first);
    this.bind(out, outputs, context);
  }

  /** Feeds what each round gives to the next; the outputs of the last are owned by the caller. */
  private rounds(
    instruction: RepeatInstruction,
    indices: readonly number[],
    given: readonly Input[],
    context: Context,
    runRound: (index: number, ordinal: number, owned: readonly Input[]) => Tensor[],
    loop: Loop | null = null,
  ): Tensor[] {
    const { carry, out, collect } = instruction.repeat;
    let inputs = given;
    let outputs: Tensor[] = [];
    for (const name of collect ?? []) if (name !== null) context.lists.set(name, []);
    indices.forEach((index, ordinal) => {
      const owned = inputs.map((input, k) => (carry[k] === null ? (input?.retain() ?? null) : input));
      outputs = runRound(index, ordinal, owned);
      const final = ordinal + 1 === indices.length;
      outputs.forEach((output, k) => {
        const name = collect?.[k];
        if (!name || (final && carry.includes(k))) return;
        const list = context.lists.get(name);
        list?.push(output.retain());
        // What the rounds left out would have put there has the same size, and no graph of its own.
        if (ordinal === loop?.copied) for (let copy = 0; copy < loop.copies; copy++) list?.push(output.detached());
      });
      if (final) return;
      inputs = inputs.map((input, k) => {
        const source = carry[k];
        return source === null || source === undefined ? input : outputs[source]!;
      });
      outputs.forEach((output, k) => {
        if (!carry.includes(k)) output.release();
      });
    });
    // Without a round the carried values are the outcome, and the others go.
    if (indices.length === 0) {
      inputs.forEach((input, k) => {
        if (carry[k] === null) input?.release();
      });
      return out.flatMap((_, k) => inputs[carry.indexOf(k)] ?? []);
    }
    inputs.forEach((input, k) => {
      if (carry[k] === null) input?.release();
    });
    return outputs;
  }

  /** Runs a layer of the model, told apart in the event stream. */
  private layers(
    instruction: RepeatInstruction,
    first: number,
    last: number,
    bodyOf: (index: number) => number,
    context: Context,
    joined: boolean,
  ): LayerRounds {
    const { checkpoint, positional, collect, passing = [] } = instruction.repeat;
    const repeat = this.repeats.count++;
    const withheld = withheldInputs(instruction, this.graph.blocks);
    return {
      indices: this.layersToRun(repeat, first, last, bodyOf, collect === undefined, joined),
      layer: (index, ordinal, owned) => {
        const label = layerLabel(repeat, ordinal);
        this.torch.layerIndices.set(label, index);
        this.torch.enterLayer(label, false);
        const wrapped = checkpoint && this.isSelected(this.wrappedBefore + index - first);
        const block = bodyOf(index);
        const unseen = [...passing, ...(withheld.get(block) ?? [])];
        return this.layer(block, index, owned, wrapped, positional, context.scope, instruction.repeat.in, unseen);
      },
    };
  }

  /**
   * Runs several layers as one checkpointed segment (megatron/core/transformer/transformer_block.py, _checkpointed_forward),
   * or null where each is its own. Segments are not folded.
   */
  private segments(
    instruction: RepeatInstruction,
    first: number,
    last: number,
    bodyOf: (index: number) => number,
    context: Context,
  ): LayerRounds | null {
    const { checkpointing } = this.options;
    const { checkpoint: may, positional, collect } = instruction.repeat;
    const together = checkpointing?.layersTogether ?? 1;
    if (checkpointing === null || together <= 1 || !may || collect !== undefined || !this.torch.training) return null;
    const repeat = this.repeats.count++;
    const count = Math.max(0, Math.ceil((last - first) / together));
    return {
      indices: Array.from({ length: count }, (_, k) => first + k * together),
      layer: (start, ordinal, owned) => {
        const label = layerLabel(repeat, ordinal);
        this.torch.layerIndices.set(label, start);
        this.torch.enterLayer(label, false);
        const indices = Array.from({ length: Math.min(together, last - start) }, (_, k) => start + k);
        const segment: Segment = (tensors) => {
          const given = tensors.map((tensor) => tensor?.retain() ?? null);
          return this.rounds(instruction, indices, given, context, (index, _, inputs) =>
            this.layer(bodyOf(index), index, inputs, false, positional, context.scope, instruction.repeat.in),
          );
        };
        const outputs = checkpoint(this.torch, segment, owned, positional, checkpointing);
        for (const input of owned) input?.release();
        return outputs;
      },
    };
  }

  /** A loop inside a layer of which rounds are left out; null where all are run. */
  private loop({ repeat }: RepeatInstruction, first: number, last: number): Loop | null {
    const [body, ...others] = repeat.bodies;
    const { rounds, round } = this.torch;
    return body === undefined || others.length > 0 || rounds === null || round !== NO_ROUND
      ? null
      : rounds.begin(this.graph.blocks[body.block]!, first, last);
  }

  /** Runs a round of a loop inside a layer. */
  private round(
    bodyOf: (index: number) => number,
    context: Context,
    loop: Loop | null,
  ): (index: number, ordinal: number, owned: readonly Input[]) => Tensor[] {
    return (index, ordinal, owned) => {
      if (loop !== null) this.torch.enterRound(roundLabel(loop, ordinal));
      const fn = this.graph.blocks[bodyOf(index)]!;
      const scope: Scope = (name) => (name === "i" ? index : context.scope(name));
      return this.taken(fn, owned, context.index, scope);
    };
  }

  /** Runs a function that takes its inputs over. */
  private taken(fn: GraphFunction, inputs: readonly Input[], index: number | null, scope: Scope): Tensor[] {
    const early = this.namedDrops(fn);
    // An input that Python lets go of inside has no owner out here.
    const outputs = this.run(fn, inputs, index, scope, early);
    inputs.forEach((input, k) => {
      if (!early.has(fn.inputs[k]!)) input?.release();
    });
    return outputs;
  }

  /** Indices of the layers that are run: all, or enough of a periodic stack to know the rest. */
  private layersToRun(
    repeat: number,
    first: number,
    last: number,
    bodyOf: (index: number) => number,
    foldable: boolean,
    joined: boolean,
  ): number[] {
    const all = Array.from({ length: Math.max(0, last - first) }, (_, k) => first + k);
    const { layerSignature, fold, layersToSettle } = this.options;
    // What a list keeps of every layer goes outside the layers, where a fold could not put it back.
    if (layerSignature === null || !foldable) return all;
    const kinds = all.map((index) => this.options.layerKind(index));
    const alike = all.map(
      (index) => `${bodyOf(index)} ${layerSignature(index)} ${this.isSelected(this.wrappedBefore + index - first)}`,
    );
    const across = fold === "up-to-last" || fold === "any-kind" ? planAcrossKinds(alike, kinds, layersToSettle) : null;
    const within = planFolding(
      alike.map((signature, k) => `${signature} ${kinds[k]}`),
      fold === "up-to-last" && !joined && layersToSettle === undefined,
      layersToSettle,
    );
    const plan = leftOut(across) > leftOut(within) ? across : within;
    if (plan === null) return all;
    this.foldings.push({ repeat, first, ...plan });
    const left = leftOut(plan);
    return all.filter((_, k) => k <= plan.to || k > plan.to + left);
  }
}
