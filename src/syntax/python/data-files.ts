/** Files of data that a module reads its settings from: `yaml.safe_load(open("config.yaml"))`. Nothing is read here. */
import type { SyntaxNode } from "@lezer/common";
import { argumentsOf, childNamed, childrenOf } from "./nodes";

/** Calls that make values of a file, or of its text. */
const LOADS =
  /^(?:yaml\.(?:safe_load|full_load|unsafe_load|load)|json\.loads?|toml\.loads?|tomllib\.loads?|OmegaConf\.load)$/;
/** What a file's text, or the file itself, is asked of. */
const OF_FILE: ReadonlySet<string> = new Set(["read", "read_text", "read_bytes", "open"]);
const OPENS: ReadonlySet<string> = new Set(["open", "io.open", "Path", "pathlib.Path"]);
const DEEPEST = 8;

/** What the way to a file's name is asked of: the text of a node, and the one expression that a name is bound to. */
export interface Names {
  readonly slice: (node: SyntaxNode) => string;
  readonly bound: (node: SyntaxNode) => SyntaxNode | null;
}

const firstArgument = (call: SyntaxNode): SyntaxNode | null =>
  childNamed(call, "ArgList")?.firstChild?.nextSibling ?? null;

/** The expression that names the file which a call reads; null: the call reads none. */
export function fileNamedBy(call: SyntaxNode, names: Names): SyntaxNode | null {
  const callee = call.firstChild;
  if (callee === null || !LOADS.test(names.slice(callee))) return null;
  return opened(firstArgument(call), names, 0);
}

function opened(node: SyntaxNode | null, names: Names, depth: number): SyntaxNode | null {
  if (node === null || depth > DEEPEST) return null;
  if (node.name === "String") return node;
  if (node.name === "ParenthesizedExpression") return opened(childrenOf(node)[1] ?? null, names, depth + 1);
  const below = belowFolder(node, names);
  if (below !== null) return opened(below, names, depth + 1);
  if (node.name === "VariableName") {
    const bound = names.bound(node);
    return /^(?:Call|Binary)Expression$/.test(bound?.name ?? "") ? opened(bound, names, depth + 1) : node;
  }
  if (node.name !== "CallExpression" || node.firstChild === null) return node;
  const callee = node.firstChild;
  if (OPENS.has(names.slice(callee))) return opened(firstArgument(node), names, depth + 1);
  const isOfFile = callee.name === "MemberExpression" && OF_FILE.has(names.slice(callee.lastChild ?? callee));
  return isOfFile ? opened(callee.firstChild, names, depth + 1) : null;
}

/** Calls that put a name behind a folder: the last of what they are given. */
const JOINS = /^(?:os\.path\.join|join|Path|pathlib\.Path)$/;

/** What names a file below a folder that is found out when the script runs (`Path(__file__).parent / "config.json"`, `os.path.join(HERE, "config.json")`). */
function belowFolder(node: SyntaxNode, names: Names): SyntaxNode | null {
  if (node.name === "BinaryExpression") {
    const [, sign, right] = childrenOf(node);
    return sign !== undefined && right !== undefined && names.slice(sign) === "/" ? right : null;
  }
  const callee = node.name === "CallExpression" ? node.firstChild : null;
  if (callee === null) return null;
  const given = argumentsOf(node);
  const isBeside = callee.name === "MemberExpression" && names.slice(callee.lastChild ?? callee) === "with_name";
  if (isBeside && names.slice(callee).includes("__file__")) return given[0] ?? null;
  return JOINS.test(names.slice(callee)) && given.length > 1 ? (given.at(-1) ?? null) : null;
}

/** The name under which what stands in a file is given to a module that reads it. */
export function dataFileKey(path: string): string {
  return `file:${path}`;
}
