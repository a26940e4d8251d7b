/**
 * Two optimizer steps as the HF Trainer runs them: micro-batches of forward and backward, clipping, the optimizer,
 * `zero_grad(set_to_none=True)`. Sources: transformers/trainer.py (training_step), accelerate/accelerator.py
 * (prepare_model: autocast around forward, outputs converted to float32), torch/nn/utils/clip_grad.py.
 */

import { say } from "../../words/message";
import { backward } from "../engine/backward";
import { compileEvents } from "../engine/compiled/rewrite";
import { Tape } from "../engine/compiled/tape";
import { putBack } from "../engine/folding/in-place";
import { layerLabel, REPEATS_EACH } from "../engine/folding/label";
import { FOLDS, type Fold, type Folding, nextFold } from "../engine/folding/plan";
import { playRegion, recordRegion } from "../engine/folding/region";
import { type KeptRounds, Rounds } from "../engine/folding/rounds";
import type { Counterpart, Region } from "../engine/folding/unroller";
import { NotModelled } from "../engine/not-modelled";
import { OffloadHooks } from "../engine/offload";
import { hostTensor, type Storage, type Tensor } from "../engine/tensor";
import type { Torch } from "../engine/torch";
import { RECEIVED } from "../graph/stage";
import { HeldBatches } from "./batches";
import { clip } from "./clipping";
import { allocateBatch, forward, type PassFactory } from "./forward";
import { counterparts } from "./layers";
import type { Optimizer } from "./optimizers";
import type { Strategy } from "./parallel";
import type { StepOptions } from "./step-options";
import type { Pass } from "./trainers/pass";

/** How many steps are simulated: optimizer states appear in the first, the second runs beside them. */
export const STEPS = 2;

/**
 * From the second micro-batch on, gradients exist and nothing new is allocated: the others repeat its events.
 */
const DISTINCT_MICRO_BATCHES = 2;

/**
 * Runs the steps. Everything but the model, the optimizer's states and what is given back is freed at the end.
 *
 * @returns batches that the loop still names while it evaluates, owned; null: none
 */
