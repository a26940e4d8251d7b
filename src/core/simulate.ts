/**
 * One run on one device, executed on paper: the event stream of loading and two optimizer steps.
 */

import type { DType } from "./engine/dtype";
import { Interpreter } from "./engine/interpreter";
import { Ledger } from "./engine/ledger";
import { Torch } from "./engine/torch";
import { type ConfigView, configView, type RunSizes, selectGraph } from "./graph/config";
import { evaluate } from "./graph/expression";
import { withLiger } from "./graph/liger";
import type { ArchitectureGraph, FamilyGraphs } from "./graph/types";
import { runEvaluation } from "./training/evaluation";
import { layerSignatures, loadModel } from "./training/model";
import { findOptimizer } from "./training/optimizers";
import { chooseStrategy, type HostUse } from "./training/parallel";
import type { TrainingRun } from "./training/run";
import { type BatchTensor, type InterpreterFactory, runSteps, STEPS } from "./training/step";

export interface Simulation {
  readonly ledger: Ledger;
  /** Events before this index belong to loading. */
  readonly loadedEvents: number;
  readonly parameters: number;
  readonly trainableParameters: number;
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
  readonly head: string | null;
}

/** @param fusedLoss whether the loss is computed without a logits tensor */
function programOf(run: TrainingRun, family: FamilyGraphs, sizes: RunSizes, fusedLoss: boolean): Program | null {
  const view = configView(family, run.model.config, sizes);
  const captured = selectGraph(family, run.task, run.attention, view.scope);
  if (captured === undefined) return null;
  const head = family.head ?? headOf(captured);
  const gated = GATED.has(String(view.scope("hidden_act") ?? view.scope("hidden_activation")));
  const layers = run.fusedLayers ?? run.fusedLoss;
  const graph =
    fusedLoss || layers
      ? withLiger(captured, head, { loss: fusedLoss, norms: layers, gates: layers && gated })
      : captured;
  return { graph, view, head };
}

function batchOf({ graph, view }: Program): BatchTensor[] {
  return graph.batch.map(({ name, shape, dtype }) => ({
    name,
    sizes: shape.map((expression) => Number(evaluate(expression, view.scope))),
    dtype: dtype.replace(/^\$/, "") as DType,
  }));
}

/**
 * Simulates a run. `fold` = false runs every layer one by one (the same events, more slowly). Throws `NotModelled` for operators the engine lacks; `estimate` turns
 * that into a result.
 */
export function simulate(run: TrainingRun, family: FamilyGraphs, fold = true): SimulationResult {
  const sizes = { B: run.microBatchSize, S: run.sequenceLength, T: run.targetLength, I: run.imageSize };
  const program = programOf(run, family, sizes, run.fusedLoss);
  if (program === null)
    return {
      ok: false,
      code: "not-modelled",
      reason: `${family.family} with ${run.attention} attention for ${run.task} was not captured`,
    };
  const { graph, view, head } = program;
  const factory = findOptimizer(run.optimizer.name);
  if (factory === undefined) return { ok: false, code: "not-modelled", reason: `optimizer ${run.optimizer.name}` };

  const ledger = new Ledger();
  const torch = new Torch(ledger);
  const strategy = chooseStrategy(run);
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
  const interpretersOf =
    ({ graph, view }: Program): InterpreterFactory =>
    (folded) =>
      new Interpreter(torch, graph, {
        scope: view.scope,
        layerKind: (index) => view.layerKind(index),
        parameters: model.byName,
        modules: model.modules,
        loadDtype,
        checkpointing: run.checkpointing,
        layerSignature: folded && fold ? signature : null,
        head,
      });
  const autocast = strategy.keepsAutocast ? run.autocast : null;
  runSteps(
    torch,
    interpretersOf(program),
    optimizer,
    {
      batch: batchOf(program),
      autocast,
      accumulation: run.gradientAccumulationSteps,
      maxGradNorm: run.maxGradNorm,
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
      { ...sizes, B: batchSize, S: sequenceLength, T: targetLength },
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
  return {
    ok: true,
    simulation: {
      ledger,
      host: { ...strategy.host, pageable: strategy.host.pageable + torch.managedBytes },
      loadedEvents,
      parameters: model.elements,
      trainableParameters: model.trainableElements,
    },
  };
}
