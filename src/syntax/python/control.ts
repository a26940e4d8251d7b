/** Statements and expressions on which the way parts or goes round: branches, loops, `try`, `match`, comprehensions. */
import type { SyntaxNode } from "@lezer/common";
import { say } from "../../words/message";
import type { Loop } from "./names";
import { childrenNamed, childrenOf, span } from "./nodes";
import { flat, isSequence, itemsOf } from "./targets";
import { guarded, type Walking, type Way } from "./walking";

export function branches(on: Walking, node: SyntaxNode): void {
  const clauses: { test: SyntaxNode | null; body: SyntaxNode }[] = [];
  let test: SyntaxNode | null = null;
  for (const child of childrenOf(node)) {
    if (child.name === "Body") {
      clauses.push({ test, body: child });
      test = null;
    } else if (!/^(?:if|elif|else|Comment|⚠)$/.test(child.name)) test = child;
  }
  const { past, guards } = on;
  const ways: Way[] = [];
  let settled = false;
  for (const { test, body } of clauses) {
    if (settled) {
      on.dies(body);
      continue;
    }
    on.alive = past.alive;
    // What a test binds is bound on its own way alone.
    const mark = on.begin();
    if (test !== null) on.expression(test);
    const known = test === null ? true : on.holds(test);
    if (known === false) {
      on.take(mark);
      on.dies(body);
      continue;
    }
    const outside = on.guards;
    if (test !== null && known === undefined) on.guards = guarded(outside, { test, holds: true });
    on.block(body);
    ways.push(on.take(mark));
    on.guards = test !== null && known === undefined ? guarded(outside, { test, holds: false }) : outside;
    settled = known === true;
  }
  on.guards = guards;
  on.join(settled ? ways : [...ways, past]);
}

export function loop(on: Walking, node: SyntaxNode): void {
  const children = childrenOf(node).filter(({ name }) => name !== "Comment");
  const at = children.findIndex(({ name }) => name === "in");
  const over = children[at + 1];
  const targets = children
    .slice(0, at)
    .filter(({ name }) => !/^(?:for|async|,|\*)$/.test(name))
    .flatMap((target) => (isSequence(target) ? itemsOf(target).flatMap(flat) : [target]));
  const bodies = childrenNamed(node, "Body");
  if (at < 0 || over === undefined || bodies[0] === undefined) return;
  on.expression(over);
  weaken(on, bodies[0]);
  const loop: Loop = { over, targets: targets.length };
  targets.forEach((name, element) => {
    on.bind(name, { expression: null, reason: say("open.loop"), span: span(name), loop, element });
  });
  repeated(on, bodies[0]);
  if (bodies[1] !== undefined) otherwise(on, bodies[0], bodies[1]);
}

/** `else` of a loop, which runs where no `break` has ended it. */
function otherwise(on: Walking, body: SyntaxNode, clause: SyntaxNode): void {
  const { past } = on;
  const mark = on.begin();
  on.block(clause);
  if (breaks(body)) on.join([past, on.take(mark)]);
}

export function whileLoop(on: Walking, node: SyntaxNode): void {
  const [body, clause] = childrenNamed(node, "Body");
  const test = childrenOf(node).find(({ name }) => name !== "while" && name !== "Comment");
  if (body === undefined) return;
  weaken(on, body);
  if (test !== undefined) on.expression(test);
  if (test !== undefined && on.holds(test) === false) on.dies(body);
  else repeated(on, body);
  if (clause !== undefined) otherwise(on, body, clause);
}

function repeated(on: Walking, body: SyntaxNode): void {
  const { past } = on;
  const mark = on.begin();
  on.block(body);
  // `break` and `continue` end a round, not what follows the loop.
  on.join([past, { ...on.take(mark), alive: true }]);
}

/** Names that a loop's body binds have, at its beginning, what they had before or what the round before left. */
function weaken(on: Walking, body: SyntaxNode): void {
  const names = new Set<string>();
  body.cursor().iterate((cursor) => {
    if (cursor.name === "FunctionDefinition") return false;
    if (cursor.name === "AssignStatement")
      for (const child of childrenOf(cursor.node)) {
        if (child.name === "AssignOp") break;
        for (const one of flat(child)) names.add(on.slice(one));
      }
    if (cursor.name === "UpdateStatement" && cursor.node.firstChild !== null)
      names.add(on.slice(cursor.node.firstChild));
    return true;
  });
  for (const name of names) {
    const table = on.scope.names.has(name) ? on.scope.names : on.dotted;
    const known = table.get(name);
    if (known !== undefined)
      table.set(name, [...known, { expression: null, reason: say("open.twice"), span: span(body) }]);
  }
}

export function attempt(on: Walking, node: SyntaxNode): void {
  let handler = false;
  for (const child of childrenOf(node)) {
    if (child.name === "except") handler = true;
    else if (child.name === "else" || child.name === "finally") handler = false;
    else if (child.name === "Body") {
      if (handler) on.dies(child);
      else on.block(child);
    }
  }
}

export function context(on: Walking, node: SyntaxNode): void {
  const children = childrenOf(node);
  children.forEach((child, index) => {
    if (child.name === "Body") on.block(child);
    else if (children[index - 1]?.name === "as")
      on.bind(child, { expression: children[index - 2] ?? null, reason: say("open.context"), span: span(child) });
    else on.expression(child);
  });
}

export function cases(on: Walking, node: SyntaxNode): void {
  const { past } = on;
  const ways: Way[] = [past];
  for (const child of childrenOf(node)) {
    if (child.name !== "MatchBody") {
      on.expression(child);
      continue;
    }
    for (const clause of childrenNamed(child, "MatchClause")) {
      on.alive = past.alive;
      const mark = on.begin();
      for (const body of childrenNamed(clause, "Body")) on.block(body);
      ways.push(on.take(mark));
    }
  }
  on.join(ways);
}

/** `a if test else b`. */
export function choice(on: Walking, node: SyntaxNode): void {
  const [first, test, second] = childrenOf(node).filter(({ name }) => !/^(?:if|else|Comment)$/.test(name));
  if (first === undefined || test === undefined || second === undefined) return;
  on.expression(test);
  const known = on.holds(test);
  const { guards } = on;
  for (const [side, holds] of [
    [first, true],
    [second, false],
  ] as const) {
    if (known === !holds) {
      on.dies(side);
      continue;
    }
    on.guards = known === undefined ? guarded(guards, { test, holds }) : guards;
    on.expression(side);
  }
  on.guards = guards;
}

export function generators(on: Walking, node: SyntaxNode): void {
  const children = childrenOf(node);
  children.forEach((child, index) => {
    if (child.name !== "for") return;
    const end = children.findIndex(({ name }, k) => k > index && name === "in");
    const over = children[end + 1];
    if (end < 0 || over === undefined) return;
    const targets = children.slice(index + 1, end).flatMap(flat);
    targets.forEach((name, element) => {
      const loop: Loop = { over, targets: targets.length };
      on.bind(name, { expression: null, reason: say("open.loop"), span: span(name), loop, element });
    });
  });
}

/** Whether a `break` stands in a loop's body; one of a loop inside is taken for its own. */
function breaks(body: SyntaxNode): boolean {
  let found = false;
  body.cursor().iterate(({ name }) => {
    if (name === "BreakStatement") found = true;
    return name !== "FunctionDefinition" && name !== "ClassDefinition";
  });
  return found;
}
