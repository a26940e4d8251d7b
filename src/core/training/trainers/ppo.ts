/**
 * TRL's PPO: a loop of its own around policy, value, reference and reward model. Source: trl/experimental/ppo/ppo_trainer.py
 * (train, batch_generation, PolicyAndValueWrapper) of 1.11, trl/trainer/ppo_trainer.py before 0.29.
 *
 * An update generates and scores all completions of its accumulation, piece by piece; the scores that sampling had for every
 * word stay under their name until the next update's are there. Then it trains on micro-batches, whose outputs (logits,
 * states, key-value cache) stay through the optimizer's step, are looked at, and go as the next micro-batch's are bound.
 */

import { say } from "../../../words/message";
import { backward } from "../../engine/backward";
import { FOLDS, type Fold, nextFold } from "../../engine/folding/plan";
import { playRegion, recordRegion } from "../../engine/folding/region";
import type { LedgerState } from "../../engine/ledger";
import { NotModelled } from "../../engine/not-modelled";
import { piecesOf, repeated } from "../../engine/pieces";
import { hostTensor, type Tensor } from "../../engine/tensor";
import type { Torch } from "../../engine/torch";
import type { Instruction, TrainerGraph } from "../../graph/types";
import { forward } from "../forward";
import { counterparts } from "../layers";
import type { Optimizer } from "../optimizers";
import type { Strategy } from "../parallel";
import { reserve } from "../parallel/strategy";
import { type Prediction, predict, taken } from "../prediction";
import { STEPS, zeroGrad } from "../step";
import type { Pass } from "./pass";
import { bytesOf, distinct, type Held, heldNames, type Left, onDevice, type PpoOptions, trailing } from "./ppo-parts";

/** Name of what goes with the output of the micro-batch before. */
const ALONG = "along";

/** Statistics of the run, each one block. */
const STATISTICS = 7;

/** Runs two updates of one optimizer step each. */
export function runPpo(torch: Torch, optimizer: Optimizer, options: PpoOptions, strategy: Strategy): void {
  const { accumulation, spec } = options;
  const loop = new PpoLoop(torch, optimizer, options, strategy);
  torch.kind = "buffers";
  for (let k = 0; k < STATISTICS; k++) torch.empty("zeros", [accumulation], "float32");
  const perMiniBatch = Math.max(1, Math.floor(accumulation / spec.ppo.miniBatches));
  for (let step = 1; step <= STEPS; step++) {
    const rollout = loop.rollout(step);
    for (const micro of distinct(accumulation, perMiniBatch)) loop.microBatch(step, micro, perMiniBatch);
    for (const tensor of rollout) tensor.release();
  }
}

class PpoLoop {
  private readonly left = new Map<string, Left>();
  private readonly find;
  /** Names of the last piece that live on, and what each update's last losses and rewards leave. */
  private names: readonly Tensor[] = [];
  private losses: Tensor | null = null;
  /** What scores a piece of so many completions. */
  private readonly scorings = new Map<number, { names: string[]; prediction: Prediction }>();
  private reward: Tensor | null = null;
  /** Bytes of states and cache that went with the last micro-batch's output. */
  private alongBytes = 0;
  /** The scores that sampling had, of the update before. */
  private scores: Tensor | null = null;

  constructor(
    private readonly torch: Torch,
    private readonly optimizer: Optimizer,
    private readonly options: PpoOptions,
    private readonly strategy: Strategy,
  ) {
    this.find = counterparts(options.trainable);
  }

  /** Generates and scores the completions of an update; what it leaves is owned by the caller. */
  rollout(step: number): Tensor[] {
    const { torch, options } = this;
    const { gradEnabled } = torch;
    const { promptLength, rollout } = options.spec;
    const { sequences } = rollout;
    torch.gradEnabled = false;
    torch.ledger.enter("generation", step);
    torch.kind = "inputs";
    const queries = torch.empty("_to_copy", [sequences, promptLength], "int64");
    const [whole, scores] = this.generated();
    this.scores?.release();
    this.scores = scores;
    torch.ledger.enter("forward", step);
    const pieces = this.scored();
    torch.kind = "inputs";
    const batch = this.hosted(options.graphs.advantages, sequences);
    const kept = options.passOf(options.graphs.advantages, sequences, "none").main(batch);
    for (const tensor of pieces) tensor.release();
    torch.gradEnabled = gradEnabled;
    return [queries, whole, ...kept];
  }

  /** Rows of each piece. */
  private get pieces(): number[] {
    const { rollout, ppo } = this.options.spec;
    return piecesOf(this.torch, rollout.sequences, ppo.piece);
  }

