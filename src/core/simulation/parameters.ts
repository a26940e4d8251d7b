/** Parameters of a run's model. */
import { Ledger } from "../engine/ledger";
import { Torch } from "../engine/torch";
import type { FamilyGraphs } from "../graph/types";
import { promptSizes } from "../training/adapters/prompt-sizes";
import { loadModel } from "../training/model";
import type { TrainingRun } from "../training/run";
import { forwardSizes, programOf } from "./program";

/** Elements of parameters. */
export interface ParameterCounts {
  readonly parameters: number;
  readonly trainableParameters: number;
}

/** Parameters of the whole model and those that are trained, whatever part of it one GPU holds. */
export function countParameters(run: TrainingRun, family: FamilyGraphs): ParameterCounts | undefined {
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
    promptSizes: promptSizes(program.view.scope, run.task),
  });
  return { parameters: model.elements, trainableParameters: model.trainableElements };
}
