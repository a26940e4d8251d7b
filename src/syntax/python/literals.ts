/** Values of literals and of operators between them. */
import { floatNamed } from "../../terms/dtypes";
import { table } from "../../terms/table";
import type { ScalarNode } from "../tree";

const TORCH_DTYPE =
  /^(?:torch|jnp|np|numpy|mx)\.(float16|bfloat16|float32|float64|half|float|double|int8|uint8|int16|int32|int64|float8_e4m3fn|float8_e5m2)$/;

/** The dtype that a name of an array library stands for. */
export function dtypeNamed(text: string): string | undefined {
  const dtype = TORCH_DTYPE.exec(text)?.[1];
  return dtype === undefined ? undefined : (floatNamed(dtype) ?? dtype);
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = table({
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  "**": (a, b) => a ** b,
  "<<": (a, b) => a * 2 ** b,
});

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = table({
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
});

/** Python's truth of a value. */
export function truth(value: ScalarNode["value"]): boolean {
  return value !== null && value !== false && value !== 0 && value !== "";
}

/** What an operator makes of known values; undefined where it is not known. */
export function fold(
  operator: string,
  values: readonly (ScalarNode["value"] | undefined)[],
): ScalarNode["value"] | undefined {
  const [left, right] = values;
  if (values.length === 1) {
    if (operator === "not" && left !== undefined) return !truth(left);
    if (typeof left !== "number") return undefined;
    return operator === "-" ? -left : operator === "+" ? left : undefined;
  }
  if (values.length !== 2) return undefined;
  if (left !== undefined && right !== undefined) {
    if (operator === "==" || operator === "is") return left === right;
    if (operator === "!=" || operator === "is not") return left !== right;
    if (operator === "and") return truth(left) ? right : left;
    if (operator === "or") return truth(left) ? left : right;
  }
  if (operator === "+" && typeof left === "string" && typeof right === "string") return left + right;
  if (typeof left !== "number" || typeof right !== "number") return undefined;
  if (operator in COMPARISONS) return COMPARISONS[operator]?.(left, right);
  const result = ARITHMETIC[operator]?.(left, right);
  return result !== undefined && Number.isFinite(result) ? result : undefined;
}

const PYTHON_ESCAPES: Readonly<Record<string, string>> = table({
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
});

/** Content of a Python string literal (prefix, quotes and the common escapes removed). */
export function unquote(literal: string): string {
  const match = /^([rRbBuU]*)("""|'''|"|')([\s\S]*)$/.exec(literal);
  if (match === null) return literal;
  const [, prefix = "", quotes = "", rest = ""] = match;
  const body = rest.endsWith(quotes) ? rest.slice(0, -quotes.length) : rest;
  if (/r/i.test(prefix)) return body;
  return body.replace(
    /\\(\r?\n|[\\'"abfnrtv])/g,
    (_, escaped: string) => PYTHON_ESCAPES[escaped] ?? (escaped.endsWith("\n") ? "" : escaped),
  );
}
