/** Every finding: a case as people come to it, which raises it, and whose fix mends it. */
import { strict as assert } from "node:assert";
import { readFindingPages } from "../../scripts/finding-pages";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import { LineIndex } from "../../src/analysis/documents/lines";
import type { ReportEdit } from "../../src/core/report/schema";
import { applyEdits } from "../../src/syntax/edit";
import { CASES, type Case } from "./cases";
import { memoryRuntime, uri } from "./memory-runtime";

const EVERYWHERE = { start: { line: 0, character: 0 }, end: { line: 10_000, character: 0 } };

type Files = Case["files"];

/** Analyses of the documents a fix or finding may be in: the open one first. */
async function analyses({ files, main, estimated, fixed }: Case): Promise<DocumentAnalysis[]> {
  const hidden = estimated ? {} : { "graphs/qwen2.json": undefined, "graphs/llama.json": undefined };
  const analyzer = createAnalyzer(memoryRuntime(files, hidden));
  const [first = ""] = Object.keys(files);
  const opened = [main ?? first, ...Object.keys(files).filter((path) => path !== (main ?? first))];
  return Promise.all(
    opened.map((path) => analyzer.analyse(uri(path), { plans: estimated === true && fixed === true })),
  );
}

function count(found: readonly DocumentAnalysis[], code: string): number {
  return found[0]?.runs.flatMap(({ findings }) => findings).filter((finding) => finding.code === code).length ?? 0;
}

function applied(files: Files, edits: readonly ReportEdit[]): Files {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => {
      const lines = new LineIndex(text);
      const spans = edits
        .filter((edit) => edit.uri === uri(path))
        .map(({ range, newText }) => ({
          start: lines.offset(range.start.line, range.start.character),
          end: lines.offset(range.end.line, range.end.character),
          newText,
        }));
      return [path, applyEdits(text, spans)];
    }),
  );
}

describe("analysis: a case for every finding", () => {
  it("has one", () => {
    const codes = readFindingPages().map(({ code }) => code);
    assert.deepEqual(Object.keys(CASES).sort(), codes);
    assert.ok(codes.length >= 80);
  });

  for (const [code, one] of Object.entries(CASES)) {
    it(code, async () => {
      const before = await analyses(one);
      const raised = count(before, code);
      assert.ok(raised > 0, JSON.stringify(before[0]?.runs.flatMap(({ findings }) => findings.map((f) => f.code))));
      const offered = before.flatMap((analysis) => [...analysis.fixes(EVERYWHERE)]);
      const own = offered.filter((fix) => fix.code === code);
      // Two findings with the same mend have one fix.
      const fixes = own.length > 0 || one.fixed === undefined ? own : offered;
      assert.equal(fixes.length > 0, one.fixed === true, fixes.map(({ title }) => title).join(", ") || "no fix");
      for (const fix of fixes.slice(0, 2)) {
        const after = await analyses({ ...one, files: applied(one.files, fix.edits) });
        assert.ok(count(after, code) < raised, `${fix.title} does not mend it`);
      }
    });
  }
});
