/** Levers that move what waits to host memory or NVMe. */
import type { TrainingRun } from "../../training/run";
import type { Lever, LeverOption, Requirement } from "../types";
import { hostMemory, lever, one, set, withDeepSpeed, withParallel } from "./build";

/** What DeepSpeed's examples use; it wants a directory (deepspeed/runtime/zero/offload_config.py). */
const NVME_PATH = "/local_nvme";

/** What may wait on a drive, by DeepSpeed's names. */
const KINDS = [
  ["offloadOptimizer", "offload_optimizer"],
  ["offloadParam", "offload_param"],
] as const;

/** Only the third stage knows drives (deepspeed/runtime/zero/stage3.py). */
function onDrive(run: TrainingRun, moved: readonly (typeof KINDS)[number][]): LeverOption {
  return {
    value: "nvme",
    run: withDeepSpeed(run, Object.fromEntries(moved.map(([field]) => [field, "nvme" as const]))),
    settings: moved.flatMap(([, name]) => [set(name, "nvme"), set(`${name}_nvme_path`, NVME_PATH)]),
  };
}

/** What waits in host memory waits on a drive: not a byte less on the GPU, but on the host. */
function fromHost(run: TrainingRun): LeverOption[] {
  const { deepspeed } = run.parallel;
  const waiting = deepspeed?.zeroStage === 3 ? KINDS.filter(([field]) => deepspeed[field] === "cpu") : [];
  return waiting.length === 0 ? [] : [onDrive(run, waiting)];
}

/** Past the host: optimizer states, then parameters, too. */
function fromDevice(run: TrainingRun): LeverOption[] {
  const { deepspeed } = run.parallel;
  const here = deepspeed?.zeroStage === 3 && KINDS.every(([field]) => deepspeed[field] === "none");
  return here ? [onDrive(run, KINDS.slice(0, 1)), { ...onDrive(run, KINDS), value: "nvme, all" }] : [];
}

const DRIVE: readonly Requirement[] = [{ kind: "nvme", name: "offloaded states" }];

export const OFFLOAD: readonly Lever[] = [
  // Before the levers that put something into host memory: one file states the device once.
  lever("offload-nvme", "nothing", fromHost, { requires: DRIVE }),
  lever("offload-nvme", "nothing", fromDevice, { requires: DRIVE, uneven: true, rare: true }),
  lever(
    "offload-fsdp",
    "nothing",
    (run) => {
      const { fsdp } = run.parallel;
      return fsdp !== null && !fsdp.cpuOffload && run.parallel.worldSize >= 2
        ? one("cpu", withParallel(run, { fsdp: { ...fsdp, cpuOffload: true } }), set("fsdp_cpu_offload", true))
        : [];
    },
    { requires: [hostMemory("parameters and optimizer")], uneven: true },
  ),
  lever(
    "offload-optimizer",
    "nothing",
    (run) => {
      const { deepspeed } = run.parallel;
      if (deepspeed === null || deepspeed.offloadOptimizer !== "none") return [];
      // Without partitioning there is nothing to offload.
      const zeroStage = deepspeed.zeroStage === 0 ? 2 : deepspeed.zeroStage;
      const stage = zeroStage === deepspeed.zeroStage ? [] : [set("zero_stage", zeroStage)];
      return one(
        "cpu",
        withDeepSpeed(run, { offloadOptimizer: "cpu", zeroStage }),
        ...stage,
        set("offload_optimizer", "cpu"),
      );
    },
    { requires: [hostMemory("optimizer")], uneven: true },
  ),
  lever(
    "offload-parameters",
    "nothing",
    (run) => {
      const { deepspeed } = run.parallel;
      if (deepspeed === null || deepspeed.offloadParam !== "none") return [];
      const stage = deepspeed.zeroStage === 3 ? [] : [set("zero_stage", 3)];
      return one(
        "cpu",
        withDeepSpeed(run, { offloadParam: "cpu", zeroStage: 3 }),
        ...stage,
        set("offload_param", "cpu"),
      );
    },
    { requires: [hostMemory("parameters")], uneven: true },
  ),
  // One switch, two meanings: every saved activation (trl, axolotl, torchtune), or what checkpointing keeps of a layer.
  lever(
    "offload-activations",
    "nothing",
    (run) =>
      run.offloadsActivations === undefined
        ? one("host", { ...run, offloadsActivations: "once" }, set("offload_activations", true))
        : [],
    { requires: [hostMemory("activations")], uneven: true },
  ),
  lever(
    "offload-checkpoints",
    "nothing",
    (run) =>
      run.checkpointing !== null && run.checkpointing.offloads !== true
        ? one(
            "host",
            { ...run, checkpointing: { ...run.checkpointing, offloads: true } },
            set("offload_activations", true),
          )
        : [],
    { requires: [hostMemory("activations")], uneven: true },
  ),
];
