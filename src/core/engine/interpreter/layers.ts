/** Runs the layers of a model one at a time, checkpointed where they are. */
import { layerScope } from "../../graph/config";
import type { Scope } from "../../graph/expression";
import type { Parts } from "../../graph/parts";
import { layerPath, nameOf } from "../../graph/reads";
import { type Stores, storesOf } from "../../graph/stores";
import type {
  ArchitectureGraph,
  BlockInstruction,
  GraphFunction,
  Operand,
  OwnForward,
  StoreInstruction,
} from "../../graph/types";
import { checkpoint, type Segment } from "../checkpoint";
import { select } from "../ops/layout";
import { OwnFunctions } from "../own-function";
import { checkpointWith, Shelf } from "../shelf";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { Context, Input } from "./frame";
import type { Operands } from "./operands";
import type { CheckpointingOptions, InterpreterOptions } from "./options";

/** Runs one function on its inputs, taking over those named in `early`; outputs are owned by the caller. */
export type RunFunction = (
  fn: GraphFunction,
  inputs: readonly Input[],
  index: number | null,
  scope: Scope,
  early?: ReadonlySet<string>,
) => Tensor[];

/** The layer's function, its index, what it is given, whether it is checkpointed and how, names, what it was called with, and what only lives on. */
export type LayerArguments = readonly [
  block: number,
  index: number,
  inputs: readonly Input[],
  wrapped: boolean,
  positional: readonly number[],
  scope: Scope,
  operands: readonly Operand[],
  unseen?: readonly number[],
];

/** A layer that is a checkpointed segment. */
interface CheckpointedLayer {
  readonly fn: GraphFunction;
  readonly index: number;
  readonly inner: Scope;
  /** Which inputs are positional tensors. */
  readonly tensors: readonly number[];
  readonly operands: readonly Operand[];
  /** Path of the module whose hooks are run again with it; null: they stand around it, or there are none. */
  readonly path: string | null;
  readonly checkpointing: CheckpointingOptions;
}

export class Layers {
  /** Layers that may be checkpointed, before the running list of them. */
  wrappedBefore = 0;
  /** What layers store for one another. */
  private readonly stores: Stores;
  /** Paths of layers, by their functions, with `{i}` for the index. */
  private readonly paths = new Map<GraphFunction, string | null>();
  /** The layer that runs between its hooks. */
  private running: string | null = null;
  /** The dictionary, under checkpointing. */
  private shelf: Shelf | null = null;
  private readonly functions: OwnFunctions;

  /** @param parts which inputs of the layers are parts of what their caller has */
  constructor(
    private readonly torch: Torch,
    private readonly graph: ArchitectureGraph,
    private readonly parts: Parts,
    private readonly options: InterpreterOptions,
    private readonly operands: Operands,
    private readonly run: RunFunction,
  ) {
    this.functions = new OwnFunctions(torch);
    this.stores = storesOf(graph);
  }

  /** A forward begins. */
  begin(): void {
    this.wrappedBefore = 0;
    if (this.stores.names.size > 0 && this.options.checkpointing !== null && this.torch.training)
      this.shelf = new Shelf();
  }

  /** The forward is done: its names for the dictionary go. */
  end(): void {
    this.shelf?.release();
    this.shelf = null;
  }

  /** Runs one layer, and keeps the states around it where they are asked for; `inputs` are owned and given up, `unseen` ones are not given to it. */
  one(...[block, index, inputs, wrapped, positional, ...rest]: LayerArguments): Tensor[] {
    const states = this.options.hiddenStates;
    const given = states?.length === 0 ? inputs[positional[0] ?? 0] : null;
    if (given) states?.push(given.retain());
    const outputs = this.inside(block, index, inputs, wrapped, positional, ...rest);
    if (outputs[0] !== undefined) states?.push(outputs[0].retain());
    return outputs;
  }

