/** Which parser reads a document: by its name first, then by the editor's language. */
import { table } from "../terms/table";
import { parseJob } from "./job";
import { parseJson } from "./json";
import { parseNotebook } from "./notebook";
import { parsePython } from "./python";
import { parseShell, type ShellFlavour } from "./shell";
import { parseToml } from "./toml";
import type { ParsedDocument, SyntaxId } from "./tree";
import { parseYaml } from "./yaml";

interface Choice {
  readonly syntax: SyntaxId;
  readonly flavour?: ShellFlavour;
}

const BY_NAME: readonly (readonly [RegExp, Choice])[] = [
  [/\.ipynb$/i, { syntax: "notebook" }],
  [/\.(?:json|jsonc|hjson|json5)$/i, { syntax: "json" }],
  [/\.ya?ml$/i, { syntax: "yaml" }],
  [/\.toml$/i, { syntax: "toml" }],
  [/\.pyi?$/i, { syntax: "python" }],
  [/\.(?:sh|bash|zsh|slurm|sbatch|sub|job|lsf|pbs|args)$/i, { syntax: "shell" }],
  [/(?:^|\/)(?:GNU)?makefile[^/]*$|\.mk$/i, { syntax: "shell", flavour: "makefile" }],
  [/(?:^|\/)(?:Docker|Container)file[^/]*$|\.dockerfile$/i, { syntax: "shell", flavour: "dockerfile" }],
];

const BY_LANGUAGE: Readonly<Record<string, Choice>> = table({
  json: { syntax: "json" },
  jsonc: { syntax: "json" },
  hjson: { syntax: "json" },
  yaml: { syntax: "yaml" },
  dockercompose: { syntax: "yaml" },
  toml: { syntax: "toml" },
  python: { syntax: "python" },
  shellscript: { syntax: "shell" },
  makefile: { syntax: "shell", flavour: "makefile" },
  dockerfile: { syntax: "shell", flavour: "dockerfile" },
  jupyter: { syntax: "notebook" },
});

/** Whether a syntax is one of commands, of programs, or of programs in cells. */
export const isScript = (syntax: string | undefined): boolean => syntax === "shell";
export const isProgram = (syntax: string | undefined): boolean => syntax === "python" || isNotebook(syntax);
export const isNotebook = (syntax: string | undefined): boolean => syntax === "notebook";

function choose(uri: string, languageId: string): Choice | null {
  const path = uri.split(/[?#]/, 1)[0] ?? "";
  return BY_NAME.find(([pattern]) => pattern.test(path))?.[1] ?? BY_LANGUAGE[languageId] ?? null;
}

/** Syntax of a document, or null when none of the parsers reads it. */
export function syntaxOf(uri: string, languageId = ""): SyntaxId | null {
  return choose(uri, languageId)?.syntax ?? null;
}

/** Parses a document with the parser its name or language calls for. Never throws. */
export function parseDocument(uri: string, languageId: string, text: string): ParsedDocument {
  const choice = choose(uri, languageId);
  switch (choice?.syntax) {
    case "json":
      return parseJson(text);
    case "yaml": {
      const parsed = parseYaml(text);
      return parseJob(text, parsed) ?? parsed;
    }
    case "toml":
      return parseToml(text);
    case "python":
      return parsePython(text);
    case "shell":
      return parseShell(text, choice.flavour);
    case "notebook":
      return parseNotebook(text);
    case undefined:
      return { root: null, problems: [] };
  }
}
