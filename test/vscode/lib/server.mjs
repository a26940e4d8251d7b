/** VS Code's own server, started on a free port of this machine with a profile of its own. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { paths } from "./install.mjs";

/** Settings of every test window: nothing that moves, asks or fetches. */
const SETTINGS = {
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "chat.disableAIFeatures": true,
  "git.enabled": false,
  "editor.hover.delay": 100,
  "editor.minimap.enabled": false,
  "workbench.reduceMotion": "on",
};

/** A port nothing listens on. */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Copies a folder, so that what a test edits is not the project's own. */
export function temporaryCopy(folder) {
  const copy = join(mkdtempSync(join(tmpdir(), "vram-lens-")), basename(folder));
  cpSync(folder, copy, { recursive: true });
  return copy;
}

/** A folder of its own with these files, by name. */
export function temporaryFolder(files) {
  const folder = join(mkdtempSync(join(tmpdir(), "vram-lens-")), "my-run");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** A language pack that translates nothing of the editor itself: its windows have the language, its own words stay English. */
function writeLanguagePack(data, language) {
  const vscode = join(data, "language-pack.json");
  writeFileSync(vscode, JSON.stringify({ contents: {} }));
  const extensionIdentifier = { id: "vram-lens.language-pack" };
  const pack = {
    hash: "vram-lens",
    label: language,
    extensions: [{ extensionIdentifier, version: "1.0.0" }],
    translations: { vscode },
  };
  writeFileSync(join(data, "languagepacks.json"), JSON.stringify({ [language]: pack }));
}

/**
 * Starts the server.
 *
 * @param {{ settings?: object, port?: number, restricted?: boolean, env?: object, vsix?: string, language?: string }} options
 *   settings added to the defaults of the profile; `restricted` leaves workspaces untrusted; `env` reaches the extension
 *   host; `vsix` is a package to install; `language` is that of the windows, such as `zh-cn`
 * @returns base URL, port, log so far and `stop`
 */
export async function startServer(options = {}) {
  const home = mkdtempSync(join(tmpdir(), "vram-lens-vscode-"));
  const machine = join(home, "data", "Machine");
  mkdirSync(machine, { recursive: true });
  writeFileSync(join(machine, "settings.json"), JSON.stringify({ ...SETTINGS, ...options.settings }, null, 2));
  if (options.language !== undefined) writeLanguagePack(join(home, "data"), options.language);
  const extensions = join(home, "extensions");
  mkdirSync(extensions);
  const port = options.port ?? (await freePort());
  const profile = ["--server-data-dir", home, "--extensions-dir", extensions];
  if (options.vsix !== undefined) {
    const install = [
      paths.serverMain,
      "--accept-server-license-terms",
      ...profile,
      "--install-extension",
      options.vsix,
    ];
    execFileSync(paths.node, install, { stdio: "pipe" });
  }
  const child = spawn(
    paths.node,
    [
      paths.serverMain,
      ...["--host", "127.0.0.1", "--port", String(port), "--without-connection-token"],
      ...["--accept-server-license-terms", ...profile],
      ...["--telemetry-level", "off", "--enable-smoke-test-driver"],
      ...(options.restricted === true ? [] : ["--disable-workspace-trust"]),
      ...(options.language === undefined ? [] : ["--locale", options.language]),
    ],
    {
      stdio: ["ignore", "pipe", "pipe"],
      // What a command line starts has its environment, not that of a login shell.
      env: { ...process.env, NODE_OPTIONS: "", VSCODE_CLI: "1", ...options.env },
    },
  );
  let log = "";
  const keep = (chunk) => {
    log = (log + chunk).slice(-20_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const exited = new Promise((resolve) => child.once("exit", resolve));
  // However this process ends, the server does not outlive it.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);

  const deadline = Date.now() + 60_000;
  for (;;) {
    const ready = await fetch(`http://127.0.0.1:${port}/version`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) break;
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`VS Code's server did not start:\n${log}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    port,
    home,
    log: () => log,
    stop: async () => {
      child.kill("SIGTERM");
      const stopped = await Promise.race([
        exited.then(() => true),
        new Promise((resolve) => setTimeout(resolve, 5000)),
      ]);
      if (stopped !== true) {
        child.kill("SIGKILL");
        await exited;
      }
      process.off("exit", kill);
      rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

/**
 * URL of a window.
 *
 * @param {{ port: number }} server
 * @param {{ folder: string, extension?: string, tests?: string, file?: string }} options absolute paths; `extension`
 *   is one under development, `file` is opened at once
 */
export function windowUrl(server, { folder, extension, tests, file }) {
  const remote = (path) => `vscode-remote://127.0.0.1:${server.port}${path}`;
  const payload = [];
  if (extension !== undefined) payload.push(["extensionDevelopmentPath", remote(extension)]);
  if (tests !== undefined) payload.push(["extensionTestsPath", remote(tests)]);
  if (file !== undefined) payload.push(["openFile", remote(file)]);
  const query = new URLSearchParams({ folder, payload: JSON.stringify(payload) });
  return `http://127.0.0.1:${server.port}/?${query}`;
}