  /** Runs one layer, which may stand in another; as `one` for the rest. */
  inside(...[block, index, whole, wrapped, positional, scope, operands, unseen = []]: LayerArguments): Tensor[] {
    const fn = this.graph.blocks[block]!;
    const kind = this.options.layerKind(index);
    const inner = layerScope(scope, index, kind);
    const { checkpointing } = this.options;
    const parts = this.parts[block];
    const inputs = parts === undefined ? whole : this.pick(parts, whole);
    const path = this.hookedPath(fn, index);
    if (!wrapped || checkpointing === null || !this.torch.training)
      return this.hooked(path, inputs, (given) => this.taken(fn, given, index, inner));
    const saved = checkpointing.rewritten === true ? inputs.keys() : positional;
    const tensors = [...new Set([...saved, ...(parts?.keys() ?? [])])];
    const { hooks } = this.options;
    const handed = checkpointing.wrapped && path !== null ? (hooks?.wrap?.(this.torch, inputs) ?? inputs) : inputs;
    const seen = handed.map((input, k) => (unseen.includes(k) ? null : input));
    const within = hooks?.aroundCheckpoints === true ? null : path;
    const run = (given: readonly Input[]): Tensor[] =>
      this.checkpointed(given, { fn, index, inner, tensors, operands, path: within, checkpointing });
    if (within !== null || path === null) {
      const outputs = run(seen);
      for (const input of handed) input?.release();
      return outputs;
    }
    return this.hooked(path, seen, (given) => {
      const outputs = run(given);
      for (const input of given) input?.release();
      handed.forEach((input, k) => {
        if (unseen.includes(k)) input?.release();
      });
      return outputs;
    });
  }

  /** Runs a layer as a checkpointed segment. */
  private checkpointed(given: readonly Input[], layer: CheckpointedLayer): Tensor[] {
    const { fn, index, inner, tensors, operands, path, checkpointing } = layer;
    const shelf = this.stores.given.has(fn) ? this.shelf : null;
    const segment: Segment = (values) => {
      const outer = this.shelf;
      this.shelf = shelf;
      const outputs =
        path === null
          ? this.run(fn, values, index, inner)
          : this.hooked(
              path,
              values.map((value) => value?.retain() ?? null),
              (given) => {
                const made = this.run(fn, given, index, inner);
                for (const tensor of given) tensor?.release();
                return made;
              },
            );
      this.shelf = outer;
      return outputs;
    };
    return shelf === null
      ? checkpoint(this.torch, segment, given, tensors, checkpointing)
      : checkpointWith({ shelf, ...this.namesOf(fn, operands) }, this.torch, segment, given, tensors, checkpointing);
  }

  /** Names in the dictionary of a layer's operands and outputs. */
  private namesOf(fn: GraphFunction, operands: readonly Operand[]) {
    const stored = this.stores.names.get(fn);
    return {
      reads: operands.map((operand) => {
        const name = nameOf(operand);
        return name !== undefined && this.stores.shelved.has(name) ? name : null;
      }),
      stores: fn.outputs.map((name) => stored?.get(this.operands.name(name)) ?? null),
    };
  }

  /** Path of the module that a layer's function is, with `{i}` for its index; null: it is none. */
  pathOf(fn: GraphFunction): string | null {
    const known = this.paths.get(fn);
    if (known !== undefined) return known;
    const path = layerPath(fn);
    this.paths.set(fn, path);
    return path;
  }

  /** Path of the module that a layer is, where it has hooks. */
  private hookedPath(fn: GraphFunction, index: number): string | null {
    const { hooks } = this.options;
    if (hooks === undefined) return null;
    const path = this.pathOf(fn);
    const own = path?.replace("{i}", String(index)) ?? null;
    return own !== null && hooks.has(own) ? own : null;
  }

