/**
 * Writes `docs/findings` from the catalogue of findings; pages of codes that are gone are removed. Also puts the codes
 * into package.json, where the settings editor completes them, and what language models may ask, as the server has it.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CATALOGUE } from "../src/analysis/findings/catalogue";
import { findingPages } from "../src/analysis/findings/pages";
import { toolInputSchema } from "../src/core/report/tool-schema";
import { TOOLS, type ToolName } from "../src/core/report/tools";
import { CASES } from "../test/analysis/cases";

const folder = join(__dirname, "../docs/findings");
mkdirSync(folder, { recursive: true });
const pages = findingPages(CASES);
for (const name of readdirSync(folder)) if (name.endsWith(".md") && !pages.has(name)) rmSync(join(folder, name));
for (const [name, text] of pages) writeFileSync(join(folder, name), text);
console.log(`${pages.size} pages in docs/findings`);

const path = join(__dirname, "../package.json");
const text = readFileSync(path, "utf8");
const manifest = JSON.parse(text);
const severity = manifest.contributes.configuration.properties["vramlens.severity"];
severity.propertyNames = { anyOf: [{ enum: CATALOGUE.map(({ code }) => code).sort() }, { pattern: "^[a-z0-9-]+$" }] };
for (const tool of manifest.contributes.languageModelTools) {
  tool.modelDescription = TOOLS[tool.name as ToolName];
  tool.inputSchema = toolInputSchema();
}
writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
