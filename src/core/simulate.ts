/**
 * One run on one device, executed on paper: the event stream of loading and two optimizer steps.
 */

import type { Message } from "../words/message";
import type { DType } from "./engine/dtype";
import { ELEMENT_BYTES } from "./engine/dtype";
import { closedScript } from "./engine/folding/closed";
import { LayersDiffer } from "./engine/folding/in-place";
import { RoundsDiffer } from "./engine/folding/rounds";
import { Ledger, type Script } from "./engine/ledger";
import { numel } from "./engine/shape";
import type { Tensor } from "./engine/tensor";
import { type Noticed, Torch } from "./engine/torch";
import { configView, type RunSizes } from "./graph/config";
import type { Scope } from "./graph/expression";
import type { FamilyGraphs, TrainerGraph } from "./graph/types";
import { generate } from "./simulation/generation";
import { loadModels, type Models } from "./simulation/models";
import type { ParameterCounts } from "./simulation/parameters";
import { Passes } from "./simulation/passes";
import { batchOf, type Program, programOf } from "./simulation/program";
import type { Scorers } from "./simulation/scorers";
import { type Setup, setupOf } from "./simulation/setup";
import { isRefused } from "./training/adapters/experts";
import type { HeldBatches } from "./training/batches";
import { compilationOf, offloadsOf } from "./training/compilation";
import { runEvaluation } from "./training/evaluation";
import type { BatchTensor } from "./training/forward";
import { FurtherPasses } from "./training/further";
import { groupsOf, type Optimizer } from "./training/optimizers";
import { NotFollowed } from "./training/own-loss/values";
import { chooseStrategy, type HostUse, type Strategy } from "./training/parallel";
import { processesOf } from "./training/parallel/degrees";
import { type Waiting, whileWaiting, withBuffers } from "./training/parallel/pipeline";
import { shareOf } from "./training/parallel/tensor";
import type { EvaluationSpec, GenerationSpec, SavingSpec, TrainingRun, WeightSyncSpec } from "./training/run";
import { NO_QUIRKS } from "./training/specs/quirks";
import { runSteps, STEPS, zeroGrad } from "./training/step";
import type { Before } from "./training/step-options";
import {
  lossScope,
  mediaOf,
  type PpoOptions,
  ppoPass,
  Rollout,
  runPpo,
  scoringOf,
  sequencesPerSample,
  syncWeights,
  vllmBlock,
} from "./training/trainers";

export interface ParameterBlock {
  readonly name: string;
  /** -1: none of the device's. */
  readonly block: number;
  readonly elements: number;
}

export interface Simulation extends ParameterCounts {
  readonly ledger: Ledger;
  /** Events before this index belong to loading. */
  readonly loadedEvents: number;
  /** Loading with what it needs beside the weights, followed when it is asked for; null where it needs nothing. */
  readonly loading: () => Ledger | null;
  /** Tensors that are trained. */
  readonly trainableTensors: number;
  /** Saved tensors of one micro-batch that wait in host memory. */
  readonly offloadedBytes: number;
  /** Key-value cache of the run's generation at its longest; null: it does not generate. */
  readonly cacheBytes: number | null;
  /** The adapter reaches parameters in a form that peft refuses to put there. */
  readonly adapterRefused: boolean;
  readonly noticed: ReadonlySet<Noticed>;
  /** Parameters that may be trained, by the blocks they lie in, with the elements of each. */
  readonly parameterBlocks: () => readonly ParameterBlock[];
  /** Host memory of one rank (managed memory of paged optimizers counts as pageable). */
  readonly host: HostUse;
}

export type SimulationResult =
  | { readonly ok: true; readonly simulation: Simulation }
  | { readonly ok: false; readonly code: "invalid-config" | "not-modelled"; readonly reason: Message };

/** Micro-batches that wait while another one is run, and what each of them keeps. */
export interface WaitingBytes {
  readonly waiting: Waiting;
  readonly bytes: number;
  /** Of these in blocks that share the allocator's small segments. */
  readonly small: number;
}

