/** What stands in a module and may run: calls, classes, functions, assignments, imports. */
import type { SyntaxNode, Tree } from "@lezer/common";
import type { Span } from "../tree";
import { MAX_BINDINGS } from "./bounds";
import { childNamed, childrenOf } from "./nodes";

/** Calls that return what the command line says: `argparse`, `HfArgumentParser`, `TrlParser`, draccus, tyro. */
export const PARSES = /(?:^|\.)(?:parse_\w+|parse|cli)$/;

/** Goes over a module once. */
export class Collector {
  readonly callNodes: SyntaxNode[] = [];
  private readonly byPlace = new Map<string, SyntaxNode>();
  private readonly byName = new Map<string, SyntaxNode[]>();
  /** Names that are bound to another one, by that. */
  private readonly others = new Map<string, readonly string[]>();
  readonly classNodes: SyntaxNode[] = [];
  readonly functionNodes: SyntaxNode[] = [];
  private readonly functionsByName = new Map<string, SyntaxNode>();
  private readonly classesByName = new Map<string, SyntaxNode>();
  /** Names bound to what a parser of arguments returns. */
  readonly namespaces = new Set<string>();
  /** Callees of calls whose result is taken apart into several names. */
  readonly unpacked: string[] = [];
  readonly assigned: { readonly name: SyntaxNode; readonly value: SyntaxNode; readonly statement: SyntaxNode }[] = [];
  /** What is taken of something by an index or between two. */
  readonly indexed: SyntaxNode[] = [];
  /** Sums and products of lists that are written out (`[101] + [5] * 510`), each as a whole. */
  readonly repeated: SyntaxNode[] = [];
  /** Statements that delete something. */
  readonly deleted: SyntaxNode[] = [];
  readonly imports: string[] = [];
  /** Names that imports bind, with what each stands for. */
  readonly bound = new Map<string, string>();

  constructor(private readonly text: string) {}

  /** @param never whether a statement or an expression is never run */
  collect(tree: Tree, never: (node: { readonly from: number; readonly to: number }) => boolean): void {
    tree.iterate({
      enter: (cursor) => {
        if (never(cursor)) return false;
        switch (cursor.name) {
          case "CallExpression":
          case "Decorator":
            this.called(cursor.node);
            break;
          case "ClassDefinition":
            this.classNodes.push(cursor.node);
            this.name(cursor.node, this.classesByName);
            break;
          case "FunctionDefinition":
            this.functionNodes.push(cursor.node);
            this.name(cursor.node, this.functionsByName);
            break;
          case "AssignStatement":
            this.assignment(cursor.node);
            break;
          case "MemberExpression":
            if (cursor.node.lastChild?.name === "]") this.indexed.push(cursor.node);
            break;
          case "BinaryExpression":
            if (isListed(cursor.node)) this.repeated.push(cursor.node);
            break;
          case "DeleteStatement":
            this.deleted.push(cursor.node);
            break;
          case "ImportStatement":
            this.importStatement(cursor.node);
            break;
        }
        return true;
      },
    });
  }

  /** Calls of a plain name, and of names that stand for it (`make = build`). */
  callsOf(name: string): readonly SyntaxNode[] {
    const own = this.byName.get(name) ?? [];
    const others = this.others.get(name);
    return others === undefined ? own : [...own, ...others.flatMap((other) => this.byName.get(other) ?? [])];
  }

  /** The call at a place. */
  callAt({ start, end }: Span): SyntaxNode | undefined {
    return this.byPlace.get(`${start}:${end}`);
  }

  /** The first class of a name. */
  classNamed(name: string): SyntaxNode | undefined {
    return this.classesByName.get(name);
  }

  /** The first function of a name. */
  functionNamed(name: string): SyntaxNode | undefined {
    return this.functionsByName.get(name);
  }

  private name(node: SyntaxNode, names: Map<string, SyntaxNode>): void {
    const own = childNamed(node, "VariableName");
    const name = own === null ? "" : this.slice(own);
    if (own !== null && !names.has(name)) names.set(name, node);
  }

