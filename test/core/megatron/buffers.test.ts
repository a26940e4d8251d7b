/**
 * Megatron's buffers against its own: receipts of `python -m capture.truth.megatron`, which lets Megatron-core build its model,
 * gradient buffers and optimizer on fake CUDA tensors of one rank.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { Ledger } from "../../../src/core/engine/ledger";
import { Torch } from "../../../src/core/engine/torch";
import { mainParameters } from "../../../src/core/training/parallel/main-parameters";

interface Receipt {
  readonly case: {
    readonly id: string;
    readonly data: number;
    readonly distributed: boolean;
    readonly fp32_gradients: boolean;
  };
  /** Bytes after the optimizer was made. */
  readonly resident: number;
  /** Of this rank, by name. */
  readonly parameters: readonly (readonly [name: string, sizes: readonly number[]])[];
}

/** Tables of positions and other buffers of the model's that hold no parameters. */
const BUFFERS = 4 * 1024;

const receipts = readFileSync(path.join(__dirname, "buffers.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Receipt);

describe("Megatron's buffers", () => {
  for (const { case: c, resident, parameters } of receipts)
    it(`${c.id}: ${c.distributed ? "spread" : "whole"}, gradients in ${c.fp32_gradients ? "float32" : "bfloat16"}`, () => {
      const ledger = new Ledger();
      const torch = new Torch(ledger);
      const tensors = parameters.map(([, sizes]) => {
        const tensor = torch.empty("empty", sizes, "bfloat16");
        tensor.requiresGradFlag = true;
        return tensor;
      });
      const gradientDtype = c.fp32_gradients ? "float32" : "bfloat16";
      const strategy = mainParameters({ dtype: "bfloat16", gradientDtype, sharded: c.distributed }, c.data, 1);
      strategy.prepare(torch, tensors);
      strategy.optimizerGroups(torch, [tensors]);
      assert.ok(Math.abs(ledger.live - resident) <= BUFFERS, `${ledger.live} of ${resident}`);
    });
});
