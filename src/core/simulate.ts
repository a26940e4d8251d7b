/**
 * One run on one device, executed on paper: the event stream of loading and two optimizer steps.
 */

import type { DType } from "./engine/dtype";
import { type AttentionCache, Interpreter, type InterpreterOptions, type Wrapper } from "./engine/interpreter";
import { keeps } from "./engine/kept";
import { Ledger } from "./engine/ledger";
import { LAYERS_TO_SETTLE } from "./engine/offload";
import type { Fold } from "./engine/region";
import { RoundsDiffer } from "./engine/rounds";
import { Torch } from "./engine/torch";
import { cacheOf, generate, type InterpreterFactory } from "./generation";
import type { RunSizes } from "./graph/config";
import type { Scope } from "./graph/expression";
import { buildsNoMask } from "./graph/flash";
import type { FamilyGraphs, TrainerGraph } from "./graph/types";
import { batchOf, companionRun, forwardSizes, graphsOf, notCaptured, type Program, programOf } from "./program";
import { holdCritic, raterOf, scorersOf, withHead } from "./scorers";
import { regularised } from "./training/adapters/adalora";
import { isRefused } from "./training/adapters/experts";
import { initializesOnDevice } from "./training/adapters/initialization";
import { PrefixCache, standsApart } from "./training/adapters/prefix";
import { type PromptSizes, promptSizes } from "./training/adapters/prompt-sizes";
import { promptWrapper, virtualTokens } from "./training/adapters/prompts";
import { runEvaluation } from "./training/evaluation";
import type { PassFactory } from "./training/forward";
import { layerSignatures } from "./training/layers";
import { packsOnTheFly } from "./training/loading";
import { type LoadedModel, type LoadOptions, loadModel } from "./training/model";
import { groupsOf, optimizerFactory } from "./training/optimizers";
import { chooseStrategy, type HostUse } from "./training/parallel";
import { dataParallelSize } from "./training/parallel/degrees";
import { splitsModel } from "./training/parallel/local";
import { whileWaiting } from "./training/parallel/pipeline";
import { shareOf } from "./training/parallel/tensor";
import type { GenerationSpec, TrainerKind, TrainerSpec, TrainingRun } from "./training/run";
import { type Before, runSteps, STEPS } from "./training/step";
import {
  calledGraph,
  lossOf,
  lossScope,
  ppoPass,
  Rollout,
  type RunnableModel,
  runPpo,
  scoringOf,
  sequencesPerSample,
  trainerOf,
  trainerPass,
  vllmBlock,
} from "./training/trainers";

export interface Simulation {
  readonly ledger: Ledger;
  /** Events before this index belong to loading. */
  readonly loadedEvents: number;
  /** Loading with what it needs beside the weights; null where it needs nothing. */
  readonly loading: Ledger | null;
  readonly parameters: number;
  readonly trainableParameters: number;
  /** Tensors that are trained. */
  readonly trainableTensors: number;
  /** Saved tensors of one micro-batch that wait in host memory. */
  readonly offloadedBytes: number;
  /** Key-value cache of the run's generation at its longest; null: it does not generate. */
  readonly cacheBytes: number | null;
  /** The adapter reaches parameters in a form that peft refuses to put there. */
  readonly adapterRefused: boolean;
  /** A product has factors of different dtypes, which PyTorch refuses. */
  readonly mixedFactors: boolean;
  /** Host memory of one rank (managed memory of paged optimizers counts as pageable). */
  readonly host: HostUse;
}

export type SimulationResult =
  | { readonly ok: true; readonly simulation: Simulation }
  | { readonly ok: false; readonly code: "invalid-config" | "not-modelled"; readonly reason: string };

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
  return { due: () => true, run, holdsBatch: false };
}

/** Parameters of the whole model and those that are trained, whatever part of it one GPU holds. */
export function countParameters(
  run: TrainingRun,
  family: FamilyGraphs,
): Pick<Simulation, "parameters" | "trainableParameters"> | undefined {
  const program = programOf(run, family, forwardSizes(run), false);
  if (program === null) return undefined;
  const model = loadModel(new Torch(new Ledger()), program.graph, program.view, {
    loadDtype: run.loadDtype,
    adapter: run.adapter,
    sharded: false,
    quantization: run.quantization,
    frozenParts: run.frozenParts ?? [],
    ...(run.trained === undefined ? {} : { trained: run.trained }),
    ...(run.optimizer.block === undefined ? {} : { trainedLayer: run.optimizer.block }),
    head: program.head,
    family: run.model.family,
    promptSizes: promptSizes(program.view.scope),
  });
  return { parameters: model.elements, trainableParameters: model.trainableElements };
}