const NOTHING_WAITS: WaitingBytes = { waiting: { first: 0, later: 0 }, bytes: 0, small: 0 };

/** Runs `body` as `model.eval()` and `torch.no_grad()` do. */
function withoutTraining<T>(torch: Torch, body: () => T): T {
  const { gradEnabled, training } = torch;
  torch.gradEnabled = false;
  torch.training = false;
  const result = body();
  torch.gradEnabled = gradEnabled;
  torch.training = training;
  return result;
}

/** Text that is generated before every micro-batch (GKD: trl/experimental/gkd/gkd_trainer.py, training_step). */
function beforeEach(ledger: Ledger, generates: () => void): Before {
  const run = (step: number): void => {
    ledger.enter("generation", step);
    generates();
  };
  return { due: () => true, next: (micro) => micro, run, holdsBatch: false };
}

/**
 * Simulates a run. `fold` = false runs every layer one by one (the same events, more slowly); `waiting` is
 * activations of other micro-batches kept while one is run. Throws `NotModelled` for operators the engine lacks;
 * `estimate` turns that into a result.
 */
export function simulate(
  run: TrainingRun,
  family: FamilyGraphs,
  fold = true,
  waiting: WaitingBytes = NOTHING_WAITS,
): SimulationResult {
  for (let folds: Folds = { layers: fold, inPlace: fold, rounds: fold }; ; ) {
    try {
      return simulated(run, family, folds, waiting);
    } catch (error) {
      if (error instanceof RoundsDiffer && folds.rounds) folds = { ...folds, rounds: false };
      else if (error instanceof LayersDiffer && folds.inPlace) folds = { ...folds, inPlace: false };
      else if (error instanceof NotFollowed) {
        const { ownLoss: _, body: _body, ...modelled } = run;
        return simulate({ ...modelled, lossNotFollowed: true }, family, fold, waiting);
      } else throw error;
    }
  }
}

/** What is left out and put back: middle layers, those of micro-batches that leave something behind, rounds inside layers. */
interface Folds {
  readonly layers: boolean;
  readonly inPlace: boolean;
  readonly rounds: boolean;
}

function simulated(run: TrainingRun, family: FamilyGraphs, folds: Folds, waiting: WaitingBytes): SimulationResult {
  const setup = setupOf(run, family);
  if ("reason" in setup) return { ok: false, code: "not-modelled", reason: setup.reason };
  const torch = new Torch(new Ledger(run.allocator?.roundupDivisions));
  torch.quirks = run.quirks ?? NO_QUIRKS;
  // Trainers with losses of their own call theirs.
  if (run.lossNotFollowed || (run.ownLoss !== undefined && setup.spec !== null)) torch.noticed.add("loss");
  torch.training = run.loop?.evaluates !== true;
  torch.routing = run.routing ?? "even";
  torch.share = shareOf(run, torch);
  torch.splitsLogits = run.parallel.tensorParallel > 1 && run.parallel.splitsLogits === true;
  const strategy = ofStage(setup, waiting);
  const models = loadModels(torch, setup, strategy);
  if ("reason" in models) return { ok: false, code: "not-modelled", reason: models.reason };
  const simulation = new TrainingSimulation(torch, setup, models, strategy, folds);
  const batches = simulation.train();
  if (run.evaluation != null) simulation.evaluate(run.evaluation);
  if (run.generation != null) simulation.generateAtEnd(run.generation);
  batches?.release();
  if (run.saving != null) simulation.save(run.saving);
  return { ok: true, simulation: simulation.result() };
}

/** The strategy of a run, or of one stage of its pipeline where other micro-batches wait. */
function ofStage({ run, program, sizes }: Setup, { waiting, bytes, small }: WaitingBytes): Strategy {
  const strategy = chooseStrategy(run);
  const { stage } = run.parallel;
  if (stage === undefined) return strategy;
  const size = { tokens: sizes.B * sizes.S, width: Number(program.view.scope("hidden_size") ?? 0) };
  const sent = stage.sent * size.tokens * size.width * ELEMENT_BYTES[stage.states];
  const held = { first: waiting.first * bytes, later: waiting.later * bytes + sent };
  const buffered = withBuffers(strategy, stage, size);
  return held.first + held.later > 0 ? whileWaiting(buffered, held, bytes > 0 ? small / bytes : 0) : buffered;
}

