/** Hostile strings through every place that shows a value, in both languages: nothing acts on whoever looks at it. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { toSarif } from "../../src/cli/sarif";
import { checkText, planText } from "../../src/cli/text";
import { allPrintable, inJson, inMarkdown, printable } from "../../src/words/printable";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { replaced, scalarsOf } from "./mutations";
import { SEEDS } from "./seeds";

const ESC = "\u001b";
const HOSTILE = [
  `x${ESC}]52;c;aGk=\u0007${ESC}]8;;http://evil\u0007y`,
  "![p](https://evil/p.png) <img src=x> [l](command:evil) | a",
  "a`\n\n# [l](command:evil)\n",
  "\u202egnp.exe \u009b31m",
];

/** Signs a terminal or an editor acts on. */
const ACTS = /(?![\t\n])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Links and pictures outside of code that are not the product's own, after what is escaped is taken out. */
function foreign(markdown: string): string[] {
  const bare = markdown.replace(/\\./g, "").replace(/`[^`\n]*`/g, "");
  return [...bare.matchAll(/!\[|\]\((?!file:\/\/\/w\/)|<[a-z]/gi)].map(([found]) => found);
}

describe("hostile strings", () => {
  for (const name of ["trl", "trainer", "python"]) {
    for (const locale of ["en", "zh-cn"] as const) {
      it(`${name} in ${locale}: hover, terminal, SARIF, JSON`, async () => {
        const seed = SEEDS[name];
        assert.ok(seed);
        const text = seed.files[seed.main] ?? "";
        const texts = scalarsOf(uri(seed.main), text).filter(
          ({ kind, path }) => kind === "text" && !/output_dir/.test(path),
        );
        for (const [index, scalar] of texts.entries()) {
          const value = HOSTILE[index % HOSTILE.length] ?? "";
          const files: Record<string, string> = {
            ...seed.files,
            [seed.main]: replaced(text, scalar, JSON.stringify(value)),
          };
          const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri(seed.main), {
            locale,
            device: value,
          });
          const { report } = analysis;
          const lines: readonly string[] = (files[seed.main] ?? "").split("\n");
          for (const [line, content] of lines.entries()) {
            const markdown = analysis.hover(line, content.search(/\S/) + 1)?.markdown ?? "";
            assert.deepEqual(foreign(markdown), [], `${scalar.path}: ${markdown}`);
            assert.ok(!ACTS.test(markdown), JSON.stringify(markdown));
          }
          const context = { cwd: "/w", color: false, locale, textOf: () => undefined };
          const shown = allPrintable(report);
          const sarif = JSON.stringify(toSarif(report, "/w", "file:///w"));
          for (const out of [
            checkText(shown, context),
            planText(shown, context),
            inJson(JSON.stringify(report)),
            inJson(sarif),
          ])
            assert.ok(!ACTS.test(out), JSON.stringify(out.slice(0, 400)));
          for (const { message } of report.runs.flatMap(({ findings }) => findings))
            assert.ok(!ACTS.test(message), message);
        }
      });
    }
  }

  it("are made visible, not taken away", () => {
    assert.equal(printable(`a${ESC}[31m\n`), "a\\u001b[31m\\n");
    assert.equal(inMarkdown("[a](b)"), "\\[a\\]\\(b\\)");
  });
});
