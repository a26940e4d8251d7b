/** Loading of models that are packed on the way, whose adapters are made from their weights, or beside which others lie. */
import { Ledger } from "../engine/ledger";
import { Torch } from "../engine/torch";
import type { RunSizes } from "../graph/config";
import { isOfRun } from "../graph/expression";
import type { ArchitectureGraph, FamilyGraphs } from "../graph/types";
import { initializesOnDevice } from "../training/adapters/initialization";
import type { LoadOptions } from "../training/loaded-model";
import { packsOnTheFly } from "../training/loading";
import { loadModel } from "../training/model";
import type { TrainingRun } from "../training/run";
import type { Program } from "./program";

/** A model and how it is loaded. */
export interface Loaded {
  readonly program: Program;
  readonly options: LoadOptions;
}

/** Weights of a model that is not run. */
export function holdWeights(torch: Torch, { elements, dtype }: NonNullable<TrainingRun["embeds"]>): void {
  torch.ledger.relabel(torch.empty("empty", [elements], dtype).storage.id, "weights");
}

/** The event stream of loading; runs that load one model alike have the same. */
export function loadingOf(models: readonly Loaded[], run: TrainingRun, family: FamilyGraphs, sizes: RunSizes): Ledger {
  const [model, ...others] = models;
  const { kept } = family;
  const follow = (): Ledger => followed(models, run);
  if (kept === undefined || model === undefined || others.length > 0) return follow();
  const question = questionOf(model, run, family, sizes);
  return question === null ? follow() : kept.of(question, Ledger, follow);
}

function followed(models: readonly Loaded[], { allocator, embeds }: TrainingRun): Ledger {
  const ledger = new Ledger(allocator?.roundupDivisions);
  ledger.startCounting();
  const torch = new Torch(ledger);
  for (const { program, options } of models)
    loadModel(torch, program.graph, program.view, {
      ...options,
      packsOnTheFly: packsOnTheFly(options.quantization),
      initializes: initializesOnDevice(options.adapter),
    });
  if (embeds !== undefined) holdWeights(torch, embeds);
  return ledger;
}

/** All that the stream depends on; null where code of the run's strategy takes part, which has no text. */
function questionOf(
  { program: { graph, view }, options }: Loaded,
  { allocator, embeds, model }: TrainingRun,
  { kept, defaults, derived, layerKind }: FamilyGraphs,
  sizes: RunSizes,
): string | null {
  const parts = [view.expressions, defaults, derived, graph.parameters, graph.buffers, graph.tied];
  const reads = [...Object.values(derived), layerKind ?? "", ...textsOf(graph)].some(isOfRun);
  const all = [parts.map((part) => kept?.numberOf(part)), options, allocator, embeds, model, reads ? sizes : null];
  let isCode = false;
  const question = JSON.stringify(all, (_, value: unknown) => {
    isCode ||= typeof value === "function";
    return value;
  });
  return isCode ? null : question;
}

/** The expressions that say which weights and buffers there are, and their sizes. */
function textsOf({ parameters, buffers, tied }: ArchitectureGraph): readonly string[] {
  const own = [...parameters, ...buffers].flatMap(({ shape, layers = [], count = "", when = "", turns = "" }) => [
    ...shape,
    ...layers,
    ...[count, when, turns],
  ]);
  return [...own, ...tied.map(({ when }) => when)];
}
