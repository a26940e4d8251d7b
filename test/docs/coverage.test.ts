/** `docs/coverage.md` (`npm run coverage`): what is claimed of the band is what was counted. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { heldOut } from "../../bench/coverage";
import { loopRows } from "../../bench/measured/compare";
import { documentsOf, type LoopRow } from "../../bench/measured/loops";
import { COVERAGE } from "../../src/core/uncertainty/coverage";

const text = readFileSync(join(__dirname, "..", "..", "docs", "coverage.md"), "utf8");

/** Rows and those inside the band, of a line of the page. */
function counted(name: string): readonly [rows: number, inside: number] {
  const cells = (text.split("\n").find((line) => line.startsWith(`| ${name} |`)) ?? "").split("|");
  return [Number(cells[2]), Number.parseInt(cells[5] ?? "", 10)];
}

describe("docs/coverage.md", () => {
  it("has what each kind of run is claimed to have", () => {
    const [loops, held] = counted("all");
    assert.ok(loops > 100 && held / loops >= COVERAGE["plain-loop"]);
    for (const [kind, name] of [
      ["own-code", "the code that ran, in a trainer on one card"],
      ["framework-code", "a framework's own code of a later release, on one card"],
      ["stands-in", "other code of the same model stands in, on one card"],
      ["ranks", "several ranks"],
    ] as const) {
      const [all, good] = counted(name);
      assert.ok(all > 10 && good / all >= COVERAGE[kind], kind);
    }
  });

  it("counts figures held out against what other tables need: one of four lies further outside than any other's room", () => {
    const of = (source: string, low: number) => ({
      ...{ kind: "own-code", row: { source }, report: { perDevice: { usedPeakBytes: 100 } } },
      ...{ band: { low: 50, high: 100 }, published: { low, high: low } },
    });
    const peaks = [of("a", 90), of("a", 106), of("b", 105), of("b", 130)];
    // Room is kept by the kind's rules of what the band has already (6 %): 6, 5 and 30 above the band need 12, 11 and 36.
    assert.equal(heldOut(peaks as unknown as Parameters<typeof heldOut>[0]), 3);
  });

  it("is made without the loops where their table is not there", () => {
    assert.equal(loopRows("/nowhere/rows.jsonl"), null);
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
