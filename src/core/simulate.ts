/**
 * One run on one device, executed on paper: the event stream of loading and two optimizer steps.
 */

import type { DType } from "./engine/dtype";
import {
  type AttentionCache,
  Interpreter,
  type InterpreterOptions,
  NotModelled,
  type Wrapper,
} from "./engine/interpreter";
import { Ledger } from "./engine/ledger";
import type { Fold } from "./engine/region";
import { Torch } from "./engine/torch";
import { type ConfigView, configView, type RunSizes, selectGraph, sizesOf } from "./graph/config";
import { evaluate, type Scope } from "./graph/expression";
import { buildsNoMask, withFlash } from "./graph/flash";
import { withChunkedLoss, withLiger } from "./graph/liger";
import type { ArchitectureGraph, FamilyGraphs, TrainerGraph } from "./graph/types";
import { regularised } from "./training/adapters/adalora";
import { isRefused } from "./training/adapters/experts";
import { promptSizes, promptWrapper, virtualTokens } from "./training/adapters/prompts";
import { runEvaluation } from "./training/evaluation";
import { type CacheStyle, SimulatedCache } from "./training/generation/cache";
import { runGeneration } from "./training/generation/generate";
import { packsOnTheFly } from "./training/loading";
import { type LoadedModel, type LoadOptions, layerSignatures, loadModel } from "./training/model";
import { groupsOf, optimizerFactory } from "./training/optimizers";
import { chooseStrategy, type HostUse } from "./training/parallel";
import { splitsModel } from "./training/parallel/local";
import { whileWaiting } from "./training/parallel/pipeline";
import { shareOf } from "./training/parallel/tensor";
import type { CompanionSpec, GenerationSpec, TrainerSpec, TrainingRun } from "./training/run";
import { type BatchTensor, type Before, type PassFactory, runSteps, STEPS } from "./training/step";
import {
  calledGraph,
  hasValueHead,
  lossOf,
  lossScope,
  Rollout,
  scoringOf,
  sequencesOf,
  trainerOf,
  trainerPass,
  valueHead,
} from "./training/trainers";

export interface Simulation {
  readonly ledger: Ledger;
  /** Events before this index belong to loading. */
  readonly loadedEvents: number;
  /** Loading with what it needs beside the weights; null where it needs nothing. */
  readonly loading: Ledger | null;
  readonly parameters: number;
  readonly trainableParameters: number;
  /** Key-value cache of the run's generation at its longest; null: it does not generate. */
  readonly cacheBytes: number | null;
  /** The adapter reaches parameters in a form that peft refuses to put there. */
  readonly adapterRefused: boolean;
  /** Host memory of one rank (managed memory of paged optimizers counts as pageable). */
  readonly host: HostUse;
}

export type SimulationResult =
  | { readonly ok: true; readonly simulation: Simulation }
  | { readonly ok: false; readonly code: "invalid-config" | "not-modelled"; readonly reason: string };

/** Activations Liger has a gated kernel for (SwiGLU and GEGLU). */
const GATED: ReadonlySet<string> = new Set(["silu", "swish", "gelu_pytorch_tanh"]);

/** Path of the module that makes the output: the last linear layer called outside the repeated layers. */
export function headOf(graph: ArchitectureGraph): string | null {
  let head: string | null = null;
  for (const instruction of graph.main.body)
    if ("call" in instruction && (instruction.call === "Linear" || instruction.call === "Conv1D"))
      head = instruction.path;
  return head;
}

/** A forward of the model at one batch size: its graph with the run's fused kernels, and what the graph's names stand for. */
interface Program {
  readonly graph: ArchitectureGraph;
  readonly view: ConfigView;
  /** Names as the batch sees them: without the tokens that a prompt adds. */
  readonly dataView: ConfigView;
  readonly head: string | null;
}

/** @param fusedLoss whether the loss is computed without a logits tensor */
function programOf(run: TrainingRun, family: FamilyGraphs, sizes: RunSizes, fusedLoss: boolean): Program | null {
  const dataView = configView(family, run.model.config, sizes);
  const view = configView(family, run.model.config, { ...sizes, S: sizes.S + virtualTokens(run.adapter) });
  const captured = capturedFor(run, family, view);
  if (captured === undefined) return null;
  const head = family.head ?? headOf(captured);
  const gated = GATED.has(String(view.scope("hidden_act") ?? view.scope("hidden_activation")));
  const layers = run.fusedLayers ?? run.fusedLoss;
  const own =
    run.chunkedLoss && !fusedLoss && run.trainer == null ? withChunkedLoss(captured, head, run.chunkedLoss) : captured;
  const graph =
    fusedLoss || layers ? withLiger(own, head, { loss: fusedLoss, norms: layers, gates: layers && gated }) : own;
  return { graph, view, dataView, head };
}

