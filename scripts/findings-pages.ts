/**
 * Brings `docs/findings` up to date: the cases that show the findings, and the index. Also puts the codes into package.json, where
 * the settings editor completes them, and what language models may ask, as the server has it.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toolInputSchema } from "../src/core/report/tool-schema";
import { TOOLS, type ToolName } from "../src/core/report/tools";
import { CASES } from "../test/analysis/cases";
import { FOLDER, findingPages, readFindingPages } from "./finding-pages";

const pages = findingPages(CASES);
for (const [name, text] of pages) writeFileSync(join(FOLDER, name), text);
console.log(`${pages.size} pages in docs/findings`);

const path = join(__dirname, "../package.json");
const text = readFileSync(path, "utf8");
const manifest = JSON.parse(text);
const severity = manifest.contributes.configuration.properties["vramlens.severity"];
severity.propertyNames = { anyOf: [{ enum: readFindingPages().map(({ code }) => code) }, { pattern: "^[a-z0-9-]+$" }] };
for (const tool of manifest.contributes.languageModelTools) {
  tool.modelDescription = TOOLS[tool.name as ToolName];
  tool.inputSchema = toolInputSchema();
}
writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
