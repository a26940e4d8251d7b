/** Which parser reads a document, by its language and file name. */
import { parseJson } from "../syntax/json";
import { parseToml } from "../syntax/toml";
import type { ParsedDocument, SyntaxId } from "../syntax/tree";
import { parseYaml } from "../syntax/yaml";
import type { ConfigDocument } from "./types";

const BY_EXTENSION: Readonly<Record<string, SyntaxId>> = {
  json: "json",
  jsonc: "json",
  hjson: "json",
  json5: "json",
  yaml: "yaml",
  yml: "yaml",
  toml: "toml",
};

const PARSERS: Partial<Record<SyntaxId, (text: string) => ParsedDocument>> = {
  json: (text) => parseJson(text),
  yaml: (text) => parseYaml(text),
  toml: (text) => parseToml(text),
};

/** Last part of a URI's path, decoded. */
export function fileName(uri: string): string {
  const name = uri.replace(/[?#].*$/, "").replace(/^.*\//, "");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Syntax of a file by its name; undefined for files that are never configs. */
export function syntaxOf(uri: string): SyntaxId | undefined {
  const name = fileName(uri).toLowerCase();
  return BY_EXTENSION[name.slice(name.lastIndexOf(".") + 1)];
}

/** Parses a document; undefined when its name says that it is no config. */
export function parseDocument(uri: string, text: string): ConfigDocument | undefined {
  const syntax = syntaxOf(uri);
  const parse = syntax === undefined ? undefined : PARSERS[syntax];
  if (syntax === undefined || parse === undefined) return undefined;
  return { uri, text, languageId: syntax, parsed: parse(text) };
}