export function runSteps(
  torch: Torch,
  passes: PassFactory,
  optimizer: Optimizer,
  options: StepOptions,
  strategy: Strategy,
): HeldBatches | null {
  const { ledger } = torch;
  const find = counterparts(options.trainable);
  const regions: Region[] = [];
  const kept: KeptRounds = new Map();
  let last: Left = NOTHING_LEFT;
  const held =
    options.keepsBatches !== null && !holdsBatch(options)
      ? new HeldBatches(torch, options.batch, options.keepsBatches, options.accumulation)
      : null;
  for (let step = 1; step <= STEPS; step++) {
    const { rollout } = options;
    const together = strategy.reducesLast === true && options.accumulation > 1;
    const all = Math.min(options.accumulation, DISTINCT_MICRO_BATCHES + (together ? 1 : 0));
    const { further = null } = options;
    const passesEach = further?.each ?? 1;
    const alone =
      further !== null ||
      options.keepsStates ||
      options.loop !== null ||
      (options.settles && step === 1) ||
      (together && rollout != null);
    const distinct = options.plainLoop || alone || together ? 0 : all;
    const apart = options.plainLoop ? 1 : alone ? all * passesEach : 0;
    const locals: Tensor[] = [];
    held?.beginStep(step);
    const runApart = (micro: number, pass: Pass): void => {
      const again = micro % passesEach > 0;
      if (rollout?.due(micro)) rollout.run(step);
      if (!again) held?.beginMicroBatch(step);
      const starts = micro === 0 && options.loop?.zerosLate === true;
      const clears = starts ? () => zeroGrad(options.groups) : undefined;
      const turn = { step, last, clears, again };
      const ends = micro === apart - 1;
      strategy.beginMicroBatch?.(torch, ends);
      const run = () => microBatch(torch, pass, optimizer, options, strategy, turn);
      const left = unrolled(torch, options, kept, run);
      strategy.endMicroBatch?.(torch, ends);
      if (options.loop !== null) last = left;
      else locals.push(...left.results, ...left.batch);
    };
    // Where one uses what another one has left, a layer of one stands beside the same layer of the other.
    const each = together ? apart : 1;
    for (let micro = 0; micro < apart; micro += each) {
      inPlace(
        torch,
        passes,
        options,
        { find, count: each, folds: foldsInPlace(torch, options, optimizer) },
        (k, pass) => runApart(micro + k, pass),
      );
      further?.after(micro % passesEach);
    }
    if (together && apart === 0) {
      held?.beginMicroBatch(step);
      if (regions[0] === undefined) {
        regions[0] = simulateMicroBatches(torch, passes, optimizer, options, strategy, { find, count: all });
        ledger.expect(regions[0].script, STEPS - step + 1);
      }
      playRegion(torch, regions[0], step);
    }
    for (let micro = 0; micro < distinct; micro++) {
      if (rollout?.due(micro)) rollout.run(step);
      held?.beginMicroBatch(step);
      // The second step's micro-batches do what the first step's did, the second micro-batch what the first did with
      // gradients already there.
      const ends = micro === distinct - 1;
      const accumulates =
        strategy.watcher === undefined
          ? micro > 0 || (options.keepsGradients && step > 1)
          : options.trainable.some(({ grad }) => grad !== null);
      // Hooks inside a micro-batch may do something else where gradients are there already.
      const known = options.fold && accumulates && strategy.hooks === undefined && strategy.variesByPass !== true;
      const which = accumulates && !known ? 1 : 0;
      if (regions[which] === undefined) {
        regions[which] = simulateMicroBatches(torch, passes, optimizer, options, strategy, { find, count: 1 });
        ledger.expect(regions[which].script, (STEPS - step + 1) * distinct);
      }
      strategy.beginMicroBatch?.(torch, ends);
      playRegion(torch, regions[which]!, step, known);
      strategy.endMicroBatch?.(torch, ends);
    }
    // Further generations of the same step find the gradients there.
    if (rollout != null && rollout.next(Math.max(distinct, apart)) < options.accumulation) rollout.run(step);
    ledger.enter("clip", step);
    torch.kind = "temporaries";
    torch.scope = "";
    if (options.maxGradNorm > 0) {
      clip(torch, options.trainable);
      strategy.clipped?.(torch);
    }
    ledger.enter("optimizer", step);
    strategy.beforeStep?.(torch);
    optimizer.step(torch);
    strategy.afterStep?.(torch);
    for (const tensor of locals) tensor.release();
    ledger.enter("zero", step);
    if (!options.keepsGradients && options.loop?.zerosLate !== true) zeroGrad(options.groups);
  }
  for (const tensor of [...last.results, ...last.batch]) tensor.release();
  options.further?.release();
  return held;
}

/** Whether micro-batches read what is there already: what was rolled out, or what the loop took at once. */
function holdsBatch({ rollout }: StepOptions): boolean {
  return rollout?.holdsBatch === true;
}

/** What the loop's names still refer to when a micro-batch is over, owned. */
interface Left {
  readonly results: readonly Tensor[];
  /** Names of results, those that a script gives them. */
  readonly names?: readonly (string | undefined)[];
  readonly batch: readonly Tensor[];
}

const NOTHING_LEFT: Left = { results: [], batch: [] };

/** `zero_grad(set_to_none=True)`. */
export function zeroGrad(groups: readonly (readonly Tensor[])[]): void {
  for (const group of groups)
    for (const parameter of group) {
      parameter.grad?.release();
      parameter.grad = null;
    }
}

/** What `simulated` gives, with the rounds that it left out of loops inside layers back in the ledger. */
function unrolled<T>(
  torch: Torch,
  { foldsRounds, compiled, offloads }: StepOptions,
  kept: KeptRounds | null,
  simulated: () => T,
): T {
  // Compiled code is made of what every round does, and saved tensors that wait in host memory are counted one by one.
  // Nor are the gradients that rounds left out would make.
  if (!foldsRounds || compiled || offloads !== null || torch.watcher !== null) return simulated();
  const rounds = new Rounds(torch.ledger, kept);
  return noting(torch, (made) => {
    torch.rounds = rounds;
    const result = simulated();
    torch.rounds = null;
    rounds.unroll(made);
    return result;
  });
}

