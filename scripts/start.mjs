/**
 * From a fresh clone to a real training config in a real editor: installs, builds, prints the report of samples/, then
 * opens them in the desktop `code` or, where there is none, in a VS Code in the browser.
 *
 * usage: npm start [-- --no-editor] [-- --port N]
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ensureInstalled, hasProgram, root, run } from "./process.mjs";

const samples = join(root, "samples");

async function must(command, args) {
  const { status, output } = await run(command, args, { quiet: true });
  if (status === 0) return;
  console.error(output.trimEnd());
  process.exit(1);
}

await ensureInstalled();
await must(process.execPath, [join("scripts", "build.mjs")]);
const report = await run(process.execPath, [join("dist", "cli.js"), "check", "--fail-on", "never", "samples"], {
  stdio: "inherit",
});
if (report.status !== 0) process.exit(report.status);
if (process.argv.includes("--no-editor")) process.exit(0);

if (await hasProgram("code")) {
  await must("code", ["--new-window", `--extensionDevelopmentPath=${root}`, samples]);
  console.log("Opened samples/ in VS Code. Hover over per_device_train_batch_size in llama-1b/train.yaml.");
} else {
  const { unsupported } = await import("../test/vscode/lib/install.mjs");
  const reason = unsupported();
  if (reason !== undefined) {
    console.log(`No desktop VS Code ("code") on the PATH, and no VS Code for the browser here: ${reason}.`);
    process.exit(0);
  }
  await inBrowser();
}

/** VS Code's server with the samples; stays until it is interrupted. */
async function inBrowser() {
  const { install } = await import("../test/vscode/lib/install.mjs");
  const { startServer, windowUrl } = await import("../test/vscode/lib/server.mjs");
  const { stageExtension } = await import("./packaged.mjs");
  await install();
  const at = process.argv.indexOf("--port");
  const server = await startServer(at < 0 ? {} : { port: Number(process.argv[at + 1]) });
  const extension = stageExtension();
  const url = windowUrl(server, {
    folder: samples,
    extension,
    file: join(samples, "llama-1b", "train.yaml"),
  });
  console.log(`VS Code is at\n  ${url}\nHover over per_device_train_batch_size. Ctrl-C stops it.`);
  const stop = async () => {
    await server.stop();
    rmSync(extension, { recursive: true, force: true });
    process.exit(0);
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
}