  /** Completions with their prompts, and the scores of every word for each of their tokens. */
  private generated(): [Tensor, Tensor] {
    const { torch, options } = this;
    const { promptLength, completionLength, rollout } = options.spec;
    const length = promptLength + completionLength;
    const scoresOf = (operator: string, rows: number): Tensor =>
      this.logits(operator, [rows, completionLength, options.vocabulary]);
    const pieces = this.pieces.map((rows): [Tensor, Tensor] => {
      const cacheBytes = rollout.generates
        ? options.generate({
            batchSize: rows,
            promptLength,
            newTokens: completionLength,
            beams: 1,
            samples: true,
            cache: "dynamic",
            keepsScores: true,
          })
        : 0;
      torch.kind = "inputs";
      // The output object: ids, the scores of each token, and the cache.
      const ids = torch.empty("cat", [rows, length], "int64");
      const each = repeated(torch, completionLength, () => this.logits("scores", [rows, options.vocabulary]));
      const cache = reserve(torch, "cat", cacheBytes, "uint8", "activations");
      const stacked = scoresOf("stack", rows);
      const joined = torch.empty("cat", [rows, length], "int64");
      for (const tensor of [ids, ...each, cache]) tensor.release();
      return [joined, stacked];
    });
    const all = [
      torch.empty("full", [rollout.sequences, length], "int64"),
      scoresOf("full", rollout.sequences),
    ] as const;
    for (const tensor of pieces.flat()) tensor.release();
    return [...all];
  }

  private logits(operator: string, sizes: readonly number[]): Tensor {
    const { torch } = this;
    torch.logits = true;
    const tensor = torch.empty(operator, sizes, "float32");
    torch.logits = false;
    return tensor;
  }

  /** Scores each piece under reference, value and reward model; what goes when the pieces are put together. */
  private scored(): Tensor[] {
    const { torch, options, strategy } = this;
    const { score } = options.graphs;
    return this.pieces.flatMap((rows) => {
      const known = this.scorings.get(rows);
      const names: string[] = known?.names ?? [];
      const passes = (fold: Fold): Pass => onDevice(options.passOf(score, rows, fold), score.main.outputs, names);
      const prediction = known?.prediction ?? predict(torch, passes, this.hosted(score, rows), null, strategy);
      this.scorings.set(rows, { names, prediction });
      playRegion(torch, prediction.region, 1);
      const tensors = taken(prediction);
      for (const tensor of this.names) tensor.release();
      const living = new Set(
        names.flatMap((name, k) => (score.outlives?.includes(name) ? prediction.outputs[k]! : [])),
      );
      this.names = tensors.filter((_, k) => living.has(k));
      return tensors.filter((_, k) => !living.has(k));
    });
  }

  /** A part's inputs, which are there already. */
  private hosted(graph: TrainerGraph, rows: number): Tensor[] {
    const { ledger } = this.torch;
    const { batchOf, dtypes } = this.options;
    return batchOf(graph, rows).map(({ name, sizes, dtype }) => hostTensor(ledger, sizes, dtypes[name] ?? dtype));
  }

  /** Forward, backward, the optimizer where it is due, and the look at what was left. */
  microBatch(step: number, micro: number, perMiniBatch: number): void {
    const { torch, optimizer, strategy, options } = this;
    const carries = micro % perMiniBatch !== 0;
    const ends = (micro + 1) % perMiniBatch === 0;
    const syncs = micro + 1 === options.accumulation;
    const key = `${micro > 0} ${carries}`;
    const left = this.left.get(key) ?? this.simulate(carries);
    this.left.set(key, left);
    this.alongBytes = left.alongBytes;
    this.losses?.release();
    this.losses = null;
    strategy.beginMicroBatch?.(torch, syncs);
    playRegion(torch, left.region, step);
    strategy.endMicroBatch?.(torch, syncs);
    torch.kind = "temporaries";
    const along = reserve(torch, "outputs", left.alongBytes, "uint8", "activations");
    const held = left.held
      .filter(({ of, onHost }) => of === null && !onHost)
      .map(({ sizes, dtype }) => {
        torch.logits = true;
        const tensor = torch.empty("outputs", sizes, dtype);
        torch.logits = false;
        return tensor;
      });
    if (syncs) {
      torch.ledger.enter("optimizer", step);
      strategy.beforeStep?.(torch);
      optimizer.step(torch);
      strategy.afterStep?.(torch);
      torch.ledger.enter("zero", step);
      zeroGrad(options.groups);
    }
    torch.ledger.enter("forward", step);
    for (const tensor of held) tensor.release();
    this.lookAt(left.held);
    along.release();
    // `vf_loss_max` is not among the names that are deleted at the end of a mini-batch, nor `rlhf_reward` at that of an update.
    if (ends) this.losses = torch.empty("max", [options.microBatch, options.spec.completionLength], "float32");
    if (syncs) this.reward ??= torch.empty("add", [], "float32");
  }

