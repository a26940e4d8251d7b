/** What a run is simulated with, chosen before anything is allocated. */

import { type Message, say } from "../../words/message";
import { keeps } from "../engine/kept";
import type { RunSizes } from "../graph/config";
import type { FamilyGraphs, TrainerGraph } from "../graph/types";
import { virtualTokens } from "../training/adapters/prompts";
import { type OptimizerFactory, optimizerFactory } from "../training/optimizers";
import { isSharded } from "../training/parallel/local";
import type { TrainerSpec, TrainingRun } from "../training/run";
import { asksForLogits, calledGraph, lossOf, trainerOf } from "../training/trainers";
import { forwardSizes, notCaptured, type Program, programOf } from "./program";

/** Why something of a run is not followed. */
export interface Refusal {
  readonly reason: Message;
}

export interface Setup {
  readonly run: TrainingRun;
  readonly family: FamilyGraphs;
  /** Sizes of one micro-batch's forward. */
  readonly sizes: RunSizes;
  readonly program: Program;
  /** The trainer whose own loss is run; null: the model's. */
  readonly spec: TrainerSpec | null;
  /** That loss; undefined without a trainer. */
  readonly loss: TrainerGraph | undefined;
  readonly optimizer: OptimizerFactory;
  /** Modules keep tensors to their next forward. */
  readonly keepsStates: boolean;
}

/** Whether a trainer's loss was captured and the model's graph can be cut where it calls it. */
function hasLoss(family: FamilyGraphs, trainer: TrainerSpec, program: Program | null): boolean {
  const loss = lossOf(family, trainer);
  return loss !== undefined && program !== null && calledGraph(loss, program.graph, program.head) !== null;
}

/** Whether a trainer's loss multiplies hidden states with the model's head itself. */
function takesHead(family: FamilyGraphs, trainer: TrainerSpec): boolean {
  const loss = lossOf(family, trainer);
  return loss !== undefined && !asksForLogits(loss);
}

/** The run's program, trainer and optimizer, or why it has none. */
export function setupOf(run: TrainingRun, family: FamilyGraphs): Setup | Refusal {
  const trainer = trainerOf(run);
  const sizes = forwardSizes(run);
  const own = trainer === null ? null : programOf(run, family, sizes, false);
  // Where TRL's own head cannot be followed, Liger's fused loss stands in for it.
  const prompted = virtualTokens(run.adapter) > 0;
  const spec =
    trainer?.kind === "sft" &&
    ((isSharded(run) && takesHead(family, trainer)) || prompted || !hasLoss(family, trainer, own))
      ? null
      : trainer;
  const program = spec === null ? programOf(run, family, sizes, run.fusedLoss) : own;
  if (program === null) return { reason: notCaptured(run, family) };
  const optimizer = optimizerFactory(run.optimizer);
  if (optimizer === undefined) return { reason: say("engine.optimizer", { name: run.optimizer.name }) };
  if (spec !== null && prompted) return { reason: say("engine.trained-prompts", { trainer: spec.kind.toUpperCase() }) };
  if (spec !== null && !hasLoss(family, spec, program))
    return {
      reason: say("engine.trainer", { trainer: spec.kind.toUpperCase(), task: run.task, family: family.family }),
    };
  const loss = spec === null ? undefined : lossOf(family, spec);
  return { run, family, sizes, program, spec, loss, optimizer, keepsStates: keeps(program.graph) };
}
