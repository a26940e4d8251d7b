/** A forward of a run's model: the captured graph with the run's fused kernels, and what its names stand for. */

import type { OwnLoss } from "../../terms/own-loss";
import { type Message, say } from "../../words/message";
import type { DType } from "../engine/dtype";
import { bodyOf } from "../graph/body";
import { withChunkedLoss } from "../graph/chunked-loss";
import {
  type ConfigView,
  configView,
  type NearestGraph,
  nearestGraph,
  type RunSizes,
  selectGraph,
  sizesOf,
} from "../graph/config";
import { withDispatch } from "../graph/dispatch";
import type { Expressions, Scope } from "../graph/expression";
import { factsOf } from "../graph/facts";
import { buildsNoMask, withFlash } from "../graph/flash";
import { TABLE_SIDE, withInterpolatedPositions } from "../graph/interpolated";
import { type LigerKernel, ligerPatches, withLiger } from "../graph/liger";
import { withCalledProjections } from "../graph/packed-projections";
import { onSharedSequences } from "../graph/shared-sequences";
import { stageOf } from "../graph/stage";
import { withStateSpaceKernels } from "../graph/state-space";
import type { ArchitectureGraph, FamilyGraphs } from "../graph/types";
import { standsAmongKeys, standsApart } from "../training/adapters/prefix";
import { virtualTokens } from "../training/adapters/prompts";
import type { BatchTensor } from "../training/forward";
import { callsLabels } from "../training/own-loss/batch";
import { NotFollowed } from "../training/own-loss/values";
import type { CompanionSpec, Task, TrainingRun } from "../training/run";
import { sequencesPerSample } from "../training/trainers";

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
export interface Program {
  readonly graph: ArchitectureGraph;
  readonly view: ConfigView;
  /** Names as the batch sees them: without the tokens that a prompt adds. */
  readonly dataView: ConfigView;
  readonly head: string | null;
}

/** @param fusedLoss whether the loss is computed without a logits tensor */
export function programOf(run: TrainingRun, family: FamilyGraphs, sizes: RunSizes, fusedLoss: boolean): Program | null {
  const dataView = configView(family, run.model.config, sizes);
  const before = standsApart(run) || standsAmongKeys(run) ? 0 : virtualTokens(run.adapter);
  const view = configView(family, run.model.config, { ...sizes, S: sizes.S + before });
  const captured = capturedFor(run, family, view);
  if (captured === undefined) return null;
  const found = run.body === true ? bodyAlone(captured, run) : captured;
  if (found === null) return null;
  const { ring, headExchange, stage } = run.parallel;
  const shared =
    ring !== undefined
      ? onSharedSequences(found, ["position_ids"], "1")
      : headExchange !== undefined
        ? onSharedSequences(found, ["position_ids", "attention_mask"], "B")
        : found;
  const staged = (stage && stageOf(shared, stage)) ?? shared;
  const placed = Object.hasOwn(run.model.config, TABLE_SIDE) ? withInterpolatedPositions(staged) : staged;
  const head = family.head ?? headOf(placed);
  const gated = GATED.has(String(view.scope("hidden_act") ?? view.scope("hidden_activation")));
  const layers = run.fusedLayers ?? run.fusedLoss;
  const calls = run.quantization !== null && factsOf(run.model.family).callsPackedProjections === true;
  const asked = calls ? withCalledProjections(placed) : placed;
  const scanned = run.stateSpaceKernels === true ? withStateSpaceKernels(asked) : asked;
  const { dispatch } = run.parallel;
  const sent = dispatch === undefined ? scanned : withDispatch(scanned, dispatch.sorts);
  const own =
    run.chunkedLoss && !fusedLoss && run.trainer == null
      ? withChunkedLoss(sent, head, run.chunkedLoss, { tokens: sizes.S + before })
      : sent;
  const patched = (kind: "norms" | "gates", ...kernels: readonly LigerKernel[]): boolean =>
    (layers === true || layers === kind) && kernels.some((kernel) => ligerPatches(run.model.family, kernel));
  const kernels = {
    loss: fusedLoss,
    pieceBytes: run.fusedPieceBytes,
    norms: patched("norms", "rms_norm"),
    gates: gated && patched("gates", "swiglu", "geglu"),
  };
  const graph = fusedLoss || layers !== false ? withLiger(own, head, kernels) : own;
  return { graph, view, dataView, head };
}

/** Labels that a loss reads of its batch. */
const LABELS = /"(?:value|attribute)":"(?:labels?|targets?)"/;

/** Whether a loss has labels of its batch, also where it takes the batch apart (`for x, y in loader`). */
function readsLabels(loss: OwnLoss): boolean {
  const [first] = loss.body;
  const apart = first !== undefined && "names" in first && "name" in first.value && first.names.length > 1;
  return (
    loss.module?.forward.parameters.includes("labels") === true ||
    (apart && first.names.some(callsLabels)) ||
    LABELS.test(JSON.stringify(loss))
  );
}

