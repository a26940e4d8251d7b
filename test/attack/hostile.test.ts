/** Hostile strings through every place that shows a value, in both languages: nothing acts on whoever looks at it. */
import { strict as assert } from "node:assert";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { planText } from "../../src/cli/plan-text";
import { toSarif } from "../../src/cli/sarif";
import { checkText } from "../../src/cli/text";
import type { Report } from "../../src/core/report/schema";
import { statusText, type Translate } from "../../src/extension/statusText";
import { toCompletionItems } from "../../src/server/completion";
import type { StatusParams } from "../../src/server/protocol";
import { statusOf } from "../../src/server/status";
import { allPrintable, inJson, inMarkdown, printable } from "../../src/words/printable";
import type { PageNode } from "../../webview-ui/dom/node";
import { translator } from "../../webview-ui/messages";
import { markdownOf } from "../../webview-ui/model/markdown";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { reportMessage } from "../webview/harness";
import { viewOf } from "../webview/nodes";
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

/** A page of the product about a finding: nothing of a file stands in it. */
const OWN_LINK = /^https:\/\/vram-lens\.github\.io\/vram-lens\/[a-z-]+\/[a-z-]+$/;

/** The page's views name types of browsers, which tests are compiled without. */
const { pageView } = require(join(__dirname, "../../webview-ui/view/page")) as {
  readonly pageView: (view: ReturnType<typeof viewOf>["view"], onExport: () => void) => readonly PageNode[];
};

const plain: Translate = (message, ...values) =>
  message.replace(/\{(\d)\}/g, (_, at) => String(values[Number(at)] ?? ""));

/** The status item: its text, what is read aloud, and its tooltip, whose links may start commands. */
function assertStatus(status: StatusParams): void {
  for (const told of [
    status,
    { ...status, state: "failed" as const },
    { ...status, state: "broken" as const },
    { ...status, notice: status.because },
  ]) {
    const shown = statusText(told, plain);
    if (shown === undefined) continue;
    const tooltip = shown.tooltip.join("\n\n");
    assert.deepEqual(foreign(tooltip), [], tooltip);
    for (const text of [shown.text, shown.label, tooltip]) assert.ok(!ACTS.test(text), JSON.stringify(text));
  }
}

/** Every text and title of the panel's page, and what it copies as Markdown. */
function assertPanel(report: Report, locale: string, label: string): void {
  const message = { ...reportMessage(report, locale), label };
  const { view } = viewOf({ type: "host", message });
  const visit = (node: PageNode | string): void => {
    if (typeof node === "string") {
      assert.ok(!ACTS.test(node), JSON.stringify(node));
      return;
    }
    assert.ok(!["script", "iframe", "object", "embed", "img"].includes(node.tag), node.tag);
    for (const [name, attribute] of Object.entries(node.attrs ?? {})) {
      assert.ok(!/^on/.test(name), name);
      if (/^(?:title|aria-label|alt)$/.test(name)) assert.ok(!ACTS.test(String(attribute)), `${name} ${attribute}`);
      if (/^(?:href|src)$/.test(name)) assert.ok(OWN_LINK.test(String(attribute)), `${name} ${attribute}`);
    }
    for (const child of node.children) visit(child);
  };
  for (const node of pageView(view, () => undefined)) visit(node);
  const [run] = report.runs;
  if (run === undefined) return;
  const copied = markdownOf(run, label, translator(locale));
  assert.deepEqual(foreign(copied), [], copied);
  assert.ok(!ACTS.test(copied), JSON.stringify(copied.slice(0, 400)));
}

describe("hostile strings", () => {
  for (const name of ["trl", "trainer", "python"]) {
    for (const locale of ["en", "zh-cn"] as const) {
      it(`${name} in ${locale}: hover, completion, status, panel, terminal, SARIF, JSON`, async () => {
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
            const markdown = (await analysis.hover(line, content.search(/\S/) + 1))?.markdown ?? "";
            assert.deepEqual(foreign(markdown), [], `${scalar.path}: ${markdown}`);
            assert.ok(!ACTS.test(markdown), JSON.stringify(markdown));
          }
          for (const [line, content] of lines.entries()) {
            const items = toCompletionItems((await analysis.complete?.(line, content.length)) ?? [], true);
            for (const item of items) {
              const documentation = typeof item.documentation === "object" ? item.documentation.value : "";
              assert.deepEqual(foreign(documentation), [], documentation);
              for (const text of [item.label, item.detail ?? "", documentation])
                assert.ok(!ACTS.test(text), JSON.stringify(text));
            }
          }
          assertStatus(statusOf(uri(seed.main), analysis, null, locale));
          assertPanel(report, locale, value);
          const context = { cwd: "/w", color: false, locale, textOf: () => undefined };
          const shown = allPrintable(report);
          const sarif = JSON.stringify(toSarif(report, { cwd: "/w", rootUri: "file:///w", locale: "en" }));
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
