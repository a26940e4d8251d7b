/** What flash attention's backward takes besides the tensors that the dispatcher sees. */
import assert from "node:assert/strict";
import { kernelTemporaries } from "../../../src/core/engine/kernels";
import { cumsum } from "../../../src/core/engine/ops/arithmetic";
import { simulate } from "../../../src/core/simulate";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";
import { lab } from "./lab";

function temporaries(config: object, sequenceLength: number, loadDtype: "bfloat16" | "float32"): number {
  const base = causalRun({ microBatchSize: 1, sequenceLength, loadDtype, checkpointing: { useReentrant: false } });
  const model = { ...base.model, config: { ...base.model.config, ...config } };
  const result = simulate({ ...base, model }, graphsOf("llama"));
  assert.ok(result.ok);
  return kernelTemporaries(result.simulation.ledger);
}

describe("temporaries inside kernels", () => {
  const WIDE = { hidden_size: 64, num_attention_heads: 64, num_key_value_heads: 64, head_dim: 128, vocab_size: 100 };

  it("raise the peak where attention's backward is the peak", () => {
    const query = 4096 * 64 * 128 * 2;
    const full = temporaries(WIDE, 4096, "bfloat16");
    assert.ok(full > 0 && full <= 2 * query + query / 16);
    // Gradients of repeated keys and values come on top.
    assert.ok(temporaries({ ...WIDE, num_key_value_heads: 32 }, 4096, "bfloat16") > full);
  });

  it("are none for other kernels, and where the peak is elsewhere", () => {
    assert.equal(temporaries(WIDE, 4096, "float32"), 0);
    assert.equal(temporaries({ vocab_size: 50000 }, 1024, "bfloat16"), 0);
  });

  it("have a running sum's input in the dtype of its result", () => {
    const inside = (dtype: "bfloat16" | "float32") => {
      const { torch, tensor, autocast, ledger } = lab();
      autocast("bfloat16", () => cumsum(torch, tensor([16, 256], dtype), null));
      return kernelTemporaries(ledger);
    };
    assert.deepEqual([inside("bfloat16"), inside("float32")], [16 * 256 * 4, 0]);
  });
});
