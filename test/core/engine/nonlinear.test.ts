import assert from "node:assert/strict";
import { activate } from "../../../src/core/engine/activations";
import { transpose } from "../../../src/core/engine/ops/layout";
import { logSumExp } from "../../../src/core/engine/ops/log-probs";
import { batchNorm, dropout, groupNorm, layerNorm, rmsNorm, softmax } from "../../../src/core/engine/ops/nonlinear";
import type { Tensor } from "../../../src/core/engine/tensor";
import { lab } from "./lab";

describe("logsumexp", () => {
  it("keeps its dimension where it is asked to, and its input's gradient has the input's sizes", () => {
    const { torch, leaf, differentiate } = lab();
    assert.deepEqual(logSumExp(torch, leaf([4, 1024]), -1).sizes, [4]);
    const x = leaf([4, 1024]);
    const kept = logSumExp(torch, x, -1, true);
    assert.deepEqual(kept.sizes, [4, 1]);
    differentiate(kept);
    assert.deepEqual(x.grad?.sizes, [4, 1024]);
  });
});

describe("dropout", () => {
  it("is the tensor itself for p = 0 and outside training", () => {
    const { torch, leaf } = lab();
    const x = leaf([4]);
    assert.equal(dropout(torch, x, 0, true), x);
    assert.equal(dropout(torch, x, 0.1, false), x);
  });

  it("keeps a mask of one byte per element", () => {
    const { torch, leaf, made, differentiate, ledger } = lab();
    const x = leaf([4, 1024]);
    const before = ledger.live;
    let y = x;
    assert.deepEqual(
      made(() => {
        y = dropout(torch, x, 0.1, true);
      }),
      ["native_dropout 16384", "native_dropout 4096"],
    );
    y.release();
    assert.equal(ledger.live, before);
    const again = dropout(torch, x, 0.1, true);
    assert.deepEqual(
      made(() => differentiate(again)),
      ["ones_like 16384", "native_dropout_backward 16384"],
    );
  });
});

describe("normalisations", () => {
  it("keep float32 statistics of half-precision rows", () => {
    const { torch, leaf, made } = lab();
    const [x, weight, bias] = [leaf([16, 256], "bfloat16"), leaf([256], "bfloat16"), leaf([256], "bfloat16")];
    assert.deepEqual(
      made(() => layerNorm(torch, x, [256], weight, bias)),
      ["native_layer_norm 8192", "native_layer_norm 512", "native_layer_norm 512"],
    );
  });

  it("have gradients of input, weight and bias as needed", () => {
    const { torch, tensor, leaf, made, differentiate } = lab();
    const y = layerNorm(torch, tensor([16, 256]), [256], leaf([256]), leaf([256]));
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 16384", "native_layer_norm_backward 1024", "native_layer_norm_backward 1024"],
    );
  });

  it("fused RMS keeps one statistic, groups keep two per group, batches two per channel", () => {
    const { torch, leaf, made } = lab();
    const image = leaf([2, 8, 16, 16]);
    assert.deepEqual(made(() => rmsNorm(torch, leaf([16, 256]), [256], null)).slice(1), [
      "_fused_rms_norm 16384",
      "_fused_rms_norm 512",
    ]);
    assert.deepEqual(made(() => groupNorm(torch, image, 4, leaf([8]), leaf([8]))).slice(2), [
      "native_group_norm 16384",
      "native_group_norm 512",
      "native_group_norm 512",
    ]);
    assert.deepEqual(made(() => batchNorm(torch, image, leaf([8]), leaf([8]))).slice(2), [
      "native_batch_norm 16384",
      "native_batch_norm 512",
      "native_batch_norm 512",
    ]);
  });
});

describe("batch_norm", () => {
  it("has an input that is not contiguous copied for cuDNN, as bfloat16's kernel has not", () => {
    const { torch, leaf, made } = lab();
    const norm = (input: Tensor) => made(() => batchNorm(torch, input, leaf([8]), leaf([8]))).slice(2);
    const turned = (dtype: "float32" | "bfloat16") => transpose(torch, leaf([4, 64, 8], dtype), 1, 2);
    assert.deepEqual(norm(turned("float32")).slice(0, 2), ["clone 8192", "native_batch_norm 8192"]);
    assert.equal(norm(turned("bfloat16"))[0], "native_batch_norm 4096");
  });
});

describe("softmax", () => {
  it("keeps its result, not its input", () => {
    const { torch, leaf, ledger } = lab();
    const x = leaf([16, 256]);
    const y = softmax(torch, x, null);
    y.release();
    assert.equal(ledger.live, 16384);
    const kept = softmax(torch, x, null);
    assert.equal(ledger.live, 2 * 16384);
    kept.release();
  });

  it("gives the gradient in the input's dtype", () => {
    const { torch, leaf, made, differentiate } = lab();
    const x = leaf([16, 256], "float16");
    const y = softmax(torch, x, "float32");
    assert.equal(y.dtype, "float32");
    assert.deepEqual(
      made(() => differentiate(y)),
      ["ones_like 16384", "_softmax_backward_data 8192"],
    );
  });
});

describe("activations", () => {
  const forward = (name: string): string[] => {
    const l = lab();
    const x = l.leaf([1024]);
    return l.made(() => activate(l.torch, name, x)?.release());
  };

  it("of one kernel make one tensor", () => {
    for (const name of ["silu", "gelu", "gelu_pytorch_tanh", "relu", "tanh", "mish"])
      assert.equal(forward(name).length, 1, name);
  });

  it("written out in Python make one tensor per operation", () => {
    assert.deepEqual(
      forward("gelu_new").map((line) => line.split(" ")[0]),
      ["mul", "pow", "mul", "add", "mul", "tanh", "add", "mul"],
    );
    assert.deepEqual(
      forward("quick_gelu").map((line) => line.split(" ")[0]),
      ["mul", "sigmoid", "mul"],
    );
    assert.deepEqual(
      forward("relu2").map((line) => line.split(" ")[0]),
      ["relu", "pow"],
    );
  });

  it("linear is nothing, and an unknown name is told", () => {
    assert.deepEqual(forward("linear"), []);
    const { torch, leaf } = lab();
    assert.equal(activate(torch, "no_such", leaf([4])), null);
  });
});
