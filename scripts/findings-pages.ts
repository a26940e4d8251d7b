/** Writes `docs/findings` from the catalogue of findings; pages of codes that are gone are removed. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findingPages } from "../src/analysis/findings/pages";

const folder = join(__dirname, "../docs/findings");
mkdirSync(folder, { recursive: true });
const pages = findingPages();
for (const name of readdirSync(folder)) if (name.endsWith(".md") && !pages.has(name)) rmSync(join(folder, name));
for (const [name, text] of pages) writeFileSync(join(folder, name), text);
console.log(`${pages.size} pages in docs/findings`);
