/**
 * Executes a captured graph on the engine. Values live as Python's names did: until the recorded drop, or the end of
 * the function.
 */

import { table } from "../../../terms/table";
import { say } from "../../../words/message";
import type { Scope } from "../../graph/expression";
import { withParts } from "../../graph/parts";
import type {
  ArchitectureGraph,
  CallInstruction,
  GraphFunction,
  Instruction,
  Operand,
  OpInstruction,
} from "../../graph/types";
import { withUnits } from "../../graph/units";
import { NO_LAYER } from "../folding/label";
import type { Folding } from "../folding/plan";
import { NotModelled } from "../not-modelled";
import { type Argument, Arguments } from "../ops/arguments";
import { isTensor } from "../ops/arithmetic";
import { slice } from "../ops/layout";
import { dispatch } from "../ops/table";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import { isRepeated, sourcesOf, writtenAttention } from "./attention-names";
import { type Context, contextOf, dropList, type Input, leave } from "./frame";
import {
  apart,
  DROPOUTS,
  earliest,
  embeddingsOfInputs,
  inputEmbeddings,
  owned,
  stacksOf,
  withoutReentrance,
} from "./graph-parts";
import { HookedModules, ROOT } from "./hooked";
import { Layers } from "./layers";
import { attributesOf, geometryOf, leafForward } from "./modules";
import { Operands } from "./operands";
import type { AttentionCache, InterpreterOptions, ModuleForward, ModuleParameters, ParameterWrapper } from "./options";
import { Repeats } from "./repeats";

const ATTENTION = "scaled_dot_product_attention";
/** Place of its rate of dropout: after query, key, value and mask. */
const ATTENTION_DROPOUT = 4;
/** Operators that a module of one convolution is in a graph. */
const CONVOLUTIONS: ReadonlySet<string> = new Set(["conv1d", "conv3d"]);
/** Scopes whose attention sees every token at once and keeps nothing. */
const ENCODER = /(?:^|\.)encoder(?:\.|$)/;

const NO_KEYWORDS: Readonly<Record<string, Argument>> = table({});

/** The operator that stands for head and loss together. */
const FUSED_LOSS = "liger_fused_linear_cross_entropy";

export class Interpreter {
  private readonly operands: Operands;
  private readonly layers: Layers;
  private readonly repeats: Repeats;
  /** Operands that live as long as the operator that takes them. */
  private readonly passing: Tensor[] = [];

  /**
   * What makes the output that is told to require grad: the embedding of `input_ids`, when checkpointing is on and the
   * class's `main_input_name` says so (transformers/modeling_utils.py, gradient_checkpointing_enable).
   */
  private readonly inputEmbeddings: ReadonlySet<Instruction>;
  /** Whether the model was told that it is checkpointed. */
  private readonly told: boolean;
  /** What makes the output that the caller may give instead. */
  private readonly givenEmbeddings: ReadonlySet<Instruction>;
  private readonly allEmbeddings: ReadonlySet<Instruction>;
  private embeds: Tensor | null = null;
  private ofDecoder = false;
  private readonly hooked: HookedModules;
  /** Whether the states between layers have their final form. */
  private finished = false;
  private readonly graph: ArchitectureGraph;
  private readonly options: InterpreterOptions;

  constructor(
    private readonly torch: Torch,
    graph: ArchitectureGraph,
    given: InterpreterOptions,
  ) {
    const options = graph.units === undefined ? given : withoutReentrance(given);
    this.options = options;
    const { checkpointing } = options;
    const units = checkpointing === null ? graph : withUnits(graph);
    const parted = checkpointing?.useReentrant === true ? withParts(units) : { graph: units, parts: [] };
    this.graph = parted.graph;
    // Models whose main input is text are always told to; others by the Trainer, for adapters under the reentrant kind
    // (peft/peft_model.py, _prepare_model_for_gradient_checkpointing): where weights are frozen without them, nothing is told.
    const ofText = graph.mainInput === undefined && graph.main.inputs.includes("input_ids");
    // Wrappers around layers tell nothing of it to the model.
    this.told = checkpointing !== null && checkpointing.wrapped !== true;
    const usual = this.told && (ofText || (checkpointing?.useReentrant === true && options.adapted === true));
    const told = options.tellsInputs ?? usual;
    this.inputEmbeddings = told ? inputEmbeddings(graph, options.tellsTextsAlone) : new Set();
    this.givenEmbeddings = options.wrapper?.enter === undefined ? new Set() : embeddingsOfInputs(graph);
    this.allEmbeddings = options.wrapper?.enter === undefined ? new Set() : inputEmbeddings(graph);
    this.operands = new Operands(torch, options);
    const run = this.run.bind(this);
    this.layers = new Layers(torch, this.graph, parted.parts, options, this.operands, run);
    this.hooked = new HookedModules(torch, this.graph, options, this.operands);
    this.repeats = new Repeats(torch, this.graph, options, this.operands, this.layers);
  }

