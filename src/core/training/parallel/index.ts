/** Which strategy a run uses on one of its devices. */
import type { ModuleHooks } from "../../engine/module-hooks";
import { deviceOf, usableBytes } from "../../hardware/devices";
import type { TrainingRun } from "../run";
import type { SequencePlan } from "../specs/parallel";
import { splittingSequences } from "./context";
import { DistributedDataParallel, singleDevice } from "./ddp";
import { expertShare } from "./degrees";
import { fsdp } from "./fsdp";
import { mainParameters } from "./main-parameters";
import { Replicas } from "./replicas";
import type { Strategy } from "./strategy";
import { SplitModules } from "./tensor-plan/modules";
import { planOf, type TensorPlan } from "./tensor-plan/plan";
import { aroundSequences } from "./tensor-plan/sequences";
import { zero } from "./zero";

export type { ForwardUsage, HostUse, ModelEnds, Strategy } from "./strategy";

/** The strategy of a run whose degrees are resolved (`localRun`). */
export function chooseStrategy(run: TrainingRun): Strategy {
  const plan = tensorPlanOf(run);
  const { ring } = run.parallel;
  const spread = byData(run);
  const strategy = ring === undefined ? spread : splittingSequences(spread, ring.degree);
  const { sequenceParallel, sequencePlan, tensorParallel } = run.parallel;
  if (tensorParallel > 1 && sequenceParallel === true && sequencePlan !== undefined)
    return gatheringSequences(strategy, sequencePlan, tensorParallel);
  return plan === null ? strategy : Object.create(strategy, { hooks: { value: new SplitModules(plan) } });
}

/** How the run's linear layers are split by transformers' plan; null: they are not. */
export function tensorPlanOf({ model, parallel }: TrainingRun): TensorPlan | null {
  const { tensorPlan } = parallel;
  return tensorPlan === undefined ? null : planOf(model.family, tensorPlan);
}

/** The strategy with the hooks of tensor parallelism inside its own, which it has once it is prepared. */
function gatheringSequences(strategy: Strategy, plan: SequencePlan, degree: number): Strategy {
  const known = new Map<ModuleHooks | undefined, ModuleHooks>();
  function hooksOf(this: Strategy): ModuleHooks {
    const inner = Reflect.get(strategy, "hooks", this) as ModuleHooks | undefined;
    const hooks = known.get(inner) ?? aroundSequences(inner, plan, degree);
    known.set(inner, hooks);
    return hooks;
  }
  return Object.create(strategy, { hooks: { get: hooksOf } });
}

function byData(run: TrainingRun): Strategy {
  const { parallel } = run;
  if (parallel.mainParameters !== undefined)
    return mainParameters(parallel.mainParameters, Math.max(1, parallel.worldSize), expertShare(parallel));
  if (parallel.deepspeed !== null) {
    const { shardRanks = parallel.worldSize } = parallel.deepspeed;
    const room = run.device === null ? Number.POSITIVE_INFINITY : usableBytes(deviceOf(run.device));
    return zero(parallel.deepspeed, Math.max(1, Math.min(shardRanks, parallel.worldSize)), room);
  }
  if (parallel.worldSize <= 1) return singleDevice();
  if (parallel.fsdp !== null) return fsdp(run);
  if (parallel.inOneProcess !== undefined) return new Replicas(parallel.worldSize, parallel.inOneProcess.keepsAutocast);
  return new DistributedDataParallel(parallel.ddp ?? {});
}
