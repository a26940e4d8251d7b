/** Parses documents that may be configs. */
import { parseDocument as parse, syntaxOf } from "../syntax/dispatch";
import type { ConfigDocument } from "./types";

export { syntaxOf } from "../syntax/dispatch";

/** Last part of a URI's path, decoded. */
export function fileName(uri: string): string {
  const name = (uri.split(/[?#]/, 1)[0] ?? "").replace(/^.*\//, "");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Parses a document; undefined when its name says that it is no config. */
export function parseDocument(uri: string, text: string): ConfigDocument | undefined {
  const syntax = syntaxOf(uri);
  if (syntax === null) return undefined;
  const parsed = parse(uri, syntax, text);
  // A job's YAML is the script that it runs.
  return { uri, text, languageId: parsed.syntax ?? syntax, parsed };
}
