/** What a round of a loop of one's own computes: from the batch to the call that takes the gradients. */
import type { SyntaxNode } from "@lezer/common";
import type { LossStatement } from "../../terms/own-loss";
import type { ListNode, PythonRound } from "../tree";
import type { Collector } from "./collect";
import { functionsIn } from "./loss-functions";
import { childNamed, childrenOf, span } from "./nodes";
import type { Outside } from "./outside";
import { roundTree } from "./own-loss";
import { partsCalled } from "./own-module";
import { stepActions } from "./step-actions";
import type { Evaluator } from "./values";

const BACKWARD = /(?:^|\.)(?:manual_)?backward$/;
const LOOPS = /^(?:For|While)Statement$/;

/** The round around the module's first call of `backward`; undefined: there is none. */
export function roundIn(found: Collector, evaluator: Evaluator, outside: Outside): PythonRound | undefined {
  const { callNodes, bound } = found;
  const slice = (node: SyntaxNode): string => evaluator.slice(node);
  const backward = callNodes.find(({ firstChild }) => firstChild !== null && BACKWARD.test(slice(firstChild)));
  const around = backward === undefined ? null : roundAround(backward);
  if (backward === undefined || around === null) return undefined;
  const body = childNamed(around, "Body");
  const apart = around.name === "FunctionDefinition";
  const batch = apart ? parameterOf(around, slice) : targetsOf(around, slice);
  const tree = body === null || batch.length === 0 ? undefined : roundTree(body, backward, slice, bound);
  const further = stepActions(around, found, slice);
  const counts = countedOver(around, evaluator);
  const place = {
    ...span(around),
    ...(further === undefined ? {} : { further }),
    ...(counts === undefined ? {} : { counts }),
  };
  if (tree === undefined) return { ...place, apart, loss: null };
  const { body: statements, behind } = tree;
  const [only, ...more] = batch;
  const begun: readonly LossStatement[] =
    more.length === 0 ? statements : [{ names: batch, value: { name: BATCH } }, ...statements];
  const ofRound = functionsIn(tree, found, evaluator);
  const beside = partsCalled([tree, ofRound], found, evaluator);
  const functions = beside === undefined ? ofRound : functionsIn([tree, beside], found, evaluator);
  const parameters = [MODEL, more.length === 0 ? (only ?? BATCH) : BATCH];
  const named = behind.length === 0 ? {} : { behind };
  const keeps = apart ? {} : { keepsNames: true as const, targets: batch, ...named };
  return {
    ...place,
    apart,
    loss: {
      parameters,
      body: begun,
      outside: outside([tree, functions, beside], around),
      ...functions,
      ...keeps,
      ...(beside && { beside }),
    },
  };
}

/** The numbers that a loop counts over: `range(4)`. */
function countedOver(around: SyntaxNode, evaluator: Evaluator): ListNode | undefined {
  const over = around.name === "ForStatement" ? childNamed(around, "CallExpression") : null;
  if (over?.firstChild == null || evaluator.slice(over.firstChild) !== "range") return undefined;
  const value = evaluator.evaluate(over);
  return value.kind === "list" ? value : undefined;
}

/** Names that no script has. */
const MODEL = "<model>";
const BATCH = "<batch>";

/** The loop or the function that a call is one round of; null: it stands in neither. */
function roundAround(node: SyntaxNode): SyntaxNode | null {
  let at = node.parent;
  while (at !== null && !LOOPS.test(at.name) && at.name !== "FunctionDefinition") at = at.parent;
  return at;
}

/** The first parameter behind `self` that is no model. */
function parameterOf(node: SyntaxNode, slice: (node: SyntaxNode) => string): readonly string[] {
  const names = childrenOf(childNamed(node, "ParamList") ?? node).filter(({ name }) => name === "VariableName");
  const batch = names.map(slice).find((name) => /batch|data|inputs|sample|^x$/i.test(name));
  return batch === undefined ? [] : [batch];
}

/** What a loop over a loader binds its batches to: the names behind the counter of `enumerate`. */
function targetsOf(node: SyntaxNode, slice: (node: SyntaxNode) => string): readonly string[] {
  const children = childrenOf(node).filter(({ name }) => name !== "Comment");
  const at = children.findIndex(({ name }) => name === "in");
  const over = children[at + 1];
  if (at < 0 || over === undefined) return [];
  const names = (nodes: readonly SyntaxNode[]): string[] =>
    nodes.flatMap((one) =>
      one.name === "VariableName"
        ? [slice(one)]
        : /^(?:Tuple|Parenthesized|Array)/.test(one.name)
          ? names(childrenOf(one))
          : [],
    );
  const all = names(children.slice(0, at));
  return /\benumerate\(/.test(slice(over)) ? all.slice(1) : all;
}
