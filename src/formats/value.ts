/** The value of a key as its library would take it, or what is wrong with it. */
import type { LocatedNode } from "../syntax/tree";
import type { Message, MessageId } from "../words/message";
import { replacing } from "./fix";
import { nearest } from "./suggest";
import { problem } from "./table";
import type { FormatProblem, KeySpec, LocatedSetting, ProblemFix } from "./types";

const TEMPLATE = /^\$\w+$|^<[^<>]+>$|^\?{2,}$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+,?$/;

/** Whether one mark stands somewhere after another. */
function encloses(text: string, open: string, close: string): boolean {
  const from = text.indexOf(open);
  return from >= 0 && text.includes(close, from + open.length);
}

/** Whether a text stands for a value somebody fills in later. */
export function isTemplate(text: string): boolean {
  return encloses(text, "{{", "}}") || encloses(text, "${", "}") || TEMPLATE.test(text.trim());
}

/** What a script or an environment fills in, whatever the key takes. */
const FILLED_IN = /^\s*(?:\$\{[A-Z][A-Z0-9_]*\}|\{\{.*\}\})\s*$/;

/** A word in capitals where a number belongs is filled in by a script (`GBSIZE`). */
const PLACEHOLDER = /^(?!(?:TRUE|FALSE|NONE|NULL|NAN|INF|YES|OFF|AUTO)\b)[A-Z][A-Z0-9_]{2,},?$/;

function isCounted(spec: KeySpec): boolean {
  return spec.type === "integer" || spec.type === "number" || spec.type === "boolean";
}

/** A word in capitals that the key itself takes (`SHARD_GRAD_OP`). */
function isWordOf({ values, means, default: standard }: KeySpec, text: string): boolean {
  return values?.includes(text) === true || (means !== undefined && Object.hasOwn(means, text)) || standard === text;
}

interface ReadValue {
  readonly value: LocatedSetting["value"];
  readonly problem?: FormatProblem;
  readonly unknown?: true;
  /** The library cannot use the value: the setting is left out, so that no number is built on it. */
  readonly invalid?: true;
}

/** The value as the library would take it, or what is wrong with it. */
export function readValue(spec: KeySpec, node: LocatedNode, convertsText: boolean, tuned = false): ReadValue {
  const key = spec.key;
  const bad = (id: MessageId, args: Message["args"] = {}, fixes: readonly ProblemFix[] = []): ReadValue => ({
    value: null,
    invalid: true,
    problem: problem("invalid-value", "error", node, id, { key, value: shown(node), ...args }, fixes),
  });
  // Where nothing stands, or what the file's syntax does not take, that has been said.
  if (node.kind === "unknown" && node.raw === "") return { value: null, unknown: true };
  const path = spec.link === undefined || spec.link === "model" ? undefined : endOfPath(node);
  if (path !== undefined) return { value: path };
  if (node.kind === "unknown") return { value: null, unknown: true, problem: unresolved(node, key) };
  if (node.kind === "scalar") {
    if (typeof node.value === "string") {
      if (node.value.trim().toLowerCase() === "auto" && spec.auto === true) return { value: { auto: true } };
      const isTaken = isWordOf(spec, node.value);
      const template = !isTaken && isTemplate(node.value) && (spec.type !== "any" || FILLED_IN.test(node.value));
      if (template || (isCounted(spec) && PLACEHOLDER.test(node.value)))
        return { value: null, unknown: true, problem: unresolved(node, key) };
    }
    // An option without a value names nothing; a count without one is half typed, or fails in the library: a default would be a guess.
    const names = node.value === true && spec.link === "model";
    if (node.value === null && (spec.type !== "integer" || spec.nullable === true)) return { value: null };
    if (names || node.value === null)
      return {
        value: null,
        unknown: true,
        problem: problem("invalid-value", "warning", node, "invalid-value.empty", { key }),
      };
  }
  switch (spec.type) {
    case "map":
      return node.kind === "map" || (node.kind === "scalar" && typeof node.value === "string")
        ? { value: node.kind === "scalar" ? node.value : null }
        : bad("invalid-value.not-a-map");
    case "list":
      if (node.kind === "scalar") return { value: node.value };
      return node.kind === "list" ? { value: null } : bad("invalid-value.not-a-list");
    case "any":
      return { value: node.kind === "scalar" ? node.value : null };
    default:
      if (node.kind === "list" && tuned) return { value: null, unknown: true, problem: unresolved(node, key) };
      if (node.kind !== "scalar") return bad("invalid-value.not-a-scalar");
      return readScalar(spec, node.value, node, convertsText, bad);
  }
}

