/**
 * The editor suite in a real VS Code: the host suite inside the extension host, then a person's way through the window
 * in a dark, a light and two high-contrast themes, the panel in detail and in Chinese, Restricted Mode, the browser entry with its server in
 * a Web Worker, the package as it is installed, and the page of the built site.
 * Pictures go to test/artifacts.
 *
 * usage: node test/vscode/run.mjs [--images DIR] [--only SUBSTRING]
 */
import { mkdirSync, rmSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { stageExtension } from "../../scripts/packaged.mjs";
import { root, run } from "../../scripts/process.mjs";
import { bundleHostSuite, hostResults } from "./lib/host.mjs";
import { install, unsupported } from "./lib/install.mjs";
import { startServer, temporaryCopy, temporaryFolder, windowUrl } from "./lib/server.mjs";
import { serve } from "./lib/site.mjs";
import { finish, indented, record, skip } from "./lib/tally.mjs";
import { fakeTools } from "./lib/tools.mjs";
import { asWebExtension } from "./lib/web.mjs";

const artifacts = join(root, "test", "artifacts");
const only = argument("--only") ?? "";
const images = argument("--images");
/** Themes by the folder of their pictures: what the setting calls it, CSS class of the window. */
const THEMES = {
  dark: { setting: "Dark Modern", className: "vs-dark" },
  light: { setting: "Light Modern", className: "vs" },
  "high-contrast": { setting: "Default High Contrast", className: "hc-black" },
  "high-contrast-light": { setting: "Default High Contrast Light", className: "hc-light" },
};
/** More pixels, for the pictures of the README. */
const README_VIEW = { width: 1200, height: 760, scale: 1.5 };
/** Few enough that four of them stand in a page. */
const FIRST_VIEW = { width: 1000, height: 560 };
/** How long the whole host suite may take, milliseconds. */
const HOST_PATIENCE = 240_000;

/** Value after an option of this script. */
function argument(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/**
 * Runs a group of tests, and once more from its beginning, with nothing left of the first try, when one fails: a window drawn by a
 * busy machine sometimes takes the focus from an input that is typed into. A fault of the extension fails twice.
 * `attempt` gives the outcomes: name, error or null, seconds.
 */
async function twice(attempt) {
  let outcomes = await attempt();
  const failed = outcomes.filter(({ error }) => error !== null);
  if (failed.length > 0) {
    for (const { name, error } of failed) console.log(`again   ${name}\n${indented(error)}`);
    outcomes = await attempt();
  }
  for (const { name, error, seconds } of outcomes) record(name, error, seconds);
}

/** What one test came to. */
async function outcome(name, body) {
  const started = performance.now();
  const error = await body().then(
    () => null,
    (reason) => reason.stack ?? String(reason),
  );
  return { name, error, seconds: (performance.now() - started) / 1000 };
}

/** Runs tests in one window of a server of its own until one fails, as each goes on where the one before stopped. */
async function inWindow(browser, serverOptions, label, tests, options = {}) {
  const chosen = tests.filter((test) => `${label}: ${test.name}`.includes(only));
  if (chosen.length === 0) return;
  await twice(() => withServer(serverOptions, (server) => oneWindow(browser, server, label, chosen, options)));
}

/** One try of that. */
async function oneWindow(browser, server, label, tests, options) {
  const { Workbench } = await import("./lib/workbench.mjs");
  const pictures = options.pictures ?? join(artifacts, label);
  mkdirSync(pictures, { recursive: true });
  const folder = options.files === undefined ? temporaryCopy(join(root, "samples")) : temporaryFolder(options.files);
  options.prepareFolder?.(folder);
  const url = windowUrl(server, {
    folder,
    extension: options.installed || options.web ? undefined : extension,
  });
  const prepare = options.web ? (context) => asWebExtension(context, server, extension) : undefined;
  const outcomes = [];
  let workbench;
  const opens = {
    name: "the window opens",
    run: async () => {
      workbench = await Workbench.open(browser, url, { ...options.view, prepare });
      await workbench.wears(options.className ?? THEMES.light.className);
    },
  };
  try {
    for (const test of [opens, ...tests]) {
      const one = await outcome(`${label}: ${test.name}`, () => test.run(workbench, pictures, { ...options, folder }));
      outcomes.push(one);
      if (one.error === null) continue;
      // A window that hangs gives no picture; what failed is said all the same.
      await workbench?.screenshot(join(artifacts, `${label}-failed.png`)).catch(() => {});
      break;
    }
  } finally {
    await workbench?.close();
    rmSync(dirname(folder), { recursive: true, force: true });
  }
  return outcomes;
}

/** The same with a colour theme. */
function inTheme(browser, label, tests, { language, ...options } = {}) {
  const { setting, className } = THEMES[label];
  const settings = { "workbench.colorTheme": setting };
  return inWindow(browser, { settings, language }, label, tests, { ...options, className });
}

/** The host suite in a window of its own. */
async function hostSuite(browser) {
  const { folder, tests, results } = await bundleHostSuite();
  const server = await startServer({ env: { VRAM_LENS_RESULTS: results } });
  const page = await browser.newPage();
  try {
    await page.goto(windowUrl(server, { folder: temporaryCopy(join(root, "samples")), extension, tests }));
    const deadline = Date.now() + HOST_PATIENCE;
    while (hostResults(results) === undefined && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const outcomes = hostResults(results);
    if (outcomes !== undefined) return outcomes.map((one) => ({ ...one, name: `host: ${one.name}` }));
    await page.screenshot({ path: join(artifacts, "host-failed.png") });
    return [{ name: "host suite", error: `no results\n${server.log().slice(-3000)}`, seconds: HOST_PATIENCE / 1000 }];
  } finally {
    await page.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The VSIX, built and installed into a server of its own; the first minute of who has just installed it. */
async function installed(browser, tests) {
  if (![...tests].some((test) => `installed: ${test.name}`.includes(only))) return;
  const vsix = join(artifacts, "vram-lens.vsix");
  const packaged = await run(process.execPath, [join("scripts", "package.mjs"), "--no-build", "--out", vsix], {
    quiet: true,
  });
  if (packaged.status !== 0) return record("installed: the package builds", packaged.output, packaged.seconds);
  const journey = tests.filter((test) => INSTALLED.includes(test));
  await inWindow(browser, { vsix }, "installed", journey, { installed: true });
  const minute = tests.filter((test) => FIRST_MINUTE.includes(test));
  await inWindow(browser, { vsix }, "installed", minute, {
    ...{ installed: true, files: CONFIG, view: FIRST_VIEW },
    ...(images === undefined ? {} : { pictures: join(root, images, "first-minute") }),
  });
}

/** The built site in the browser alone. */
async function site(browser) {
  const chosen = SITE.filter((test) => `site: ${test.name}`.includes(only));
  if (chosen.length === 0) return;
  const built = await run(process.execPath, [join("scripts", "site.mjs")], { quiet: true });
  if (built.status !== 0) return record("site: it is built", built.output, built.seconds);
  const pictures = join(artifacts, "site");
  mkdirSync(pictures, { recursive: true });
  const served = await serve(join(root, "dist", "site"));
  for (const test of chosen) {
    await twice(async () => {
      const page = await browser.newPage(test.view);
      const one = await outcome(`site: ${test.name}`, () => test.run(page, served.url, pictures));
      if (one.error !== null)
        await page.screenshot({ path: join(artifacts, "site-failed.png"), fullPage: true }).catch(() => {});
      await page.close();
      return [one];
    });
  }
  served.stop();
}

/** A server with one setting more, for one group of windows. */
async function withServer(options, body) {
  const server = await startServer(options);
  try {
    return await body(server);
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
const { CHINESE_GALLERY, GALLERY, INSTALLED, JOURNEY, RESTRICTED, WEB } = await import("./page.mjs");
const { CHINESE, PANEL } = await import("./panel.mjs");
const { STATES } = await import("./states.mjs");
const { committed, PLACES } = await import("./places.mjs");
const { SITE } = await import("./site.mjs");
const { KEYS } = await import("./keys.mjs");
const { ASKED, RUNS } = await import("./asked.mjs");
const { CONFIG, FIRST_MINUTE } = await import("./minute.mjs");
const { launch } = await import("./lib/browser.mjs");
const extension = stageExtension();
const browser = await launch();
try {
  if (images !== undefined) {
    const pictured = (label) => ({ pictures: join(root, images, label), view: README_VIEW });
    await inTheme(browser, "dark", GALLERY, pictured("dark"));
    // A picture of Chinese needs a font that has it (Debian: fonts-noto-cjk).
    await inTheme(browser, "dark", CHINESE_GALLERY, { ...pictured("zh-cn"), language: "zh-cn" });
    await installed(browser, FIRST_MINUTE);
  } else {
    if (only === "" || only.startsWith("host")) await twice(() => hostSuite(browser));
    await inTheme(browser, "dark", JOURNEY);
    await inTheme(browser, "light", GALLERY);
    await inTheme(browser, "high-contrast", GALLERY);
    await inTheme(browser, "high-contrast-light", GALLERY);
    const tools = fakeTools();
    const env = { PATH: `${tools}${delimiter}${process.env.PATH}` };
    await inWindow(browser, { env }, "panel", [...STATES, ...PANEL], { tools });
    rmSync(tools, { recursive: true, force: true });
    await inWindow(browser, {}, "keys", KEYS);
    await inWindow(browser, {}, "asked", ASKED, { files: RUNS });
    const git = { "git.enabled": true, "git.openRepositoryInParentFolders": "never" };
    await inWindow(browser, { settings: git }, "places", PLACES, { prepareFolder: committed });
    await inWindow(browser, { language: "zh-cn" }, "chinese", CHINESE);
    await inWindow(browser, { restricted: true }, "restricted", RESTRICTED);
    await inWindow(browser, {}, "web", WEB, { web: true });
    await installed(browser, [...INSTALLED, ...FIRST_MINUTE]);
    await site(browser);
  }
} finally {
  await browser.close();
  rmSync(extension, { recursive: true, force: true });
}
finish();