/** Runs `body` with a list of the storages that are made meanwhile. */
function noting<T>(torch: Torch, body: (made: readonly Storage[]) => T): T {
  const before = torch.made;
  torch.made = before ?? [];
  const result = body(torch.made);
  torch.made = before;
  return result;
}

/** How micro-batches that leave something behind are run. */
interface InPlace {
  readonly find: Counterpart;
  readonly count: number;
  /** Whether layers may be left out. */
  readonly folds: boolean;
}

/**
 * Runs micro-batches that leave something behind, with middle layers left out and put back. Throws `LayersDiffer` where they
 * cannot be known.
 */
function inPlace(
  torch: Torch,
  passes: PassFactory,
  options: StepOptions,
  { find, count, folds }: InPlace,
  run: (micro: number, pass: Pass) => void,
): void {
  noting(torch, (made) => {
    const state = torch.ledger.state();
    const foldings: Folding[] = [];
    for (let micro = 0; micro < count; micro++) {
      const folded = folds ? passes(FOLDS[0]) : null;
      // What outputs keep of every layer is made by every layer.
      const pass = folded === null || folded.keptCache !== undefined ? passes("none") : folded;
      torch.firstRepeat = micro * REPEATS_EACH;
      run(micro, pass);
      foldings.push(...pass.foldings);
    }
    torch.firstRepeat = 0;
    putBack(torch, state, foldings, { trained: options.trainable, find }, made);
  });
}

/** Whether all that micro-batches leave behind is gradients, of their layers, and what the loop's names hold. */
function foldsInPlace(torch: Torch, options: StepOptions, optimizer: Optimizer): boolean {
  const hooked = torch.leafHook !== undefined || torch.watcher !== null || optimizer.afterBackward !== undefined;
  const beside = options.offloads !== null || options.compiled != null || options.settles === true;
  return options.foldsInPlace && !hooked && !beside && options.rollout == null;
}

/**
 * Simulates micro-batches and takes their events back, as a region to play. Where one uses what another one has left (gradients
 * that only the last reduces), they are one region: a layer of one stands beside the same layer of the other.
 */
function simulateMicroBatches(
  torch: Torch,
  passes: PassFactory,
  optimizer: Optimizer,
  options: StepOptions,
  strategy: Strategy,
  { find, count }: { readonly find: Counterpart; readonly count: number },
): Region {
  for (let fold: Fold | null = FOLDS[0]; fold !== null; ) {
    const state = torch.ledger.state();
    const foldings: Folding[] = [];
    for (let micro = 0; micro < count; micro++) {
      const begin = torch.ledger.state();
      const pass = passes(fold);
      if (count > 1) strategy.beginMicroBatch?.(torch, micro === count - 1);
      torch.firstRepeat = micro * REPEATS_EACH;
      torch.tape = options.compiled ? new Tape(options.compiled) : null;
      torch.asRegion(() =>
        unrolled(torch, options, null, () => {
          const { results, batch } = microBatch(torch, pass, optimizer, options, strategy);
          for (const tensor of [...results, ...batch]) tensor.release();
        }),
      );
      if (torch.tape !== null) compileEvents(torch.ledger, begin, torch.tape);
      torch.tape = null;
      foldings.push(...pass.foldings);
    }
    torch.firstRepeat = 0;
    const region = recordRegion(torch.ledger, state, foldings, options.trainable, find);
    torch.offloadedPeak = Math.max(torch.offloadedPeak, offloadedBytes(torch, foldings) / count);
    torch.ledger.rewind(state);
    for (const leaf of options.trainable) if (leaf.grad !== null && leaf.grad.storage.id >= state.ids) leaf.grad = null;
    if (region !== null) return region;
    fold = nextFold(fold, foldings);
  }
  throw new NotModelled(say("engine.layers"));
}

/** Host memory of one micro-batch's saved tensors; layers left out by folding count as the one they repeat. */
function offloadedBytes(torch: Torch, foldings: readonly Folding[]): number {
  let total = 0;
  for (const [label, bytes] of torch.offloaded) {
    const folding = foldings.find(
      ({ repeat, from, to }) => label >= layerLabel(repeat, from) && label <= layerLabel(repeat, to),
    );
    total += bytes * (1 + (folding?.copies ?? 0));
  }
  torch.offloaded.clear();
  return total;
}

