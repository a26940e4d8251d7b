/**
 * Bundles every entry of the project into dist/ with esbuild.
 *
 * usage: node scripts/build.mjs [--development] [--watch]
 * Development keeps names and writes source maps; production minifies and writes none.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const development = process.argv.includes("--development");
const watch = process.argv.includes("--watch");
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));

/** Node programs and the desktop extension host: CommonJS, packages in their ES module form so that they shrink. */
const node = { platform: "node", target: "node20", format: "cjs", mainFields: ["module", "main"] };
/** Web Workers of vscode.dev: one CommonJS file, nothing of Node in it. */
const worker = { platform: "browser", target: "es2022", format: "cjs", mainFields: ["browser", "module", "main"] };
const page = { platform: "browser", target: "es2022", format: "esm" };

const ENTRIES = [
  { in: "src/cli/main.ts", out: "cli.js", options: { ...node, banner: { js: "#!/usr/bin/env node" } }, program: true },
  { in: "src/mcp/main.ts", out: "mcp.js", options: { ...node, banner: { js: "#!/usr/bin/env node" } }, program: true },
  { in: "src/cli/api.ts", out: "api.js", options: node },
  // One program for Node and for browsers, loaded as a thread or, where there are none, into the server's own.
  {
    in: "src/server/apart/worker.ts",
    out: "analysis.js",
    options: {
      ...worker,
      format: "iife",
      globalName: "VramLensAnalysis",
      external: ["node:worker_threads"],
      footer: { js: 'if (typeof module === "object") module.exports = VramLensAnalysis;' },
    },
  },
  { in: "src/server/node.ts", out: "server.js", options: node },
  { in: "src/server/browser.ts", out: "server.browser.js", options: { ...worker, format: "iife" } },
  { in: "src/extension/node.ts", out: "extension.js", options: { ...node, external: ["vscode"] } },
  { in: "src/extension/browser.ts", out: "extension.browser.js", options: { ...worker, external: ["vscode"] } },
  { in: "webview-ui/main.ts", out: "webview.js", options: page },
  { in: "webview-ui/main.css", out: "webview.css", options: page },
  { in: "webview-ui/evidence/main.ts", out: "evidence.js", options: page },
  { in: "webview-ui/evidence/main.css", out: "evidence.css", options: page },
  { in: "webview-ui/evidence/worker.ts", out: "evidence-worker.js", options: { ...page, format: "iife" } },
];

/** Entries that are there; a folder still to be written is left out. */
const entries = ENTRIES.filter((entry) => existsSync(join(root, entry.in)));

function optionsOf(entry) {
  return {
    absWorkingDir: root,
    entryPoints: [entry.in],
    outfile: join("dist", entry.out),
    bundle: true,
    minify: !development,
    sourcemap: development ? "linked" : false,
    sourcesContent: false,
    legalComments: "none",
    logLevel: "warning",
    define: {
      "process.env.VRAM_LENS_VERSION": JSON.stringify(version),
      ...(entry.options.platform === "browser" ? { global: "globalThis" } : {}),
    },
    ...entry.options,
  };
}

mkdirSync(join(root, "dist"), { recursive: true });

if (watch) {
  const contexts = await Promise.all(entries.map((entry) => context(optionsOf(entry))));
  await Promise.all(contexts.map((one) => one.watch()));
  console.log(`watching ${entries.map((entry) => entry.out).join(", ")}`);
} else {
  const results = await Promise.all(entries.map((entry) => build({ ...optionsOf(entry), metafile: true }))).catch(
    () => {
      // esbuild has already said where.
      process.exit(1);
    },
  );
  const written = new Set(results.flatMap((result) => Object.keys(result.metafile.outputs)));
  for (const name of readdirSync(join(root, "dist"))) {
    // What an earlier build left behind.
    if (!written.has(`dist/${name}`)) rmSync(join(root, "dist", name), { recursive: true });
  }
  for (const entry of entries) if (entry.program) chmodSync(join(root, "dist", entry.out), 0o755);
  const sizes = results.flatMap((result) =>
    Object.entries(result.metafile.outputs).filter(([file]) => !file.endsWith(".map")),
  );
  console.log(sizes.map(([file, { bytes }]) => `${file} ${(bytes / 1024).toFixed(0)} kB`).join("  "));
}
