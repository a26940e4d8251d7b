/**
 * The panel: how long its page takes to open, and a tried value to show. The page is the built one, in the browser of the
 * editor tests, under the policy that the extension uses; the answers come from the built server. What the editor itself
 * takes to make a webview is not in it.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HostToPage } from "../src/server/panelProtocol";
import { pageHtml, reportMessage } from "../test/webview/harness";
import { LanguageClient } from "./client";

const root = join(__dirname, "..");
const ORIGIN = "http://panel.bench";
/** 32 layers and 16 layers. */
const SAMPLES = ["llama-8b-zero3/train.json", "llama-1b/train.yaml"] as const;

/** As far as the measurement uses playwright. */
interface Page {
  route(pattern: string, handler: (route: Route) => unknown): Promise<void>;
  goto(url: string): Promise<unknown>;
  close(): Promise<void>;
  evaluate<T, A>(body: (argument: A) => T | Promise<T>, argument: A): Promise<T>;
}
interface Route {
  request(): { url(): string };
  fulfill(answer: { contentType: string; body: string }): Promise<void>;
}
interface Browser {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}
interface BrowserTools {
  launch(): Promise<Browser>;
}
interface InstallTools {
  unsupported(): string | undefined;
  install(): Promise<void>;
}

export interface PanelFigure {
  readonly what: string;
  readonly target: string;
  /** Milliseconds. */
  readonly durations: readonly number[];
}

/** What the functions below, which run in the page, use of it. */
interface PageScope {
  readonly performance: { now(): number };
  readonly document: { querySelector(selector: string): unknown };
  postMessage(message: unknown, origin: string): void;
  requestAnimationFrame(callback: () => void): void;
  setTimeout(callback: () => void): void;
}

/** Milliseconds from the page's navigation to its first picture with the report. */
function opened(message: HostToPage): Promise<number> {
  const page = globalThis as unknown as PageScope;
  return new Promise((resolve) => {
    page.postMessage(message, "*");
    const look = (): void => {
      if (page.document.querySelector("h1.verdict") === null) page.requestAnimationFrame(look);
      else page.requestAnimationFrame(() => page.setTimeout(() => resolve(page.performance.now())));
    };
    look();
  });
}

/** Milliseconds from a message to the picture that follows it. */
function redrawn(message: HostToPage): Promise<number> {
  const page = globalThis as unknown as PageScope;
  const started = page.performance.now();
  return new Promise((resolve) => {
    page.postMessage(message, "*");
    // The page draws in the frame after the message; the task after that frame has it done.
    page.setTimeout(() =>
      page.requestAnimationFrame(() => page.setTimeout(() => resolve(page.performance.now() - started))),
    );
  });
}

async function pageOf(browser: Browser): Promise<Page> {
  const page = await browser.newPage();
  const html = pageHtml({ themeCss: "", bodyClass: "vscode-dark", locale: "en" });
  await page.route(`${ORIGIN}/**`, (route) => {
    const path = new URL(route.request().url()).pathname;
    const file = (name: string): string => readFileSync(join(root, "dist", name), "utf8");
    if (path === "/webview.js") return route.fulfill({ contentType: "text/javascript", body: file("webview.js") });
    if (path === "/webview.css") return route.fulfill({ contentType: "text/css", body: file("webview.css") });
    return route.fulfill({ contentType: "text/html", body: html });
  });
  await page.goto(ORIGIN);
  return page;
}

/** Nothing where the editor tests cannot run. */
export async function panelFigures(rounds = 9): Promise<readonly PanelFigure[]> {
  const tools = (name: string) => import(join(root, "test", "vscode", "lib", name));
  const { unsupported, install }: InstallTools = await tools("install.mjs");
  if (unsupported() !== undefined) return [];
  await install();
  const { launch }: BrowserTools = await tools("browser.mjs");
  const server = spawn(process.execPath, [join(root, "dist", "server.js"), "--stdio"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const browser = await launch();
  try {
    const client = new LanguageClient(server.stdout, server.stdin);
    await client.initialize(join(root, "samples"));
    const opening: number[] = [];
    const figures: PanelFigure[] = [];
    for (const [index, sample] of SAMPLES.entries()) {
      const { uri, report } = await client.openAndWait(join(root, "samples", sample));
      const message = reportMessage(report);
      const runId = report.runs[0]?.id ?? "";
      for (let round = 0; round <= rounds; round++) {
        const page = await pageOf(browser);
        const took = await page.evaluate(opened, message);
        if (round > 0) opening.push(took);
        await page.close();
      }
      const page = await pageOf(browser);
      await page.evaluate(opened, message);
      const trying: number[] = [];
      for (let round = 0; round <= 2 * rounds; round++) {
        const started = performance.now();
        // A batch never tried before, so that no answer to it is kept.
        const { run } = await client.whatIf({ uri, runId, set: { micro_batch_size: String(17 + round) } });
        const answered = performance.now() - started;
        if (run?.perDevice == null) throw new Error(`${sample}: the tried value has no estimate`);
        // As the page's own question would be answered: the run takes the place of the one shown.
        const drawn = await page.evaluate(redrawn, { ...message, report: { ...report, runs: [run] } });
        if (round > 0) trying.push(answered + drawn);
      }
      await page.close();
      const layers = index === 0 ? 32 : 16;
      const what = `panel: a value never tried, ${layers} layers, answered and drawn`;
      figures.push({ what, target: "< 50 ms", durations: trying });
    }
    return [{ what: "panel: its page opens with a report", target: "< 300 ms", durations: opening }, ...figures];
  } finally {
    await browser.close();
    server.kill();
  }
}
