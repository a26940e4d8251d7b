/**
 * The editor suite in a real VS Code: the host suite inside the extension host, then a person's way through the window
 * in a dark, a light and a high-contrast theme, then Restricted Mode. Pictures go to test/artifacts.
 *
 * usage: node test/vscode/run.mjs [--images DIR] [--only SUBSTRING]
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/process.mjs";
import { bundleHostSuite, hostResults } from "./lib/host.mjs";
import { install, unsupported } from "./lib/install.mjs";
import { startServer, temporaryCopy, windowUrl } from "./lib/server.mjs";
import { finish, record, skip } from "./lib/tally.mjs";

const artifacts = join(root, "test", "artifacts");
const only = argument("--only") ?? "";
const images = argument("--images");
/** How long the whole host suite may take, milliseconds. */
const HOST_PATIENCE = 240_000;

/** Value after an option of this script. */
function argument(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
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
      record(`${label}: ${test.name}`, error, (performance.now() - started) / 1000);
      if (error !== null) break;
    }
  } finally {
    await workbench.close();
  }
}

/** The host suite in a window of its own. */
async function hostSuite(browser) {
  const { folder, tests, results } = await bundleHostSuite();
  const server = await startServer({ env: { VRAM_LENS_RESULTS: results } });
  const page = await browser.newPage();
  try {
    await page.goto(windowUrl(server, { folder: temporaryCopy(join(root, "samples")), extension: root, tests }));
    const deadline = Date.now() + HOST_PATIENCE;
    while (hostResults(results) === undefined && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const outcomes = hostResults(results);
    for (const { name, error, seconds } of outcomes ?? []) record(`host: ${name}`, error, seconds);
    if (outcomes === undefined) {
      await page.screenshot({ path: join(artifacts, "host-failed.png") });
      record("host suite", `no results\n${server.log().slice(-3000)}`, HOST_PATIENCE / 1000);
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
  skip(`real VS Code: ${reason}`);
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
