/**
 * The panel's page outside an editor: HTML with the policy the extension uses, the theme's variables and a stand-in
 * for the host. For looking at the page in a browser and for checks that need one.
 */
import type { Report, ReportRun } from "../../src/core/report/schema";
import type { HostToPage, PageToHost } from "../../src/server/panelProtocol";

export interface HarnessOptions {
  /** Custom properties of a theme, as the editor puts them on the root (`--vscode-foreground: …; …`). */
  readonly themeCss: string;
  /** `vscode-dark`, `vscode-light`, `vscode-high-contrast` or `vscode-high-contrast-light`. */
  readonly bodyClass: string;
  readonly locale: string;
  /** Style sheet that the editor adds to every page. */
  readonly defaults?: string;
  /** What `getState` answers. */
  readonly saved?: unknown;
}

/** What the page sees as its host; tests read `sent` and `saved` and call `deliver`. */
export interface TestHost {
  readonly sent: PageToHost[];
  saved: unknown;
  deliver(message: HostToPage): void;
  /** Answers every what-if from here on. */
  answerWith(answer: (set: Readonly<Record<string, string>>) => ReportRun | null | Promise<ReportRun | null>): void;
}

/** Runs in the page, so it may name nothing outside itself. */
function standIn(saved: unknown): void {
  const scope = globalThis as unknown as Record<string, unknown> & {
    postMessage(message: unknown, origin: string): void;
  };
  type Answer = (set: Readonly<Record<string, string>>) => unknown;
  let answer: Answer | undefined;
  const waiting: { id: number; runId: string; set: Readonly<Record<string, string>> }[] = [];
  const deliver = (message: unknown) => scope.postMessage(message, "*");
  const reply = async (question: { id: number; runId: string; set: Readonly<Record<string, string>> }) => {
    const run = await answer?.(question.set);
    deliver({ type: "whatIfResult", id: question.id, runId: question.runId, run: run ?? null });
  };
  const host = {
    sent: [] as unknown[],
    saved,
    deliver,
    answerWith: (next: Answer) => {
      answer = next;
      for (const question of waiting.splice(0)) void reply(question);
    },
  };
  scope["testHost"] = host;
  scope["acquireVsCodeApi"] = () => ({
    postMessage: (message: { type: string; id: number; runId: string; set: Readonly<Record<string, string>> }) => {
      host.sent.push(message);
      if (message.type !== "whatIf") return;
      if (answer === undefined) waiting.push(message);
      else void reply(message);
    },
    getState: () => host.saved,
    setState: (state: unknown) => {
      host.saved = state;
    },
  });
}

/**
 * The page; it loads `/webview.js` and `/webview.css` from wherever it is served. Functions that run in it may come from a
 * compiler that names them with `__name`.
 */
export function pageHtml(options: HarnessOptions): string {
  const policy =
    "default-src 'none'; style-src 'self' 'nonce-test'; script-src 'nonce-test' 'unsafe-eval'; img-src 'self' data: blob:; font-src 'self'";
  return `<!DOCTYPE html>
<html lang="${options.locale}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>VRAM Lens</title>
<style nonce="test">:root { ${options.themeCss} }</style>
<style nonce="test">${options.defaults ?? ""}</style>
<link rel="stylesheet" href="/webview.css">
<script nonce="test">globalThis.__name = (named) => named; (${standIn.toString()})(${JSON.stringify(options.saved ?? null)});</script>
</head>
<body class="${options.bodyClass}">
<div id="app"></div>
<script type="module" nonce="test" src="/webview.js"></script>
</body>
</html>
`;
}

/** A report as the host delivers it. */
export function reportMessage(report: Report, locale = "en"): Extract<HostToPage, { type: "report" }> {
  return {
    type: "report",
    uri: report.runs[0]?.documents[0] ?? "file:///work/train.yaml",
    label: "llama-1b/train.yaml",
    report,
    runId: report.runs[0]?.id ?? null,
    locale,
    reserve: 0.1,
    follow: true,
    because: "has output_dir and 7 other TrainingArguments keys",
    localCards: true,
    runsCode: true,
    editor: true,
  };
}