  /** What the last forward left out, per repeat. */
  get foldings(): readonly Folding[] {
    return this.repeats.foldings;
  }

  /** Stacks of layers and other repeats that a forward goes through. */
  get stacks(): number {
    return stacksOf(this.graph).length;
  }

  /** Runs the graph's forward: the loss first, then the other outputs, all owned by the caller. */
  main(batch: readonly Input[]): Tensor[] {
    const { torch } = this;
    const { wrapper, scope } = this.options;
    this.repeats.begin();
    torch.trail?.begin();
    const { hooks } = this.options;
    const given = hooks?.before(torch, ROOT, owned(batch)) ?? batch;
    const inner = wrapper?.enter?.(
      torch,
      given.flatMap((tensor, k) => (tensor === null ? [] : [{ name: this.graph.batch[k]!.name, tensor }])),
    );
    this.embeds = inner?.embeds ?? null;
    this.ofDecoder = inner?.ofDecoder === true;
    this.finished = false;
    this.layers.begin();
    const [loss, ...rest] = this.run(this.graph.main, inner?.batch ?? given, null, scope);
    this.layers.end();
    if (!this.finished) this.finishStates(loss!);
    const outputs = [wrapper?.leave === undefined ? loss! : wrapper.leave(torch, loss!), ...rest];
    this.embeds = null;
    inner?.release();
    torch.trail?.end();
    if (hooks === undefined) return outputs;
    for (const tensor of given) tensor?.release();
    return hooks.after(torch, ROOT, outputs);
  }

  /**
   * Runs the graph up to its head, and the head on the last position (`logits_to_keep` = 1): the logits of the next token,
   * owned by the caller.
   *
   * @param positions takes the place of the positions that the model counts itself, once for all sequences
   * @param named what else the graph takes, by the names of its inputs
   */
  nextToken(batch: readonly Input[], positions: Tensor, named: ReadonlyMap<string, Tensor>): Tensor {
    this.repeats.begin();
    this.layers.wrappedBefore = 0;
    const fn = this.graph.main;
    const { hooks } = this.options;
    // Hooks own what they are given, and give it back.
    if (hooks !== undefined)
      for (const tensor of hooks.before(this.torch, ROOT, owned([...batch, ...named.values()]))) tensor?.release();
    const context = contextOf(fn, null, this.options.scope);
    fn.inputs.forEach((name, k) => {
      const input = named.get(name) ?? batch[k];
      if (input) context.frame.set(name, input.retain());
    });
    for (const [at, instruction] of fn.body.entries()) {
      if (!("call" in instruction) || instruction.path !== this.options.head) {
        this.hooked.cross(instruction, at, context);
        this.step(instruction, context);
        if ("op" in instruction && instruction.op === "unsqueeze") this.position(instruction, positions, context);
        continue;
      }
      const name = String(instruction.in[0]);
      const hidden = this.operands.value(name, context);
      const last =
        hidden.rank === 3 ? slice(this.torch, hidden, 1, hidden.size(1) - 1, hidden.size(1)) : hidden.retain();
      hidden.release();
      context.frame.set(this.operands.name(name), last);
      this.hooked.cross(instruction, at, context);
      this.call(instruction, context);
      const logits = this.operands.value(String(instruction.out[0]), context).retain();
      leave(context);
      return hooks?.after(this.torch, ROOT, [logits])[0] ?? logits;
    }
    throw new NotModelled(say("engine.no-head"));
  }

