/** Heads that give numbers instead of words: those that trainers put on the model, and PPO's value and reward models. */

import { say } from "../../words/message";
import type { DType } from "../engine/dtype";
import { Ledger } from "../engine/ledger";
import { Torch } from "../engine/torch";
import type { RunSizes } from "../graph/config";
import type { FamilyGraphs } from "../graph/types";
import type { LoadedModel, LoadOptions } from "../training/loaded-model";
import { loadModel } from "../training/model";
import { withWeights } from "../training/more-weights";
import { reserve } from "../training/parallel/strategy";
import type { CompanionSpec, CriticSpec, TrainerSpec, TrainingRun } from "../training/run";
import { hasValueHead, isOnline, type PpoGraphs, ppoGraphs, untilStates, valueHead } from "../training/trainers";
import { companionRun, forwardSizes, graphsOf, type Program, programOf } from "./program";
import type { Refusal } from "./setup";

/** A model that gives one number for every token, and its program at other sizes. */
export interface LoadedScorer {
  readonly model: LoadedModel;
  readonly dtype: DType;
  readonly at: (sizes: RunSizes) => Program;
}

/** PPO's value and reward model, and the graphs of its loop. */
export interface Scorers {
  readonly graphs: PpoGraphs;
  readonly value: LoadedScorer;
  readonly reward: LoadedScorer;
}

/** How scorers are loaded: as the policy, without its adapter. */
type Loading = Omit<LoadOptions, "adapter">;

/** A sequence classifier with one label; the policy's config where none is named. Null: its code cannot be followed. */
function scorerOf(
  torch: Torch,
  run: TrainingRun,
  family: FamilyGraphs,
  companion: CompanionSpec | undefined,
  trains: boolean,
  loading: Loading,
): LoadedScorer | null {
  const { model, loadDtype } = companion ?? { model: run.model, loadDtype: loading.loadDtype };
  const own = graphsOf(family, model.family);
  const labelled = { ...model, config: { ...model.config, num_labels: 1 } };
  const scorer: TrainingRun = { ...companionRun(run, { model: labelled, loadDtype }), task: "seq-cls" };
  const at = (sizes: RunSizes): Program | null => (own === undefined ? null : programOf(scorer, own, sizes, false));
  const program = at(forwardSizes(run));
  if (program === null || untilStates(program.graph, program.head) === null) return null;
  const loaded = loadModel(torch, program.graph, program.view, {
    ...loading,
    loadDtype,
    adapter: null,
    quantization: null,
    float8: null,
    frozenParts: [],
    head: program.head,
    family: model.family,
  });
  for (const parameter of loaded.parameters) {
    // Another model's parameters of the same names are others.
    parameter.pattern = `${trains ? "value" : "reward"}:${parameter.pattern}`;
    if (!trains) parameter.requiresGradFlag = false;
  }
  return { model: loaded, dtype: loadDtype, at: (sizes) => at(sizes) ?? program };
}

/** PPO's value and reward model; the first is trained. Or why they are not followed. */
export function scorersOf(
  torch: Torch,
  run: TrainingRun,
  family: FamilyGraphs,
  { scorers = {}, ppo }: TrainerSpec,
  loading: Loading,
): Scorers | Refusal {
  const graphs = ppoGraphs(family.trainers ?? []);
  if (graphs === null || ppo === undefined) return { reason: say("engine.ppo-library") };
  // Its loop generates with the model inside FSDP's wrapper, whose embeddings only the wrapper's own forward gathers
  // (trl/experimental/ppo/ppo_trainer.py, batch_generation; trl/models/utils.py, unwrap_model_for_generation).
  if (run.parallel.fsdp !== null && loading.sharded) return { reason: say("engine.ppo-fsdp") };
  const value = scorerOf(torch, run, family, scorers.value, true, loading);
  const reward = scorerOf(torch, run, family, scorers.reward, false, loading);
  if (value === null || reward === null) return { reason: say("engine.ppo-scorers", { family: run.model.family }) };
  return { graphs, value, reward };
}

/** Moments of AdamW. */
const MOMENTS = 2;

/**
 * What a critic keeps while the policy trains: its shard of the parameters and of both moments in float32, as it is trained
 * before (verl/trainer/ppo/ray_trainer.py, fit). Its own update needs less than the policy's, having no logits. False: its
 * code cannot be followed.
 *
 * @param ranks that share its parameters
 */
export function holdCritic(
  torch: Torch,
  run: TrainingRun,
  family: FamilyGraphs,
  spec: CriticSpec,
  loading: Loading,
  ranks: number,
): boolean {
  const apart = new Torch(new Ledger());
  const critic = scorerOf(apart, run, family, spec.model, true, { ...loading, sharded: true });
  if (critic === null) return false;
  const own = critic.model.elements / ranks;
  if (spec.keepsWeights) reserve(torch, "critic_shard", own, "float32", "weights");
  if (spec.keepsStates) reserve(torch, "critic_states", MOMENTS * own, "float32", "optimizer");
  return true;
}

/** The model that rates completions in every step; null: there is none, or functions do. Or why it is not followed. */
export function raterOf(
  torch: Torch,
  run: TrainingRun,
  family: FamilyGraphs,
  spec: TrainerSpec | null,
  loading: Loading,
): LoadedScorer | Refusal | null {
  if (spec === null || !isOnline(spec.kind) || spec.variant["rewards"] !== "model") return null;
  const rater = scorerOf(torch, run, family, spec.scorers?.reward, false, loading);
  return (
    rater ?? { reason: say("engine.reward-model", { trainer: spec.kind.toUpperCase(), family: run.model.family }) }
  );
}

/** The loaded model with the value head its trainer puts on it. */
export function withHead(
  torch: Torch,
  spec: TrainerSpec | null,
  model: LoadedModel,
  head: string | null,
  sharded: boolean,
): LoadedModel {
  if (!hasValueHead(spec)) return model;
  const own = valueHead(torch, model.byName.get(`${head}.weight`)?.size(1) ?? 0, sharded);
  return withWeights(model, own);
}
