import assert from "node:assert/strict";
import type { DType } from "../../../src/core/engine/dtype";
import type { ModuleForward } from "../../../src/core/engine/interpreter/options";
import { mul } from "../../../src/core/engine/ops/arithmetic";
import { linear } from "../../../src/core/engine/ops/linear";
import type { Tensor } from "../../../src/core/engine/tensor";
import { baseLayer } from "../../../src/core/training/adapters/layer";
import { lora } from "../../../src/core/training/adapters/lora";
import { isAdapted } from "../../../src/core/training/adapters/targets";
import { linear4bit, packWeight } from "../../../src/core/training/quantization/bitsandbytes";
import { linearGrouped, packGrouped } from "../../../src/core/training/quantization/grouped";
import { linear8bit, packInt8 } from "../../../src/core/training/quantization/int8";
import type { AdapterSpec, GroupedFormat } from "../../../src/core/training/run";
import { type Lab, lab } from "../engine/lab";
import { loraSpec } from "../runs";

const LORA = loraSpec();

describe("target modules", () => {
  const adapted = (targetModules: AdapterSpec["targetModules"], path: string, module = "Linear"): boolean =>
    isAdapted({ ...LORA, targetModules }, path, module, "lm_head");

  it("are matched by the end of the path", () => {
    assert.equal(adapted(["q_proj"], "model.layers.0.self_attn.q_proj"), true);
    assert.equal(adapted(["self_attn.q_proj"], "model.layers.0.self_attn.q_proj"), true);
    assert.equal(adapted(["proj"], "model.layers.0.self_attn.q_proj"), false);
    assert.equal(adapted(["lm_head"], "lm_head"), true);
  });

  it("may be every linear layer but the head, or a regular expression over the whole path", () => {
    assert.equal(adapted("all-linear", "model.layers.0.mlp.up_proj"), true);
    assert.equal(adapted("all-linear", "lm_head"), false);
    assert.equal(adapted("all-linear", "model.embed_tokens", "Embedding"), false);
    assert.equal(adapted(".*layers\\.[01]\\..*q_proj", "model.layers.1.self_attn.q_proj"), true);
    assert.equal(adapted(".*layers\\.[01]\\..*q_proj", "model.layers.2.self_attn.q_proj"), false);
    assert.equal(adapted("layers", "model.layers.2.self_attn.q_proj"), false);
    assert.equal(adapted("(", "anything"), false);
  });
});

interface Setting {
  readonly adapter?: Partial<AdapterSpec>;
  readonly dtype?: DType;
  readonly module?: "Linear" | "Conv1D";
  readonly packed?: boolean;
}

/** A frozen linear layer of 256 inputs and 512 outputs with an adapter on it. */
function adapted({ adapter, dtype = "float32", module = "Linear", packed = false }: Setting): {
  l: Lab;
  forward: ModuleForward;
  added: Tensor[];
} {
  const l = lab();
  const modules = new Map<string, ModuleForward>();
  const stored = packed ? packWeight(l.torch, 512, 256, dtype, false) : null;
  const weight = stored?.packed ?? l.tensor(module === "Conv1D" ? [256, 512] : [512, 256], dtype);
  const byName = new Map([["q_proj.weight", weight]]);
  if (module === "Conv1D") byName.set("q_proj.bias", l.tensor([512], dtype));
  if (stored !== null) modules.set("q_proj", linear4bit(stored, null, "bfloat16"));
  const spec = { ...LORA, ...adapter };
  const base = baseLayer(spec, {
    path: "q_proj",
    module,
    byName,
    modules,
    packed: new Map(stored === null ? [] : [["q_proj", stored]]),
  });
  const { forward, parameters } = lora(l.torch, spec, base!);
  return { l, forward, added: [...parameters] };
}

const names = (made: readonly string[]): string[] => made.map((line) => line.split(" ")[0]!);

