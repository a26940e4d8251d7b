/**
 * Gradients reduced in 4 bits, first within each machine and then across them (ZeRO++ qgZ). Sources:
 * deepspeed/runtime/comm/coalesced_collectives.py (`all_to_all_quant_reduce`), csrc/quantization/pt_binding.cpp
 * (`ds_swizzle_quant`, `quantized_reduction`).
 */
import type { Tensor } from "../../../../engine/tensor";
import type { Torch } from "../../../../engine/torch";
import { DEVICES_PER_MACHINE } from "../../../../hardware/devices";
import { reserve } from "../../strategy";
import type { ZeroParameter } from "./parameter";
import { HALF } from "./quantized";

/** Names of the function that live on from one gradient to the next. */
class Locals {
  private readonly held = new Map<string, readonly Tensor[]>();

  set(name: string, ...blocks: readonly Tensor[]): void {
    for (const old of this.held.get(name) ?? []) old.release();
    this.held.set(name, blocks);
  }

  clear(): void {
    for (const name of [...this.held.keys()]) this.set(name);
  }
}

/**
 * What this rank keeps of each gradient.
 *
 * @param scattered reduces one gradient as it is: vectors, and what does not divide into two parts a rank
 */
export function reducedInFourBits(
  torch: Torch,
  parameters: readonly ZeroParameter[],
  ranks: number,
  scattered: (parameter: ZeroParameter) => readonly Tensor[],
): Tensor[] {
  const names = new Locals();
  const bytes = (count: number): Tensor => reserve(torch, "swizzle_quant", count, "int8", "communication");
  const scales = (count: number): Tensor => reserve(torch, "swizzle_quant", count, "float32", "communication");
  const result: Tensor[] = [];
  for (const parameter of parameters) {
    const { elements, tensor } = parameter;
    const [rows = 1, columns] = tensor.sizes;
    if (columns === undefined || elements % (2 * ranks) !== 0) {
      result.push(...scattered(parameter));
      continue;
    }
    const within = Math.max(rows, columns, ranks);
    const across = Math.floor(within / DEVICES_PER_MACHINE);
    // Two elements a byte; then what a machine's ranks keep of it.
    const half = elements / 2;
    const kept = half / DEVICES_PER_MACHINE;
    names.set("intra", bytes(half), scales(within));
    names.set("local_output", bytes(half));
    names.set("scale_output", scales(within));
    names.set("global_input", bytes(kept), scales(across));
    names.set("global_output", bytes(kept));
    names.set("global_scale_output", scales(across));
    names.set("final_output", reserve(torch, "dequantize", 2 * kept, HALF, "communication"));
    // `sum(chunks) / nodes`: each sum beside the one before.
    const share = (): Tensor => reserve(torch, "add", elements / ranks, HALF, "communication");
    let sum = share();
    for (let node = 0; node < ranks / DEVICES_PER_MACHINE; node++) {
      const next = share();
      sum.release();
      sum = next;
    }
    result.push(sum);
  }
  names.clear();
  return result;
}