  /** What runs after the optimizer: entropy and fractions, from the names the micro-batch left. */
  private lookAt(held: readonly Held[]): void {
    const { options } = this;
    const { round } = options.graphs;
    if (round.after === undefined) return;
    const made = held
      .filter(({ onHost }) => !onHost)
      .map(({ name, sizes, dtype, of }): Instruction => {
        if (of !== null) return { op: "alias", in: [`%${of}`], out: [name] };
        return { op: "empty.memory_format", in: [sizes], kw: { dtype: `$${dtype}` }, out: [name] };
      });
    const names = new Set(held.map(({ name }) => name));
    const indices = held.filter(({ onHost }) => onHost);
    const given = round.after.inputs.filter((name) => !names.has(name)).slice(0, round.batch.length);
    const inputs = [...given, ...indices.map(({ name }) => name)];
    const main = { inputs, outputs: [], body: [...made, ...round.after.body] };
    const more: TrainerGraph["batch"] = indices.map(({ name, sizes, dtype }) => ({
      name,
      shape: sizes.map(String),
      dtype: `$${dtype}`,
    }));
    const looked = { ...round, batch: [...round.batch, ...more], main };
    const own = indices.map(({ sizes, dtype }) => hostTensor(this.torch.ledger, sizes, dtype));
    options.passOf(looked, options.microBatch, "none").main([...this.hosted(round, options.microBatch), ...own]);
  }

  /** Simulates one micro-batch and takes its events back, as a region to play. */
  private simulate(carries: boolean): Left {
    const { torch, options } = this;
    for (let fold: Fold | null = FOLDS[0]; fold !== null; ) {
      const state = torch.ledger.state();
      const names = this.roundOf(carries);
      const pass = options.passOf(names, options.microBatch, fold);
      const held = torch.asRegion(() => this.run(pass, names));
      const region = recordRegion(torch.ledger, state, pass.foldings, options.trainable, this.find);
      this.rewind(state);
      if (region !== null) {
        const blocks = held.filter(({ of }) => of === null);
        const bytes = blocks.reduce((sum, { sizes, dtype }) => sum + bytesOf(torch, sizes, dtype), 0);
        return { region, held, alongBytes: Math.max(0, trailing(region) - bytes) };
      }
      fold = nextFold(fold, pass.foldings);
    }
    throw new NotModelled(say("engine.layers"));
  }

  private rewind(state: LedgerState): void {
    this.torch.ledger.rewind(state);
    for (const leaf of this.options.trainable)
      if (leaf.grad !== null && leaf.grad.storage.id >= state.ids) leaf.grad = null;
  }

  /** The recorded round with the names of the one before, or without them in the first of a mini-batch. */
  private roundOf(carries: boolean): TrainerGraph {
    const { graphs, autocast, logits } = this.options;
    const { round } = graphs;
    const carried = round.carried ?? [];
    const { main } = round;
    const [output] = carried.flatMap((one) => ("out" in one ? one.out : []));
    if (carries) {
      // Logits of a model that nothing converts have its own dtype.
      const typed = carried.map((one): Instruction => {
        const wide = "op" in one && JSON.stringify(one.in).includes("V");
        return wide && autocast === null ? { ...one, kw: { dtype: `$${logits}` } } : one;
      });
      const along: Instruction = {
        op: "empty.memory_format",
        in: [[this.alongBytes]],
        kw: { dtype: "$uint8" },
        out: [ALONG],
      };
      const body = main.body.map((one) =>
        "drop" in one && one.drop.some((name) => name === output) ? { drop: [...one.drop, ALONG] } : one,
      );
      return { ...round, main: { ...main, body: [...typed, along, ...body] } };
    }
    const absent = new Set(carried.flatMap((one) => ("out" in one ? one.out : [])));
    const body = main.body.map((one) => ("drop" in one ? { drop: one.drop.filter((name) => !absent.has(name)) } : one));
    return { ...round, main: { ...main, body, outputs: main.outputs.filter((name) => !absent.has(name)) } };
  }

  /** One micro-batch's forward and backward; what it leaves is freed last, behind a mark. */
  private run(pass: Pass, { main }: TrainerGraph): Held[] {
    const { torch, options, strategy, optimizer } = this;
    const { ledger } = torch;
    strategy.beginPass?.(torch);
    ledger.enter("forward", 1);
    const outputs = forward(torch, pass, this.hosted(options.graphs.round, options.microBatch), options.autocast, 1);
    const [loss, ...kept] = outputs;
    ledger.enter("backward", 1);
    torch.kind = "temporaries";
    const one = torch.empty("ones_like", loss!.sizes, loss!.dtype);
    backward(torch, [loss!], [one.retain()]);
    one.release();
    optimizer.afterBackward?.(torch);
    loss!.release();
    strategy.endPass?.(torch);
    const held = heldNames(main.outputs.slice(1), kept);
    const mark = torch.empty("mark", [1], "uint8");
    mark.release();
    for (const tensor of kept) tensor.release();
    return held;
  }
}