describe("LoRA", () => {
  it("adds r rows and r columns, in float32 on a half-precision base", () => {
    const { added } = adapted({ dtype: "bfloat16" });
    assert.deepEqual(
      added.map(({ sizes, dtype, requiresGradFlag }) => [sizes, dtype, requiresGradFlag]),
      [
        [[8, 256], "float32", true],
        [[512, 8], "float32", true],
      ],
    );
    assert.equal(adapted({ dtype: "bfloat16", adapter: { autocastAdapterDtype: false } }).added[0]!.dtype, "bfloat16");
  });

  it("raises a half-precision input and lowers the sum again", () => {
    const { l, forward } = adapted({ dtype: "bfloat16" });
    const x = l.tensor([16, 256], "bfloat16");
    let out = x;
    const made = l.made(() => {
      out = forward(l.torch, x);
    });
    assert.deepEqual(names(made), ["mm", "_to_copy", "mm", "mm", "mul", "add", "_to_copy"]);
    assert.equal(out.dtype, "bfloat16");
  });

  it("keeps its input and the rank-sized product, not the base's", () => {
    const { l, forward } = adapted({});
    const x = l.tensor([64, 256]);
    const before = l.live;
    const out = forward(l.torch, x);
    // the output and x A
    assert.equal(l.live, before + 64 * 512 * 4 + 64 * 8 * 4);
    out.release();
    assert.equal(l.live, before);
  });

  it("with dropout keeps the dropped input and its mask", () => {
    const { l, forward } = adapted({ adapter: { dropout: 0.1 } });
    const x = l.tensor([64, 256]);
    const before = l.live;
    const out = forward(l.torch, x);
    // the input does not require grad: no mask is kept
    assert.equal(l.live, before + 64 * 512 * 4 + 64 * 8 * 4 + 64 * 256 * 4);
    out.release();
    const y = l.leaf([64, 256]);
    const second = l.live;
    const kept = forward(l.torch, y);
    assert.equal(l.live, second + 64 * 512 * 4 + 64 * 8 * 4 + 64 * 256 * 4 + 64 * 256);
    kept.release();
  });

  it("makes gradients for the adapter alone", () => {
    const { l, forward, added } = adapted({});
    const out = forward(l.torch, l.tensor([64, 256]));
    l.differentiate(out);
    assert.deepEqual(
      added.map(({ grad }) => grad?.sizes),
      [
        [8, 256],
        [512, 8],
      ],
    );
  });

  it("on transformers' Conv1D has the inputs first", () => {
    const { added, forward, l } = adapted({ module: "Conv1D" });
    assert.deepEqual(added[0]!.sizes, [8, 256]);
    assert.deepEqual(forward(l.torch, l.tensor([4, 16, 256])).sizes, [4, 16, 512]);
  });
});

describe("DoRA", () => {
  it("adds a magnitude per output and rebuilds the weight's norm at every forward", () => {
    const { l, forward, added } = adapted({ adapter: { type: "dora" } });
    assert.deepEqual(added[2]!.sizes, [512]);
    const made = l.made(() => forward(l.torch, l.tensor([16, 256])).release());
    const eye = 256 * 256 * 4;
    assert.ok(made.includes(`eye ${eye}`));
    assert.ok(made.includes("linalg_vector_norm 2048"));
    // B A and its sum with the base weight
    assert.equal(made.filter((line) => line.endsWith(` ${512 * 256 * 4}`)).length >= 2, true);
  });

  it("turns the base weight of Conv1D when it runs it on the dropped input", () => {
    const { l, forward } = adapted({ module: "Conv1D", adapter: { type: "dora", dropout: 0.1 } });
    assert.deepEqual(forward(l.torch, l.tensor([4, 16, 256])).sizes, [4, 16, 512]);
  });
});

describe("4-bit bases", () => {
  it("cost half a byte per weight and a constant per 64", () => {
    const l = lab();
    const bytes = (nested: boolean): number => {
      const before = l.live;
      packWeight(l.torch, 4096, 4096, "bfloat16", nested);
      return l.live - before;
    };
    assert.equal(bytes(false), 2 ** 23 + 2 ** 18 * 4 + 512);
    assert.equal(bytes(true), 2 ** 23 + 2 ** 18 + 1024 * 4 + 1024 + 512 + 512);
  });

  it("compute in the stated dtype and unpack one weight in backward", () => {
    const l = lab();
    const weight = packWeight(l.torch, 512, 256, "bfloat16", false);
    const forward = linear4bit(weight, null, "bfloat16");
    const x = l.leaf([16, 256]);
    let out = x as Tensor;
    assert.deepEqual(
      l.made(() => {
        out = forward(l.torch, x);
      }),
      ["_to_copy 8192", "gemm_4bit 16384", "_to_copy 32768"],
    );
    assert.deepEqual(
      l.made(() => l.differentiate(out)),
      ["ones_like 32768", "_to_copy 16384", "dequantize_4bit 262144", "mm 8192", "_to_copy 16384"],
    );
  });

  it("an adapter clones the base's result and casts nothing under autocast", () => {
    const { l, forward } = adapted({ packed: true, dtype: "bfloat16" });
    const x = l.tensor([16, 256], "bfloat16");
    assert.deepEqual(names(l.made(() => forward(l.torch, x).release())), [
      ...["gemm_4bit", "clone", "_to_copy", "mm", "mm", "mul", "_to_copy", "add"],
    ]);
    l.autocast("bfloat16", () => {
      const made = l.made(() => forward(l.torch, x).release());
      assert.deepEqual(names(made), ["gemm_4bit", "clone", "_to_copy", "mm", "_to_copy", "mm", "mul", "add"]);
    });
  });
});

