/** Facts of families that are captured from the libraries' code: every family with a graph was asked, and what holds is used. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { factsOf, isKnownFamily } from "../../src/core/graph/facts";

const GRAPHS = join(__dirname, "..", "..", "models", "graphs");

describe("core: families' facts", () => {
  it("are known of every captured family", () => {
    const files = readdirSync(GRAPHS).filter((name) => name.endsWith(".json"));
    // Networks that a library builds by name (`timm.resnet.json`) are no families of transformers.
    const families = files.map((name) => name.replace(/\.json$/, "")).filter((name) => !name.includes("."));
    const captured = families.filter((name) => {
      const { captured: by } = JSON.parse(readFileSync(join(GRAPHS, `${name}.json`), "utf8")) as {
        readonly captured?: { readonly transformers?: string };
      };
      return (by?.transformers ?? "") !== "";
    });
    assert.ok(captured.length > 250);
    assert.deepEqual(
      captured.filter((name) => !isKnownFamily(name)),
      [],
    );
  });

  it("say what the code does", () => {
    assert.deepEqual(factsOf("t5").keptInFloat32, ["wo"]);
    assert.deepEqual(factsOf("bart").cacheless?.includes("seq2seq-lm"), true);
    assert.notEqual(factsOf("t5").cacheless?.includes("seq2seq-lm"), true);
    assert.equal(factsOf("roberta").countsFromPadding, true);
    assert.equal(factsOf("bert").countsFromPadding, undefined);
    assert.equal(factsOf("gpt2").dropoutFromModule, true);
    assert.equal(factsOf("llama").dropoutFromModule, undefined);
    assert.equal(factsOf("gpt_oss").transposedExperts, true);
    assert.equal(factsOf("qwen3_moe").convertedExperts?.["gate_proj"], "gate_up_proj");
    assert.deepEqual(factsOf("qwen2_vl").anySize, { patch: 14, merged: 2 });
    assert.equal(factsOf("clip").textPositions, 77);
    assert.equal(factsOf("qwen2_5_omni").speaks, true);
    assert.equal(factsOf("llama4").textSide, "llama4_text");
    for (const name of ["git", "lilt", "markuplm", "layoutlmv3", "data2vec-audio"])
      assert.equal(factsOf(name).unsplit, true, name);
    assert.deepEqual(factsOf("no-family"), {});
  });
});