/** The steps of a run whose models are loaded, and what comes after them. */
class TrainingSimulation {
  private readonly loadedEvents: number;
  private readonly trainable: Models["parameters"];
  private readonly groups: ReturnType<typeof groupsOf>;
  private readonly optimizer: Optimizer;
  /** Whether the loop clips gradients: strategies that put an optimizer of theirs around the run's do it there. */
  private readonly clips: boolean;
  private readonly passes: Passes;
  private readonly autocast: TrainingRun["autocast"];
  private cacheBytes: number | null = null;
  /** What the last generation did, where that leaves no trace. */
  private generated: {
    /** The settings, written out. */
    readonly asked: string;
    readonly script: Script;
    readonly cacheBytes: number;
  } | null = null;

  constructor(
    private readonly torch: Torch,
    private readonly setup: Setup,
    private readonly models: Models,
    private readonly strategy: Strategy,
    private readonly folds: Folds,
  ) {
    const { run } = setup;
    torch.leafHook = strategy.leafHook;
    torch.ring = run.parallel.ring ?? null;
    torch.headExchange = run.parallel.headExchange ?? 1;
    this.trainable = models.parameters.filter((parameter) => parameter.requiresGradFlag);
    const { stepped: given } = models.model;
    this.groups = groupsOf(run.optimizer, given ? this.trainable.filter((leaf) => given.has(leaf)) : this.trainable);
    const make = (groups: readonly (readonly Tensor[])[]): Optimizer =>
      setup.optimizer(torch, groups, run.optimizer.args);
    // What puts flat copies in the place of parameters does so as part of loading.
    const wrapped = strategy.optimizer?.(torch, this.groups, make) ?? null;
    this.loadedEvents = torch.ledger.segmentsFrom ?? torch.ledger.eventCount;
    torch.ledger.startCounting();
    const stepped = wrapped === null ? strategy.optimizerGroups(torch, this.groups) : [];
    const optimizer = wrapped ?? make(stepped);
    this.clips = wrapped === null;
    torch.watch(strategy.watcher ?? null);
    torch.linear = strategy.linear ?? null;
    torch.modules = strategy.hooks;
    const isHooked = strategy.hooks !== undefined || torch.watcher?.module !== undefined;
    torch.usage = strategy.shardsParameters && !isHooked ? strategy : undefined;
    if (strategy.stepsOnShards) {
      this.trainable = stepped.flat();
      this.groups = stepped;
      if (optimizer.afterAccumulate !== undefined)
        strategy.onReduced?.((shard) => optimizer.afterAccumulate?.(shard, torch));
    } else if (optimizer.afterAccumulate !== undefined && torch.leafHook === undefined)
      torch.leafHook = (leaf, torch) => optimizer.afterAccumulate?.(leaf, torch);
    this.optimizer = optimizer;
    this.passes = new Passes(torch, setup, models, strategy, folds.layers);
    this.autocast = strategy.keepsAutocast ? run.autocast : null;
  }

  /** Two optimizer steps, in the loop that the run's trainer has; what is given back is named until the loop ends. */
  train(): HeldBatches | null {
    const { scorers } = this.models;
    const { spec } = this.setup;
    const before = this.beforeSteps();
    if (!(scorers !== null && spec?.rollout && spec.ppo)) return this.step(before);
    runPpo(
      this.torch,
      this.optimizer,
      this.ppo(scorers, { ...spec, rollout: spec.rollout, ppo: spec.ppo }),
      this.strategy,
    );
    return null;
  }