/** Trainers whose copy of the policy keeps a cache in its outputs. */
const KEEPS_CACHE: ReadonlySet<TrainerKind> = new Set(["online-dpo", "xpo", "nash-md"]);

/**
 * Families whose attention reads its rate of dropout from a module (`self.attn_dropout.p`), which `disable_dropout_in_model`
 * finds. Source: transformers/models/<family>/modeling_<family>.py; the others read a number.
 */
const ATTENTION_DROPOUT_MODULES: ReadonlySet<string> = new Set([
  "albert",
  "bert",
  "camembert",
  "data2vec-text",
  "distilbert",
  "electra",
  "ernie",
  "gpt2",
  "roberta",
  "roberta-prelayernorm",
  "roc_bert",
  "xlm-roberta",
  "xlm-roberta-xl",
  "xmod",
]);

/** A model and how it is loaded. */
interface Loaded {
  readonly program: Program;
  readonly options: LoadOptions;
}

/** The event stream of loading models that are packed on the way, or whose adapters are made from their weights. */
function loadingOf(models: readonly Loaded[], { allocator }: TrainingRun): Ledger {
  const ledger = new Ledger(allocator?.roundupDivisions);
  ledger.startCounting();
  const torch = new Torch(ledger);
  for (const { program, options } of models)
    loadModel(torch, program.graph, program.view, {
      ...options,
      packsOnTheFly: packsOnTheFly(options.quantization),
      initializes: initializesOnDevice(options.adapter),
    });
  return ledger;
}

/**
 * Tasks for which peft has no kind of model: its plain one calls the model past AdaLoRA's forward, which adds the term to the
 * loss (peft/peft_model.py, `PeftModel.forward`; peft/tuners/adalora/model.py).
 */
const WITHOUT_PEFT_KIND: ReadonlySet<TrainingRun["task"]> = new Set([
  "masked-lm",
  "image-cls",
  "speech-seq2seq",
  "ctc",
  "audio-cls",
]);

/** What peft's module around the model does, or null when it only hands on. */
function wrapperOf(run: TrainingRun, model: LoadedModel, dtype: DType, sizes: PromptSizes): Wrapper | null {
  const { adapter, checkpointing, attention } = run;
  const { prompt, embedding, regularised: factors } = model;
  if (adapter !== null && prompt !== null) {
    const prefix = standsApart(run) ? new PrefixCache(sizes, virtualTokens(adapter), !buildsNoMask(attention)) : null;
    return promptWrapper(adapter, prompt, embedding, dtype, checkpointing !== null, prefix);
  }
  return factors.length === 0 || WITHOUT_PEFT_KIND.has(run.task)
    ? null
    : { leave: (torch, loss) => regularised(torch, factors, loss) };
}

/** GPUs that share one copy of the parameters. */
function shardedOver({ parallel }: TrainingRun): number {
  return Math.max(1, dataParallelSize(parallel) / (parallel.fsdp?.replicas ?? 1));
}

/** Whether one GPU holds a part of the model only, all the time or between uses. */
function isSharded(run: TrainingRun): boolean {
  return run.parallel.fsdp !== null || run.parallel.deepspeed?.zeroStage === 3 || splitsModel(run);
}

/** Tasks whose batches come with a mask of padding. */
const MASKED: ReadonlySet<string> = new Set([
  "causal-lm",
  "masked-lm",
  "seq-cls",
  "multiple-choice",
  "token-cls",
  "seq2seq-lm",
]);

/** Whether the library's code builds a mask where it is traced: collators of text always say where padding is. */
function tracesMasks({ task, attention, standsFor }: TrainingRun): boolean {
  return standsFor === undefined && attention === "sdpa" && MASKED.has(task);
}

/** Whether a trainer's loss was captured and the model's graph can be cut where it calls it. */
function hasLoss(family: FamilyGraphs, trainer: TrainerSpec, program: Program | null): boolean {
  const loss = lossOf(family, trainer);
  return loss !== undefined && program !== null && calledGraph(loss, program.graph, program.head) !== null;
}

