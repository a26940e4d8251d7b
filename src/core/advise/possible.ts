/** What a device cannot do, whatever the files say: plans that need it are not offered. */
import { table } from "../../terms/table";
import type { Device } from "../hardware/types";
import type { Lever, Requirement } from "./types";

/** Architectures that a package has no kernels for. */
const WITHOUT: Readonly<Record<string, ReadonlySet<string>>> = table({
  // bitsandbytes/backends/mps/ops.py: 4-bit kernels alone, and none of an optimizer.
  bitsandbytes: new Set(["apple"]),
  // csrc is CUDA, and Composable Kernel or Triton on AMD.
  "flash-attn": new Set(["apple", "gaudi", "xe"]),
  // liger_kernel/ops: every one is written in Triton, which is not built for macOS.
  "liger-kernel": new Set(["apple"]),
  // torchao/optim/adam.py compiles its step, which asks for Triton.
  torchao: new Set(["apple"]),
});

function has(device: Device, { kind, name }: Requirement): boolean {
  if (kind === "package") return WITHOUT[name]?.has(device.architecture) !== true;
  // What is moved to the host stays where it is when both have one memory.
  return kind !== "host-memory" || !device.unified;
}

/** Whether a device can do what a lever needs. */
export function isPossible({ requires }: Lever, device: Device): boolean {
  return requires.every((requirement) => has(device, requirement));
}
