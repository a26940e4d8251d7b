/**
 * Types of the npm package (`types/api.d.ts`), made from the report's JSON Schema, so that who uses the package needs neither its
 * sources nor the packages they are written with.
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

const text = `/** Types of the package, made from docs/report.schema.json. Sizes are bytes. */
export interface Report ${typeOf(schema, "")}

export type ReportRun = Report["runs"][number];
export type ReportPlan = ReportRun["plans"][number];
export type ReportFinding = ReportRun["findings"][number];

export interface CheckOptions {
  /** GPU by name or memory size: \`A100-80GB\`, \`RTX 4090\`, \`24GB\`. */
  readonly device?: string;
  /** Number of GPUs when nothing else says it. */
  readonly devices?: number;
  /** Values to try instead of the files', by key. */
  readonly set?: Readonly<Record<string, string | number | boolean>>;
  /** Language of messages: \`en\` (default) or \`zh-cn\`. */
  readonly locale?: string;
  /** Folder that relative paths start from (default: the process's). */
  readonly cwd?: string;
  /** Whether plans are searched, which takes longer than the estimate. */
  readonly plans?: boolean;
}

/** The report on config files, or on folders of them. Throws a TypeError for a device, setting or value that means nothing. */
export function check(paths: string | readonly string[], options?: CheckOptions): Promise<Report>;

/** As \`check\`, with the changes that make each run fit. */
export function plan(paths: string | readonly string[], options?: CheckOptions): Promise<Report>;
`;

mkdirSync(join(root, "dist"), { recursive: true });
writeFileSync(join(root, "dist", "api.d.ts"), text);