/** The captured graph of the run's attention; kernels without masks are run on the fused attention's graph without them. */
function capturedFor(run: TrainingRun, family: FamilyGraphs, view: ConfigView): ArchitectureGraph | undefined {
  const own = selectGraph(family, run.task, run.attention, view.scope);
  if (own !== undefined || !buildsNoMask(run.attention)) return own;
  const fused = selectGraph(family, run.task, "sdpa", view.scope);
  return fused && withFlash(fused);
}

function batchOf(
  { batch }: Pick<ArchitectureGraph, "batch">,
  scope: Scope,
  autocast: DType | null,
  loadDtype: DType,
): BatchTensor[] {
  return batch.map(({ name, shape, dtype }) => ({
    name,
    sizes: shape.map((expression) => Number(evaluate(expression, scope))),
    dtype: inputDtype(dtype, autocast, loadDtype),
  }));
}

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

/** Makes an interpreter; folded ones leave out layers that repeat their neighbours. */
type InterpreterFactory = (fold: Fold) => Interpreter;

/** Text that is generated before every micro-batch (GKD: trl/experimental/gkd/gkd_trainer.py, training_step). */
function beforeEach(ledger: Ledger, generates: () => void): Before {
  const run = (step: number): void => {
    ledger.enter("generation", step);
    generates();
  };
  return { due: () => true, run, holdsBatch: false };
}

/** An empty key-value cache of a model; `tokens` of a static one, null for one that grows. */
function cacheOf(
  view: ConfigView,
  tokens: number | null,
  beams: number,
  style: CacheStyle = "dynamic",
): SimulatedCache {
  const window = Number(view.scope("sliding_window") ?? 0);
  const windowOf = (layer: number): number | null => {
    const kind = view.layerKind(layer);
    return window > 0 && (kind === null || kind === "sliding_attention") ? window : null;
  };
  return new SimulatedCache(windowOf, Number(view.scope("num_key_value_heads") ?? 0), tokens, beams, style);
}

/** The run with the model beside the trained one in its place. */
function companionRun(run: TrainingRun, { model, loadDtype }: CompanionSpec): TrainingRun {
  return { ...run, model, loadDtype, adapter: null, quantization: null, frozenParts: [] };
}

/** Graphs of a family among those at hand. */
function graphsOf(family: FamilyGraphs, name: string): FamilyGraphs | undefined {
  return name === family.family ? family : family.beside?.find((graphs) => graphs.family === name);
}

/**
 * Books a call of `generate` with the run's model on the phase in force. The captured training graph serves with queries of
 * the prompt's length, then of one token; attention reads the cache.
 *
 * @returns bytes of the key-value cache at its longest
 */
function generate(
  torch: Torch,
  run: TrainingRun,
  family: FamilyGraphs,
  spec: GenerationSpec,
  interpretersOf: (program: Program, cache: AttentionCache) => InterpreterFactory,
  autocast: DType | null,
): number {
  const encoder = run.task === "seq2seq-lm";
  const programAt = (tokens: number): Program => {
    const sizes = encoder
      ? { ...sizesOf(run), B: spec.batchSize, S: spec.promptLength, T: tokens }
      : { ...sizesOf(run), B: spec.batchSize * spec.beams, S: tokens, T: 0 };
    // The cache is met in the fused attention; the scores of eager attention are small for single queries.
    const program =
      programOf({ ...run, attention: "sdpa" }, family, sizes, false) ?? programOf(run, family, sizes, false);
    if (program === null) throw new NotModelled(`generation with ${family.family}`);
    return program;
  };
  const { view } = programAt(spec.promptLength);
  const scope = (name: string): number => Number(view.scope(name) ?? 0);
  const tokens = spec.cache === "static" ? spec.promptLength + spec.newTokens : null;
  const cache = cacheOf(view, tokens, encoder ? spec.beams : 1, spec.cache === "static" ? "dynamic" : spec.cache);
  return runGeneration(torch, {
    spec,
    // peft generates with the model inside, whose forward accelerate did not wrap (peft/peft_model.py, generate).
    autocast: run.adapter === null ? autocast : null,
    vocabulary: scope("vocab_size"),
    interpreter: (tokens) => interpretersOf(programAt(tokens), cache)("none"),
    encoder: encoder ? { width: scope("hidden_size"), dtype: run.loadDtype } : null,
    cache,
  });
}