  /** `position_ids` of the caller instead of a row of counted ones. */
  private position(instruction: OpInstruction, positions: Tensor, context: Context): void {
    const name = instruction.out[0];
    const counted = typeof name === "string" ? context.frame.get(name) : undefined;
    if (counted === undefined || counted.dtype !== "int64" || counted.rank !== 2) return;
    if (counted.sizes[0] === 1 && counted.sizes[1] === positions.sizes[1])
      this.operands.bind([name!], [positions.retain()], context);
  }

  /** Runs one function on its inputs, taking over those named in `early`; outputs are owned by the caller. */
  private run(
    fn: GraphFunction,
    inputs: readonly Input[],
    index: number | null,
    scope: Scope,
    early: ReadonlySet<string> = new Set(),
  ): Tensor[] {
    const context = contextOf(fn, index, scope);
    const { frame } = context;
    fn.inputs.forEach((name, k) => {
      const input = inputs[k];
      if (input) frame.set(name, early.has(name) ? input : input.retain());
    });
    const isHooked = this.hooked.within(context);
    fn.body.forEach((instruction, at) => {
      if (isHooked) this.hooked.cross(instruction, at, context);
      this.step(instruction, context);
    });
    if (isHooked) this.hooked.leave(context);
    const outputs = fn.outputs.map((name) => this.operands.value(name, context).retain());
    leave(context);
    return outputs;
  }

  private step(instruction: Instruction, context: Context): void {
    if ("op" in instruction) this.operator(instruction, context);
    else if ("call" in instruction) this.call(instruction, context);
    else if ("drop" in instruction) {
      for (const name of instruction.drop) {
        const key = this.operands.name(name);
        if (key.startsWith("*")) dropList(key, context);
        const tensor = context.frame.get(key);
        if (tensor !== undefined) context.dtypes.set(key, tensor.dtype);
        tensor?.release();
        context.frame.delete(key);
      }
    } else if ("store" in instruction) this.layers.store(instruction, context);
    else if ("scope" in instruction) {
      // What a layer runs belongs to one of its modules: a loop inside is captured without a name.
      if (instruction.scope === "" && context.index !== null) return;
      this.torch.scope = this.operands.path(instruction.scope, context);
      this.torch.trail?.enter(this.torch.scope);
      if (this.options.parametrized !== undefined) this.cross(this.torch.scope, context, this.options.parametrized);
    } else if ("block" in instruction) this.layers.block(instruction, context);
    else this.repeats.run(instruction, context);
  }

  /** Leaves and enters parametrized modules on the way to `path`. */
  private cross(path: string, context: Context, parametrized: ReadonlyMap<string, ParameterWrapper>): void {
    const { inside } = context;
    if (inside !== null && (path === inside.path || path.startsWith(`${inside.path}.`))) return;
    inside?.parameters.leave();
    const wrapper = parametrized.get(path);
    context.inside = wrapper === undefined ? null : { path, parameters: wrapper.enter(this.torch) };
  }

  /** The forward in place of an embedding that a module of the library's own (one that scales) looks up itself. */
  private replacedEmbedding({ op, in: [table] }: OpInstruction, context: Context): ModuleForward | undefined {
    if (op !== "embedding" || typeof table !== "string" || !/^@.*\.weight$/.test(table)) return undefined;
    return this.options.modules.get(this.operands.path(table.slice(1, -".weight".length), context));
  }

