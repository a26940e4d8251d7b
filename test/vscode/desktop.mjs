/**
 * The host suite in a desktop VS Code, which @vscode/test-electron downloads: for machines that can, with a display.
 *
 * usage: npm run test:desktop [-- --version 1.101.0] [-- --vsix]
 *   --vsix: builds the package, installs it with `code --install-extension`, and runs the suite against what was installed
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureInstalled, root, run } from "../../scripts/process.mjs";
import { temporaryCopy } from "./lib/server.mjs";
import { finish, record } from "./lib/tally.mjs";

if (Number(process.versions.node.split(".")[0]) < 22) {
  console.error("npm run test:desktop needs Node 22 or newer");
  process.exit(1);
}

/** Runs a step that everything after it needs. */
async function must(command, args, options) {
  const { status } = await run(command, args, options);
  if (status !== 0) process.exit(status);
}

await ensureInstalled();
await must(process.execPath, [join("scripts", "build.mjs")]);

const { downloadAndUnzipVSCode, resolveCliArgsFromVSCodeExecutablePath, runTests } = await import(
  "@vscode/test-electron"
);
const { bundleHostSuite, hostResults } = await import("./lib/host.mjs");
const { folder, tests, results } = await bundleHostSuite();
const at = process.argv.indexOf("--version");
const vscodeExecutablePath = await downloadAndUnzipVSCode(at < 0 ? undefined : process.argv[at + 1]);
const scratch = mkdtempSync(join(tmpdir(), "vram-lens-desktop-"));

/** Installs the package as a person does, into the profile that the suite runs in. */
async function installPackage() {
  const vsix = join(scratch, "vram-lens.vsix");
  await must(process.execPath, [join("scripts", "package.mjs"), "--no-build", "--out", vsix]);
  const [code, ...profile] = resolveCliArgsFromVSCodeExecutablePath(vscodeExecutablePath);
  const shell = process.platform === "win32";
  await must(shell ? `"${code}"` : code, [...profile, "--install-extension", vsix, "--force"], { shell });
}

/** The editor wants an extension under development; this one does nothing. */
function standIn() {
  const manifest = { name: "stand-in", publisher: "vram-lens", version: "0.0.0", engines: { vscode: "*" } };
  writeFileSync(join(scratch, "package.json"), JSON.stringify(manifest));
  return scratch;
}

const installed = process.argv.includes("--vsix");
if (installed) await installPackage();
const started = performance.now();
const failure = await runTests({
  vscodeExecutablePath,
  extensionDevelopmentPath: installed ? standIn() : root,
  extensionTestsPath: tests,
  extensionTestsEnv: { VRAM_LENS_RESULTS: results },
  launchArgs: [
    temporaryCopy(join(root, "samples")),
    ...(installed ? [] : ["--disable-extensions"]),
    "--disable-workspace-trust",
  ],
}).then(
  () => null,
  (reason) => String(reason),
);
const outcomes = hostResults(results);
for (const { name, error, seconds } of outcomes ?? []) record(name, error, seconds);
if (outcomes === undefined) record("desktop VS Code", failure ?? "no results", (performance.now() - started) / 1000);
for (const made of [folder, scratch]) rmSync(made, { recursive: true, force: true });
finish();
