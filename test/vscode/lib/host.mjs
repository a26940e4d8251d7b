/** The suite that runs inside the extension host, bundled to one file, and the results it leaves. */
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "../../../scripts/process.mjs";

/**
 * Bundles the suite into a new folder.
 *
 * @returns `tests`, the module to give to VS Code, and `results`, the file to name in VRAM_LENS_RESULTS
 */
export async function bundleHostSuite() {
  const folder = mkdtempSync(join(tmpdir(), "vram-lens-host-"));
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
  return { folder, tests, results: join(folder, "results.json") };
}

/** Results of the suite: name, error or null, seconds; undefined while there are none. */
export function hostResults(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}
