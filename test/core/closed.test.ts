/** What leaves no trace can be played again; what leaves one cannot. */
import { strict as assert } from "node:assert";
import { closedScript } from "../../src/core/engine/folding/closed";
import { Ledger } from "../../src/core/engine/ledger";

function made(): { readonly ledger: Ledger; readonly allocate: (bytes: number) => number } {
  const ledger = new Ledger();
  return { ledger, allocate: (bytes) => ledger.allocate(bytes, "empty", "temporaries", "") };
}

describe("closedScript", () => {
  it("plays again what was allocated and freed, with its sizes and labels", () => {
    const { ledger, allocate } = made();
    allocate(1024);
    const state = ledger.state();
    const [a, b] = [allocate(2048), allocate(512)];
    ledger.free(a);
    ledger.free(b);
    const script = closedScript(ledger, state);
    assert.ok(script !== null);
    ledger.play(script, 1);
    assert.deepEqual([...ledger.events.subarray(-4)], [3, 4, ~3, ~4]);
    assert.deepEqual([ledger.sizeOf(3), ledger.sizeOf(4), ledger.live], [2048, 512, 1024]);
    assert.equal(ledger.labelIndexOf(3), ledger.labelIndexOf(a));
  });

  it("is nothing where a block stays, one of before goes, or a phase begins", () => {
    const { ledger, allocate } = made();
    const before = allocate(1024);
    let state = ledger.state();
    const stays = allocate(512);
    assert.equal(closedScript(ledger, state), null);
    ledger.free(stays);
    state = ledger.state();
    ledger.free(before);
    assert.equal(closedScript(ledger, state), null);
    state = ledger.state();
    ledger.enter("generation", 1);
    assert.equal(closedScript(ledger, state), null);
  });
});
