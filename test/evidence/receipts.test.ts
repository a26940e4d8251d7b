import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { receiptSchemaText } from "../../scripts/receipt-schema";
import { readReceipt } from "../../src/evidence/receipts/read";

const root = join(__dirname, "..", "..");
const page = readFileSync(join(root, "docs/receipts.md"), "utf8");
const example = page.slice(page.indexOf("```json") + 7, page.indexOf("```", page.indexOf("```json") + 7));

describe("receipts", () => {
  it("have the schema that the code reads them with", () => {
    const committed = JSON.parse(readFileSync(join(root, "schemas/receipt.schema.json"), "utf8"));
    assert.deepEqual(committed, JSON.parse(receiptSchemaText()), "npm run generate writes it");
  });

  it("of the documentation can be read", () => {
    const read = readReceipt(example);
    assert.equal(read.ok && read.receipt.peak.allocatedBytes, 22548578304);
  });

  it("with fields of later versions can be read", () => {
    assert.equal(readReceipt(JSON.stringify({ ...JSON.parse(example), later: { a: 1 } })).ok, true);
  });

  it("that are none say which field is wrong", () => {
    const read = readReceipt(JSON.stringify({ ...JSON.parse(example), steps: -1 }));
    assert.equal(!read.ok && read.field, "steps");
    assert.equal(readReceipt("{").ok, false);
  });
});
