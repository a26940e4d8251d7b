/** How each language writes a comment, as directives need it. */

/** Comment prefix by language id; a language without an entry has no comments (JSON). */
const COMMENT: Readonly<Record<string, string>> = {
  yaml: "#",
  dockercompose: "#",
  toml: "#",
  python: "#",
  shellscript: "#",
  makefile: "#",
  dockerfile: "#",
  jsonc: "//",
  json5: "//",
  hjson: "#",
};

/** `#` or `//`; undefined when the language has no comments. */
export function commentPrefix(languageId: string): string | undefined {
  return COMMENT[languageId];
}
