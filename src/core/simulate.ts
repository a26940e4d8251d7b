/**
 * One run on one device, executed on paper: the event stream of loading and two optimizer steps.
 */

import type { DType } from "./engine/dtype";
import { type AttentionCache, Interpreter, NotModelled, type Wrapper } from "./engine/interpreter";
import { Ledger } from "./engine/ledger";
import { Torch } from "./engine/torch";
import { type ConfigView, configView, type RunSizes, selectGraph } from "./graph/config";
import { evaluate } from "./graph/expression";
import { buildsNoMask, withFlash } from "./graph/flash";
import { withLiger } from "./graph/liger";
import type { ArchitectureGraph, FamilyGraphs } from "./graph/types";
import { regularised } from "./training/adapters/adalora";
import { promptSizes, promptWrapper, virtualTokens } from "./training/adapters/prompts";
import { runEvaluation } from "./training/evaluation";
import { SimulatedCache } from "./training/generation/cache";
import { runGeneration } from "./training/generation/generate";
import { type LoadedModel, layerSignatures, loadModel } from "./training/model";
import { findOptimizer } from "./training/optimizers";
import { chooseStrategy, type HostUse } from "./training/parallel";
import { whileWaiting } from "./training/parallel/pipeline";
import { shareOf } from "./training/parallel/tensor";
import type { GenerationSpec, TrainingRun } from "./training/run";
import { type BatchTensor, type InterpreterFactory, runSteps, STEPS } from "./training/step";

export interface Simulation {
  readonly ledger: Ledger;
  /** Events before this index belong to loading. */
  readonly loadedEvents: number;
  readonly parameters: number;
  readonly trainableParameters: number;
  /** Key-value cache of the run's generation at its longest; null: it does not generate. */
  readonly cacheBytes: number | null;
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
  const graph =
    fusedLoss || layers
      ? withLiger(captured, head, { loss: fusedLoss, norms: layers, gates: layers && gated })
      : captured;
  return { graph, view, dataView, head };
}

/** The captured graph of the run's attention; kernels without masks are run on the fused attention's graph without them. */
function capturedFor(run: TrainingRun, family: FamilyGraphs, view: ConfigView): ArchitectureGraph | undefined {
  const own = selectGraph(family, run.task, run.attention, view.scope);
  if (own !== undefined || !buildsNoMask(run.attention)) return own;
  const fused = selectGraph(family, run.task, "sdpa", view.scope);
  return fused && withFlash(fused);
}