  private step(rollout: Before | null): HeldBatches | null {
    const { run, program, loss, sizes, keepsStates } = this.setup;
    const { autocast, groups, trainable, folds } = this;
    const scope = this.passes.scopeOf(run.microBatchSize, run.sequenceLength);
    return runSteps(
      this.torch,
      this.passes.around(program, scope, loss, sizes, false),
      this.optimizer,
      {
        batch: this.batchAt(this.whole(program), loss, scope),
        autocast,
        offloads: offloadsOf(run),
        compiled: compilationOf(run),
        accumulation: run.gradientAccumulationSteps,
        maxGradNorm: this.clips ? run.maxGradNorm : 0,
        keepsGradients: run.quirks?.keepsGradients === true,
        plainLoop: run.plainLoop === true,
        stage: run.parallel.stage,
        loop: run.loop ?? null,
        keepsBatches: run.keepsBatches ?? null,
        keepsStates,
        further:
          run.stepActions === undefined
            ? null
            : new FurtherPasses(this.torch, run.stepActions, this.models.model.byName, () => zeroGrad(groups)),
        settles: this.models.model.settling?.isPending === true || this.strategy.settles === true,
        fold: folds.layers,
        foldsInPlace: folds.inPlace,
        foldsRounds: folds.rounds,
        // The Trainer lets go of every gradient of the model (`model.zero_grad()`), a loop's optimizer of its own.
        groups: this.models.model.stepped === undefined || run.loop != null ? groups : [trainable],
        trainable,
        rollout,
      },
      this.strategy,
    );
  }

  /** Dtype that what the batch has in float32 is cast to, by autocast or by the strategy's wrapper; null: it comes as the model computes. */
  private get castOfInputs(): DType | null {
    return this.strategy.castsInputs === true ? this.setup.run.autocast : this.autocast;
  }

  /** What a batch of a program's sizes has besides text. */
  private mediaAt({ graph, view, dataView }: Program): BatchTensor[] {
    const { models } = this;
    return batchOf({ batch: mediaOf(graph) }, view.expressions, dataView.scope, this.castOfInputs, models.loadDtype);
  }

  /** The program whose batch has every rank's tokens, where several share a sequence, or all samples of a process with several GPUs. */
  private whole(program: Program): Program {
    const { run, family, sizes } = this.setup;
    const { ring, inOneProcess, worldSize } = run.parallel;
    if (ring === undefined && inOneProcess === undefined) return program;
    const [B, S] = [sizes.B * (inOneProcess ? worldSize : 1), sizes.S * (ring?.degree ?? 1)];
    return { ...program, dataView: configView(family, run.model.config, { ...sizes, B, S }) };
  }

  /** The batch of the model, or of a trainer's loss with what it hands on to its models. */
  private batchAt(program: Program, loss: TrainerGraph | undefined, scope: Scope | null): BatchTensor[] {
    const { castOfInputs, models } = this;
    const { graph, view, dataView } = program;
    const own = loss !== undefined && scope !== null;
    const [code, at] = own ? [loss, scope] : [graph, dataView.scope];
    const batch = batchOf(code, view.expressions, at, castOfInputs, models.loadDtype);
    return own ? [...batch, ...this.mediaAt(program)] : batch;
  }

  /** What runs before micro-batches: vLLM takes its part of the card, the policy generates, completions are scored. */
  private beforeSteps(): Before | null {
    const { torch, autocast } = this;
    const { run, family, program, spec, sizes } = this.setup;
    const vllm = spec?.vllm;
    if (vllm !== undefined) vllmBlock(torch, vllm.sleepingBytes);
    if (spec?.rollout == null) {
      if (vllm !== undefined) {
        const sync = this.weightSync(vllm.sync);
        return beforeEach(torch.ledger, () => {
          const engine = vllmBlock(torch, vllm.generatingBytes - vllm.sleepingBytes);
          sync?.();
          engine?.release();
        });
      }
      const onPolicy = spec?.generation ?? null;
      return onPolicy && beforeEach(torch.ledger, () => this.generateGathered(onPolicy));
    }
    const scope = this.passes.scopeOf(run.microBatchSize, run.sequenceLength);
    return new Rollout(
      torch,
      {
        spec: { ...spec, rollout: spec.rollout },
        microBatch: run.microBatchSize,
        autocast,
        media: {
          whole: this.mediaAt(programOf(run, family, { ...sizes, B: spec.rollout.sequences }, false) ?? program),
          each: this.mediaAt(program),
        },
        scoring: scoringOf(family, spec).map((scoring) => this.passes.of(program, scope, scoring, sizes)),
        generate: (generation) => this.generateGathered(generation),
        sync: this.weightSync(spec.rollout.sync),
        engineBytes: this.engineBytes(spec.rollout.sync),
      },
      this.strategy,
    );
  }

