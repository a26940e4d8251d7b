/**
 * How a value is written so that the consumer of the file reads exactly it: PyYAML wants a dot and a signed exponent
 * in floats, Python capital booleans, strict JSON double quotes. The old spelling is kept where it still fits.
 */
import { yamlScalar } from "./scalars";
import type { ScalarNode } from "./tree";

/** Who reads the file; decides the spelling and the layout of edits. */
export type EditDialect = "json" | "pyyaml" | "omegaconf" | "toml" | "python" | "notebook" | "shell";

/** A value to write; several texts are a list. */
export type Value = ScalarNode["value"] | readonly string[];

/**
 * Text for a value.
 * @param old the text it replaces ("" when it is new), whose quoting and number style are kept
 */
export function spell(value: Value, dialect: EditDialect, old = ""): string {
  if (dialect === "notebook") {
    const plain = old.replace(/\\(["\\])/g, "$1");
    return JSON.stringify(spell(value, "python", plain)).slice(1, -1);
  }
  if (typeof value === "number") return spellNumber(value, dialect, old);
  if (typeof value === "boolean") return spellBoolean(value, dialect, old);
  if (value === null) return dialect === "python" || dialect === "shell" ? "None" : "null";
  return typeof value === "string" ? spellText(value, dialect, old) : spellList(value, dialect);
}

/** On one line; words behind an option in a command. */
function spellList(items: readonly string[], dialect: EditDialect): string {
  const spelled = items.map((item) => spellText(item, dialect, ""));
  return dialect === "shell" ? spelled.join(" ") : `[${spelled.join(", ")}]`;
}

function spellNumber(value: number, dialect: EditDialect, old: string): string {
  if (!Number.isFinite(value)) return String(value);
  const scientific = /^[-+]?[\d.]+[eE]/.test(old);
  let text = scientific && value !== 0 ? exponent(value, old.includes("E") ? "E" : "e") : decimal(value);
  if (dialect === "pyyaml") text = text.replace(/^(-?\d+)(?=e)/i, "$1.0").replace(/e(?=\d)/i, (letter) => `${letter}+`);
  const float = /^[-+]?\d*\.\d*$/.test(old) && Number.isInteger(value) && !/[.e]/i.test(text);
  return float && (dialect === "toml" || dialect === "pyyaml" || dialect === "omegaconf" || dialect === "python")
    ? `${text}.0`
    : text;
}

function exponent(value: number, letter: string): string {
  return value.toExponential().replace("e+", letter).replace("e-", `${letter}-`);
}

function decimal(value: number): string {
  const text = String(value);
  return text.includes("e") ? exponent(value, "e") : text;
}

const BOOLEAN_FAMILIES: readonly (readonly [string, string])[] = [
  ["true", "false"],
  ["True", "False"],
  ["TRUE", "FALSE"],
  ["yes", "no"],
  ["Yes", "No"],
  ["on", "off"],
  ["On", "Off"],
];

function spellBoolean(value: boolean, dialect: EditDialect, old: string): string {
  if (dialect === "json" || dialect === "toml") return String(value);
  if (dialect === "python") return value ? "True" : "False";
  const family =
    BOOLEAN_FAMILIES.find((pair) => pair.includes(old)) ??
    (dialect === "shell" ? ["True", "False"] : ["true", "false"]);
  return (value ? family[0] : family[1]) as string;
}

function spellText(value: string, dialect: EditDialect, old: string): string {
  const quote = /^["']/.exec(old)?.[0];
  switch (dialect) {
    case "json":
      return JSON.stringify(value);
    case "toml":
      return quote === "'" && !/['\n]/.test(value) ? `'${value}'` : JSON.stringify(value);
    case "python": {
      const mark = quote ?? '"';
      return mark + value.replace(/\\/g, "\\\\").replaceAll(mark, `\\${mark}`).replaceAll("\n", "\\n") + mark;
    }
    case "shell":
      if (quote === "'" && !value.includes("'")) return `'${value}'`;
      if (quote === undefined && /^[\w./:,@%+=-]+$/.test(value)) return value;
      return `"${value.replace(/["\\$`]/g, "\\$&")}"`;
    default:
      if (quote === "'") return `'${value.replaceAll("'", "''")}'`;
      if (quote === '"') return JSON.stringify(value);
      return plainYaml(value) ? value : JSON.stringify(value);
  }
}

/** Whether both loaders read the plain scalar as this very text, wherever it stands. */
function plainYaml(value: string): boolean {
  if (value === "" || value !== value.trim() || /[\n\t]/.test(value)) return false;
  if (/^[-?:,[\]{}#&*!|>'"%@`]/.test(value) || /: |:$| #|[,[\]{}]/.test(value)) return false;
  if (/^[yn]$/i.test(value)) return false;
  return typeof yamlScalar(value, "pyyaml") === "string" && typeof yamlScalar(value, "omegaconf") === "string";
}
