/** Hostile strings through every place that shows a value: nothing acts on whoever looks at it. */
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import type { DocumentAnalysis } from "../../src/analysis/analyzer";
import type { Locale } from "../../src/analysis/messages";
import { planText } from "../../src/cli/plan-text";
import { toSarif } from "../../src/cli/sarif";
import { checkText } from "../../src/cli/text";
import type { Report } from "../../src/core/report/schema";
import { statusText } from "../../src/extension/statusText";
import { createTools } from "../../src/mcp/tools";
import { toCompletionItems } from "../../src/server/completion";
import type { StatusParams } from "../../src/server/protocol";
import { statusOf } from "../../src/server/status";
import { clientWords } from "../../src/words/client";
import { allPrintable, inJson } from "../../src/words/printable";
import type { PageNode } from "../../webview-ui/dom/node";
import { translator } from "../../webview-ui/messages";
import { markdownOf } from "../../webview-ui/model/markdown";
import { type MemoryRuntime, memoryRuntime, uri } from "../analysis/memory-runtime";
import { reportMessage } from "../webview/harness";
import { viewOf } from "../webview/nodes";
import type { Seed } from "./seeds";

const ESC = "\u001b";
export const ACTING = [
  `x${ESC}]52;c;aGk=\u0007${ESC}]8;;http://evil\u0007y`,
  "![p](https://evil/p.png) <img src=x> [l](command:evil) | a",
  "a`\n\n# [l](command:evil)\n",
  "\u202egnp.exe \u009b31m",
];
const LOCALES: readonly Locale[] = ["en", "zh-cn"];

/** Signs a terminal or an editor acts on. */
const ACTS = /(?![\t\n])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** A page of the product about a finding: nothing of a file stands in it. */
const OWN_LINK = /^https:\/\/vram-lens\.github\.io\/vram-lens\/[a-z-]+\/[a-z0-9-]+$/;

/** The page's views name types of browsers, which tests are compiled without. */
const { pageView } = require(join(__dirname, "../../webview-ui/view/page")) as {
  readonly pageView: (view: ReturnType<typeof viewOf>["view"], onExport: () => void) => readonly PageNode[];
};

const plain = clientWords("en");

/** What is wrong with what was shown, by where. */
class Shown {
  readonly faults: string[] = [];

  /** A text in which nothing may act. */
  text(where: string, text: string): void {
    const at = ACTS.exec(text)?.index;
    if (at !== undefined) this.faults.push(`${where}: ${JSON.stringify(text.slice(Math.max(0, at - 60), at + 20))}`);
  }

  /** Markdown, whose links and pictures outside of code are the product's own. */
  markdown(where: string, markdown: string): void {
    const bare = markdown.replace(/\\./g, "").replace(/`[^`\n]*`/g, "");
    for (const [found] of bare.matchAll(/!\[|\]\((?!file:\/\/\/w\/)|<[a-z]/gi))
      this.faults.push(`${where}: ${found} in ${markdown.slice(0, 200)}`);
    this.text(where, markdown);
  }

  /** The status item: its text, what is read aloud, and its tooltip, whose links may start commands. */
  status(status: StatusParams): void {
    for (const told of [
      status,
      { ...status, state: "failed" as const },
      { ...status, state: "broken" as const },
      { ...status, notice: status.because },
    ]) {
      const shown = statusText(told, plain);
      if (shown === undefined) continue;
      this.markdown("tooltip", shown.tooltip.join("\n\n"));
      for (const text of [shown.text, shown.label]) this.text("status", text);
    }
  }

  /** Every text and title of the panel's page, and what it copies as Markdown. */
  panel(report: Report, locale: string, label: string): void {
    const { view } = viewOf({ type: "host", message: { ...reportMessage(report, locale), label } });
    const visit = (node: PageNode | string): void => {
      if (typeof node === "string") {
        this.text("panel", node);
        return;
      }
      if (["script", "iframe", "object", "embed", "img"].includes(node.tag)) this.faults.push(`panel: ${node.tag}`);
      for (const [name, attribute] of Object.entries(node.attrs ?? {})) {
        if (/^on/.test(name)) this.faults.push(`panel: ${name}`);
        if (/^(?:title|aria-label|alt)$/.test(name)) this.text(`panel's ${name}`, String(attribute));
        if (/^(?:href|src)$/.test(name) && !OWN_LINK.test(String(attribute)))
          this.faults.push(`panel's ${name}: ${attribute}`);
      }
      for (const child of node.children) visit(child);
    };
    for (const node of pageView(view, () => undefined)) visit(node);
    const [run] = report.runs;
    if (run !== undefined) this.markdown("panel's copy", markdownOf(run, label, translator(locale)));
  }

  /** What the command line prints. */
  terminal(report: Report, locale: Locale): void {
    const context = { cwd: "/w", color: false, locale, textOf: () => undefined };
    const shown = allPrintable(report);
    this.text("check", checkText(shown, context));
    this.text("plan", planText(shown, context));
    this.text("JSON", inJson(JSON.stringify(report)));
    this.text("SARIF", inJson(JSON.stringify(toSarif(report, { cwd: "/w", rootUri: "file:///w", locale }))));
  }

  async hovers(analysis: DocumentAnalysis, lines: readonly string[]): Promise<void> {
    for (const [line, content] of lines.entries()) {
      // A key, and a value behind it.
      for (const at of new Set([content.search(/\S/) + 1, content.length - 1]))
        this.markdown("hover", (await analysis.hover(line, Math.max(0, at)))?.markdown ?? "");
      const items = toCompletionItems((await analysis.complete?.(line, content.length)) ?? [], true);
      for (const { label, detail, documentation } of items) {
        this.markdown("completion", typeof documentation === "object" ? documentation.value : (documentation ?? ""));
        this.text("completion", `${label} ${detail ?? ""}`);
      }
    }
  }

  async model(runtime: MemoryRuntime, path: string): Promise<void> {
    const analyzer = createAnalyzer(runtime);
    for (const tool of createTools({ analyzer, files: runtime.files, cwd: "/w", version: "0" }))
      this.text("a tool's answer", (await tool.call({ path })).text);
  }
}

/**
 * What acts on whoever is shown a run.
 *
 * @param value the hostile text: the device is called so, too
 */
export async function faultsShown({ main, files }: Seed, value: string): Promise<readonly string[]> {
  const shown = new Shown();
  for (const locale of LOCALES) {
    const runtime = memoryRuntime(files);
    const analysis = await createAnalyzer(runtime).analyse(uri(main), { locale, device: value });
    const { report } = analysis;
    await shown.hovers(analysis, (files[main] ?? "").split("\n"));
    shown.status(statusOf(uri(main), analysis, null, locale));
    shown.panel(report, locale, value);
    shown.terminal(report, locale);
    for (const { message } of report.runs.flatMap(({ findings }) => findings)) shown.text("finding", message);
    const whole = { start: { line: 0, character: 0 }, end: { line: 1e6, character: 0 } };
    for (const { title } of analysis.fixes(whole)) shown.text("fix", title);
    if (locale === "en") await shown.model(runtime, main);
  }
  return shown.faults;
}
