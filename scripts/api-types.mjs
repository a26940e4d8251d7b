/**
 * Types of the npm package (`dist/api.d.ts`), made from the report's JSON Schema and the source of its functions, so that who uses
 * the package needs neither its sources nor the packages they are written with.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./process.mjs";

const schema = JSON.parse(readFileSync(join(root, "docs", "report.schema.json"), "utf8"));

/** A schema as a type. */
function typeOf(node, indent) {
  if (node.$ref !== undefined) return typeOf(schema.$defs?.[node.$ref.split("/").pop()] ?? {}, indent);
  if (node.const !== undefined) return JSON.stringify(node.const);
  if (node.enum !== undefined) return node.enum.map((value) => JSON.stringify(value)).join(" | ");
  const some = node.anyOf ?? node.oneOf;
  if (some !== undefined) return some.map((one) => typeOf(one, indent)).join(" | ");
  if (Array.isArray(node.type)) return node.type.map((type) => typeOf({ ...node, type }, indent)).join(" | ");
  switch (node.type) {
    case "object": {
      if (node.properties === undefined) return `Record<string, ${typeOf(node.additionalProperties ?? {}, indent)}>`;
      const inner = `${indent}  `;
      const fields = Object.entries(node.properties).map(([name, value]) => {
        const optional = node.required?.includes(name) ? "" : "?";
        return `${inner}${name}${optional}: ${typeOf(value, inner)};`;
      });
      return `{\n${fields.join("\n")}\n${indent}}`;
    }
    case "array": {
      const item = typeOf(node.items ?? {}, indent);
      return /[|]/.test(item) && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
    }
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return node.type;
    default:
      return "unknown";
  }
}

const source = readFileSync(join(root, "src", "cli", "api.ts"), "utf8");
const options = /^export interface CheckOptions \{[\s\S]*?^\}/m.exec(source);
const functions = source.matchAll(
  /^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)export (?:async )?(function \w+\(.*\): Promise<\w+>) \{$/gm,
);
const declared = [
  options?.[0],
  ...[...functions].map(([, comment, head]) => `${comment}export ${head.replace(/(\w+): (\w+) = \{\}/, "$1?: $2")};`),
];
if (options === null || declared.length < 3) throw new Error("src/cli/api.ts: the options or functions were not found");

const text = `/** Types of the package, made from docs/report.schema.json. Sizes are bytes. */
export interface Report ${typeOf(schema, "")}

export type ReportRun = Report["runs"][number];
export type ReportPlan = ReportRun["plans"][number];
export type ReportFinding = ReportRun["findings"][number];

${declared.join("\n\n")}
`;

mkdirSync(join(root, "dist"), { recursive: true });
writeFileSync(join(root, "dist", "api.d.ts"), text);
