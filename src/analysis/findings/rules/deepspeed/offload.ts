/** Offload to the host and to drives. */
import { DEVICES_PER_MACHINE } from "../../../../core/hardware/devices";
import { sizeIn } from "../../../../terms/sizes";
import type { Setting } from "../../../frameworks/settings";
import { size } from "../../../messages/units";
import { hostRoom } from "../../../pins/machine";
import { type Facts, hit, type Rule, removal, replacement, rule, set } from "../../rule";

export const DEEPSPEED_OFFLOAD_RULES: readonly Rule[] = [
  rule("ds-offload-param-stage", "warning", (facts) => {
    const at = facts.deepspeed("offload_param");
    const on = at?.value === "cpu" || at?.value === "nvme";
    return hit(at, on && facts.stage !== 3, {
      args: { stage: facts.stage ?? 0 },
      fixes: [set("fix.zero-stage", { stage: 3 }, true, [{ name: "zero_stage", value: 3 }])],
    });
  }),
  rule("ds-offload-optimizer-stage", "warning", (facts) => {
    const at = facts.deepspeed("offload_optimizer");
    const on = at?.value === "cpu" || at?.value === "nvme";
    return hit(at, on && facts.stage === 0, {
      fixes: [set("fix.zero-stage", { stage: 2 }, true, [{ name: "zero_stage", value: 2 }])],
    });
  }),
  rule("ds-nvme-path", "error", (facts) =>
    (["offload_optimizer", "offload_param"] as const).flatMap((name) => {
      const at = facts.deepspeed(name);
      return hit(at, at?.value === "nvme" && facts.deepspeed(`${name}_nvme_path`) === undefined);
    }),
  ),
  rule("ds-nvme-aio", "information", (facts) => {
    const at = [facts.deepspeed("offload_optimizer"), facts.deepspeed("offload_param")].find(
      (setting) => setting?.value === "nvme",
    );
    return hit(at, facts.deepspeed("aio") === undefined);
  }),
  rule("ds-nvme-stage", "warning", (facts) => {
    const at = facts.deepspeed("offload_optimizer");
    return hit(at, at?.value === "nvme" && (facts.stage === 1 || facts.stage === 2), {
      args: { stage: facts.stage ?? 0 },
      fixes: replacement(at, '"cpu"', false),
    });
  }),
  rule("ds-deprecated-offload", "warning", (facts) =>
    (
      [
        ["deprecated_cpu_offload", "offload_optimizer", "offload_optimizer_block"],
        ["deprecated_cpu_offload_param", "offload_param", "offload_param_block"],
      ] as const
    ).flatMap(([old, next, block]) => {
      const at = facts.deepspeed(old);
      const both = facts.deepspeed(block) !== undefined;
      return hit(at, true, {
        args: { key: at?.key.replace(/^.*\./, "") ?? old, next: `"${next}": {"device": "cpu"}` },
        ...(both ? { severity: "error" as const } : {}),
        fixes: both
          ? removal(at)
          : removal(at).map((fix) => ({
              ...fix,
              title: { id: "fix.replace", args: { key: next, value: "cpu" } },
              changes: [{ name: next, value: "cpu" }],
            })),
      });
    }),
  ),
  rule("ds-torch-adam-offload", "warning", (facts) => {
    const at = facts.deepspeed("deepspeed_torch_adam");
    return hit(at, at?.value === true && facts.deepspeed("offload_optimizer")?.value === "cpu", {
      fixes: removal(at),
    });
  }),
  rule("ds-offload-ratio-stage", "warning", (facts) => {
    const at = facts.deepspeed("offload_optimizer_ratio");
    return hit(at, typeof at?.value === "number" && at.value < 1 && facts.stage !== 3, { fixes: removal(at) });
  }),
  rule("ds-host-memory", "information", (facts) => {
    const at = offloaded(facts);
    const { bytes, pinned, ranks } = keptOnMachine(facts);
    return hit(at, at !== undefined && bytes > 0, { args: { bytes: size(bytes), ranks, pinned: size(pinned) } });
  }),
  rule("ds-host-memory-full", "error", (facts) => {
    const at = offloaded(facts);
    const { bytes, ranks } = keptOnMachine(facts);
    const ram = hostRoom(facts.settings);
    return hit(at, at !== undefined && ram > 0 && bytes > ram, {
      args: { bytes: size(bytes), ram: size(ram), ranks },
    });
  }),
  rule("ds-nvme-full", "error", (facts) => {
    const at = offloaded(facts, ["nvme"]);
    const room = sizeIn(facts.settings.string("nvme_space"));
    const ranks = Math.min(facts.run?.parallel.worldSize ?? 1, DEVICES_PER_MACHINE);
    const bytes = ranks * (facts.estimate?.host.nvmeBytes ?? 0);
    return hit(at, room > 0 && bytes > room, { args: { bytes: size(bytes), room: size(room), ranks } });
  }),
];

/** What sends states or parameters to the host. */
function offloaded(facts: Facts, targets: readonly string[] = ["cpu", "nvme"]): Setting | undefined {
  return [facts.deepspeed("offload_optimizer"), facts.deepspeed("offload_param")].find((at) =>
    targets.includes(String(at?.value)),
  );
}

/** Bytes that all ranks of one machine keep in its memory, and those of them that are page-locked. */
function keptOnMachine({ estimate, run }: Facts): Record<"bytes" | "pinned" | "ranks", number> {
  const world = run?.parallel.worldSize ?? 1;
  const ranks = Math.min(world, DEVICES_PER_MACHINE);
  const pinned = estimate?.host.pinnedBytes ?? 0;
  const kept = pinned + (estimate?.host.pageableBytes ?? 0);
  // Master, gradient and two Adam moments in float32, and a 16-bit gradient buffer: 18 bytes over the ranks.
  const bytes = ranks * (kept > 0 ? kept : (18 * (estimate?.trainableParameters ?? 0)) / world);
  return { bytes, pinned: ranks * pinned, ranks };
}
