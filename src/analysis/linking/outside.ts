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

/** Takes out of a text what stands in documents outside of the workspace. */
export function withholding({ outside, graphs }: Pick<RunInputs, "outside" | "graphs">): (text: string) => string {
  if (outside.length === 0) return (text) => text;
  const words = new Set(outside.flatMap(textsOf));
  // A type of model that has a graph is a published one.
  for (const known of [...DEFINED, graphs?.family ?? ""]) words.delete(known);
  const parts = [...words].filter((word) => word.length >= SHORTEST_PART).sort((a, b) => b.length - a.length);
  return (text) => {
    let shown = text.replace(/`([^`]*)`|"([^"]*)"/g, (all, code?: string, quoted?: string) =>
      words.has(code ?? quoted ?? "") ? `\`${WITHHELD}\`` : all,
    );
    for (const part of parts) shown = shown.replaceAll(part, WITHHELD);
    return shown;
  };
}

/** Strings of a document, and what its reader found wrong. */
function textsOf(document: LoadedDocument): string[] {
  const texts: string[] = [];
  const visit = (node: LocatedNode): void => {
    if (node.kind === "map") for (const { value } of node.entries) visit(value);
    else if (node.kind === "list") node.items.forEach(visit);
    else if (node.kind === "unknown") texts.push(node.raw);
    else if (typeof node.value === "string") texts.push(node.value, node.raw);
  };
  const root = document.config?.parsed.root;
  if (root) visit(root);
  const problems = [...(document.config?.parsed.problems ?? []), ...document.read.problems];
  return [...texts, ...problems.map(({ start, end }) => document.text.slice(start, end))].filter((text) => text !== "");
}
