/** The documentation as pages of a static site: which there are, what they are called, and where their links lead. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { Marked } from "marked";
import { gfmHeadingId } from "marked-gfm-heading-id";

/** Pages of the bar at the side, in the order of reading. */
export const MENU = {
  Use: [
    ["docs/first-minute.md", "The first minute"],
    ["docs/editor.md", "In the editor"],
    ["docs/panel.md", "The panel"],
    ["docs/cli.md", "Command line"],
    ["docs/runs.md", "How a run is put together"],
    ["docs/trainers.md", "What trainers keep"],
    ["docs/parallel.md", "Several GPUs"],
    ["docs/your-own-model.md", "Your own model"],
    ["docs/out-of-memory.md", "Out of memory"],
    ["docs/snapshots.md", "Snapshots and traces"],
    ["docs/receipts.md", "Receipts"],
  ],
  "Look up": [
    ["docs/findings/README.md", "Findings"],
    ["docs/formats.md", "Formats"],
    ["docs/devices.md", "GPUs"],
    ["docs/levers.md", "Plans"],
    ["docs/glossary.md", "Glossary"],
    ["CHANGELOG.md", "Changelog"],
  ],
  "Why believe it": [
    ["docs/believe.md", "In one picture"],
    ["docs/accuracy.md", "Accuracy"],
    ["docs/verification.md", "Verification"],
    ["docs/sharded-runs.md", "Sharded runs"],
    ["docs/clusters.md", "Clusters"],
    ["docs/published-memory.md", "Published peaks"],
    ["docs/read-by-eye.md", "Read by eye"],
    ["docs/coverage.md", "Coverage of the band"],
    ["docs/time-model.md", "Step time"],
    ["docs/performance.md", "Performance"],
  ],
  "How it is made": [
    ["docs/architecture.md", "Architecture"],
    ["docs/engine.md", "The engine"],
    ["docs/protocol.md", "Protocol"],
    ["docs/security.md", "Security"],
  ],
};

/** Pages beside those of `docs/`. */
const OTHERS = ["README.md", "README.zh-CN.md", "CHANGELOG.md"];
/** Folders whose files stand beside the pages, by what they are called there. */
export const ASSETS = { "docs/images/": "images/", "images/": "images/" };

const escaped = (text) => text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** `docs/findings/README.md` is `findings/index.html`. */
const htmlName = (path) =>
  path
    .replace(/^docs\//, "")
    .replace(/README\.md$/, "index.md")
    .replace(/\.md$/, ".html");

/** Paths of all documents that are pages, in the repository. */
export function documents(root) {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .map((name) => `docs/${name.replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".md"));
  return [...OTHERS, ...docs.sort()];
}

/** Every page: its name in the site and its HTML. Links to what has no page lead into the repository. */
export function pages(root) {
  const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const all = documents(root);
  const site = { root, all: new Set(all), repository: repository.url.replace(/\.git$/, "") };
  return all.map((path) => ({ name: htmlName(path), html: pageOf(site, path) }));
}

/** Where a link of a document leads in the site. */
function linkOf({ root, all, repository }, from, href) {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [to, hash] = href.split("#");
  const path = posix.join(posix.dirname(from), decodeURIComponent(to));
  const page = [path, posix.join(path, "README.md")].find((one) => all.has(one));
  const asset = Object.entries(ASSETS).find(([folder]) => path.startsWith(folder));
  const up = "../".repeat(htmlName(from).split("/").length - 1);
  const end = hash === undefined ? "" : `#${hash}`;
  if (page !== undefined) return `${up}${htmlName(page)}${end}`;
  if (asset !== undefined) return up + path.replace(asset[0], asset[1]);
  const file = join(root, path);
  const kind = existsSync(file) && statSync(file).isDirectory() ? "tree" : "blob";
  return `${repository}/${kind}/main/${path}${end}`;
}

function pageOf(site, path) {
  const markdown = readFileSync(join(site.root, path), "utf8");
  const up = "../".repeat(htmlName(path).split("/").length - 1);
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? "VRAM Lens";
  const marked = new Marked(gfmHeadingId(), {
    gfm: true,
    walkTokens: (token) => {
      if (token.type === "link" || token.type === "image") token.href = linkOf(site, path, token.href);
    },
  });
  return `<!DOCTYPE html>
<html lang="${path.includes("zh-CN") ? "zh-CN" : "en"}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title === "VRAM Lens" ? title : `${escaped(title.replaceAll("`", ""))} · VRAM Lens`}</title>
<link rel="icon" href="${up}images/icon.png">
<link rel="stylesheet" href="${up}site.css">
</head>
<body>
<main>${marked.parse(markdown)}</main>
<nav aria-label="Pages">${menuOf(path, up)}</nav>
</body>
</html>
`;
}

function menuOf(path, up) {
  const groups = Object.entries(MENU).map(([name, entries]) => {
    const items = entries.map(([to, label]) => {
      const here = to === path ? ' aria-current="page"' : "";
      return `<li><a href="${up}${htmlName(to)}"${here}>${escaped(label)}</a></li>`;
    });
    return `<p>${name}</p><ul>${items.join("")}</ul>`;
  });
  return `<p><a href="${up}index.html">VRAM Lens</a> · <a href="${up}try/index.html">Try it here</a></p>${groups.join("")}`;
}