  private called(node: SyntaxNode): void {
    this.callNodes.push(node);
    this.byPlace.set(`${node.from}:${node.to}`, node);
    const callee = node.firstChild;
    if (callee?.name !== "VariableName") return;
    const name = this.slice(callee);
    const known = this.byName.get(name);
    if (known === undefined) this.byName.set(name, [node]);
    else known.push(node);
  }

  private assignment(node: SyntaxNode): void {
    const children = childrenOf(node);
    const sides: SyntaxNode[][] = [[]];
    for (const child of children) {
      if (child.name === "AssignOp") sides.push([]);
      else if (child.name !== "TypeDef") sides[sides.length - 1]?.push(child);
    }
    const value = sides[sides.length - 1];
    if (sides.length < 2 || value === undefined) return;
    const parses = value[0] !== undefined && PARSES.test(this.calleeOf(value[0]));
    for (const targets of sides.slice(0, -1)) {
      const names = targets.filter((child) => child.name !== ",");
      const values = value.filter((child) => child.name !== ",");
      const [whole] = values;
      if (whole !== undefined && values.length === 1 && (names.length > 1 || names.some(isSequence)))
        this.unpacked.push(this.calleeOf(whole));
      names.forEach((name, index) => {
        const expression =
          names.length === 1
            ? values.length === 1
              ? values[0]
              : undefined
            : values.length === names.length
              ? values[index]
              : undefined;
        if (parses && name.name === "VariableName") this.namespaces.add(this.slice(name));
        if (expression?.name === "VariableName" && name.name === "VariableName") this.standsFor(name, expression);
        if (expression !== undefined && (name.name === "VariableName" || name.name === "MemberExpression"))
          this.assigned.push({ name, value: expression, statement: node });
      });
    }
  }

  private standsFor(name: SyntaxNode, other: SyntaxNode): void {
    const key = this.slice(other);
    const known = this.others.get(key) ?? [];
    if (known.length < MAX_BINDINGS) this.others.set(key, [...known, this.slice(name)]);
  }

  private calleeOf(node: SyntaxNode): string {
    return node.name === "CallExpression" && node.firstChild !== null ? this.slice(node.firstChild) : "";
  }

  /** `import a.b as c, d`, `from a import b as c, d`. */
  private importStatement(node: SyntaxNode): void {
    const words = childrenOf(node).filter(({ name }) => !["Comment", "(", ")"].includes(name));
    const at = words.findIndex(({ name }) => name === "import");
    const from = this.joined(words.slice(1, at));
    for (let rest = words.slice(at + 1); rest.length > 0; ) {
      const comma = rest.findIndex(({ name }) => name === ",");
      const part = rest.slice(0, comma < 0 ? rest.length : comma);
      rest = comma < 0 ? [] : rest.slice(comma + 1);
      const as = part.findIndex(({ name }) => name === "as");
      const name = this.joined(as < 0 ? part : part.slice(0, as));
      const alias = as < 0 ? "" : this.joined(part.slice(as + 1));
      if (name === "") continue;
      const whole = at < 1 ? name : from.endsWith(".") ? from + name : `${from}.${name}`;
      this.imports.push(whole);
      // Without another name, `import a.b` binds `a`.
      const [root = name] = name.split(".", 1);
      this.bound.set(alias || root, alias === "" && at < 1 ? root : whole);
    }
  }

  private joined(nodes: readonly SyntaxNode[]): string {
    return nodes.map((node) => this.slice(node)).join("");
  }

  private slice(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}

function isSequence({ name }: SyntaxNode): boolean {
  return name === "TupleExpression" || name === "ArrayExpression";
}

/** Whether it is no part of another one, and begins or ends with a list. */
function isListed({ parent, firstChild, lastChild }: SyntaxNode): boolean {
  if (parent?.name === "BinaryExpression") return false;
  let first = firstChild;
  while (first?.name === "BinaryExpression") first = first.firstChild;
  return first?.name === "ArrayExpression" || lastChild?.name === "ArrayExpression";
}