  /** Runs a layer between its hooks; inputs are owned and given up. */
  private hooked(path: string | null, inputs: readonly Input[], run: (inputs: readonly Input[]) => Tensor[]): Tensor[] {
    const { hooks } = this.options;
    // A function inside a layer's is no module of its own.
    if (path === null || hooks === undefined || path === this.running) return run(inputs);
    const outer = this.running;
    this.running = path;
    const outputs = run(hooks.before(this.torch, path, inputs));
    this.running = outer;
    return this.torch.halted ? outputs : hooks.after(this.torch, path, outputs);
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
  isSelected(ordinal: number): boolean {
    const { everyNLayers = 1, firstLayer = 0, firstLayers } = this.options.checkpointing ?? {};
    if (firstLayers !== undefined) return ordinal < firstLayers;
    return ordinal >= firstLayer && (ordinal - firstLayer) % everyNLayers === 0;
  }

  block(instruction: BlockInstruction, context: Context): void {
    const index = Number(this.operands.evaluate(instruction.index, context));
    const inputs = this.operands.tensors(instruction.in, context).map((tensor) => tensor?.retain() ?? null);
    const fn = this.graph.blocks[instruction.block]!;
    this.giveUp(instruction.in, this.operands.namedDrops(fn), fn, context);
    if (instruction.segment !== undefined) {
      this.operands.bind(instruction.out, this.own(instruction.segment, instruction, inputs, context), context);
      return;
    }
    // A layer inside a layer is no layer of the model's list.
    const within = context.index !== null;
    const wrapped = instruction.checkpoint && (within || this.isSelected(this.wrappedBefore));
    const called = [instruction.block, index, inputs, wrapped, instruction.positional] as const;
    const outputs = within
      ? this.inside(...called, context.scope, instruction.in)
      : this.one(...called, context.scope, instruction.in);
    if (instruction.checkpoint && !within) this.wrappedBefore++;
    this.operands.bind(instruction.out, outputs, context);
  }

  /** Runs what has a backward of the model's own code; `inputs` are owned and given up. */
  private own(
    how: NonNullable<BlockInstruction["segment"]>,
    { block, positional }: BlockInstruction,
    inputs: readonly Input[],
    context: Context,
  ): Tensor[] {
    const { scope } = context;
    const fn = this.graph.blocks[block]!;
    const segment: Segment = (values) => this.run(fn, values, null, scope);
    const outputs =
      "reentrant" in how
        ? checkpoint(this.torch, segment, inputs, positional, { useReentrant: how.reentrant, autocast: how.autocast })
        : "gradients" in how
          ? this.functions.forward(how, segment, inputs, this.weights(how, context))
          : this.functions.backward(how, segment, inputs, positional);
    for (const input of inputs) input?.release();
    return outputs;
  }

  /** Weights that an autograd function is given, borrowed. */
  private weights({ weights }: OwnForward, context: Context): Input[] {
    const named = weights.map((path) => `@${path}`);
    return this.operands.tensors(named, context);
  }

  /** Removes from the frame the values whose last reference the callee holds. */
  private giveUp(operands: readonly Operand[], early: ReadonlySet<string>, fn: GraphFunction, context: Context): void {
    operands.forEach((operand, k) => {
      if (typeof operand !== "string" || !operand.startsWith("%") || !early.has(fn.inputs[k]!)) return;
      const key = this.operands.name(operand);
      context.frame.get(key)?.release();
      context.frame.delete(key);
    });
  }

  /** Runs a function that takes its inputs over. */
  taken(fn: GraphFunction, inputs: readonly Input[], index: number | null, scope: Scope): Tensor[] {
    const early = this.operands.namedDrops(fn);
    // An input that Python lets go of inside has no owner out here.
    const outputs = this.run(fn, inputs, index, scope, early);
    inputs.forEach((input, k) => {
      if (!early.has(fn.inputs[k]!)) input?.release();
    });
    return outputs;
  }

  /** What a recomputation stores takes the place of what forward did; without checkpointing the names do as well. */
  store({ store }: StoreInstruction, context: Context): void {
    const { shelf } = this;
    if (shelf === null || this.torch.halted) return;
    const names = this.stores.names.get(context.fn);
    shelf.put(
      store.flatMap((name): [string, Tensor][] => {
        const outside = names?.get(nameOf(name) ?? name);
        return outside === undefined ? [] : [[outside, this.operands.value(name, context).retain()]];
      }),
    );
  }
}
