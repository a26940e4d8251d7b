/** `docs/coverage.md` (`npm run coverage`): what is claimed of the band is what was counted. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { claimsOf } from "../../bench/coverage";
import { claimOf, heldOut, type Need, roomOf } from "../../bench/held-out";
import { loopRows } from "../../bench/measured/compare";
import { documentsOf, type LoopRow } from "../../bench/measured/loops";
import { peakRows } from "../../bench/measured/tables";
import { CLAIMS } from "../../src/core/uncertainty/coverage";

const text = readFileSync(join(__dirname, "..", "..", "docs", "coverage.md"), "utf8");

/** Cells of a line of the page's part. */
function cellsOf(name: string): readonly string[] {
  const line = text.split("\n").find((one) => one.startsWith(`| ${name} |`)) ?? "";
  return line.split("|").map((cell) => cell.trim());
}

const figure = (table: string, kind: Need["kind"], down: number, up: number): Need => ({ table, kind, down, up });

describe("docs/coverage.md", () => {
  it("claims of each kind of run no more than was held out, with the room that the page has", () => {
    const loops = cellsOf("all");
    assert.ok(
      Number(loops[2]) > 100 && Number.parseInt(loops[5] ?? "", 10) / Number(loops[2]) >= CLAIMS["plain-loop"].claimed,
    );
    for (const [kind, name] of [
      ["own-code", "the code that ran, in a trainer on one card"],
      ["framework-code", "a framework's own code of a later release, on one card"],
      ["stands-in", "other code of the same model stands in, on one card"],
      ["ranks", "several ranks"],
    ] as const) {
      const [, , of = "", inside = "", claimed, room] = cellsOf(name);
      const { down, up } = CLAIMS[kind];
      assert.ok(
        Number.parseInt(of, 10) > 10 && Number.parseInt(inside, 10) / Number.parseInt(of, 10) >= CLAIMS[kind].claimed,
        kind,
      );
      assert.equal(claimed, `${(100 * CLAIMS[kind].claimed).toFixed(1)} %`);
      assert.equal(room, `${Math.round(100 * down)} % below, ${Math.round(100 * up)} % above`);
    }
  });

  it("holds a table's figures against the room that other tables need: no table makes room for itself", () => {
    const needs = [
      figure("a", "own-code", -0.1, 0.02),
      figure("a", "own-code", -0.1, 0.3),
      figure("b", "own-code", -0.1, 0.05),
    ];
    assert.deepEqual(heldOut(needs), [needs[0], needs[2]]);
  });

  it("sizes what lies below the number on every kind together, and what lies above it on one card and several apart", () => {
    const needs = [figure("a", "own-code", 0.04, 0.01), figure("b", "ranks", 0.02, 0.1)];
    assert.deepEqual(roomOf("stands-in", needs), [0.04, 0.01]);
    assert.deepEqual(roomOf("ranks", needs), [0.04, 0.1]);
  });

  it("leaves one figure in a hundred outside on each side, and claims no more than so many figures can show", () => {
    const needs = Array.from({ length: 200 }, (_, k) => figure("a", "own-code", -1, k / 1000));
    assert.deepEqual(roomOf("own-code", needs), [0, 0.197]);
    assert.equal(claimOf(64, 64), 0.98);
    assert.equal(claimOf(125, 125), 0.99);
    assert.equal(claimOf(34, 36), 0.94);
    assert.equal(claimOf(0, 0), 0);
    const claims = claimsOf([...needs, figure("b", "own-code", -1, 0.3)], [{ inside: true }, { inside: false }]);
    assert.deepEqual(claims["own-code"], { claimed: 0.99, down: 0, up: 0.2 });
    assert.equal(claims["plain-loop"].claimed, 0.5);
  });

  it("is made without the loops where their table is not there", () => {
    assert.equal(loopRows("/nowhere/rows.jsonl"), null);
    assert.equal(peakRows("/nowhere"), null);
  });

  it("makes each row of the loops' table into the script it describes", () => {
    const row: LoopRow = {
      ...{ model: "MnasNet", family: "cnn", optimizer: "SGD", batch: 32, gpu: "NVIDIA GeForce RTX 3060" },
      ...{ ground_bytes: 1, real_oom: false, total_gpu_memory: 1, zero_grad_mode: 2, generation: 1 },
    };
    const script = documentsOf(row)["train.py"] ?? "";
    assert.match(script, /mnasnet1_0\(weights=None, num_classes=10\)/);
    assert.match(script, /batch_size=32/);
    assert.ok(script.indexOf("optimizer.step()") < script.indexOf("optimizer.zero_grad()"));
    assert.match(documentsOf({ ...row, family: "transformer", model: "T5-small" })["train.py"] ?? "", /Seq2SeqLM/);
  });
});
