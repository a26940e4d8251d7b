/** A machine's own memory. */
import { machineMemory } from "../../../core/cost/host-memory";
import { size } from "../../messages/units";
import { hostRoom, machineOf } from "../../pins/machine";
import { hit, type Rule, rule } from "../rule";

/** What DeepSpeed offloads has a finding of its own. */
const OWN = ["offload_optimizer", "offload_param"] as const;

export const HOST_RULES: readonly Rule[] = [
  rule("host-memory-full", "error", (facts) => {
    const { run, estimate, settings } = facts;
    const at = settings.find("host_memory");
    if (run === null || estimate === undefined || OWN.some((name) => facts.deepspeed(name)?.value === "cpu")) return [];
    const { ranks, trainingBytes, loadingBytes, tiers } = machineMemory(run, estimate, machineOf(settings));
    const bytes = Math.max(trainingBytes, loadingBytes ?? 0);
    return hit(
      at,
      tiers.some(({ tier }) => tier === "beyond"),
      { args: { bytes: size(bytes), ram: size(hostRoom(settings)), ranks } },
    );
  }),
];