/** The model without a head, as a trainer of embeddings or a loss of the script's own calls it; null where it cannot be told from the head. */
function bodyAlone(graph: ArchitectureGraph, { model, ownLoss }: TrainingRun): ArchitectureGraph | null {
  const labelled = ownLoss !== undefined && readsLabels(ownLoss);
  const pools = factsOf(model.family).pools === true && model.config["add_pooling_layer"] !== false;
  const body = bodyOf(graph, pools, labelled);
  if (body === null && ownLoss !== undefined) throw new NotFollowed();
  return body;
}

/**
 * Tasks that run on another one's graph where their own was not captured: a choice is scored like a text with one label, and the
 * scores of a question's choices are its logits (transformers/models/bert/modeling_bert.py, BertForMultipleChoice: what comes
 * in is flattened).
 */
const GRAPHS: Readonly<Partial<Record<Task, Task>>> = { "multiple-choice": "seq-cls" };

const knows = ({ graphs }: FamilyGraphs, task: Task): boolean => graphs.some((graph) => graph.task === task);

/** The task whose graphs the run is looked for among. */
function graphTask({ task }: TrainingRun, family: FamilyGraphs): Task {
  return knows(family, task) ? task : (GRAPHS[task] ?? task);
}

/** The captured graph of the run's attention, else the one of the branch that is nearest to the config's. */
function capturedFor(run: TrainingRun, family: FamilyGraphs, view: ConfigView): ArchitectureGraph | undefined {
  return exactlyCaptured(run, family, view) ?? nearestFor(run, family, view)?.graph;
}

/** Kernels without masks are run on the fused attention's graph without them. */
function exactlyCaptured(run: TrainingRun, family: FamilyGraphs, view: ConfigView): ArchitectureGraph | undefined {
  const task = graphTask(run, family);
  const own = selectGraph(family, task, run.attention, view.scope);
  if (own !== undefined || !buildsNoMask(run.attention)) return own;
  const fused = selectGraph(family, task, "sdpa", view.scope);
  return fused && withFlash(fused);
}

/** Tasks whose body is the same and whose head is another, by what their logits take: the nearest first. */
const HEADS: readonly Task[] = ["seq-cls", "token-cls", "qa", "masked-lm", "causal-lm", "image-text-to-text"];

/** The nearest branch of the task's own graphs, else of the nearest task that was captured. */
function nearestFor(run: TrainingRun, family: FamilyGraphs, view: ConfigView): NearestGraph | undefined {
  const task = graphTask(run, family);
  const other = knows(family, task) || !HEADS.includes(task) ? undefined : HEADS.find((one) => knows(family, one));
  const near = nearestGraph(family, other ?? task, buildsNoMask(run.attention) ? "sdpa" : run.attention, view.scope);
  if (near === undefined) return undefined;
  const unmet = other === undefined ? near.unmet : [`task == '${other}'`, ...near.unmet];
  return { graph: buildsNoMask(run.attention) ? withFlash(near.graph) : near.graph, unmet };
}

/** What the captured branches ask of the config and the run's does not have; nothing where its own was captured. */
export function unmetConditions(run: TrainingRun, family: FamilyGraphs): readonly string[] {
  const view = configView(family, run.model.config, forwardSizes(run));
  return exactlyCaptured(run, family, view) === undefined ? (nearestFor(run, family, view)?.unmet ?? []) : [];
}

/** Why a run has no program. */
export function notCaptured({ attention, task }: TrainingRun, { family }: FamilyGraphs): Message {
  return say("engine.not-captured", { family, attention, task });
}

export function batchOf(
  { batch }: Pick<ArchitectureGraph, "batch">,
  expressions: Expressions,
  scope: Scope,
  autocast: DType | null,
  loadDtype: DType,
): BatchTensor[] {
  return batch.map(({ name, shape, dtype }) => ({
    name,
    sizes: shape.map((expression) => Number(expressions.evaluate(expression, scope))),
    dtype: inputDtype(dtype, autocast, loadDtype),
  }));
}

/** The run with the model beside the trained one in its place. */
export function companionRun(run: TrainingRun, { model, loadDtype }: CompanionSpec): TrainingRun {
  return { ...run, model, loadDtype, adapter: null, quantization: null, frozenParts: [], trained: {} };
}

/** Graphs of a family among those at hand. */
export function graphsOf(family: FamilyGraphs, name: string): FamilyGraphs | undefined {
  return name === family.family ? family : family.beside?.find((graphs) => graphs.family === name);
}

/** Sizes of one forward, which some trainers give several sequences a sample. */
export function forwardSizes(run: TrainingRun): RunSizes {
  return { ...sizesOf(run), B: run.microBatchSize * sequencesPerSample(run) };
}

/**
 * Dtype of a tensor of the batch. Images and sound that the model's code takes as they are (`$input`) stay float32 where
 * autocast converts them; without it a half-precision model only runs when the collator or the engine has cast them.
 */
function inputDtype(stated: string, autocast: DType | null, loadDtype: DType): DType {
  if (stated === "$input") return autocast === null ? loadDtype : "float32";
  return stated.replace(/^\$/, "") as DType;
}
