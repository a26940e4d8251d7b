/** GPUs: how many there are, and what shards the model over them. */

import { type FamilyFacts, factsOf } from "../../../../core/graph/facts";
import { modelParallelSize } from "../../../../core/training/parallel/degrees";
import { optimizerRow } from "../../../../terms/optimizers";
import type { Setting } from "../../../frameworks/settings";
import { holds } from "../../../frameworks/versions";
import { wrapsBy } from "../../../resolve/fsdp";
import { type Facts, hit, type Rule, removal, replacement, rule } from "../../rule";

/** Where FSDP is asked for. */
function fsdpAt(facts: Facts): Setting | undefined {
  return facts.stated("fsdp") ?? facts.stated("fsdp_options");
}

/** The run's family, where the Trainer has it wrapped by what its class names (transformers/training_args.py, from 5.0 on always). */
function wrappedByFamily(facts: Facts): { family: string; facts: FamilyFacts; task: string } | null {
  const { run, settings, trainer, resolution } = facts;
  const byClass = settings.find("fsdp_wrap_class") === undefined && settings.find("spread_by") === undefined;
  if (!trainer || !byClass || run?.parallel.fsdp == null || run.parallel.worldSize < 2) return null;
  if (!holds("transformers>=5", resolution.libraries) || wrapsBy(resolution) !== "class") return null;
  return { family: run.model.family, facts: factsOf(run.model.family), task: run.task };
}

export const TRAINER_SHARDING_RULES: readonly Rule[] = [
  rule("checkpoint-twice", "error", (facts) => {
    const at = facts.own("gradient_checkpointing");
    const other = facts.own("fsdp_activation_checkpointing");
    // Other trainers hand FSDP's options to accelerate by the environment: TrainingArguments never sees both.
    return hit(at, facts.trainer && at?.value === true && other?.value === true && at.key !== other.key, {
      related: [other],
      fixes: replacement(at, "false", true),
    });
  }),
  rule("fsdp-offload-alone", "error", (facts) => {
    const at = facts.own("fsdp_options");
    return hit(at, typeof at?.value === "string" && at.value.trim() === "offload", {
      fixes: replacement(at, '"full_shard offload"', false),
    });
  }),
  // accelerate/state.py (distributed_type): the mesh of a ParallelismConfig shards nothing, only FSDP's plugin does.
  rule("shard-size-alone", "warning", (facts) => {
    const at = facts.stated("dp_shard_size");
    const meshed = at?.key.startsWith("parallelism_config") === true && Number(at.value) > 1;
    const alone = facts.inputs.deepspeed === undefined && facts.run?.parallel.fsdp === null;
    return hit(at, meshed && alone, { args: { size: Number(at?.value) } });
  }),
  rule("deepspeed-and-fsdp", "error", (facts) => {
    const at = facts.own("fsdp_options");
    const on = typeof at?.value === "string" ? at.value !== "" : at?.value === true;
    return hit(at, on && facts.own("deepspeed") !== undefined, {
      related: [facts.own("deepspeed")],
      fixes: removal(at),
    });
  }),
  // accelerate/utils/dataclasses.py (set_auto_wrap_policy): "Could not find the transformer layer class"
  rule("fsdp-units", "error", (facts) => {
    const { family, facts: said, task } = wrappedByFamily(facts) ?? {};
    return hit(fsdpAt(facts), said?.lacksUnits?.includes(task ?? "") === true, { args: { family: family ?? "" } });
  }),
  // accelerate/utils/fsdp_utils.py (fsdp2_prepare_model, from 1.14 on): `fully_shard` of the input embeddings, which a unit has sharded, or
  // which the class does not tell
  rule("fsdp2-embeddings", "warning", (facts) => {
    const { family, facts: said, task = "" } = wrappedByFamily(facts) ?? {};
    const asks = facts.run?.parallel.fsdp?.version === 2 && holds("accelerate>=1.14", facts.resolution.libraries);
    const stops = said?.lacksEmbeddings?.includes(task) === true || said?.embedsInUnit?.includes(task) === true;
    return hit(fsdpAt(facts), asks && stops && said?.lacksUnits?.includes(task) !== true, {
      args: { family: family ?? "" },
    });
  }),
  rule("fsdp-8bit-optimizer", "warning", (facts) => {
    const at = facts.own("optimizer");
    return hit(at, optimizerRow(String(at?.value))?.bits === 8 && facts.run?.parallel.fsdp != null, {
      args: { optimizer: String(at?.value) },
      fixes: replacement(at, "adamw_torch_fused", false),
    });
  }),
  rule("fsdp-accumulation", "information", (facts) => {
    const at = facts.own("gradient_accumulation_steps");
    const parallel = facts.run?.parallel;
    const keeps = parallel?.fsdp != null && parallel.fsdp.reducesEach !== true && parallel.worldSize > 1;
    const isWhole = facts.run?.adapter === null && Number(at?.value) > 1;
    return hit(at, facts.framework.trainer !== undefined && keeps && isWhole, { args: { steps: Number(at?.value) } });
  }),
  rule("data-parallel", "hint", (facts) => {
    const { fsdp, tensorParallel = 1, inOneProcess } = facts.run?.parallel ?? {};
    const at = inOneProcess === undefined ? facts.pin("world_size") : facts.stated("visible_devices");
    const launched = facts.settings.all("world_size").some((setting) => setting.from === "linked");
    // A model that is split while it is loaded needs the launcher for that.
    const sharded = facts.inputs.deepspeed !== undefined || fsdp != null || tensorParallel > 1;
    return hit(at, facts.trainer && !launched && !sharded && typeof at?.value === "number" && at.value > 1, {
      args: { world: Number(at?.value ?? 1) },
    });
  }),
  rule("gpu-count-differs", "warning", (facts) => {
    const at = facts.pin("world_size");
    const launched = facts.settings.all("world_size").find((setting) => setting.from === "linked");
    return hit(at, launched !== undefined && at !== undefined && launched.value !== at.value, {
      args: { pinned: String(at?.value), launched: String(launched?.value), key: launched?.key ?? "" },
      related: [launched],
    });
  }),
  // Published scripts leave the number of nodes at 1 for their user to change.
  rule("parallel-degrees", "warning", (facts) => {
    const at = facts.stated("tensor_parallel") ?? facts.stated("context_parallel") ?? facts.stated("pipeline_parallel");
    const parallel = facts.run?.parallel;
    if (parallel === undefined || facts.world === undefined) return [];
    const product = modelParallelSize(parallel);
    return hit(at, product > 1 && facts.world % product !== 0, { args: { product, world: facts.world } });
  }),
];
