/** How each language writes a comment, as directives need it. */
import { table } from "../terms/table";

/** Comment prefix by language id, as VS Code and other editors call it; without an entry there are none (JSON). */
const COMMENT: Readonly<Record<string, string>> = table({
  yaml: "#",
  dockercompose: "#",
  toml: "#",
  python: "#",
  shellscript: "#",
  sh: "#",
  bash: "#",
  zsh: "#",
  makefile: "#",
  dockerfile: "#",
  jsonc: "//",
  json5: "//",
  hjson: "#",
});

/** `#` or `//`; undefined when the language has no comments. */
export function commentPrefix(languageId: string): string | undefined {
  return COMMENT[languageId];
}