  /** Of vLLM's weights, which are as those of the model are loaded. */
  private engineBytes(sync: WeightSyncSpec | undefined): number {
    const { model, loadDtype } = this.models;
    return (model.elements * ELEMENT_BYTES[loadDtype]) / (sync?.spread ?? 1);
  }

  /** Hands the trained weights over to vLLM, as often as it is called. */
  private weightSync(sync: WeightSyncSpec | undefined): (() => void) | undefined {
    const { torch, strategy, models } = this;
    return sync === undefined ? undefined : () => syncWeights(torch, strategy, models.parameters, sync);
  }

  /** What PPO's loop runs on. */
  private ppo(scorers: Scorers, spec: PpoOptions["spec"]): PpoOptions {
    const { torch, passes, autocast } = this;
    const { run, family, program, sizes } = this.setup;
    const { model, reference, raterUsage, loadDtype } = this.models;
    const rowsAt = (rows: number): RunSizes => ({ ...sizes, B: rows });
    const policyAt = (rows: number): Program => programOf(run, family, rowsAt(rows), false) ?? program;
    const scopeAt = (rows: number): Scope => lossScope(spec, rows, run.sequenceLength, passes);
    const frozen = reference?.model ?? { ...(model.base ?? model), parameters: model.parameters };
    return {
      spec,
      graphs: scorers.graphs,
      microBatch: run.microBatchSize,
      accumulation: run.gradientAccumulationSteps,
      autocast,
      logits: loadDtype,
      vocabulary: passes.vocabulary,
      dtypes: { values: scorers.value.dtype, scores: scorers.reward.dtype, ref_logprobs: loadDtype },
      batchOf: ({ batch }, rows) => batchOf({ batch }, program.view.expressions, scopeAt(rows), autocast, loadDtype),
      passOf: (part, rows, way) =>
        ppoPass(
          torch,
          part,
          scopeAt(rows),
          {
            policy: passes.runnable(policyAt(rows), model, way),
            reference: passes.runnable(policyAt(rows), frozen, way),
            value_model: passes.runnable(scorers.value.at(rowsAt(rows)), scorers.value.model, way),
            reward: passes.runnable(scorers.reward.at(rowsAt(rows)), scorers.reward.model, way),
          },
          { reference: reference?.usage ?? null, reward: raterUsage },
        ),
      generate: (generation) => this.generateGathered(generation),
      groups: this.groups,
      trainable: this.trainable,
    };
  }

  /** The Trainer's evaluation after the steps. */
  evaluate(evaluation: EvaluationSpec): void {
    const { torch, passes, autocast } = this;
    const { run, family, spec, loss, sizes } = this.setup;
    const { batchSize, sequenceLength, targetLength } = evaluation;
    // A trainer with a loss of its own gives nothing but that; SFT runs the plain model where logits are asked for.
    const ownLoss = spec !== null && !(spec.kind === "sft" && evaluation.keeps !== "loss");
    const keeps = ownLoss ? "loss" : evaluation.keeps;
    const rows = batchSize * sequencesPerSample({ ...run, trainer: spec });
    // Liger gives the logits outside training unless only the loss is asked for (liger_kernel/transformers/model).
    const at = { ...sizes, B: rows, S: sequenceLength, T: targetLength };
    const program = programOf(run, family, at, run.fusedLoss && !ownLoss && keeps === "loss");
    if (program === null) return;
    const scope = ownLoss ? passes.scopeOf(batchSize, sequenceLength) : null;
    const own = ownLoss ? loss : undefined;
    const batch = this.batchAt(program, own, scope);
    const { processes = processesOf(run.parallel) } = evaluation;
    const options = { spec: { ...evaluation, keeps, processes }, batch, autocast };
    runEvaluation(torch, passes.around(program, scope, own, at, true), options, this.strategy, STEPS);
  }

