import assert from "node:assert/strict";
import { checkpoint, type Segment } from "../../../src/core/engine/checkpoint";
import { mul } from "../../../src/core/engine/ops/arithmetic";
import { linear } from "../../../src/core/engine/ops/linear";
import { unary } from "../../../src/core/engine/ops/unary";
import type { Tensor } from "../../../src/core/engine/tensor";
import { type Lab, lab } from "./lab";

/** exp(sin(2x) * w): three tensors of 4 KiB inside. */
function chain({ torch }: Lab, weight: Tensor): Segment {
  return ([x]) => {
    const doubled = mul(torch, x!, 2);
    const wave = unary(torch, "sin", doubled);
    doubled.release();
    const weighted = mul(torch, wave, weight);
    wave.release();
    const out = unary(torch, "exp", weighted);
    weighted.release();
    return [out];
  };
}

const KIB = 1024;

function run(kind: "none" | "non-reentrant" | "reentrant"): { l: Lab; out: Tensor; x: Tensor; weight: Tensor } {
  const l = lab();
  const [x, weight] = [l.leaf([KIB]), l.leaf([KIB])];
  const segment = chain(l, weight);
  const out =
    kind === "none"
      ? segment([x])[0]!
      : checkpoint(l.torch, segment, [x], [0], { useReentrant: kind === "reentrant" })[0]!;
  return { l, out, x, weight };
}

describe("checkpointing", () => {
  it("keeps only the inputs and the output", () => {
    // x, weight, and what is saved: 2x, sin, weight is a leaf, exp's result
    assert.equal(run("none").l.live, 5 * 4 * KIB);
    assert.equal(run("non-reentrant").l.live, 3 * 4 * KIB);
    assert.equal(run("reentrant").l.live, 3 * 4 * KIB);
  });

  for (const kind of ["non-reentrant", "reentrant"] as const)
    it(`${kind} gives the same gradients and leaves nothing behind`, () => {
      const { l, out, x, weight } = run(kind);
      l.differentiate(out);
      out.release();
      assert.ok(x.grad !== null && weight.grad !== null);
      assert.equal(l.live, 4 * 4 * KIB);
    });

  it("non-reentrant stops recomputing once it has what backward needs", () => {
    const { l, out } = run("non-reentrant");
    const made = l.made(() => l.differentiate(out)).map((line) => line.split(" ")[0]);
    // 2x, sin and their product are made again; the last pack is exp's own output
    assert.deepEqual(made.slice(0, 5), ["ones_like", "mul", "sin", "mul", "exp"]);
  });

  it("reentrant runs the whole segment without gradients first", () => {
    const l = lab();
    const [x, weight] = [l.leaf([KIB]), l.leaf([KIB])];
    let recorded = true;
    const segment: Segment = ([input]) => {
      const y = mul(l.torch, input!, weight);
      recorded = y.node !== null;
      return [y];
    };
    const [out] = checkpoint(l.torch, segment, [x], [0], { useReentrant: true });
    assert.equal(recorded, false);
    assert.equal(out!.node?.name, "CheckpointFunctionBackward");
    l.differentiate(out!);
    assert.equal(recorded, true);
  });

  it("reentrant differentiates nothing when no positional input requires grad", () => {
    const l = lab();
    const weight = l.leaf([KIB]);
    const [out] = checkpoint(l.torch, chain(l, weight), [l.tensor([KIB])], [0], { useReentrant: true });
    assert.equal(out!.requiresGrad, false);
  });

  it("reentrant keeps what it closes over until the graph goes, non-reentrant until its frame is done", () => {
    const l = lab();
    const [x, factor] = [l.leaf([KIB]), l.tensor([KIB])];
    const segment: Segment = ([input, other]) => [mul(l.torch, input!, other!)];
    const [out] = checkpoint(l.torch, segment, [x, factor], [0], { useReentrant: true });
    factor.release();
    l.differentiate(out!);
    // x, its gradient, the output and the factor
    assert.equal(l.live, 4 * 4 * KIB);
    out!.release();
    assert.equal(l.live, 2 * 4 * KIB);
  });

  it("recomputes under the autocast of the forward, with casts of its own", () => {
    for (const reentrant of [false, true]) {
      const l = lab();
      const [x, weight] = [l.leaf([16, 256]), l.leaf([128, 256])];
      const segment: Segment = ([input]) => [linear(l.torch, input!, weight, null)];
      const out = l.autocast("bfloat16", () => checkpoint(l.torch, segment, [x], [0], { useReentrant: reentrant })[0]!);
      assert.equal(out.dtype, "bfloat16");
      const made = l.made(() => l.differentiate(out));
      assert.ok(made.includes(`_to_copy ${128 * 256 * 2}`), "the weight is cast again");
      out.release();
      assert.equal(l.live, 2 * (16 * 256 + 128 * 256) * 4);
    }
  });

  it("reentrant differentiates outputs nobody used by zeros", () => {
    const l = lab();
    const [x, weight] = [l.leaf([16, 256]), l.leaf([128, 256])];
    const segment: Segment = ([input]) => [
      linear(l.torch, input!, weight, null),
      linear(l.torch, input!, weight, null),
    ];
    for (const reentrant of [false, true]) {
      const [out, unused] = checkpoint(l.torch, segment, [x], [0], { useReentrant: reentrant });
      unused!.release();
      const made = l.made(() => l.differentiate(out!));
      assert.equal(made.includes(`zeros ${16 * 128 * 4}`), reentrant);
      out!.release();
    }
  });

  it("does nothing when gradients are off", () => {
    const l = lab();
    l.torch.gradEnabled = false;
    const [out] = checkpoint(l.torch, chain(l, l.leaf([KIB])), [l.leaf([KIB])], [0], { useReentrant: false });
    assert.equal(out!.node, null);
  });
});
