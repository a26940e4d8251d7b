/** The loss that a script's own trainer writes itself (transformers/trainer.py, `compute_loss`, which subclasses override). */
import type { PythonCall, PythonClass, PythonModule, Span } from "../../syntax/tree";
import type { LossExpression, LossStatement, OwnLoss } from "../../terms/own-loss";
import type { LocatedSetting } from "../types";
import { keyword } from "./called";
import { rawOf, trainedNames } from "./loads";
import { trainingOf } from "./training";

/** Classes above one another that are looked through. */
const MAX_BASES = 8;

/** The class that a script's trainer has its loss from; undefined: the library's. */
function classOfLoss(python: PythonModule): PythonClass | undefined {
  let name = trainingOf(python).trainer?.callee;
  for (let step = 0; step < MAX_BASES && name !== undefined; step++) {
    const own: PythonClass | undefined = python.classes.find((one) => one.name === name);
    if (own === undefined || own.loss !== undefined) return own;
    [name] = own.bases;
  }
  return undefined;
}

/** The loss as JSON; an empty text where what it does is not read. */
export function ownLossOf(python: PythonModule): readonly LocatedSetting[] {
  const own = classOfLoss(python);
  if (own?.loss !== undefined) return [said(own.name, own.loss, own)];
  const { trainer } = trainingOf(python);
  const given = trainer && keyword(trainer, "compute_loss_func");
  const name = rawOf(given?.value) ?? "";
  const loss = python.losses.get(name);
  return given === undefined || loss === undefined ? [] : [said(name, loss && behindModel(loss), given.keySpan)];
}

/** Losses that a model's own class does not compute. */
const OWN_LOSS =
  /"(?:kl_div|KLDivLoss|mse_loss|MSELoss|l1_loss|L1Loss|cosine_similarity|binary_cross_entropy_with_logits|BCEWithLogitsLoss|log_softmax|softmax|sigmoid|logsigmoid|normalize|hidden_states)"/;

/** What a model that writes words computes itself, from logits in float32, where it is given labels. */
const OF_CLASSES = /"(?:cross_entropy|CrossEntropyLoss|nll_loss|NLLLoss)"/;
const WRITES = /CausalLM|LMHeadModel|MaskedLM|Seq2SeqLM|ConditionalGeneration/;

/**
 * What a round of a loop of one's own computes, where that is more than the model's forward with its own loss.
 *
 * @param beside whether another model is called in it
 */
export function lossOfRound(python: PythonModule, beside: boolean): readonly LocatedSetting[] {
  const { round } = python;
  if (round === undefined) return [];
  const names = new Set([...trainedNames(python), "model", "self.model", "net"]);
  const calls = python.calls.filter(
    ({ callee, start, end, guards = [] }) =>
      names.has(callee) && start >= round.start && end <= round.end && guards.length === 0,
  );
  const backward = python.calls.find(({ callee, start }) => /backward$/.test(callee) && start >= round.start);
  const before = (call: PythonCall) => (call.order ?? 0) < (backward?.order ?? 0);
  const direct = calls.filter(before);
  // A function of the script's may be given the model, and call it there.
  const handed = python.calls.filter(
    (call) =>
      python.functions.has(call.callee) &&
      before(call) &&
      call.start >= round.start &&
      call.end <= round.end &&
      call.positional.some((node) => names.has(rawOf(node) ?? "")),
  );
  const forwards = direct.length > 0 ? direct : handed;
  const { loss } = round;
  const text = loss === null ? "" : JSON.stringify(loss);
  const writes = WRITES.test(trainingOf(python).load?.callee ?? "");
  const own = OWN_LOSS.test(text) || (writes && OF_CLASSES.test(text));
  const [first] = forwards;
  if (first === undefined || (!beside && forwards.length < 2 && !own)) return [];
  const [, ...rest] = loss?.parameters ?? [];
  const given = first.positional.map((node) => rawOf(node) ?? "").find((raw) => names.has(raw));
  const model = direct.length > 0 ? first.callee : (given ?? first.callee);
  return [said(model, loss && { ...loss, parameters: [model, ...rest] }, first.calleeSpan)];
}

function said(key: string, loss: OwnLoss | null, { start, end }: Span): LocatedSetting {
  const value = loss === null ? "" : JSON.stringify(loss);
  const span = { start, end };
  const node = { kind: "scalar" as const, value, raw: "", ...span };
  return { name: "own_loss", key, value, node, keySpan: span, valueSpan: span };
}

/** A loss of outputs and labels as the Trainer calls it: labels go out of the batch, and the model runs without them. */
function behindModel({ parameters, body, outside }: OwnLoss): OwnLoss | null {
  const [outputs, labels, ...rest] = parameters;
  if (outputs === undefined || labels === undefined) return null;
  const call = (of: LossExpression, args: readonly LossExpression[], spread: readonly LossExpression[]) => ({
    ...{ call: of, args, spread },
    keywords: [],
  });
  const pop = call({ of: { name: "inputs" }, attribute: "pop" }, [{ value: "labels" }], []);
  const both = (value: LossExpression): LossExpression => ({
    ...{ test: { name: "return_outputs" }, no: value },
    yes: { items: [value, { name: outputs }] },
  });
  const returning = (statements: readonly LossStatement[]): readonly LossStatement[] =>
    statements.map((statement) => {
      if ("returned" in statement) return { returned: both(statement.returned) };
      if ("inside" in statement) return { ...statement, body: returning(statement.body) };
      if (!("when" in statement)) return statement;
      return { ...statement, body: returning(statement.body), otherwise: returning(statement.otherwise) };
    });
  return {
    parameters: ["model", "inputs", "return_outputs", ...rest],
    body: [
      { names: [labels], value: pop },
      { names: [outputs], value: call({ name: "model" }, [], [{ name: "inputs" }]) },
      ...returning(body),
    ],
    outside,
  };
}

/** The loss that a setting carries; undefined: none that is read. */
export function lossFrom(text: string | undefined): OwnLoss | undefined {
  if (text === undefined || text === "") return undefined;
  return JSON.parse(text) as OwnLoss;
}
