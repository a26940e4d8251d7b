/** What the scripts share: where the project is, and running a program with its output shown. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Runs a program and shows what it prints.
 *
 * @returns {Promise<{ status: number, output: string, seconds: number }>} exit status and everything it printed
 */
export function run(command, args, options = {}) {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], ...options });
    let output = "";
    const take = (stream) => (chunk) => {
      output += chunk;
      if (!options.quiet) stream.write(chunk);
    };
    child.stdout?.setEncoding("utf8").on("data", take(process.stdout));
    child.stderr?.setEncoding("utf8").on("data", take(process.stderr));
    const end = (status) => resolve({ status, output, seconds: (performance.now() - started) / 1000 });
    child.on("error", (error) => {
      output += error.message;
      end(127);
    });
    child.on("close", (status) => end(status ?? 1));
  });
}

/** Whether a program can be started by its name. */
export async function hasProgram(name) {
  const finder = process.platform === "win32" ? "where" : "which";
  return (await run(finder, [name], { quiet: true })).status === 0;
}

/** Command and first argument that start a tool of `node_modules` with this Node, the same on every platform. */
export function tool(script) {
  return [process.execPath, join(root, "node_modules", ...script.split("/"))];
}

/** Installs the locked packages when they are not there yet. */
export async function ensureInstalled() {
  if (existsSync(join(root, "node_modules", ".package-lock.json"))) return;
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status } = await run(npm, ["ci", "--no-audit", "--no-fund"], { shell: process.platform === "win32" });
  if (status !== 0) {
    console.error("npm ci failed");
    process.exit(1);
  }
}
