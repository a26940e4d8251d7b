/**
 * JSON Schema of a receipt, made from the schema that receipts are read with. `node --require ./scripts/typescript.cjs scripts/receipt-schema.ts`
 * writes schemas/receipt.schema.json; a test compares.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { receiptSchema } from "../src/evidence/receipts/schema";

/** The schema's text, before it is formatted. */
export function receiptSchemaText(): string {
  const schema = z.toJSONSchema(receiptSchema, { target: "draft-7", io: "input" });
  return `${JSON.stringify({ ...schema, title: "VRAM Lens receipt" }, null, 2)}\n`;
}

if (process.argv[1]?.endsWith("receipt-schema.ts") === true) {
  writeFileSync(join(__dirname, "..", "schemas", "receipt.schema.json"), receiptSchemaText());
}
