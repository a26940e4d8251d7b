/** The cache of analyses: a result that anything changed under is never handed out. */
import { strict as assert } from "node:assert";
import type { Analyzer, DocumentAnalysis, ServedAnalysis } from "../../src/analysis/analyzer";
import { Analyses, NEVER } from "../../src/server/analyses";

/** An analyzer whose results the test releases one by one; each depends on one document or folder. */
function held(dependency = "dep") {
  const calls: { readonly plans: boolean; readonly release: (name: string) => void }[] = [];
  const invalidated: string[] = [];
  const analyzer: Analyzer = {
    recognise: () => null,
    discover: async () => ({ configs: [], skipped: [] }),
    invalidate: (uri) => invalidated.push(uri),
    analyse: (uri, options) =>
      new Promise((resolve) => {
        const release = (version: string) =>
          resolve({ uri, dependencies: [dependency], report: { version } } as unknown as DocumentAnalysis);
        calls.push({ plans: options.plans === true, release });
      }),
  };
  const analyses = new Analyses(analyzer, async () => ({}));
  return { analyses, calls, invalidated };
}

/** Lets everything that can go on go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));
const nameOf = (analysis: ServedAnalysis | undefined) => analysis?.report.version;

describe("analyses", () => {
  it("computes once for all who ask, and again after a change", async () => {
    const { analyses, calls, invalidated } = held();
    const both = Promise.all([analyses.get("a", false, NEVER), analyses.get("a", false, NEVER)]);
    await settle();
    assert.equal(calls.length, 1);
    calls[0]?.release("first");
    assert.deepEqual((await both).map(nameOf), ["first", "first"]);
    assert.equal(nameOf(analyses.peek("a")), "first");
    assert.deepEqual([...analyses.invalidate(["dep"])].sort(), ["a", "dep"]);
    assert.deepEqual(invalidated, ["dep"]);
    assert.equal(analyses.peek("a"), undefined);
    const next = analyses.get("a", false, NEVER);
    await settle();
    calls[1]?.release("second");
    assert.equal(nameOf(await next), "second");
  });

  for (const [what, change] of [
    ["a dependency it turns out to have", (analyses: Analyses) => void analyses.invalidate(["dep"])],
    ["the document", (analyses: Analyses) => void analyses.invalidate(["a"])],
    ["everything", (analyses: Analyses) => analyses.clear()],
  ] as const) {
    it(`computes again when ${what} changed meanwhile`, async () => {
      const { analyses, calls } = held();
      const asked = analyses.get("a", false, NEVER);
      await settle();
      change(analyses);
      calls[0]?.release("stale");
      await settle();
      assert.equal(calls.length, 2);
      calls[1]?.release("fresh");
      assert.equal(nameOf(await asked), "fresh");
    });
  }

  it("computes again when a file appears in a folder that it looked into", async () => {
    const { analyses, calls } = held("file:///w/.vramlens/receipts");
    const asked = analyses.get("a", false, NEVER);
    await settle();
    calls[0]?.release("without");
    await asked;
    assert.ok(analyses.invalidate(["file:///w/.vramlens/receipts/20260302-rank0.json"]).has("a"));
  });

  it("keeps a result when something else changed meanwhile", async () => {
    const { analyses, calls } = held();
    const asked = analyses.get("a", false, NEVER);
    await settle();
    analyses.invalidate(["elsewhere"]);
    calls[0]?.release("first");
    assert.equal(nameOf(await asked), "first");
    assert.equal(calls.length, 1);
  });

  it("serves those without plans from a result with plans, not the other way round", async () => {
    const { analyses, calls } = held();
    const plain = analyses.get("a", false, NEVER);
    await settle();
    calls[0]?.release("plain");
    await plain;
    const planned = analyses.get("a", true, NEVER);
    await settle();
    calls[1]?.release("planned");
    assert.equal(nameOf(await planned), "planned");
    assert.equal(nameOf(await analyses.get("a", false, NEVER)), "planned");
    assert.deepEqual(
      calls.map(({ plans }) => plans),
      [false, true],
    );
  });

  it("gives nothing to who lost interest", async () => {
    const { analyses, calls } = held();
    const token = { isCancellationRequested: false };
    const asked = analyses.get("a", false, token);
    await settle();
    analyses.invalidate(["a"]);
    token.isCancellationRequested = true;
    calls[0]?.release("stale");
    assert.equal(await asked, undefined);
    assert.equal(calls.length, 1);
  });
});