/** Which micro-batch it is. */
interface Turn {
  readonly step: number;
  /** What the loop's names refer to until this micro-batch binds them anew, given up. */
  readonly last: Left;
  /** Lets go of the gradients of the step before, between forward and backward. */
  readonly clears: (() => void) | undefined;
  /** The batch of the pass before goes through the model again. */
  readonly again: boolean;
}

const FIRST_TURN: Turn = { step: 1, last: NOTHING_LEFT, clears: undefined, again: false };

/** @returns what the loop's names refer to then, owned by the caller */
function microBatch(
  torch: Torch,
  pass: Pass,
  optimizer: Optimizer,
  options: StepOptions,
  strategy: Strategy,
  { step, last, clears, again }: Turn = FIRST_TURN,
): Left {
  const { ledger } = torch;
  ledger.enter("data", step);
  torch.kind = "inputs";
  const same = again && last.batch.length > 0 ? [...last.batch] : null;
  const batch =
    same ??
    (options.keepsBatches === null && options.stage === undefined && !holdsBatch(options)
      ? allocateBatch(torch, options.batch)
      : options.batch.map(({ sizes, dtype }) => hostTensor(torch.ledger, sizes, dtype)));
  for (const k of batch.keys()) if (options.batch[k]?.name === RECEIVED) batch[k]!.requiresGradFlag = true;
  if (same === null) for (const tensor of last.batch) tensor.release();
  strategy.beginPass?.(torch);
  const offload = options.offloads === null ? null : new OffloadHooks(torch, options.offloads);
  if (offload !== null) torch.hooks.push(offload);
  const converts = !options.plainLoop && options.loop?.keepsDtype !== true && options.stage === undefined;
  const [lastLoss] = last.results;
  let held = last.results.map((tensor, k) => ({ tensor, name: last.names?.[k] })).slice(1);
  const letGoOf = (goes: (name: string | undefined) => boolean): void => {
    for (const { tensor, name } of held) if (goes(name)) tensor.release();
    held = held.filter(({ name }) => !goes(name));
  };
  torch.rebinds = (name) => letGoOf((own) => name === undefined || own === name);
  const names = options.batch.map(({ name }) => name);
  const given = strategy.split?.(torch, names, batch) ?? batch;
  const made = forward(torch, pass, given, options.autocast, step, converts);
  const [loss, ...outputs] = strategy.returned?.(torch, made) ?? made;
  const rest = [...outputs, ...(pass.keptCache?.() ?? [])];
  if (offload !== null) torch.hooks.pop();
  letGoOf((name) => name === undefined || pass.bindsLate?.has(name) !== true);
  lastLoss?.release();
  torch.tape?.returns([loss!, ...rest]);
  const locals = [...rest, ...batch];
  const named = options.plainLoop || options.loop?.holds === "outputs";
  const keeps = named || pass.holdsOutputs || options.stage !== undefined;
  if (!keeps) for (const tensor of options.loop === null ? locals : rest) tensor.release();
  clears?.();
  ledger.enter("backward", step);
  torch.kind = "temporaries";
  torch.logits = true;
  const one =
    options.stage?.last === false
      ? hostTensor(torch.ledger, loss!.sizes, loss!.dtype)
      : torch.empty("ones_like", loss!.sizes, loss!.dtype);
  torch.logits = false;
  // The first gradient belongs to the caller of the pass, who lets go of it last.
  backward(torch, [loss!], [one.retain()]);
  one.release();
  offload?.finish();
  optimizer.afterBackward?.(torch);
  strategy.endPass?.(torch);
  const left = pass.left?.() ?? [];
  letGoOf(() => true);
  torch.rebinds = null;
  if (named) {
    const results = [loss!, ...rest];
    const names = [...results.map(() => undefined), ...left.map(([name]) => name)];
    return { results: [...results, ...left.map(([, tensor]) => tensor)], names, batch };
  }
  for (const [, tensor] of left) tensor.release();
  if (options.loop?.holds === "loss") return { results: [loss!], batch };
  loss!.release();
  if (options.loop !== null) return { results: [], batch };
  if (keeps) for (const tensor of locals) tensor.release();
  return NOTHING_LEFT;
}