function batchOf({ graph, dataView }: Program): BatchTensor[] {
  return graph.batch.map(({ name, shape, dtype }) => ({
    name,
    sizes: shape.map((expression) => Number(evaluate(expression, dataView.scope))),
    dtype: dtype.replace(/^\$/, "") as DType,
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
      ? { B: spec.batchSize, S: spec.promptLength, T: tokens, I: run.imageSize }
      : { B: spec.batchSize * spec.beams, S: tokens, T: 0, I: run.imageSize };
    // The cache is met in the fused attention; the scores of eager attention are small for single queries.
    const program =
      programOf({ ...run, attention: "sdpa" }, family, sizes, false) ?? programOf(run, family, sizes, false);
    if (program === null) throw new NotModelled(`generation with ${family.family}`);
    return program;
  };
  const { view } = programAt(spec.promptLength);
  const scope = (name: string): number => Number(view.scope(name) ?? 0);
  const window = scope("sliding_window");
  const windowOf = (layer: number): number | null => {
    const kind = view.layerKind(layer);
    return window > 0 && (kind === null || kind === "sliding_attention") ? window : null;
  };
  const tokens = spec.cache === "static" ? spec.promptLength + spec.newTokens : null;
  const cache = new SimulatedCache(windowOf, scope("num_key_value_heads"), tokens, encoder ? spec.beams : 1);
  return runGeneration(torch, {
    spec,
    // peft generates with the model inside, whose forward accelerate did not wrap (peft/peft_model.py, generate).
    autocast: run.adapter === null ? autocast : null,
    vocabulary: scope("vocab_size"),
    interpreter: (tokens) => interpretersOf(programAt(tokens), cache)(false),
    encoder: encoder ? { width: scope("hidden_size"), dtype: run.loadDtype } : null,
    cache,
  });
}

function sizesOf(run: TrainingRun): RunSizes {
  return { B: run.microBatchSize, S: run.sequenceLength, T: run.targetLength, I: run.imageSize };
}

/** Parameters of the whole model and those that are trained, whatever part of it one GPU holds. */
export function countParameters(
  run: TrainingRun,
  family: FamilyGraphs,
): Pick<Simulation, "parameters" | "trainableParameters"> | undefined {
  const program = programOf(run, family, sizesOf(run), false);
  if (program === null) return undefined;
  const model = loadModel(new Torch(new Ledger()), program.graph, program.view, {
    loadDtype: run.loadDtype,
    adapter: run.adapter,
    sharded: false,
    quantization: run.quantization,
    head: program.head,
    promptSizes: promptSizes(program.view.scope),
  });
  return { parameters: model.elements, trainableParameters: model.trainableElements };
}

/** What peft's module around the model does, or null when it only hands on. */
function wrapperOf({ adapter, checkpointing }: TrainingRun, model: LoadedModel, dtype: DType): Wrapper | null {
  const { prompt, embedding, regularised: factors } = model;
  if (adapter !== null && prompt !== null)
    return promptWrapper(adapter, prompt, embedding, dtype, checkpointing !== null);
  return factors.length === 0 ? null : { leave: (torch, loss) => regularised(torch, factors, loss) };
}

/**
 * Simulates a run. `fold` = false runs every layer one by one (the same events, more slowly); `waitingBytes` are
 * activations of other micro-batches kept while one is run. Throws `NotModelled` for operators the engine lacks;
 * `estimate` turns that into a result.
 */
export function simulate(run: TrainingRun, family: FamilyGraphs, fold = true, waitingBytes = 0): SimulationResult {
  const program = programOf(run, family, sizesOf(run), run.fusedLoss);
  if (program === null)
    return {
      ok: false,
      code: "not-modelled",
      reason: `${family.family} with ${run.attention} attention for ${run.task} was not captured`,
    };
  const { graph, view, head } = program;
  const factory = findOptimizer(run.optimizer.name);
  if (factory === undefined) return { ok: false, code: "not-modelled", reason: `optimizer ${run.optimizer.name}` };

  const ledger = new Ledger(run.allocator?.roundupDivisions);
  const torch = new Torch(ledger);
  torch.share = shareOf(run);
  const strategy = waitingBytes > 0 ? whileWaiting(chooseStrategy(run), waitingBytes) : chooseStrategy(run);
  const loadDtype = strategy.parameterDtype ?? run.loadDtype;
  const model = loadModel(torch, graph, view, {
    loadDtype,
    // DeepSpeed's engine casts the whole module, adapters included.
    adapter: run.adapter && {
      ...run.adapter,
      autocastAdapterDtype: run.adapter.autocastAdapterDtype && strategy.keepsAutocast,
    },
    sharded: strategy.shardsParameters,
    quantization: run.quantization,
    head,
    promptSizes: promptSizes(view.scope),
  });
  strategy.prepare(torch, model.parameters);
  torch.leafHook = strategy.leafHook;
  torch.usage = strategy.shardsParameters ? strategy : undefined;
  const loadedEvents = ledger.events.length;
  const trainable = model.parameters.filter((parameter) => parameter.requiresGradFlag);
  ledger.startCounting();
  const groups = [trainable.filter(({ rank }) => rank > 1), trainable.filter(({ rank }) => rank <= 1)].filter(
    (group) => group.length > 0,
  );
  const optimizer = factory(torch, strategy.optimizerGroups(torch, groups), run.optimizer.args);
  if (optimizer.afterAccumulate !== undefined && torch.leafHook === undefined)
    torch.leafHook = (leaf, torch) => optimizer.afterAccumulate?.(leaf, torch);
  const parameterSignature = layerSignatures(model.parameters);
  const signature = (index: number): string => `${parameterSignature(index)} ${strategy.layerSignature?.(index) ?? ""}`;
  const wrapper = wrapperOf(run, model, loadDtype);
  const interpretersOf =
    ({ graph, view }: Program, cache?: AttentionCache): InterpreterFactory =>
    (folded) =>
      new Interpreter(torch, graph, {
        scope: view.scope,
        layerKind: (index) => view.layerKind(index),
        parameters: model.byName,
        modules: model.modules,
        loadDtype,
        checkpointing: run.checkpointing,
        // The term of the loss that AdaLoRA adds reaches into every layer.
        layerSignature: folded && fold && model.regularised.length === 0 ? signature : null,
        head,
        ...(cache === undefined ? {} : { cache }),
        ...(wrapper === null ? {} : { wrapper }),
      });
  const autocast = strategy.keepsAutocast ? run.autocast : null;
  runSteps(
    torch,
    interpretersOf(program),
    optimizer,
    {
      batch: batchOf(program),
      autocast,
      offloads: run.offloadsActivations ?? null,
      accumulation: run.gradientAccumulationSteps,
      maxGradNorm: run.maxGradNorm,
      keepsGradients: run.keepsGradients === true,
      fold,
      groups,
      trainable,
    },
    strategy,
  );
  if (run.evaluation != null) {
    const { batchSize, sequenceLength, targetLength, keeps } = run.evaluation;
    // Liger gives the logits outside training unless only the loss is asked for (liger_kernel/transformers/model).
    const evaluated = programOf(
      run,
      family,
      { ...sizesOf(run), B: batchSize, S: sequenceLength, T: targetLength },
      run.fusedLoss && keeps === "loss",
    );
    if (evaluated !== null)
      runEvaluation(
        torch,
        interpretersOf(evaluated),
        { spec: run.evaluation, batch: batchOf(evaluated), autocast },
        strategy,
        STEPS,
      );
  }
  let cacheBytes: number | null = null;
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
      parameters: model.elements,
      trainableParameters: model.trainableElements,
      cacheBytes,
    },
  };
}
