import { strict as assert } from "node:assert";
import { changedLines, changesSaid } from "../../src/analysis/report/changes";
import { withEdits } from "../../src/core/report/apply";

function edit(line: number, from: number, to: number, newText: string) {
  return { uri: "file:///a", range: { start: { line, character: from }, end: { line, character: to } }, newText };
}

describe("changes of a plan", () => {
  it("applies edits in any order, insertions at one place in theirs", () => {
    const text = "a: 1\nb: 2\n";
    assert.equal(withEdits(text, [edit(1, 3, 4, "3"), edit(0, 3, 4, "9")]), "a: 9\nb: 3\n");
    assert.equal(withEdits(text, [edit(2, 0, 0, "c: 1\n"), edit(2, 0, 0, "d: 1\n")]), "a: 1\nb: 2\nc: 1\nd: 1\n");
    assert.equal(withEdits("a: 1\r\nb: 2", [edit(9, 0, 0, "\r\nc: 3")]), "a: 1\r\nb: 2\r\nc: 3");
  });

  it("finds separate stretches of changed lines", () => {
    assert.deepEqual(changedLines("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n"), [
      { line: 1, before: ["b"], after: ["B"] },
      { line: 4, before: [], after: ["e"] },
    ]);
    assert.deepEqual(changedLines("a\nb\nc", "a\nc"), [{ line: 1, before: ["b"], after: [] }]);
    assert.deepEqual(changedLines("a", "a"), []);
  });

  it("says what edits write in the file's own words", () => {
    const text = '{\n  "batch_size": 8,  # per GPU\n  "seed": 1\n}\n';
    const edits = [edit(1, 16, 17, "2"), edit(2, 0, 11, ""), edit(3, 0, 0, '  "bf16": true\n')];
    const said = (locale: "en" | "zh-cn") => changesSaid(edits, () => text, locale);
    assert.equal(said("en"), 'batch_size 8 → 2, remove "seed": 1, add "bf16": true');
    const flags = "run.py \\\n  --size 8 \\\n  --packed False";
    assert.equal(
      changesSaid([edit(2, 2, 16, "--nested \\\n  --packed True")], () => flags, "en"),
      "--packed False → True, add --nested",
    );
    assert.equal(
      changesSaid([edit(2, 0, 0, "x: 1\n")], () => text, "zh-cn"),
      "添加 x: 1",
    );
    assert.equal(
      changesSaid(edits, () => undefined, "en"),
      "",
    );
  });

  it("says of a call or a command what became of its arguments", () => {
    const said = (before: string, after: string) => changesSaid([edit(0, 0, before.length, after)], () => before, "en");
    assert.equal(
      said(
        "args = SFTConfig(bf16=True, max_length=8)",
        'args = SFTConfig(bf16=True, max_length=4, load={"a": [1, 2]})',
      ),
      'max_length 8 → 4, add load={"a": [1, 2]}',
    );
    assert.equal(
      said("T(m, args=A(b=1, c='x, (y'), p=2).train()", "T(m, args=A(b=3, c='x, (y'), p=2).train()"),
      "b 1 → 3",
    );
    assert.equal(
      said(
        "torchrun a.py --batch 8 --bf16 --ids '{\"-x\": 1}'",
        "torchrun a.py --batch 4 --bf16 --ids '{\"-x\": 1}' --lora_r 16",
      ),
      "--batch 8 → 4, add --lora_r 16",
    );
    assert.equal(said("  --a 1 --b 2 --c", "  --a 1 --c"), "remove --b 2");
    assert.equal(said("targets: [q, v]", "targets: [q, v, k]"), "targets [q, v] → [q, v, k]");
    assert.equal(said("model = f(x).cuda()", "model = f(x).half()"), "model f(x).cuda() → f(x).half()");
  });

  it("says of a notebook what became of its code", () => {
    const cell = (batch: number) => `args = A(batch = ${batch}, name = "x",\n`;
    const text = (batch: number, indent: number) =>
      JSON.stringify({ cells: [{ cell_type: "code", source: [cell(batch), "    bf16 = True)\n"] }] }, null, indent);
    for (const indent of [0, 1]) {
      const before = text(8, indent);
      const line = before.split("\n").findIndex((one) => one.includes("batch = 8"));
      const at = before.split("\n")[line]?.indexOf("8") ?? 0;
      const edits = [{ ...edit(line, at, at + 1, "2"), uri: "file:///a.ipynb" }];
      assert.equal(
        changesSaid(edits, () => before, "en"),
        "batch 8 → 2",
      );
    }
  });

  it("says calls that are nested deeply in full", () => {
    const nested = (value: number) => `${"f(x=".repeat(20_000)}${value}${")".repeat(20_000)}`;
    const said = changesSaid([edit(0, 0, nested(1).length, nested(2))], () => nested(1), "en");
    assert.ok(said.startsWith("x f(x=f(x="), said.slice(0, 40));
  });

  it("compares files of any size", () => {
    const lines = Array.from({ length: 60_000 }, (_, line) => `k${line}: 1`);
    const [first, ...others] = changedLines(["a", ...lines, "z"].join("\n"), ["b", ...lines, "y"].join("\n"));
    assert.deepEqual([first, others.length], [{ line: 0, before: ["a"], after: ["b"] }, 1]);
  });
});
