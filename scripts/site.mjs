/**
 * The documentation as a static site in dist/site, and the panel as a page of it that runs wholly in the browser.
 *
 * usage: npm run site
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { marked } from "marked";
import { root, run } from "./process.mjs";

const site = join(root, "dist", "site");

/** Pages of the bar at the side, in the order of reading. */
const MENU = [
  ["first-minute.md", "The first minute"],
  ["editor.md", "In the editor"],
  ["panel.md", "The panel"],
  ["cli.md", "Command line"],
  ["out-of-memory.md", "Out of memory"],
  ["findings/README.md", "Findings"],
  ["formats.md", "Formats"],
  ["devices.md", "GPUs"],
  ["levers.md", "Plans"],
  ["believe.md", "Why believe it"],
  ["accuracy.md", "Accuracy"],
  ["verification.md", "Verification"],
  ["published-memory.md", "Published peaks"],
  ["performance.md", "Performance"],
  ["security.md", "Security"],
  ["architecture.md", "Architecture"],
  ["protocol.md", "Protocol"],
  ["glossary.md", "Glossary"],
];

const escaped = (text) => text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
/** `findings/README.md` is the folder's index. */
const htmlName = (path) => path.replace(/README\.md$/, "index.md").replace(/\.md$/, ".html");

/** The heading of a page, for its title. */
function titleOf(markdown) {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? "VRAM Lens";
}

function pageOf(path, markdown) {
  const up = "../".repeat(path.split("/").length - 1);
  const menu = MENU.map(([to, name]) => {
    const here = to === path ? ' aria-current="page"' : "";
    return `<li><a href="${up}${htmlName(to)}"${here}>${escaped(name)}</a></li>`;
  });
  // Links between pages; what is elsewhere in the repository has no page.
  const body = marked
    .parse(markdown, { gfm: true })
    .replace(
      /href="([^":#?]+\.md)(#[^"]*)?"/g,
      (_, to, hash = "") => `href="${htmlName(to.replace(/^docs\//, ""))}${hash}"`,
    );
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(titleOf(markdown))} · VRAM Lens</title>
<link rel="stylesheet" href="${up}site.css">
</head>
<body>
<nav aria-label="Pages"><p><a href="${up}index.html">VRAM Lens</a></p><ul>${menu.join("")}<li><a href="${up}try/index.html">Try it here</a></li></ul></nav>
<main>${body}</main>
</body>
</html>
`;
}

function writePage(path, markdown) {
  const file = join(site, htmlName(path));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, pageOf(path, markdown));
}

rmSync(site, { recursive: true, force: true });
const built = await run(process.execPath, [join("scripts", "build.mjs")], { cwd: root });
if (built.status !== 0) process.exit(built.status);
const docs = join(root, "docs");
let pages = 0;
for (const path of readdirSync(docs, { recursive: true, encoding: "utf8" })) {
  const name = path.replaceAll("\\", "/");
  if (!name.endsWith(".md")) continue;
  writePage(name, readFileSync(join(docs, name), "utf8"));
  pages += 1;
}
writePage("README.md", readFileSync(join(root, "README.md"), "utf8"));
cpSync(join(docs, "images"), join(site, "images"), { recursive: true });
cpSync(join(docs, "images"), join(site, "docs", "images"), { recursive: true });
cpSync(join(root, "images"), join(site, "images"), { recursive: true });
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
console.log(`${pages + 1} pages and the panel in dist/site`);