/** A file's path behind the folder that only the shell knows (`$ROOT/configs/zero3.json`). */
export function endOfPath(node: LocatedNode): string | undefined {
  if (node.kind !== "unknown") return undefined;
  const behind = /(?:[})`]|\$\w{1,80})\/(\w[\w./-]{0,400}\.(?:json|ya?ml))["']?$/;
  return (behind.exec(node.raw) ?? behind.exec(node.text ?? ""))?.[1];
}

function unresolved(node: LocatedNode, key: string): FormatProblem {
  return problem("unresolved-template", "information", node, "unresolved-template", {
    // Of a call that loads the model, the argument has the name that the file says.
    key: key.replace(/^load\.(?:\d+\.)?/, ""),
    value: shown(node),
  });
}

function readScalar(
  spec: KeySpec,
  value: string | number | boolean | null,
  node: LocatedNode,
  convertsText: boolean,
  bad: (id: MessageId, args?: Message["args"], fixes?: readonly ProblemFix[]) => ReadValue,
): ReadValue {
  const instead = (text: string, safe: boolean) => [replacing({ key: spec.key, valueSpan: node }, text, safe)];
  switch (spec.type) {
    case "integer":
    case "number": {
      let number = value;
      if (typeof number === "string") {
        const converted = number.trim() === "" ? Number.NaN : Number(number.replaceAll("_", ""));
        if (Number.isNaN(converted)) return bad("invalid-value.not-a-number");
        // PyTorch converts a clipping norm or a rate by itself; a count stays a text and fails later.
        if (!convertsText && spec.type === "integer")
          return bad("invalid-value.text-number", {}, instead(String(converted), true));
        number = converted;
      }
      if (typeof number !== "number" || !Number.isFinite(number)) return bad("invalid-value.not-a-number");
      if (spec.type === "integer" && !Number.isInteger(number)) return bad("invalid-value.not-an-integer");
      if (spec.min !== undefined && number < spec.min) return bad("invalid-value.too-small", { min: spec.min });
      if (spec.max !== undefined && number > spec.max) return bad("invalid-value.too-large", { max: spec.max });
      return { value: number };
    }
    case "boolean": {
      if (typeof value === "boolean") return { value };
      if (value === 0 || value === 1) return { value: value === 1 };
      const word = String(value).trim().toLowerCase();
      const known = ["true", "yes", "1", "false", "no", "0"].indexOf(word);
      if (known < 0) return bad("invalid-value.not-a-boolean");
      if (convertsText) return { value: known < 3 };
      // A non-empty text is true for Python, whatever it says.
      return {
        value: true,
        problem: problem(
          "invalid-value",
          "warning",
          node,
          "invalid-value.text-boolean",
          { key: spec.key, value: shown(node) },
          instead(String(known < 3), false),
        ),
      };
    }
    case "enum": {
      const text = writtenText(value, node);
      if (spec.values === undefined || spec.values.includes(text)) return { value: text };
      const near = nearest(text, spec.values);
      return {
        value: text,
        problem: problem(
          "invalid-value",
          "warning",
          node,
          near === undefined ? "invalid-value.unknown-choice" : "invalid-value.unknown-choice-near",
          { key: spec.key, value: text, near: near ?? "" },
          near === undefined ? [] : instead(JSON.stringify(near), false),
        ),
      };
    }
    default:
      return { value: value === null ? null : writtenText(value, node) };
  }
}

/** A value where a text belongs: digits without end are a text as they stand, not what a number makes of them. */
function writtenText(value: string | number | boolean | null, node: LocatedNode): string {
  return typeof value === "number" && !Number.isFinite(value) ? shown(node) : String(value);
}

function shown(node: LocatedNode): string {
  if (node.kind !== "scalar" && node.kind !== "unknown") return node.kind;
  return node.raw.length > 60 ? `${node.raw.slice(0, 57)}…` : node.raw;
}
