/** Runs repeats of a graph: the layers of a stack, of which some are left out, and loops inside layers. */

import { say } from "../../../words/message";
import { layerScope } from "../../graph/config";
import { type Scope, truthy } from "../../graph/expression";
import { withheldInputs } from "../../graph/given";
import type { ArchitectureGraph, RepeatInstruction } from "../../graph/types";
import { checkpoint, type Segment } from "../checkpoint";
import { layerLabel, NO_LAYER } from "../folding/label";
import { type Folding, leftOut, planAcrossKinds, planFolding } from "../folding/plan";
import { type Loop, NO_ROUND, roundLabel } from "../folding/rounds";
import { ImpossibleSizes, NotModelled } from "../not-modelled";
import type { Tensor } from "../tensor";
import type { Torch } from "../torch";
import type { Context, Input } from "./frame";
import type { Layers } from "./layers";
import type { Operands } from "./operands";
import type { InterpreterOptions, RepeatCounter } from "./options";

/** Which layers are run one after the other, and how. */
interface LayerRounds {
  readonly indices: readonly number[];
  readonly layer: (index: number, ordinal: number, owned: readonly Input[]) => Tensor[];
}

/**
 * Whether layers add to one another's gradient of something they all read (an encoder's output, a bias of positions): the
 * last layer, whose backward runs first, has nothing to add to.
 */
function joinsGradients({ repeat: { carry } }: RepeatInstruction, inputs: readonly Input[]): boolean {
  const carried = carry.filter((source) => source !== null).length;
  return carried > 1 || inputs.some((input, k) => carry[k] === null && input?.requiresGrad);
}

export class Repeats {
  /** What the last forward left out, per repeat. */
  foldings: Folding[] = [];
  private readonly counter: RepeatCounter;

  constructor(
    private readonly torch: Torch,
    private readonly graph: ArchitectureGraph,
    private readonly options: InterpreterOptions,
    private readonly operands: Operands,
    private readonly layers: Layers,
  ) {
    this.counter = options.repeats ?? { count: 0 };
  }

  /** A forward begins. */
  begin(): void {
    this.foldings = [];
    if (this.options.repeats === undefined) this.counter.count = 0;
  }

  run(instruction: RepeatInstruction, context: Context): void {
    const { from, to, bodies, carry, out } = instruction.repeat;
    const [first, last] = [from, to].map((bound) => {
      const value = this.operands.evaluate(bound, context);
      // Nothing is no number of layers: config classes refuse it, and `range` does.
      if (value === null) throw new ImpossibleSizes(say("engine.sizes"));
      return Number(value);
    }) as [number, number];
    this.torch.ledger.checkRoom(last - first);
    const inputs = this.operands.tensors(instruction.repeat.in, context).map((tensor) => tensor?.retain() ?? null);
    // A carried value that main never drops by name goes with the round that consumes it.
    const named = this.operands.namedDrops(context.fn);
    instruction.repeat.in.forEach((operand, k) => {
      if (carry[k] === null || typeof operand !== "string" || !operand.startsWith("%")) return;
      const key = this.operands.name(operand);
      if (named.has(key)) return;
      context.frame.get(key)?.release();
      context.frame.delete(key);
    });
    const bodyOf = (index: number): number => {
      const kind = this.options.layerKind(index);
      const inner = layerScope(context.scope, index, kind);
      const body = bodies.find(({ when }) => truthy(this.options.expressions.evaluate(when, inner)));
      if (body === undefined) throw new NotModelled(say("engine.no-layer", { index }));
      return body.block;
    };
    const run =
      context.index !== null
        ? null
        : (this.segments(instruction, first, last, bodyOf, context) ??
          this.stack(instruction, first, last, bodyOf, context, joinsGradients(instruction, inputs)));
    const loop = context.index === null || instruction.ofUnit === true ? null : this.loop(instruction, first, last);
    const indices =
      run?.indices ?? loop?.indices ?? Array.from({ length: Math.max(0, last - first) }, (_, k) => first + k);
    const outputs = this.rounds(
      instruction,
      indices,
      inputs,
      context,
      run?.layer ??
        (instruction.ofUnit === true ? this.inUnit(instruction, bodyOf, context) : this.round(bodyOf, context, loop)),
      loop,
    );
    if (loop !== null) this.torch.enterRound(NO_ROUND);
    if (run !== null) this.torch.enterLayer(NO_LAYER, false);
    if (run !== null && instruction.repeat.checkpoint) this.layers.wrappedBefore += Math.max(0, last - first);
    this.operands.bind(out, outputs, context);
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
  private stack(
    instruction: RepeatInstruction,
    first: number,
    last: number,
    bodyOf: (index: number) => number,
    context: Context,
    joined: boolean,
  ): LayerRounds {
    const { carry, positional, collect, passing = [] } = instruction.repeat;
    const isList = (block: number): boolean => this.layers.pathOf(this.graph.blocks[block]!) !== null;
    const checkpoint =
      instruction.repeat.checkpoint ||
      (this.options.checkpointing?.rewritten === true &&
        carry.some((k) => k !== null) &&
        first < last &&
        isList(bodyOf(first)));
    const repeat = this.torch.firstRepeat + this.counter.count++;
    const withheld = withheldInputs(instruction, this.graph.blocks);
    return {
      indices: this.layersToRun(repeat, first, last, bodyOf, collect === undefined, joined),
      layer: (index, ordinal, owned) => {
        const label = layerLabel(repeat, ordinal);
        this.torch.layerIndices.set(label, index);
        this.torch.enterLayer(label, false);
        const wrapped = checkpoint && this.layers.isSelected(this.layers.wrappedBefore + index - first);
        const block = bodyOf(index);
        const unseen = [...passing, ...(withheld.get(block) ?? [])];
        return this.layers.one(block, index, owned, wrapped, positional, context.scope, instruction.repeat.in, unseen);
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
    const repeat = this.torch.firstRepeat + this.counter.count++;
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
            this.layers.one(bodyOf(index), index, inputs, false, positional, context.scope, instruction.repeat.in),
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

  /** Runs a layer of a stage that is checkpointed whole, and recomputed as often: layers are not told apart there. */
  private inUnit(
    instruction: RepeatInstruction,
    bodyOf: (index: number) => number,
    { scope }: Context,
  ): LayerRounds["layer"] {
    const { checkpoint, positional, in: operands, passing = [] } = instruction.repeat;
    const withheld = withheldInputs(instruction, this.graph.blocks);
    return (index, _, owned) => {
      const block = bodyOf(index);
      const unseen = [...passing, ...(withheld.get(block) ?? [])];
      return this.layers.inside(block, index, owned, checkpoint, positional, scope, operands, unseen);
    };
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
      return this.layers.taken(fn, owned, context.index, scope);
    };
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
      (index) =>
        `${bodyOf(index)} ${layerSignature(index)} ${this.layers.isSelected(this.layers.wrappedBefore + index - first)}`,
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
