/** What modules keep to their next forward. */
import assert from "node:assert/strict";
import { Arguments } from "../../../src/core/engine/ops/arguments";
import { mul } from "../../../src/core/engine/ops/arithmetic";
import { sqrtBoundDerivative } from "../../../src/core/engine/ops/functions";
import { dispatch } from "../../../src/core/engine/ops/table";
import { lab } from "./lab";

describe("states that a module keeps", () => {
  it("live with the graph behind them until the module lets go of them", () => {
    const { torch, leaf, ledger } = lab();
    const [x, y] = [leaf([256]), leaf([256])];
    torch.scope = "layers.0";
    const before = ledger.live;
    const product = mul(torch, x, y);
    const state = mul(torch, product, product);
    product.release();
    dispatch(torch, "keep", new Arguments([state], { of: "states" }));
    state.release();
    assert.equal(ledger.live, before + 2 * 1024);
    torch.scope = "layers.1";
    dispatch(torch, "forget", new Arguments([], { of: "states" }));
    assert.equal(ledger.live, before + 2 * 1024);
    torch.scope = "layers.0";
    dispatch(torch, "forget", new Arguments([], { of: "states" }));
    assert.equal(ledger.live, before);
  });
});

describe("a root whose slope has a bound", () => {
  it("saves what it reads and takes roots of it in backward", () => {
    const { torch, leaf, made, differentiate } = lab();
    const x = leaf([256]);
    const root = sqrtBoundDerivative(torch, x);
    assert.deepEqual(
      made(() => differentiate(root)),
      ["ones_like 1024", "mul 1024", "clamp 1024", "sqrt 1024", "div 1024"],
    );
  });
});
