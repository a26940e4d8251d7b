import assert from "node:assert/strict";
import { NotModelled } from "../../../src/core/engine/not-modelled";
import { add, cumsum, mul, prod, sum } from "../../../src/core/engine/ops/arithmetic";
import { linear, matmul } from "../../../src/core/engine/ops/linear";
import { logSumExp } from "../../../src/core/engine/ops/log-probs";
import { elementwiseLoss } from "../../../src/core/engine/ops/losses";
import { layerNorm, softmax } from "../../../src/core/engine/ops/nonlinear";
import { pow } from "../../../src/core/engine/ops/unary";
import { lab } from "./lab";

describe("autocast", () => {
  it("casts operands from the last to the first", () => {
    const { torch, tensor, leaf, made, autocast } = lab();
    const [x, weight, bias] = [tensor([16, 256]), leaf([128, 256]), leaf([128])];
    assert.deepEqual(
      autocast("bfloat16", () => made(() => linear(torch, x, weight, bias).release())),
      ["_to_copy 512", "_to_copy 65536", "_to_copy 8192", "addmm 4096"],
    );
  });

  it("casts a float32 leaf once until the region ends", () => {
    const { torch, tensor, leaf, autocast, ledger } = lab();
    const [x, weight] = [tensor([16, 256], "bfloat16"), leaf([128, 256])];
    const before = ledger.live;
    autocast("bfloat16", () => {
      linear(torch, x, weight, null).release();
      linear(torch, x, weight, null).release();
      assert.equal(ledger.live, before + 128 * 256 * 2);
    });
    assert.equal(ledger.live, before);
  });

  it("gives a weight that is first cast without gradients its gradient all the same", () => {
    const { torch, tensor, leaf, autocast, made, differentiate } = lab();
    const [x, weight] = [tensor([16, 256], "bfloat16"), leaf([128, 256])];
    const y = autocast("bfloat16", () => {
      torch.gradEnabled = false;
      linear(torch, x, weight, null).release();
      torch.gradEnabled = true;
      return linear(torch, x, weight, null);
    });
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 4096", "mm 65536", "_to_copy 131072"],
    );
    assert.notEqual(weight.grad, null);
  });

  it("takes logsumexp in float32", () => {
    const { torch, tensor, made, autocast } = lab();
    const x = tensor([16, 256], "bfloat16");
    const first = autocast("bfloat16", () => made(() => assert.equal(logSumExp(torch, x).dtype, "float32")))[0];
    assert.equal(first, "_to_copy 16384");
  });

  it("sums half precision into a float32 running sum without a copy, and its gradient in half precision", () => {
    const { torch, leaf, made, autocast, differentiate } = lab();
    const x = leaf([16, 256], "bfloat16");
    const y = autocast("bfloat16", () => {
      assert.deepEqual(
        made(() => cumsum(torch, x, null).release()),
        ["cumsum 16384"],
      );
      return cumsum(torch, x, null);
    });
    assert.equal(y.dtype, "float32");
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 16384", "_to_copy 8192", "flip 8192", "cumsum 8192", "flip 8192"],
    );
  });

  it("takes products in float32, and refuses their gradients, which hang on the values", () => {
    const { torch, tensor, leaf, autocast, differentiate } = lab();
    const dtypes = (["bfloat16", "int32"] as const).map((dtype) =>
      autocast("bfloat16", () => prod(torch, tensor([4, 8], dtype), [1], false, null).dtype),
    );
    assert.deepEqual(dtypes, ["float32", "int64"]);
    const product = prod(torch, leaf([4, 8]), [1], false, null);
    assert.deepEqual([product.dtype, product.sizes], ["float32", [4]]);
    assert.throws(() => differentiate(product), NotModelled);
  });

  it("takes what a loss is compared with in float32, too, and keeps it", () => {
    const { torch, tensor, leaf, autocast, made } = lab();
    const [x, target] = [leaf([16, 256], "bfloat16"), tensor([16, 256], "bfloat16")];
    const before = torch.ledger.live;
    autocast("bfloat16", () =>
      assert.deepEqual(
        made(() => elementwiseLoss(torch, "mse_loss", x, target)),
        ["_to_copy 16384", "_to_copy 16384", "mse_loss 512"],
      ),
    );
    assert.equal(torch.ledger.live - before, 2 * 16384 + 512);
  });

  it("casts frozen weights, views and activations every time", () => {
    const { torch, tensor, made, autocast } = lab();
    const [x, frozen] = [tensor([16, 256], "bfloat16"), tensor([128, 256])];
    autocast("bfloat16", () => {
      const once = made(() => linear(torch, x, frozen, null).release());
      const twice = made(() => linear(torch, x, frozen, null).release());
      assert.deepEqual(once, ["_to_copy 65536", "mm 4096"]);
      assert.deepEqual(twice, once);
    });
  });

  it("keeps a cast weight for backward beyond the region", () => {
    const { torch, leaf, autocast, ledger } = lab();
    const [x, weight] = [leaf([16, 256]), leaf([128, 256])];
    const before = ledger.live;
    const y = autocast("bfloat16", () => linear(torch, x, weight, null));
    // the product, both casts
    assert.equal(ledger.live, before + 4096 + 128 * 256 * 2 + 16 * 256 * 2);
    y.release();
    assert.equal(ledger.live, before);
  });

  it("leaves float64 and integers alone", () => {
    const { torch, tensor } = lab();
    torch.autocastDtype = "bfloat16";
    torch.autocastEnabled = true;
    assert.equal(matmul(torch, tensor([4, 4], "float64"), tensor([4, 4], "float64")).dtype, "float64");
  });

  it("raises the float32 list", () => {
    const { torch, tensor, autocast } = lab();
    const x = tensor([16, 256], "bfloat16");
    autocast("bfloat16", () => {
      for (const out of [
        pow(torch, x, 2),
        sum(torch, x, [1]),
        softmax(torch, x, null),
        layerNorm(torch, x, [256], null, null),
      ])
        assert.equal(out.dtype, "float32");
      assert.equal(mul(torch, x, x).dtype, "bfloat16");
      assert.equal(add(torch, x, tensor([256])).dtype, "float32");
    });
  });

  it("of softmax: float16 is raised inside the kernel, bfloat16 is copied first", () => {
    const { torch, tensor, made, autocast } = lab();
    const run = (dtype: "float16" | "bfloat16") =>
      autocast(dtype, () => {
        const x = tensor([16, 256], dtype);
        return made(() => softmax(torch, x, null).release());
      });
    assert.deepEqual(run("float16"), ["_softmax 16384"]);
    assert.deepEqual(run("bfloat16"), ["_to_copy 16384", "_softmax 16384"]);
  });

  it("casts gradients back to the dtype of what was cast", () => {
    const { torch, tensor, leaf, made, autocast, differentiate } = lab();
    const [x, weight] = [tensor([16, 256]), leaf([128, 256])];
    const y = autocast("bfloat16", () => linear(torch, x, weight, null));
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 4096", "mm 65536", "_to_copy 131072"],
    );
    assert.equal(weight.grad?.dtype, "float32");
  });
});
