/** The statements of a module's top level: what each binds, and which names stand in it. */
import type { SyntaxNode } from "@lezer/common";
import { parser } from "@lezer/python";
import type { Span } from "../tree";
import { childNamed, childrenOf, span } from "./nodes";

export interface Statement extends Span {
  readonly binds: readonly string[];
  /** Names that stand in it, those that it binds too. */
  readonly names: ReadonlySet<string>;
  readonly imports: boolean;
}

/** `module.name` as it is written, where the module's own name is one of these. */
export interface Attribute extends Span {
  readonly module: string;
  readonly name: string;
}

/** Statements of longer modules are not looked at. */
const MOST_STATEMENTS = 5000;

/** The module's statements in their order; none where its text is not understood. */
export function statementsOf(text: string): readonly Statement[] {
  try {
    return childrenOf(parser.parse(text).topNode)
      .filter(({ name }) => name !== "Comment")
      .slice(0, MOST_STATEMENTS)
      .map((node) => ({
        ...span(node),
        binds: boundBy(node, text),
        names: namesIn(node, text),
        imports: node.name === "ImportStatement",
      }));
  } catch {
    return [];
  }
}

function namesIn(node: SyntaxNode, text: string): ReadonlySet<string> {
  const names = new Set<string>();
  node.cursor().iterate(({ name, from, to }) => {
    if (name === "VariableName") names.add(text.slice(from, to));
  });
  return names;
}

/** Names that a statement binds where it runs; those of `if` and `try` are bound by what stands in them. */
function boundBy(node: SyntaxNode, text: string): readonly string[] {
  const slice = (one: SyntaxNode) => text.slice(one.from, one.to);
  switch (node.name) {
    case "FunctionDefinition":
    case "ClassDefinition": {
      const own = childNamed(node, "VariableName");
      return own === null ? [] : [slice(own)];
    }
    case "DecoratedStatement":
      return childrenOf(node).flatMap((child) => (/Definition$/.test(child.name) ? boundBy(child, text) : []));
    case "AssignStatement": {
      const children = childrenOf(node);
      const last = children.findLastIndex(({ name }) => name === "AssignOp");
      return children.slice(0, Math.max(0, last)).flatMap((child) => targetsOf(child, text));
    }
    case "ImportStatement": {
      const at = childrenOf(node).findIndex(({ name }) => name === "import");
      return childrenOf(node)
        .slice(at + 1)
        .flatMap((child) => (child.name === "VariableName" ? [slice(child)] : []));
    }
    case "IfStatement":
    case "TryStatement":
      return childrenOf(node)
        .filter(({ name }) => name === "Body")
        .flatMap((body) => childrenOf(body).flatMap((child) => boundBy(child, text)));
    default:
      return [];
  }
}

function targetsOf(node: SyntaxNode, text: string): readonly string[] {
  if (node.name === "VariableName") return [text.slice(node.from, node.to)];
  return /^(?:Tuple|Array|Parenthesized)/.test(node.name)
    ? childrenOf(node).flatMap((child) => targetsOf(child, text))
    : [];
}

/** Attributes of modules in a text (`utils.build(…)`), by the names that the text has for those. */
export function attributesOf(text: string, modules: ReadonlySet<string>): readonly Attribute[] {
  const found: Attribute[] = [];
  if (modules.size === 0) return found;
  try {
    parser.parse(text).iterate({
      enter: ({ name, node }) => {
        if (name !== "MemberExpression") return;
        const [object, dot, property] = childrenOf(node);
        if (object === undefined || property === undefined || dot?.name !== ".") return;
        const module = text.slice(object.from, object.to);
        if (modules.has(module)) found.push({ module, name: text.slice(property.from, property.to), ...span(node) });
      },
    });
  } catch {
    return [];
  }
  return found;
}

/** Places of names that stand for what the module binds: no attributes, no arguments' own names. */
export function placesOf(text: string, wanted: ReadonlySet<string>): readonly (Span & { readonly name: string })[] {
  const found: (Span & { name: string })[] = [];
  if (wanted.size === 0) return found;
  parser.parse(text).iterate({
    enter: ({ name, node, from, to }) => {
      if (name !== "VariableName" || !wanted.has(text.slice(from, to))) return;
      const argument = node.parent?.name === "ArgList" && node.nextSibling?.name === "AssignOp";
      if (!argument) found.push({ name: text.slice(from, to), start: from, end: to });
    },
  });
  return found;
}
