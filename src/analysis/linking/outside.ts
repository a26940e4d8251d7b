/**
 * Documents of a run that lie outside of its workspace: their values count, and none of their text is repeated. A
 * report goes to places that the files' owner never thought of: a terminal's log, a review, a language model.
 */
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import type { LocatedNode } from "../../syntax/tree";
import type { LoadedDocument } from "../documents/store";
import type { RunInputs } from "./inputs";

/** What stands for text that is not repeated. */
const WITHHELD = "…";

/** Shorter texts are withheld only where they stand alone: they are parts of words. */
const SHORTEST_PART = 6;

/** Values that a library defines say nothing of the file they are in. */
const DEFINED: ReadonlySet<string> = new Set(DEEPSPEED_KEYS.flatMap(({ values }) => values ?? []).concat("auto"));

/** A number that stands alone, and no amount of something. */
const NUMBER = /(?<![\w.,])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w|[.,]\d|\s?(?:[KMGTP]i?B|%|ms|s|h)\b)/g;

/** Digits from which on a number tells something of the file wherever it stands: fewer come up by themselves. */
const TELLING_DIGITS = 3;

/**
 * Takes out of a text what stands in documents outside of the workspace.
 *
 * @returns the text as it may be shown; `about` is the document that it speaks of, if it is one
 */
export function withholding({
  outside,
  documents,
  graphs,
}: Pick<RunInputs, "outside" | "documents" | "graphs">): (text: string, about?: string) => string {
  if (outside.length === 0) return (text) => text;
  const words = new Set(outside.flatMap(textsOf));
  const own = new Set(documents.filter((one) => !outside.includes(one)).flatMap(numbersOf));
  const numbers = new Set(outside.flatMap(numbersOf).filter((number) => !own.has(number)));
  // A type of model that has a graph is a published one.
  for (const known of [...DEFINED, graphs?.family ?? ""]) words.delete(known);
  const parts = [...words].filter((word) => word.length >= SHORTEST_PART).sort((a, b) => b.length - a.length);
  return (text, about) => {
    const isAbout = outside.some(({ uri }) => uri === about);
    let shown = text.replace(/`([^`]*)`|"([^"]*)"/g, (all, code?: string, quoted?: string) =>
      words.has(code ?? quoted ?? "") ? `\`${WITHHELD}\`` : all,
    );
    for (const part of parts) shown = shown.replaceAll(part, WITHHELD);
    return shown.replace(NUMBER, (number) =>
      (isAbout || number.length >= TELLING_DIGITS) && numbers.has(number) ? WITHHELD : number,
    );
  };
}

type Leaf = Exclude<LocatedNode, { readonly kind: "map" | "list" }>;

/** What a document's values are, those in its lists and maps. */
function leavesOf(document: LoadedDocument): Leaf[] {
  const leaves: Leaf[] = [];
  const visit = (node: LocatedNode): void => {
    if (node.kind === "map") for (const { value } of node.entries) visit(value);
    else if (node.kind === "list") node.items.forEach(visit);
    else leaves.push(node);
  };
  const root = document.config?.parsed.root;
  if (root) visit(root);
  return leaves;
}

/** Numbers of a document as they are written, and as they are shown. */
function numbersOf(document: LoadedDocument): string[] {
  return leavesOf(document).flatMap((node) =>
    node.kind === "scalar" && typeof node.value === "number" ? [node.raw, String(node.value)] : [],
  );
}

/** Strings of a document, and what its reader found wrong. */
function textsOf(document: LoadedDocument): string[] {
  const texts = leavesOf(document).flatMap((node) =>
    node.kind === "unknown" ? [node.raw] : typeof node.value === "string" ? [node.value, node.raw] : [],
  );
  const problems = [...(document.config?.parsed.problems ?? []), ...document.read.problems];
  const wrong = problems.map(({ start, end }) => document.text.slice(start, end));
  return [...texts, ...wrong, ...wrong.map((text) => text.replace(/^(["'])(.*)\1$/s, "$2"))].filter(
    (text) => text !== "",
  );
}
