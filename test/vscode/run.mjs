/**
 * The editor suite in a real VS Code: the host suite inside the extension host, then a person's way through the window
 * in a dark, a light and a high-contrast theme, then Restricted Mode. Pictures go to test/artifacts.
 *
 * usage: node test/vscode/run.mjs [--images DIR] [--only SUBSTRING]
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "../../scripts/process.mjs";
import { install, unsupported } from "./lib/install.mjs";
import { startServer, temporaryCopy, windowUrl } from "./lib/server.mjs";

const artifacts = join(root, "test", "artifacts");
const only = argument("--only") ?? "";
const images = argument("--images");
const total = { passed: 0, failed: 0, skipped: 0 };

/** Value after an option of this script. */
function argument(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

function report(name, error, seconds) {
  if (error === null) total.passed++;
  else total.failed++;
  console.log(`${error === null ? "passed" : "FAILED"}  ${name} (${seconds.toFixed(1)} s)`);
  if (error !== null) console.log(String(error).replace(/^/gm, "    "));
}

function finish() {
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  process.exit(total.failed === 0 ? 0 : 1);
}

/** Runs tests in one window until one fails, as each goes on where the one before stopped. */
async function inWindow(browser, server, label, tests, options = {}) {
  const chosen = tests.filter((test) => `${label}: ${test.name}`.includes(only));
  if (chosen.length === 0) return;
  const { Workbench } = await import("./lib/workbench.mjs");
  const pictures = options.pictures ?? join(artifacts, label);
  mkdirSync(pictures, { recursive: true });
  const url = windowUrl(server, { folder: temporaryCopy(join(root, "samples")), extension: root });
  const workbench = await Workbench.open(browser, url, options.view);
  try {
    for (const test of chosen) {
      const started = performance.now();
      const error = await test.run(workbench, pictures).then(
        () => null,
        (reason) => reason.stack ?? String(reason),
      );
      if (error !== null) await workbench.screenshot(join(pictures, "failed.png"));
      report(`${label}: ${test.name}`, error, (performance.now() - started) / 1000);
      if (error !== null) break;
    }
  } finally {
    await workbench.close();
  }
}

/** The host suite, bundled, in a window of its own; it leaves its results in a file. */
async function hostSuite(browser) {
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-host-"));
  const results = join(folder, "results.json");
  const tests = join(folder, "index.js");
  await build({
    entryPoints: [join(root, "test", "vscode", "host", "index.ts")],
    outfile: tests,
    bundle: true,
    platform: "node",
    format: "cjs",
    external: ["vscode"],
    logLevel: "warning",
  });
  const server = await startServer({ env: { VRAM_LENS_RESULTS: results } });
  const page = await browser.newPage();
  try {
    await page.goto(windowUrl(server, { folder: temporaryCopy(join(root, "samples")), extension: root, tests }));
    for (const deadline = Date.now() + 240_000; !existsSync(results) && Date.now() < deadline; ) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    if (!existsSync(results)) {
      await page.screenshot({ path: join(artifacts, "host-failed.png") });
      report("host suite", `no results\n${server.log().slice(-3000)}`, 240);
      return;
    }
    for (const { name, error, seconds } of JSON.parse(readFileSync(results, "utf8"))) {
      report(`host: ${name}`, error, seconds);
    }
  } finally {
    await page.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A server with one setting more, for one group of windows. */
async function withServer(options, body) {
  const server = await startServer(options);
  try {
    await body(server);
  } finally {
    await server.stop();
  }
}

const reason = unsupported();
if (reason !== undefined) {
  console.log(`skipped  real VS Code: ${reason}`);
  total.skipped++;
  finish();
}
mkdirSync(artifacts, { recursive: true });
await install();
const { GALLERY, JOURNEY, RESTRICTED } = await import("./page.mjs");
const { launch } = await import("./lib/browser.mjs");
const browser = await launch();
try {
  if (images !== undefined) {
    // Pictures for the README: twice the pixels, and nothing else runs.
    const view = { width: 1280, height: 800, scale: 2 };
    for (const [label, theme] of THEMES().slice(0, 2)) {
      await withServer({ settings: { "workbench.colorTheme": theme } }, (server) =>
        inWindow(browser, server, label, GALLERY, { pictures: join(root, images, label), view }),
      );
    }
  } else {
    if ("host".includes(only) || only.startsWith("host")) await hostSuite(browser);
    for (const [label, theme, tests] of THEMES()) {
      await withServer({ settings: { "workbench.colorTheme": theme } }, (server) =>
        inWindow(browser, server, label, tests),
      );
    }
    await withServer({ restricted: true }, (server) => inWindow(browser, server, "restricted", RESTRICTED));
  }
} finally {
  await browser.close();
}
finish();

/** Folder of the pictures, theme of the window, and what is done in it. */
function THEMES() {
  return [
    ["dark", "Default Dark Modern", JOURNEY],
    ["light", "Default Light Modern", GALLERY],
    ["high-contrast", "Default High Contrast", GALLERY],
  ];
}
