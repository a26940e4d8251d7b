/** Offload to the host and to drives. */
import { DEVICES_PER_MACHINE } from "../../../../core/hardware/devices";
import { sizeIn } from "../../../../terms/sizes";
import { size } from "../../../messages/units";
import type { Setting } from "../../../settings";
import { type Facts, hit, type Rule, removal, replacement, set } from "../../rule";

export const DEEPSPEED_OFFLOAD_RULES: readonly Rule[] = [
  {
    code: "ds-offload-param-stage",
    severity: "warning",
    title: "Parameter offload below stage 3",
    why: "`offload_param` is read only by ZeRO stage 3, where parameters are partitioned. In other stages it has no effect.",
    mend: "Set `stage` to 3, or remove the block.",
    en: "`offload_param` is read only in stage 3; in stage {stage} it saves nothing.",
    zh: "`offload_param` 仅在 ZeRO 阶段 3 中生效；在阶段 {stage} 下没有任何节省。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}' },
    check: (facts) => {
      const at = facts.deepspeed("offload_param");
      const on = at?.value === "cpu" || at?.value === "nvme";
      return hit(at, on && facts.stage !== 3, {
        args: { stage: facts.stage ?? 0 },
        fixes: [set("fix.zero-stage", { stage: 3 }, true, [{ name: "zero_stage", value: 3 }])],
      });
    },
  },
  {
    code: "ds-offload-optimizer-stage",
    severity: "warning",
    title: "Optimizer offload without ZeRO",
    why: "With stage 0 no ZeRO optimizer exists whose states could live in host memory; the block is ignored.",
    mend: "Set `stage` to 1, 2 or 3, or remove the block.",
    en: "`offload_optimizer` needs ZeRO stage 1 or higher; in stage 0 it saves nothing.",
    zh: "`offload_optimizer` 需要 ZeRO 阶段 1 以上；阶段 0 没有任何节省。",
    example: { deepspeed: '{"zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}}' },
    check: (facts) => {
      const at = facts.deepspeed("offload_optimizer");
      const on = at?.value === "cpu" || at?.value === "nvme";
      return hit(at, on && facts.stage === 0, {
        fixes: [set("fix.zero-stage", { stage: 2 }, true, [{ name: "zero_stage", value: 2 }])],
      });
    },
  },
  {
    code: "ds-nvme-path",
    severity: "error",
    title: "NVMe offload without a path",
    why: "Offload to NVMe writes to the directory `nvme_path`; without it DeepSpeed fails when the swapper starts.",
    mend: "Add `nvme_path`, a directory on a local NVMe drive.",
    en: "NVMe offload needs `nvme_path`, a directory on a local drive.",
    zh: "NVMe 卸载需要 `nvme_path`（本地磁盘上的文件夹）。",
    example: { deepspeed: '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme"}}, "aio": {}}' },
    check: (facts) =>
      (["offload_optimizer", "offload_param"] as const).flatMap((name) => {
        const at = facts.deepspeed(name);
        return hit(at, at?.value === "nvme" && facts.deepspeed(`${name}_nvme_path`) === undefined);
      }),
  },
  {
    code: "ds-nvme-aio",
    severity: "information",
    title: "NVMe offload with default I/O settings",
    why: "The `aio` block sets queue depth and block size of the asynchronous reads and writes; the defaults rarely reach the speed of the drive.",
    mend: 'Add an `aio` block, for example `{"block_size": 1048576, "queue_depth": 32}`.',
    en: "NVMe offload without an `aio` block runs with default queue depth and block size.",
    zh: "NVMe 卸载未配置 `aio`，将使用默认的队列深度与块大小。",
    example: {
      deepspeed: '{"zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/nvme"}}}',
    },
    check: (facts) => {
      const at = [facts.deepspeed("offload_optimizer"), facts.deepspeed("offload_param")].find(
        (setting) => setting?.value === "nvme",
      );
      return hit(at, facts.deepspeed("aio") === undefined);
    },
  },
  {
    code: "ds-nvme-stage",
    severity: "warning",
    title: "NVMe offload below stage 3",
    why: "Swapping optimizer states to NVMe exists only in stage 3; stages 1 and 2 offload to CPU memory.",
    mend: "Set `stage` to 3, or the device to `cpu`.",
    en: "NVMe offload works only in stage 3; stage {stage} can offload to `cpu`.",
    zh: "NVMe 卸载仅支持 ZeRO 阶段 3；阶段 {stage} 只能卸载到 `cpu`。",
    example: {
      deepspeed:
        '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}, "aio": {}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("offload_optimizer");
      return hit(at, at?.value === "nvme" && (facts.stage === 1 || facts.stage === 2), {
        args: { stage: facts.stage ?? 0 },
        fixes: replacement(at, '"cpu"', false),
      });
    },
  },
  {
    code: "ds-deprecated-offload",
    severity: "warning",
    title: "Old offload switches",
    why: "`cpu_offload` and `cpu_offload_param` are the old forms of the `offload_optimizer` and `offload_param` blocks. Both forms together stop DeepSpeed.",
    mend: 'Write `"offload_optimizer": {"device": "cpu"}`.',
    en: "`{key}` is deprecated: use `{next}`.",
    zh: "`{key}` 已弃用，请改用 `{next}`。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2, "cpu_offload": true}}' },
    check: (facts) =>
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
  },
  {
    code: "ds-torch-adam-offload",
    severity: "warning",
    title: "torch_adam with optimizer offload",
    why: "Optimizer states in host memory need DeepSpeed's CPU Adam; `torch_adam: true` asks for PyTorch's, which is many times slower on the CPU.",
    mend: "Remove `torch_adam`.",
    en: "`torch_adam` with optimizer offload runs PyTorch's Adam on the CPU: remove it to get DeepSpeedCPUAdam.",
    zh: "优化器卸载时 `torch_adam` 会在 CPU 上运行 PyTorch 的 Adam：移除后将使用 DeepSpeedCPUAdam。",
    example: {
      deepspeed:
        '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, "optimizer": {"type": "Adam", "params": {"torch_adam": true}}}',
    },
    check: (facts) => {
      const at = facts.deepspeed("deepspeed_torch_adam");
      return hit(at, at?.value === true && facts.deepspeed("offload_optimizer")?.value === "cpu", {
        fixes: removal(at),
      });
    },
  },
  {
    code: "ds-offload-ratio-stage",
    severity: "warning",
    title: "Partial offload below stage 3",
    why: "`ratio` below 1 (part of the update on the CPU) exists in stage 3 only.",
    mend: "Set `stage` to 3, or remove `ratio`.",
    en: "`ratio` is read only in stage 3.",
    zh: "`ratio` 仅在 ZeRO 阶段 3 中生效。",
    example: { deepspeed: '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}}' },
    check: (facts) => {
      const at = facts.deepspeed("offload_optimizer_ratio");
      return hit(at, typeof at?.value === "number" && at.value < 1 && facts.stage !== 3, { fixes: removal(at) });
    },
  },
  {
    code: "ds-host-memory",
    severity: "information",
    title: "Offload needs host memory",
    why: "Offloaded states live in the RAM of the machine, page-locked by default: for Adam about 16 to 18 bytes per parameter over all ranks of a node.",
    mend: "Check the RAM of each node, and the `memlock` limit or the container's shared memory.",
    en: "Offload keeps {bytes} in the memory of a machine, {ranks} ranks together{pinned}.",
    zh: "卸载会在一台机器的内存中占用 {bytes}（{ranks} 个 rank 合计）{pinned}。",
    example: {
      train: "deepspeed: ds.json\nbf16: true",
      deepspeed:
        '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}',
      pins: "sequence_length: 128\ndevice: { name: 24GB, count: 2 }",
    },
    check: (facts) => {
      const at = offloaded(facts);
      const { bytes, ranks } = keptOnMachine(facts);
      return hit(at, at !== undefined && bytes > 0, {
        args: {
          bytes: size(bytes),
          ranks,
          pinned: (facts.estimate?.host.pinnedBytes ?? 0) > 0 ? " (page-locked)" : "",
        },
      });
    },
  },
  {
    code: "ds-host-memory-full",
    severity: "error",
    title: "Offload needs more memory than a machine has",
    why: "All ranks of a machine keep what they offload in the same RAM, page-locked by default, which cannot be swapped out: the processes are killed, or allocation fails, before the first step.",
    mend: "Spread the run over more machines, offload parameters or the optimizer only, or correct `host_memory`.",
    en: "Offload needs {bytes} on a machine with {ram}: {ranks} ranks do not fit.",
    zh: "卸载在一台机器上需要 {bytes}，而该机器只有 {ram}：{ranks} 个 rank 放不下。",
    example: {
      train: "deepspeed: ds.json\nbf16: true",
      deepspeed:
        '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}',
      pins: "sequence_length: 128\nhost_memory: 4GiB\ndevice: { name: 24GB, count: 2 }",
      model: { hidden_size: 2048, intermediate_size: 5504, num_hidden_layers: 16, vocab_size: 32000 },
    },
    check: (facts) => {
      const at = offloaded(facts);
      const { bytes, ranks } = keptOnMachine(facts);
      const ram = sizeIn(facts.settings.string("host_memory"));
      return hit(at, at !== undefined && ram > 0 && bytes > ram, {
        args: { bytes: size(bytes), ram: size(ram), ranks },
      });
    },
  },
];

/** What sends states or parameters to the host. */
function offloaded(facts: Facts): Setting | undefined {
  return [facts.deepspeed("offload_optimizer"), facts.deepspeed("offload_param")].find(
    (at) => at?.value === "cpu" || at?.value === "nvme",
  );
}

/** Bytes that all ranks of one machine keep in its memory. */
function keptOnMachine({ estimate, run }: Facts): { readonly bytes: number; readonly ranks: number } {
  const world = run?.parallel.worldSize ?? 1;
  const ranks = Math.min(world, DEVICES_PER_MACHINE);
  const kept = (estimate?.host.pinnedBytes ?? 0) + (estimate?.host.pageableBytes ?? 0);
  // Master, gradient and two Adam moments in float32, and a 16-bit gradient buffer: 18 bytes over the ranks.
  return { bytes: ranks * (kept > 0 ? kept : (18 * (estimate?.trainableParameters ?? 0)) / world), ranks };
}