/** Sizes of one forward, which some trainers give several sequences a sample. */
function forwardSizes(run: TrainingRun): RunSizes {
  return { ...sizesOf(run), B: run.microBatchSize * sequencesOf(run.trainer) };
}

/**
 * Dtype of a tensor of the batch. Images and sound that the model's code takes as they are (`$input`) stay float32 where
 * autocast converts them; without it a half-precision model only runs when the collator or the engine has cast them.
 */
function inputDtype(stated: string, autocast: DType | null, loadDtype: DType): DType {
  if (stated === "$input") return autocast === null ? loadDtype : "float32";
  return stated.replace(/^\$/, "") as DType;
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
    ...(run.optimizer.block === undefined ? {} : { trainedLayer: run.optimizer.block }),
    head: program.head,
    family: run.model.family,
    promptSizes: promptSizes(program.view.scope),
  });
  return { parameters: model.elements, trainableParameters: model.trainableElements };
}

/** A model and how it is loaded. */
interface Loaded {
  readonly program: Program;
  readonly options: LoadOptions;
}

/** The event stream of loading models that are packed on the way. */
function loadingOf(models: readonly Loaded[], { allocator }: TrainingRun): Ledger {
  const ledger = new Ledger(allocator?.roundupDivisions);
  ledger.startCounting();
  const torch = new Torch(ledger);
  for (const { program, options } of models)
    loadModel(torch, program.graph, program.view, { ...options, packsOnTheFly: true });
  return ledger;
}

/** What peft's module around the model does, or null when it only hands on. */
function wrapperOf({ adapter, checkpointing }: TrainingRun, model: LoadedModel, dtype: DType): Wrapper | null {
  const { prompt, embedding, regularised: factors } = model;
  if (adapter !== null && prompt !== null)
    return promptWrapper(adapter, prompt, embedding, dtype, checkpointing !== null);
  return factors.length === 0 ? null : { leave: (torch, loss) => regularised(torch, factors, loss) };
}

/** Whether one GPU holds a part of the model only, all the time or between uses. */
function isSharded(run: TrainingRun): boolean {
  return run.parallel.fsdp !== null || run.parallel.deepspeed?.zeroStage === 3 || splitsModel(run);
}

/** The loaded model with the value head its trainer puts on it. */
function withHead(
  torch: Torch,
  spec: TrainerSpec | null,
  model: LoadedModel,
  head: string | null,
  sharded: boolean,
): LoadedModel {
  if (!hasValueHead(spec)) return model;
  const own = valueHead(torch, model.byName.get(`${head}.weight`)?.size(1) ?? 0, sharded);
  const elements = [...own.values()].reduce((sum, tensor) => sum + tensor.elements, 0);
  return {
    ...model,
    parameters: [...model.parameters, ...own.values()],
    byName: new Map([...model.byName, ...own]),
    elements: model.elements + elements,
    trainableElements: model.trainableElements + elements,
  };
}