  private operator(instruction: OpInstruction, context: Context): void {
    const { torch } = this;
    const replaced = this.replacedEmbedding(instruction, context);
    const ids = replaced && this.operands.operand(instruction.in[1]!, context);
    if (replaced !== undefined && isTensor(ids)) {
      this.operands.bind(instruction.out, [replaced(torch, ids, [])], context);
      return;
    }
    const args = new Array<Argument>(instruction.in.length);
    for (let k = 0; k < args.length; k++) args[k] = this.operands.operand(instruction.in[k]!, context);
    const keywords = instruction.kw === undefined ? NO_KEYWORDS : this.operands.keywords(instruction.kw, context);
    if (this.options.noDropout && DROPOUTS.has(instruction.op)) args[1] = 0;
    if (this.options.noDropout && this.options.attentionDropoutModule && instruction.op === ATTENTION)
      args[ATTENTION_DROPOUT] = 0;
    const { autocastEnabled, gradEnabled } = torch;
    if (instruction.op === FUSED_LOSS) torch.logits = true;
    if (instruction.noamp) torch.autocastEnabled = false;
    if (instruction.nograd) torch.gradEnabled = false;
    const cache = this.options.cache ?? this.options.wrapper?.cache;
    if (cache !== undefined && !ENCODER.test(torch.scope)) {
      if (instruction.op === ATTENTION) this.cached(cache, instruction, args, context);
      else if (cache.keepWritten !== undefined) this.keptWritten(cache, instruction, context);
    }
    const given = this.given(instruction);
    const adapted = CONVOLUTIONS.has(instruction.op) ? this.adapterOf(instruction, context) : undefined;
    const first = args[0];
    const result =
      given ??
      (adapted !== undefined && isTensor(first)
        ? adapted(torch, first, args.slice(1))
        : dispatch(torch, instruction.op, new Arguments(args, keywords)));
    for (let tensor = this.passing.shift(); tensor !== undefined; tensor = this.passing.shift()) tensor.release();
    if (instruction.noamp) torch.autocastEnabled = autocastEnabled;
    torch.gradEnabled = gradEnabled;
    if (result === null) throw new NotModelled(say("engine.operator", { name: instruction.op }));
    if (instruction.checkpointgrad && this.told && !Array.isArray(result)) result.requiresGradFlag = true;
    const embeds = given === null && this.inputEmbeddings.has(instruction);
    // Convolutions are modules that stand as operators in a graph.
    const told = embeds || (CONVOLUTIONS.has(instruction.op) && this.options.tellsModules?.has(torch.scope));
    if (told === true && !Array.isArray(result)) this.requireGrad(result, torch.scope);
    if (Array.isArray(result)) this.operands.bind(instruction.out, result, context);
    else this.operands.bindOne(instruction.out[0], result, context);
    if (this.options.positions !== undefined && context.index === null && instruction.op === "unsqueeze")
      this.position(instruction, this.options.positions, context);
  }

  /** What stands on the module whose weight a convolution multiplies with: such modules are operators in a graph. */
  private adapterOf({ in: [, weight] }: OpInstruction, context: Context): ModuleForward | undefined {
    if (typeof weight !== "string" || !weight.startsWith("@")) return undefined;
    return this.options.modules.get(this.operands.path(weight.slice(1), context).replace(/\.weight$/, ""));
  }

  /** Hands keys and values to the cache; what it returns takes the place of the operands and of their names. */
  private cached(cache: AttentionCache, instruction: OpInstruction, args: Argument[], context: Context): void {
    const [, keyName, valueName] = instruction.in;
    const [query, key, value] = args;
    if (!isTensor(query) || !isTensor(key) || !isTensor(value)) return;
    if (cache.keep !== undefined) {
      const made = (operand: Operand | undefined) => earliest(context, sourcesOf(context.fn, operand));
      cache.keep(made(keyName) ?? key, made(valueName) ?? value);
      return;
    }
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
    else this.operands.bind([keyName as string, valueName as string], [kept.key, kept.value], context);
  }

  /**
   * Hands the cache keys and values of attention that is written out: as they were made where the library copies nothing, otherwise
   * where the scores are made.
   */
  private keptWritten({ keep, keepWritten }: AttentionCache, instruction: OpInstruction, context: Context): void {
    const { scores, made } = writtenAttention(context.fn);
    if (keep !== undefined) {
      for (const names of made.get(instruction) ?? []) keepWritten?.(earliest(context, names));
      return;
    }
    const names = scores.get(instruction);
    if (names === undefined) return;
    for (const each of [names.key, names.value]) keepWritten?.(earliest(context, each));
  }

  /** What the caller embedded in place of an instruction's result, owned; null when the model does it. */
  private given(instruction: Instruction): Tensor | null {
    const own = this.givenEmbeddings.has(instruction);
    const given = this.ofDecoder ? !own && this.allEmbeddings.has(instruction) : own;
    return given ? (this.embeds?.retain() ?? null) : null;
  }

