/**
 * The documentation as a static site in dist/site, and the panel as a page of it that runs wholly in the browser.
 *
 * usage: npm run site
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { ASSETS, pages } from "./pages.mjs";
import { root, run } from "./process.mjs";

const site = join(root, "dist", "site");

rmSync(site, { recursive: true, force: true });
const built = await run(process.execPath, [join("scripts", "build.mjs")], { cwd: root });
if (built.status !== 0) process.exit(built.status);
const made = pages(root);
for (const { name, html } of made) {
  const file = join(site, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, html);
}
for (const [folder, at] of Object.entries(ASSETS)) cpSync(join(root, folder), join(site, at), { recursive: true });
cpSync(join(root, "src", "web", "site.css"), join(site, "site.css"));

const page = join(site, "try");
mkdirSync(page, { recursive: true });
await build({
  absWorkingDir: root,
  entryPoints: ["src/web/main.ts"],
  outfile: join(page, "web.js"),
  bundle: true,
  minify: true,
  platform: "browser",
  target: "es2022",
  format: "esm",
  logLevel: "warning",
  define: { global: "globalThis" },
});
for (const name of ["webview.js", "webview.css"]) cpSync(join(root, "dist", name), join(page, name));
for (const name of ["index.html", "theme.css"]) cpSync(join(root, "src", "web", name), join(page, name));
cpSync(join(root, "models"), join(page, "models"), { recursive: true });
console.log(`${made.length} pages and the panel in dist/site`);
