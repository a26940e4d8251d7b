/**
 * JSON Schema of `.vramlens.yaml`, made from the schema the analysis validates with, so that editors complete and
 * explain its keys. `node --require ./scripts/typescript.cjs scripts/pins-schema.ts` writes schemas/vramlens.schema.json; a test compares.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { PINNED_FIELDS, pinnedFieldEffect } from "../src/formats/peft";
import { pinsSchema } from "../src/formats/pins";
import { EFFECTS } from "../src/words/en/effects";
import { PINS } from "../src/words/en/pins";

/** Explanation of a key by its path in the schema, shown by editors on hover and in completion. */
function descriptionOf(path: string): string | undefined {
  const inner = path === "runs" ? path : path.replace(/^runs\./, "");
  const field = inner.replace(/^adapter\./, "");
  if (inner !== field && Object.hasOwn(PINNED_FIELDS, field)) return EFFECTS[pinnedFieldEffect(field)];
  return (PINS as Readonly<Record<string, string>>)[`pin.${inner}`];
}

type Json = { [key: string]: unknown };

function describe(schema: Json, path: string): Json {
  const description = descriptionOf(path);
  const described: Json = { ...schema, ...(description === undefined ? {} : { description }) };
  const properties = schema["properties"] as Readonly<Record<string, Json>> | undefined;
  if (properties !== undefined) {
    described["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [
        name,
        describe(value, path === "" ? name : `${path}.${name}`),
      ]),
    );
  }
  if (typeof schema["additionalProperties"] === "object")
    described["additionalProperties"] = describe(schema["additionalProperties"] as Json, path);
  if (schema["items"] !== undefined) described["items"] = describeInner(schema["items"] as Json, path);
  if (Array.isArray(schema["anyOf"])) described["anyOf"] = schema["anyOf"].map((one: Json) => describeInner(one, path));
  return described;
}

/** Parts of one value share its path and must not repeat its description. */
function describeInner(schema: Json, path: string): Json {
  const { description: _, ...inner } = describe(schema, path);
  return inner;
}

/** The schema's text, as committed. */
export function pinsSchemaText(): string {
  const schema = describe(z.toJSONSchema(pinsSchema, { target: "draft-7" }) as Json, "");
  return `${JSON.stringify({ ...schema, title: "VRAM Lens pins" }, null, 2)}\n`;
}

if (process.argv[1]?.endsWith("pins-schema.ts") === true) {
  writeFileSync(join(__dirname, "..", "schemas", "vramlens.schema.json"), pinsSchemaText());
}