describe("a frozen layer", () => {
  it("without an adapter keeps nothing of its input", () => {
    const l = lab();
    const x = l.leaf([64, 256]);
    const before = l.live;
    const out = linear(l.torch, x, l.tensor([512, 256]), null);
    assert.equal(l.live, before + 512 * 256 * 4 + 64 * 512 * 4);
    out.release();
  });
});

describe("8-bit bases", () => {
  it("cost a byte per weight and a scale per row", () => {
    const l = lab();
    packInt8(l.torch, 4096, 2048, "float16");
    assert.equal(l.live, 4096 * 2048 + 4096 * 4);
  });

  it("quantize the input, multiply in integers, and keep the input for as long as the graph", () => {
    const l = lab();
    const forward = linear8bit(packInt8(l.torch, 512, 256, "bfloat16"), null);
    const x = l.leaf([16, 256], "bfloat16");
    const y = mul(l.torch, x, 2);
    let out = y as Tensor;
    const made = l.made(() => {
      out = forward(l.torch, y);
    });
    assert.deepEqual(names(made), [
      ...["_to_copy", "empty", "empty", "abs", "ge", "any", "int8_linear_matmul", "int8_mm_dequant", "_to_copy"],
    ]);
    assert.ok(made.includes(`int8_linear_matmul ${16 * 512 * 4}`));
    const before = l.live;
    y.release();
    assert.equal(l.live, before, "the graph keeps the input");
    assert.deepEqual(
      l.made(() => l.differentiate(out)),
      ["ones_like 16384", "_to_copy 262144", "mul 2048", "mm 8192", "mul 8192"],
    );
    out.release();
    assert.equal(l.live, 512 * 256 + 512 * 4 + 2 * 8192);
  });
});

describe("grouped 4-bit bases", () => {
  it("cost half a byte per weight and constants per group", () => {
    const bytes = (format: GroupedFormat): number => {
      const l = lab();
      packGrouped(l.torch, format, 4096, 4096, "float16");
      return l.live;
    };
    const half = 2 ** 23;
    assert.equal(bytes("awq"), half + 32 * 4096 * 2 + (32 * 4096) / 2);
    assert.equal(bytes("gptq"), bytes("awq") + 4096 * 4);
    assert.equal(bytes("hqq"), half + 2 * 64 * 4096 * 2);
  });

  it("take the width and the groups of their config", () => {
    const bytes = (format: GroupedFormat, spec: Parameters<typeof packGrouped>[5]): number => {
      const l = lab();
      packGrouped(l.torch, format, 4096, 4096, "bfloat16", spec);
      return l.live;
    };
    const elements = 2 ** 24;
    assert.equal(bytes("gptq", { bits: 8, groupSize: -1 }), elements + 4096 * (2 + 1 + 4));
    assert.equal(bytes("awq", { groupSize: 64 }), elements / 2 + 64 * 4096 * 2.5);
    assert.equal(bytes("hqq", { bits: 3, groupSize: 64 }), Math.ceil(elements / 10 / 128) * 512 + 2 * 64 * 4096 * 2);
    assert.equal(bytes("compressed-tensors", { bits: 8 }), elements + 4096 * 2);
    assert.equal(
      bytes("compressed-tensors", { bits: 4, groupSize: 128, symmetric: false }),
      elements / 2 + 32 * 4096 * 3,
    );
    assert.equal(bytes("torchao", {}), elements + 4096 * 2);
    assert.equal(bytes("eetq", {}), elements + 4096 * 2);
  });

  it("unpack the weight for forward and backward and keep nothing", () => {
    const l = lab();
    const forward = linearGrouped(packGrouped(l.torch, "gptq", 512, 256, "bfloat16"), null);
    const x = l.leaf([16, 256], "bfloat16");
    const before = l.live;
    let out = x as Tensor;
    assert.deepEqual(
      l.made(() => {
        out = forward(l.torch, x);
      }),
      ["dequantize 262144", "mm 16384"],
    );
    assert.equal(l.live, before + 16384);
    assert.deepEqual(
      l.made(() => l.differentiate(out)),
      ["ones_like 16384", "dequantize 262144", "mm 8192"],
    );
  });
});