  /** `output.requires_grad_(True)` of what a frozen module gives. */
  private requireGrad(output: Tensor, path: string): void {
    if (!this.torch.gradEnabled || output.requiresGrad) return;
    output.requiresGradFlag = true;
    this.torch.trail?.tell(output, path);
  }

  private call(instruction: CallInstruction, context: Context): void {
    const { torch } = this;
    const path = this.operands.path(instruction.path, context);
    const outer = torch.scope;
    torch.scope = path;
    if (this.options.head !== null && path === this.options.head) {
      torch.logits = true;
      this.options.wrapper?.atHead?.();
    }
    const called = this.operands.operand(instruction.in[0]!, context);
    if (!isTensor(called)) throw new NotModelled(say("engine.no-tensor", { path }));
    const input = this.hooked.before(path, called);
    if (this.options.head !== null && path === this.options.head) this.finishStates(input);
    torch.trail?.enter(path, input.requiresGrad);
    const replaced = this.options.modules.get(path);
    const outside = torch.usage !== undefined && torch.layer === NO_LAYER;
    if (outside) torch.usage?.enterModule?.(torch, path, this.parametersOf(path));
    const { autocastEnabled, gradEnabled } = torch;
    if (instruction.noamp) torch.autocastEnabled = false;
    if (instruction.nograd) torch.gradEnabled = false;
    const given = this.given(instruction);
    // A parametrized leaf (a router that is a linear layer of its own).
    const inside = this.options.parametrized?.get(path)?.enter(torch) ?? null;
    torch.launchOn([input]);
    const out =
      given ??
      (replaced === undefined
        ? this.leaf(instruction, path, input, context, inside)
        : replaced(torch, input, this.restOf(instruction, path, context)));
    inside?.leave();
    torch.autocastEnabled = autocastEnabled;
    torch.gradEnabled = gradEnabled;
    const embeds = given === null && this.inputEmbeddings.has(instruction);
    if (embeds || this.options.tellsModules?.has(path)) this.requireGrad(out, path);
    const result = this.hooked.after(path, input, out);
    if (outside) torch.usage?.leaveModule?.(torch, path);
    torch.trail?.leave(path);
    torch.scope = outer;
    this.operands.bind(instruction.out, instruction.out.length > 1 ? [result, apart(result)] : [result], context);
  }

  /** A module's further arguments; a convolution's are those of its operator. */
  private restOf(instruction: CallInstruction, path: string, context: Context): Argument[] {
    const { call, in: operands } = instruction;
    if (call !== "Conv2d") return operands.slice(1).map((operand) => this.operands.operand(operand, context));
    const { parameters } = this.options;
    const { stride, padding, dilation } = geometryOf(attributesOf(instruction, this.operands, context));
    const weights = [parameters.get(`${path}.weight`) ?? null, parameters.get(`${path}.bias`) ?? null];
    return [...weights, [...stride], [...padding], [...dilation]];
  }

  /** The module's own forward, on its parameters or on what stands for them. */
  private leaf(
    instruction: CallInstruction,
    path: string,
    input: Tensor,
    context: Context,
    inside: ModuleParameters | null,
  ): Tensor {
    const { parameters } = this.options;
    const weight = inside?.get(this.torch, `${path}.weight`) ?? parameters.get(`${path}.weight`);
    const bias = parameters.get(`${path}.bias`) ?? null;
    const attribute = attributesOf(instruction, this.operands, context);
    return leafForward(this.torch, { call: instruction.call, path }, input, { weight, bias }, attribute);
  }

  /** Elements of a leaf module's parameters. */
  private parametersOf(path: string): number {
    const { parameters } = this.options;
    return (parameters.get(`${path}.weight`)?.elements ?? 0) + (parameters.get(`${path}.bias`)?.elements ?? 0);
  }

  /** What the model makes of the last layer's states takes their place. */
  private finishStates(final: Tensor): void {
    this.finished = true;
    const states = this.options.hiddenStates;
    // What is made of one token (a pooler) is none of the states.
    if (states === undefined || states.at(-1)?.rank !== final.rank) return;
    states.pop()?.release();
    states.push(final.retain());
  }
}