  /** Text generated with what the steps left on the device. */
  generateAtEnd(generation: GenerationSpec): void {
    const { torch, strategy } = this;
    torch.ledger.enter("generation", STEPS);
    // transformers/trainer_seq2seq.py, prediction_step.
    const whole = strategy.summon?.(torch, "all");
    this.generate(generation);
    whole?.release();
  }

  /** A checkpoint with what the steps left on the device. */
  save(saving: SavingSpec): void {
    const { torch, strategy } = this;
    torch.ledger.enter("saving", STEPS);
    strategy.save?.(torch, saving);
  }

  /** Generates; a later call with the same settings does what the first did, as long as nobody acts in its hooks. */
  private generate(generation: GenerationSpec): number {
    const { torch, passes, autocast, generated } = this;
    const { run, family } = this.setup;
    const { ledger, ring, headExchange } = torch;
    const asked = JSON.stringify(generation);
    if (generated?.asked === asked && !this.isWatched()) {
      ledger.play(generated.script, 0);
      return generated.cacheBytes;
    }
    torch.ring = null;
    torch.headExchange = 1;
    const state = ledger.state();
    const folds = this.folds.layers && !this.isWatched();
    const cacheBytes = withoutTraining(torch, () =>
      generate(torch, run, family, generation, {
        interpretersOf: (program, cache) => passes.interpretersOf(program, cache),
        autocast,
        folds,
      }),
    );
    this.cacheBytes = cacheBytes;
    torch.ring = ring;
    torch.headExchange = headExchange;
    // A paged cache takes what is left on the card when it is made.
    const script = folds && generation.cache !== "paged" && !this.isWatched() ? closedScript(ledger, state) : null;
    this.generated = script === null ? null : { asked, script, cacheBytes };
    return cacheBytes;
  }

  private isWatched(): boolean {
    const { torch, models } = this;
    return torch.watcher !== null || torch.usage !== undefined || models.model.settling?.isPending === true;
  }

  /** Generates between steps, with sharded parameters gathered whole (trl/models/utils.py, unwrap_model_for_generation). */
  private generateGathered(generation: GenerationSpec): number {
    const { torch, strategy } = this;
    const gathered = this.setup.spec?.rollout?.gathers === false ? null : (strategy.gatherAll?.(torch) ?? null);
    const { usage, watcher } = torch;
    if (gathered !== null) {
      torch.usage = undefined;
      torch.watch(null);
    }
    // trl/distributed.py, `summon_full_params`.
    const outside = strategy.summon?.(torch, "outside");
    const cacheBytes = this.generate(generation);
    outside?.release();
    torch.usage = usage;
    if (gathered !== null) torch.watch(watcher);
    // What was called last is let go as what follows is gathered.
    if (gathered === null) strategy.endPass?.(torch);
    gathered?.release();
    return cacheBytes;
  }

  result(): Simulation {
    const { torch, strategy, models } = this;
    const { run } = this.setup;
    const { model } = models;
    return {
      ledger: torch.ledger,
      host: {
        ...strategy.host,
        pinned: strategy.host.pinned + torch.offloadedPeak,
        pageable: strategy.host.pageable + torch.managedBytes,
      },
      loadedEvents: this.loadedEvents,
      loading: models.loading,
      parameters: model.elements,
      trainableParameters: model.trainableElements,
      trainableTensors: models.parameters.filter((parameter) => parameter.requiresGradFlag).length,
      offloadedBytes: torch.offloadedPeak,
      cacheBytes: this.cacheBytes,
      noticed: torch.noticed,
      parameterBlocks: () =>
        models.parameters.map((parameter) => ({
          name: parameter.name ?? "",
          block: parameter.storage.id,
          elements: numel(parameter.sizes),
        })),
      adapterRefused: model.parametrized.size > 0 && run.adapter !== null && isRefused(run.adapter),
    };
  }
}