/**
 * Simulates a run. `fold` = false runs every layer one by one (the same events, more slowly); `waitingBytes` are
 * activations of other micro-batches kept while one is run. Throws `NotModelled` for operators the engine lacks;
 * `estimate` turns that into a result.
 */
export function simulate(run: TrainingRun, family: FamilyGraphs, fold = true, waitingBytes = 0): SimulationResult {
  try {
    return simulated(run, family, fold, fold, waitingBytes);
  } catch (error) {
    if (!(error instanceof RoundsDiffer)) throw error;
    return simulated(run, family, fold, false, waitingBytes);
  }
}

function simulated(
  run: TrainingRun,
  family: FamilyGraphs,
  fold: boolean,
  foldsRounds: boolean,
  waitingBytes: number,
): SimulationResult {
  const sharded = isSharded(run);
  const trainer = trainerOf(run);
  const sizes = forwardSizes(run);
  const own = trainer === null ? null : programOf(run, family, sizes, false);
  // Where TRL's own head cannot be followed, Liger's fused loss stands in for it.
  const prompted = virtualTokens(run.adapter) > 0;
  const spec = trainer?.kind === "sft" && (sharded || prompted || !hasLoss(family, trainer, own)) ? null : trainer;
  const program = spec === null ? programOf(run, family, sizes, run.fusedLoss) : own;
  if (program === null)
    return {
      ok: false,
      code: "not-modelled",
      reason: notCaptured(run, family),
    };
  const { graph, view, head } = program;
  const keepsStates = keeps(graph);
  const factory = optimizerFactory(run.optimizer);
  if (factory === undefined) return { ok: false, code: "not-modelled", reason: `optimizer ${run.optimizer.name}` };

  const ledger = new Ledger(run.allocator?.roundupDivisions);
  const torch = new Torch(ledger);
  torch.keepsSoftmaxInputs = run.keepsSoftmaxInputs === true;
  if (spec !== null && prompted)
    return { ok: false, code: "not-modelled", reason: `${spec.kind.toUpperCase()} with trained prompts` };
  const loss = spec === null ? undefined : lossOf(family, spec);
  if (spec !== null && (loss === undefined || calledGraph(loss, graph, head) === null))
    return {
      ok: false,
      code: "not-modelled",
      reason: `${spec.kind.toUpperCase()} of ${run.task} with ${family.family}`,
    };
  torch.share = shareOf(run);
  const strategy = waitingBytes > 0 ? whileWaiting(chooseStrategy(run), waitingBytes) : chooseStrategy(run);
  const loadDtype = strategy.parameterDtype ?? run.loadDtype;
  const loading = {
    ...(run.optimizer.block === undefined ? {} : { trainedLayer: run.optimizer.block }),
    loadDtype,
    autocast: run.autocast,
    sharded: strategy.shardsParameters,
    quantization: run.quantization,
    float8: run.float8 ?? null,
    ...(run.prunedWeights === undefined ? {} : { prunedWeights: run.prunedWeights }),
    compiled: run.compiled !== undefined,
    architecture: run.device?.architecture ?? "unknown",
    head,
    frozenParts: run.frozenParts ?? [],
    ...(run.trained === undefined ? {} : { trained: run.trained }),
    family: run.model.family,
    promptSizes: promptSizes(view.scope),
  };
  const adapted = {
    ...loading,
    // DeepSpeed's engine casts the whole module, adapters included.
    adapter: run.adapter && {
      ...run.adapter,
      dropout: spec?.disableDropout ? 0 : run.adapter.dropout,
      autocastAdapterDtype: run.adapter.autocastAdapterDtype && strategy.keepsAutocast,
    },
  };
  const hasReference = spec?.variant["reference"] === "model";
  const model = withHead(torch, spec, loadModel(torch, graph, view, adapted), head, strategy.shardsParameters);
  const companion = spec?.companion ?? null;
  const companionGraphs = companion === null ? undefined : graphsOf(family, companion.model.family);
  const companionAt = (sizes: RunSizes): Program | null =>
    companion === null || companionGraphs === undefined
      ? null
      : programOf(companionRun(run, companion), companionGraphs, sizes, false);
  const beside = companionAt(sizes);
  if (companion !== null && beside === null)
    return { ok: false, code: "not-modelled", reason: `${spec?.kind.toUpperCase()} beside ${companion.model.name}` };
  const frozen: Loaded | null = !hasReference
    ? null
    : beside === null || companion === null
      ? { program, options: { ...loading, adapter: null, trained: {} } }
      : {
          program: beside,
          options: {
            ...loading,
            loadDtype: strategy.parameterDtype ?? companion.loadDtype,
            adapter: null,
            quantization: null,
            float8: null,
            frozenParts: [],
            trained: {},
            head: beside.head,
            promptSizes: promptSizes(beside.view.scope),
          },
        };
  const copy = frozen && loadModel(torch, frozen.program.graph, frozen.program.view, frozen.options);
  const scorers = spec?.kind === "ppo" ? scorersOf(torch, run, family, spec, loading) : null;
  if (scorers !== null && "reason" in scorers) return { ok: false, code: "not-modelled", reason: scorers.reason };
  const rater = raterOf(torch, run, family, spec, loading);
  if (rater !== null && "reason" in rater) return { ok: false, code: "not-modelled", reason: rater.reason };
  const trained = [...model.parameters, ...(scorers?.value.model.parameters ?? [])];
  // PPO's policy and value model are one engine; the larger one's layers are gathered at a time.
  const others = scorers?.value.model;
  strategy.prepare(
    torch,
    trained,
    others !== undefined && others.elements > model.elements ? others.parameters : model.parameters,
  );
  // trl/models/utils.py: below stage 3 the reference is an engine of its own, whole on every GPU (prepare_deepspeed).
  const copyUsage = (copy !== null && strategy.prepareFrozen?.(torch, copy.parameters, spec?.referenceOnHost)) || null;
  const rates = rater ?? scorers?.reward ?? null;
  const raterUsage = (rates !== null && strategy.prepareFrozen?.(torch, rates.model.parameters)) || null;
  if (spec?.critic && !holdCritic(torch, run, family, spec.critic, loading, loading.sharded ? shardedOver(run) : 1))
    return { ok: false, code: "not-modelled", reason: `a critic like ${run.model.family}` };
  torch.leafHook = strategy.leafHook;
  torch.usage = strategy.shardsParameters ? strategy : undefined;
  const loadedEvents = ledger.eventCount;
  const trainable = trained.filter((parameter) => parameter.requiresGradFlag);
  ledger.startCounting();
  const groups = groupsOf(run.optimizer, trainable);
  const optimizer = factory(torch, strategy.optimizerGroups(torch, groups), run.optimizer.args);
  if (optimizer.afterAccumulate !== undefined && torch.leafHook === undefined)
    torch.leafHook = (leaf, torch) => optimizer.afterAccumulate?.(leaf, torch);
  const parameterSignature = layerSignatures(model.parameters);
  const signature = (index: number): string => `${parameterSignature(index)} ${strategy.layerSignature?.(index) ?? ""}`;
  const wrapper = wrapperOf(run, model, loadDtype, loading.promptSizes);
  const vocabulary = model.byName.get(`${head}.weight`)?.size(0) ?? 0;
  const scopeOf = (samples: number, sequence: number): Scope | null =>
    spec === null ? null : lossScope(spec, samples, sequence, vocabulary);
  const optionsOf = ({ view }: Program, way: Fold): InterpreterOptions => ({
    scope: view.scope,
    layerKind: (index: number) => view.layerKind(index),
    parameters: model.byName,
    modules: model.modules,
    ...(model.parametrized.size > 0 ? { parametrized: model.parametrized } : {}),
    loadDtype,
    ...(ATTENTION_DROPOUT_MODULES.has(run.model.family) ? { attentionDropoutModule: true } : {}),
    // Traced code is checkpointed by tags on its operators, whichever kind was asked for (torch/_dynamo/variables/higher_order_ops.py).
    checkpointing:
      run.compiled && run.checkpointing !== null ? { ...run.checkpointing, useReentrant: false } : run.checkpointing,
    // The term of the loss that AdaLoRA adds reaches into every layer, and so does a prefix.
    layerSignature:
      way !== "none" && fold && !keepsStates && model.regularised.length === 0 && wrapper?.cache === undefined
        ? signature
        : null,
    fold: way,
    ...(run.offloadsActivations ? { layersToSettle: LAYERS_TO_SETTLE } : {}),
    head,
  });
  const interpretersOf =
    (program: Program, cache?: AttentionCache): InterpreterFactory =>
    (way) =>
      new Interpreter(torch, program.graph, {
        ...optionsOf(program, way),
        ...(cache === undefined ? {} : { cache }),
        ...(wrapper === null ? {} : { wrapper }),
      });
  const runnable = (
    { graph, view, head }: Program,
    model: RunnableModel["model"] & Pick<LoadedModel, "parameters">,
    way: Fold,
  ): RunnableModel => ({
    model,
    graph,
    options: {
      ...optionsOf({ graph, view, dataView: view, head }, way),
      head,
      layerSignature: way !== "none" && fold ? layerSignatures(model.parameters) : null,
    },
    heads: Number(view.scope("num_key_value_heads") ?? 0),
  });
  const passesOf = (
    program: Program,
    scope: Scope | null,
    loss: TrainerGraph | undefined,
    at: RunSizes,
  ): PassFactory => {
    if (spec === null || loss === undefined || scope === null) return interpretersOf(program);
    const other = companionAt(at);
    const cut = rater?.at(at);
    const rating = (way: Fold) =>
      rater === null || cut === undefined ? null : { model: runnable(cut, rater.model, way), usage: raterUsage };
    const otherSignature = other && copy && layerSignatures(copy.parameters);
    const called = (way: Fold) => {
      if (other === null) return null;
      const own = optionsOf(other, way);
      return {
        graph: other.graph,
        options: { ...own, head: other.head, layerSignature: own.layerSignature && otherSignature },
        // Nothing switches the teacher's `use_cache` off (trl/experimental/gkd/gkd_trainer.py, compute_loss).
        ...(spec.kind === "gkd" ? { cache: () => cacheOf(other.view, null, 1) } : {}),
      };
    };
    return (way) =>
      trainerPass(torch, {
        spec,
        loss,
        graph: program.graph,
        scope,
        policy: model,
        copy,
        copyUsage,
        companion: called(way),
        // Copied from a policy whose `use_cache` only checkpointing had switched off (trl/experimental/online_dpo).
        ...(KEEPS_CACHE.has(spec.kind) && run.checkpointing === null
          ? { copyCache: () => cacheOf(program.view, null, 1) }
          : {}),
        rater: rating(way),
        options: optionsOf(program, way),
      });
  };
  const autocast = strategy.keepsAutocast ? run.autocast : null;
  const scope = scopeOf(run.microBatchSize, run.sequenceLength);
  let cacheBytes: number | null = null;
  const generates = (generation: GenerationSpec): number => {
    // trl/models/utils.py, unwrap_model_for_generation
    const gathered = spec?.rollout?.gathers === false ? null : (strategy.gatherAll?.(torch) ?? null);
    const { usage } = torch;
    if (gathered !== null) torch.usage = undefined;
    cacheBytes = withoutTraining(torch, () => generate(torch, run, family, generation, interpretersOf, autocast));
    torch.usage = usage;
    // What was called last is let go as what follows is gathered.
    if (gathered === null) strategy.endPass?.(torch);
    gathered?.release();
    return cacheBytes;
  };
  const onPolicy = spec?.generation ?? null;
  const vllm = spec?.vllm;
  if (vllm !== undefined) vllmBlock(torch, vllm.sleepingBytes);
  const rollout =
    spec?.rollout == null
      ? vllm !== undefined
        ? beforeEach(ledger, () => vllmBlock(torch, vllm.generatingBytes - vllm.sleepingBytes)?.release())
        : onPolicy && beforeEach(ledger, () => generates(onPolicy))
      : new Rollout(
          torch,
          {
            spec: { ...spec, rollout: spec.rollout },
            microBatch: run.microBatchSize,
            autocast,
            scoring: scoringOf(family, spec).map((scoring) => passesOf(program, scope, scoring, sizes)),
            generate: generates,
          },
          strategy,
        );
  // A model that is one function hands all it saves to the hooks when its forward has returned, and gets all back before its
  // backward (torch/_functorch/_aot_autograd/runtime_wrappers.py, CompiledFunction): the peak is as without them.
  const offloads = run.compiled === "model" ? null : (run.offloadsActivations ?? null);
  // Checkpoints that send their inputs away break the graph; layers one by one send what they save, as eager code does.
  const compiled =
    run.compiled === undefined || offloads !== null || run.checkpointing?.offloads === true
      ? null
      : { masks: tracesMasks(run), whole: run.compiled === "model", loss: run.compiled !== "layers" };
  if (scorers !== null && spec?.rollout && spec.ppo) {
    const { rollout, ppo } = spec;
    const rowsAt = (rows: number): RunSizes => ({ ...sizes, B: rows });
    const policyAt = (rows: number): Program => programOf(run, family, rowsAt(rows), false) ?? program;
    const scopeAt = (rows: number): Scope => lossScope(spec, rows, run.sequenceLength, vocabulary);
    runPpo(
      torch,
      optimizer,
      {
        spec: { ...spec, rollout, ppo },
        graphs: scorers.graphs,
        microBatch: run.microBatchSize,
        accumulation: run.gradientAccumulationSteps,
        autocast,
        logits: loadDtype,
        vocabulary,
        dtypes: { values: scorers.value.dtype, scores: scorers.reward.dtype, ref_logprobs: loadDtype },
        batchOf: ({ batch }, rows) => batchOf({ batch }, scopeAt(rows), autocast, loadDtype),
        passOf: (part, rows, way) =>
          ppoPass(
            torch,
            part,
            scopeAt(rows),
            {
              policy: runnable(policyAt(rows), model, way),
              reference: runnable(
                policyAt(rows),
                copy ?? { ...(model.base ?? model), parameters: model.parameters },
                way,
              ),
              value_model: runnable(scorers.value.at(rowsAt(rows)), scorers.value.model, way),
              reward: runnable(scorers.reward.at(rowsAt(rows)), scorers.reward.model, way),
            },
            { reference: copyUsage, reward: raterUsage },
          ),
        generate: generates,
        groups,
        trainable,
      },
      strategy,
    );
  } else
    runSteps(
      torch,
      passesOf(program, scope, loss, sizes),
      optimizer,
      {
        batch: batchOf(loss ?? graph, scope ?? program.dataView.scope, autocast, loadDtype),
        autocast,
        offloads,
        compiled,
        accumulation: run.gradientAccumulationSteps,
        maxGradNorm: run.maxGradNorm,
        keepsGradients: run.keepsGradients === true,
        plainLoop: run.plainLoop === true,
        keepsStates,
        fold,
        foldsRounds,
        groups,
        trainable,
        rollout,
      },
      strategy,
    );
  if (run.evaluation != null) {
    const { batchSize, sequenceLength, targetLength } = run.evaluation;
    // A trainer with a loss of its own gives nothing but that; SFT runs the plain model where logits are asked for.
    const ownLoss = spec !== null && !(spec.kind === "sft" && run.evaluation.keeps !== "loss");
    const keeps = ownLoss ? "loss" : run.evaluation.keeps;
    const rows = batchSize * sequencesPerSample({ ...run, trainer: spec });
    // Liger gives the logits outside training unless only the loss is asked for (liger_kernel/transformers/model).
    const at = { ...sizes, B: rows, S: sequenceLength, T: targetLength };
    const evaluated = programOf(run, family, at, run.fusedLoss && !ownLoss && keeps === "loss");
    const evaluatedScope = ownLoss ? scopeOf(batchSize, sequenceLength) : null;
    const evaluatedLoss = ownLoss ? loss : undefined;
    if (evaluated !== null)
      runEvaluation(
        torch,
        passesOf(evaluated, evaluatedScope, evaluatedLoss, at),
        {
          spec: { ...run.evaluation, keeps },
          batch: batchOf(
            evaluatedLoss ?? evaluated.graph,
            evaluatedScope ?? evaluated.dataView.scope,
            autocast,
            loadDtype,
          ),
          autocast,
        },
        strategy,
        STEPS,
      );
  }
  const { generation } = run;
  if (generation != null) {
    ledger.enter("generation", STEPS);
    cacheBytes = withoutTraining(torch, () => generate(torch, run, family, generation, interpretersOf, autocast));
  }
  return {
    ok: true,
    simulation: {
      ledger,
      host: {
        ...strategy.host,
        pinned: strategy.host.pinned + torch.offloadedPeak,
        pageable: strategy.host.pageable + torch.managedBytes,
      },
      loadedEvents,
      loading:
        (packsOnTheFly(run.quantization) || initializesOnDevice(run.adapter)) && !strategy.shardsParameters
          ? loadingOf([{ program, options: adapted }, ...(frozen === null ? [] : [frozen])], run)
          : null,
      parameters: model.elements,
      trainableParameters: model.trainableElements,
      trainableTensors: trainable.length,
      offloadedBytes: torch.offloadedPeak,
      cacheBytes,
      mixedFactors: torch.mixedFactors,
      adapterRefused: model.parametrized.size > 0 && run.adapter !== null && isRefused(run.adapter),
    },
  };
}
