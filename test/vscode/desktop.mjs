/**
 * The host suite in a desktop VS Code, which @vscode/test-electron downloads: for machines that can, with a display.
 *
 * usage: npm run test:desktop [-- --version 1.101.0]
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ensureInstalled, root, run } from "../../scripts/process.mjs";
import { bundleHostSuite, hostResults } from "./lib/host.mjs";
import { temporaryCopy } from "./lib/server.mjs";
import { finish, record } from "./lib/tally.mjs";

if (Number(process.versions.node.split(".")[0]) < 22) {
  console.error("npm run test:desktop needs Node 22 or newer");
  process.exit(1);
}
await ensureInstalled();
const { status } = await run(process.execPath, [join("scripts", "build.mjs")]);
if (status !== 0) process.exit(status);

const { runTests } = await import("@vscode/test-electron");
const { folder, tests, results } = await bundleHostSuite();
const at = process.argv.indexOf("--version");
const started = performance.now();
const failure = await runTests({
  ...(at < 0 ? {} : { version: process.argv[at + 1] }),
  extensionDevelopmentPath: root,
  extensionTestsPath: tests,
  extensionTestsEnv: { VRAM_LENS_RESULTS: results },
  launchArgs: [temporaryCopy(join(root, "samples")), "--disable-extensions", "--disable-workspace-trust"],
}).then(
  () => null,
  (reason) => String(reason),
);
const outcomes = hostResults(results);
for (const { name, error, seconds } of outcomes ?? []) record(name, error, seconds);
if (outcomes === undefined) record("desktop VS Code", failure ?? "no results", (performance.now() - started) / 1000);
rmSync(folder, { recursive: true, force: true });
finish();
