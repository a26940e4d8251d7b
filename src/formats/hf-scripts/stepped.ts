/** Which of the model's parameters an optimizer is given, where a script hands it parts of the model (`AdamW(model.classifier.parameters())`). */
import type { LocatedNode, PythonCall, PythonModule, PythonPath } from "../../syntax/tree";
import type { WeightRule } from "../../terms/weights";
import type { LocatedSetting } from "../types";
import { given as argument, listed } from "./called";
import { adaptedAt, insideOwn, isModel, ruleOfPart } from "./freezing";
import { namesBeside } from "./loads";
import { callBehind, trainingOf } from "./training";

/** Calls that hand on the parameters they are given: all of them, or the second argument's. */
const ALL = /(?:^|\.)(?:list|tuple|chain)$/;
const SECOND = /^filter$/;
/** Lists in lists, looked through; what is deeper is not followed. */
const MAX_DEPTH = 8;

/** The ways to the modules whose parameters a value holds; null: it holds something else. */
function ways(python: PythonModule, node: LocatedNode | undefined, depth = 0): readonly PythonPath[] | null {
  if (node === undefined || depth > MAX_DEPTH) return null;
  const all = (nodes: readonly (LocatedNode | undefined)[]): readonly PythonPath[] | null => {
    const found = nodes.map((one) => ways(python, one, depth + 1));
    return found.includes(null) || found.length === 0 ? null : found.flatMap((one) => one ?? []);
  };
  if (node.kind === "list") return all(node.items);
  if (node.kind === "map") return all([node.entries.findLast(({ key }) => key === "params")?.value]);
  const call = callBehind(python, node);
  if (call === undefined) return null;
  if (/(?:^|\.)parameters$/.test(call.callee)) return call.path === undefined ? null : [call.path];
  if (ALL.test(call.callee)) return all(call.positional);
  return SECOND.test(call.callee) ? all([call.positional[1]]) : null;
}

/** Whether a list of groups grows behind where it is written (`groups.append({"params": …})`): what is in it then is not followed. */
function growsLater({ assignments, calls }: PythonModule): boolean {
  const lists = assignments.entries.filter(
    ({ value }) =>
      value.kind === "list" &&
      value.items.some((item) => item.kind === "map" && item.entries.some(({ key }) => key === "params")),
  );
  const names = new Set(lists.flatMap(({ key }) => [`${key}.append`, `${key}.extend`]));
  return calls.some(({ callee }) => names.has(callee));
}

/** Rules of weights, each as JSON, that say what the optimizer steps; nothing where it is given the whole model or cannot be followed. */
export function steppedWeights(call: PythonCall, python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const stepped = call.positional[0] ?? argument(call, "params");
  const found = growsLater(python) ? null : ways(python, stepped);
  const beside = namesBeside(python);
  const isBeside = ({ root }: PythonPath): boolean => beside.has(root);
  if (stepped === undefined || found === null) return [];
  if (!found.every((path) => isBeside(path) || isModel(path, training, python))) return [];
  const adapted = (call.order ?? 0) > adaptedAt(python, training);
  const inside = insideOwn(python, training);
  const rules = found.map((path): WeightRule | undefined =>
    isBeside(path) ? { pattern: "", trained: true, beside: path.root } : ruleOfPart(inside(path), adapted),
  );
  const given = new Set(rules.map((rule) => rule?.beside));
  const left = [...beside].filter((name) => !given.has(name));
  // The whole model beside its parts is the whole model.
  const whole = rules.some((rule) => rule?.part === undefined && rule?.beside === undefined);
  if (whole && left.length === 0) return [];
  const texts = [
    { pattern: "", trained: whole, ...(adapted ? { adapted } : {}) },
    ...left.map((name) => ({ pattern: "", trained: false, beside: name })),
    ...rules,
  ].map((rule) => ({
    ...{ at: stepped, text: JSON.stringify(rule) },
  }));
  return listed("optimizer_weights", "params", texts, call.calleeSpan);
}
