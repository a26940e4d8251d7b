/** BLOOM's gelu is an autograd function of its own: it keeps its input alone and still passes gradients on. */
import { strict as assert } from "node:assert";
import { activate } from "../../src/core/engine/activations";
import { backward } from "../../src/core/engine/backward";
import { Ledger } from "../../src/core/engine/ledger";
import { Torch } from "../../src/core/engine/torch";

describe("bloom_gelu", () => {
  it("saves one tensor and frees every temporary", () => {
    const ledger = new Ledger();
    const torch = new Torch(ledger);
    const input = torch.empty("empty", [64, 512], "float32");
    input.requiresGradFlag = true;
    const before = ledger.live;
    const out = activate(torch, "bloom_gelu", input)!;
    const size = 64 * 512 * 4;
    assert.equal(ledger.live - before, size, "only the output is new");
    backward(torch, [out], [torch.empty("ones", out.sizes, out.dtype)]);
    assert.ok(input.grad !== null);
    out.release();
    assert.equal(ledger.live - before, size, "only the gradient is left");
  });
});
