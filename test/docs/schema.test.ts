/** docs/report.schema.json is the zod schema of the report. `UPDATE_DOCS=1 npx mocha test/docs` writes it. */
import { strict as assert } from "node:assert";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { reportSchema } from "../../src/core/report/schema";

describe("report schema", () => {
  it("is published as JSON Schema", () => {
    const path = join(__dirname, "..", "..", "docs", "report.schema.json");
    const schema = { title: "VRAM Lens report", ...z.toJSONSchema(reportSchema) };
    const text = `${JSON.stringify(schema, null, 2)}\n`;
    if (process.env["UPDATE_DOCS"] === "1") writeFileSync(path, text);
    assert.equal(existsSync(path) ? readFileSync(path, "utf8") : "", text, "run UPDATE_DOCS=1 npx mocha test/docs");
  });
});
