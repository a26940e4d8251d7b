/** A machine beside its GPUs: its own memory, and the links between GPUs. */
import { machineMemory } from "../../../core/cost/host-memory";
import { stepTime } from "../../../core/cost/step-time";
import { DEVICES_PER_MACHINE } from "../../../core/hardware/devices";
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
  // Even with all that may overlap, most of a step waits for other GPUs (src/core/cost/traffic.ts).
  rule("link-slow", "information", ({ run, estimate, settings }) => {
    if (run === null || estimate === undefined || run.parallel.worldSize === 1) return [];
    const time = stepTime(run, estimate);
    const sent = time?.demands.find(({ road }) => road === "interconnect");
    if (time?.waits !== true || sent === undefined) return [];
    const far = run.parallel.worldSize > DEVICES_PER_MACHINE;
    const at =
      settings.find(far ? "machine_link" : "gpu_link") ?? settings.find("world_size") ?? settings.find("model");
    const spent = Object.values(time.parts).reduce((sum, part) => sum + part, 0);
    const percent = Math.round((100 * time.parts.interconnect) / spent);
    return hit(at, true, { args: { bytes: size(sent.bytes), percent } });
  }),
];