/** Tasks whose batches come with a mask of padding. */
const MASKED: ReadonlySet<string> = new Set(["causal-lm", "masked-lm", "seq-cls", "token-cls", "seq2seq-lm"]);

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
      reason: `${family.family} with ${run.attention} attention for ${run.task} was not captured`,
    };
  const { graph, view, head } = program;
  const factory = optimizerFactory(run.optimizer);
  if (factory === undefined) return { ok: false, code: "not-modelled", reason: `optimizer ${run.optimizer.name}` };

  const ledger = new Ledger(run.allocator?.roundupDivisions);
  const torch = new Torch(ledger);
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
    sharded: strategy.shardsParameters,
    quantization: run.quantization,
    float8: run.float8 ?? null,
    ...(run.prunedWeights === undefined ? {} : { prunedWeights: run.prunedWeights }),
    compiled: run.compiled !== undefined,
    architecture: run.device?.architecture ?? "unknown",
    head,
    frozenParts: run.frozenParts ?? [],
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
      ? { program, options: { ...loading, adapter: null } }
      : {
          program: beside,
          options: {
            ...loading,
            loadDtype: strategy.parameterDtype ?? companion.loadDtype,
            adapter: null,
            quantization: null,
            float8: null,
            frozenParts: [],
            head: beside.head,
            promptSizes: promptSizes(beside.view.scope),
          },
        };
  const copy = frozen && loadModel(torch, frozen.program.graph, frozen.program.view, frozen.options);
  strategy.prepare(torch, model.parameters);
  // trl/models/utils.py: below stage 3 the reference is an engine of its own, whole on every GPU (prepare_deepspeed).
  const copyUsage = (copy !== null && strategy.prepareFrozen?.(torch, copy.parameters)) || null;
  torch.leafHook = strategy.leafHook;
  torch.usage = strategy.shardsParameters ? strategy : undefined;
  const loadedEvents = ledger.eventCount;
  const trainable = model.parameters.filter((parameter) => parameter.requiresGradFlag);
  ledger.startCounting();
  const groups = groupsOf(run.optimizer, trainable);
  const optimizer = factory(torch, strategy.optimizerGroups(torch, groups), run.optimizer.args);
  if (optimizer.afterAccumulate !== undefined && torch.leafHook === undefined)
    torch.leafHook = (leaf, torch) => optimizer.afterAccumulate?.(leaf, torch);
  const parameterSignature = layerSignatures(model.parameters);
  const signature = (index: number): string => `${parameterSignature(index)} ${strategy.layerSignature?.(index) ?? ""}`;
  const wrapper = wrapperOf(run, model, loadDtype);
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
    // Traced code is checkpointed by tags on its operators, whichever kind was asked for (torch/_dynamo/variables/higher_order_ops.py).
    checkpointing:
      run.compiled && run.checkpointing !== null ? { ...run.checkpointing, useReentrant: false } : run.checkpointing,
    // The term of the loss that AdaLoRA adds reaches into every layer.
    layerSignature: way !== "none" && fold && model.regularised.length === 0 ? signature : null,
    fold: way,
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
  const passesOf = (
    program: Program,
    scope: Scope | null,
    loss: TrainerGraph | undefined,
    at: RunSizes,
  ): PassFactory => {
    if (spec === null || loss === undefined || scope === null) return interpretersOf(program);
    const other = companionAt(at);
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
        options: optionsOf(program, way),
      });
  };
  const autocast = strategy.keepsAutocast ? run.autocast : null;
  const scope = scopeOf(run.microBatchSize, run.sequenceLength);
  let cacheBytes: number | null = null;
  const generates = (generation: GenerationSpec): void => {
    // trl/models/utils.py, unwrap_model_for_generation
    const gathered = spec?.rollout?.gathers === false ? null : (strategy.gatherAll?.(torch) ?? null);
    const { usage } = torch;
    if (gathered !== null) torch.usage = undefined;
    cacheBytes = withoutTraining(torch, () => generate(torch, run, family, generation, interpretersOf, autocast));
    torch.usage = usage;
    gathered?.release();
  };
  const onPolicy = spec?.generation ?? null;
  const rollout =
    spec?.rollout == null
      ? onPolicy && beforeEach(ledger, () => generates(onPolicy))
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
  // Hooks that send saved tensors away break the graph around everything they see.
  const compiled =
    run.compiled === undefined || run.offloadsActivations !== undefined || run.checkpointing?.offloads === true
      ? null
      : { masks: tracesMasks(run), whole: run.compiled === "model", loss: run.compiled !== "layers" };
  runSteps(
    torch,
    passesOf(program, scope, loss, sizes),
    optimizer,
    {
      batch: batchOf(loss ?? graph, scope ?? program.dataView.scope, autocast, loadDtype),
      autocast,
      offloads: run.offloadsActivations ?? null,
      compiled: compiled,
      accumulation: run.gradientAccumulationSteps,
      maxGradNorm: run.maxGradNorm,
      keepsGradients: run.keepsGradients === true,
      fold,
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
    const rows = batchSize * sequencesOf(spec);
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
        packsOnTheFly(run.quantization) && !strategy.shardsParameters
          ? loadingOf([{ program, options: adapted }, ...(frozen === null ? [] : [frozen])], run)
          : null,
      parameters: model.elements,
      trainableParameters: model.trainableElements,
      cacheBytes,
      adapterRefused: model.parametrized.size > 0 && run.adapter !== null && isRefused(run.adapter),
    },
  };
}
