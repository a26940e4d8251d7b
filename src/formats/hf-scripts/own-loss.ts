/** The loss that a script's own trainer writes itself (transformers/trainer.py, `compute_loss`, which subclasses override). */
import type { PythonCall, PythonClass, PythonModule, Span } from "../../syntax/tree";
import type { LossExpression, LossStatement, OwnLoss } from "../../terms/own-loss";
import type { LocatedSetting } from "../types";
import { isInside, keyword, lastName, placed, plain, scalar, uncounted } from "./called";
import { namesBeside, rawOf, trainedNames } from "./loads";
import { loadsBehind, trainingOf } from "./training";

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

const MODULE = /(?:^|\.)Module$/;

/** The module of the script's own that loads the trained model, or is given it; whether or not what it does is read. */
function holderOf(python: PythonModule): PythonClass | undefined {
  const { load } = trainingOf(python);
  if (load === undefined) return undefined;
  // What is read need not say that it is a module; what is not read must.
  const modules = python.classes.filter(
    ({ module, bases, methods }) =>
      module !== undefined || (methods.has("forward") && bases.some((base) => MODULE.test(base))),
  );
  const names = new Set(modules.map(({ name }) => name));
  const given = new Set(
    python.calls.flatMap(({ callee, positional, keywords }) => {
      const nodes = names.has(callee) ? [...positional, ...keywords.entries.map(({ value }) => value)] : [];
      return nodes.some((node) => loadsBehind(python, node).includes(load)) ? [callee] : [];
    }),
  );
  const found = modules.find((one) => isInside(load, one) || given.has(one.name));
  return found && outermost(python, modules, found);
}

/** The module that makes the one which holds the model, where another does: that one is called. */
function outermost(python: PythonModule, modules: readonly PythonClass[], inner: PythonClass): PythonClass {
  let outer = inner;
  for (let step = 0; step < MAX_BASES; step++) {
    const makes = ({ callee, start, end }: PythonCall, one: PythonClass): boolean =>
      callee === outer.name && isInside({ start, end }, one);
    const next = modules.find((one) => one !== outer && python.calls.some((call) => makes(call, one)));
    if (next === undefined) break;
    outer = next;
  }
  return outer;
}

/** A loss around a module of the script's own. */
function around(loss: OwnLoss | null, holder: PythonClass | undefined): OwnLoss | null {
  if (loss === null || holder === undefined) return loss;
  return holder.module === undefined ? null : { ...loss, module: holder.module };
}

/** What the Trainer takes of what a model gives (transformers/trainer.py, `compute_loss`). */
const OF_OUTPUTS: OwnLoss = {
  parameters: ["model", "inputs", "return_outputs"],
  body: [
    { names: ["outputs"], value: { call: { name: "model" }, args: [], keywords: [], spread: [{ name: "inputs" }] } },
    { names: ["loss"], value: { of: { name: "outputs" }, at: [{ index: { value: "loss" } }] } },
    {
      returned: {
        test: { name: "return_outputs" },
        yes: { items: [{ name: "loss" }, { name: "outputs" }] },
        no: { name: "loss" },
      },
    },
  ],
  outside: {},
};

/** The loss as JSON; an empty text where what it does is not read. */
export function ownLossOf(python: PythonModule): readonly LocatedSetting[] {
  const own = classOfLoss(python);
  const holder = holderOf(python);
  if (own?.loss !== undefined) return [said(own.name, around(own.loss, holder), own)];
  const { trainer } = trainingOf(python);
  const given = trainer && keyword(trainer, "compute_loss_func");
  const name = rawOf(given?.value) ?? "";
  const loss = python.losses.get(name);
  if (given !== undefined && loss !== undefined)
    return [said(name, around(loss && behindModel(loss), holder), given.keySpan)];
  return holder === undefined || given !== undefined ? [] : [said(holder.name, around(OF_OUTPUTS, holder), holder)];
}

/** Losses that a model's own class does not compute. */
const OWN_LOSS =
  /"(?:kl_div|KLDivLoss|mse_loss|MSELoss|l1_loss|L1Loss|cosine_similarity|binary_cross_entropy_with_logits|BCEWithLogitsLoss|log_softmax|softmax|sigmoid|logsigmoid|normalize|interpolate|hidden_states)"/;

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
  const apart = namesBeside(python);
  const names = new Set([...trainedNames(python), "model", "self.model", "net"].filter((name) => !apart.has(name)));
  const calls = python.calls.filter(
    ({ callee, start, end, guards = [] }) =>
      names.has(callee) && isInside({ start, end }, round) && guards.length === 0,
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
  const loss = round.loss && withoutBeside(round.loss, apart);
  // Or one calls the module's own name for it.
  const by = python.calls.flatMap((call) => {
    const inRound = before(call) && isInside(call, round) && (call.guards ?? []).length === 0;
    const name = inRound ? calledIn(loss?.functions?.[call.callee], names) : undefined;
    return name === undefined ? [] : [{ call, name }];
  });
  const forwards = [direct, handed, by.map(({ call }) => call)].find((found) => found.length > 0) ?? [];
  const text = loss === null ? calledInRound(python, round) : JSON.stringify(loss);
  const writes = WRITES.test(trainingOf(python).load?.callee ?? "");
  const own = apart.size > 0 || OWN_LOSS.test(text) || (writes && OF_CLASSES.test(text));
  const [first] = forwards;
  const holder = holderOf(python);
  if (first === undefined || (!beside && forwards.length < 2 && !own && holder === undefined)) return [];
  const [, ...rest] = loss?.parameters ?? [];
  const given = first.positional.map((node) => rawOf(node) ?? "").find((raw) => names.has(raw));
  const model = direct.length > 0 ? first.callee : (given ?? by[0]?.name ?? first.callee);
  const lengths = loss && lengthsBeside(python, loss);
  const whole = loss && lengths && { ...loss, ...lengths, parameters: [model, ...rest] };
  return [said(model, around(whole, holder), first.calleeSpan)];
}

/** What a round that is not read calls, as a tree of it would name that. */
function calledInRound({ calls }: PythonModule, round: Span): string {
  return JSON.stringify(calls.filter((call) => isInside(call, round)).map(({ callee }) => lastName(callee)));
}

/** Where no model is loaded, what a loop calls is the model. */
function withoutBeside({ beside, ...loss }: OwnLoss, names: ReadonlySet<string>): OwnLoss {
  return beside === undefined || names.size === 0 ? loss : { ...loss, beside };
}

/** The name of the model that a function calls, which is none of its own. */
function calledIn(body: unknown, names: ReadonlySet<string>): string | undefined {
  const text = JSON.stringify(body) ?? "";
  return [...names].find((name) => text.includes(`"call":{"name":"${name}"}`));
}

/** Lengths of batches beside each other (`for queries, passages in loader`), each of its own cut; null: which is whose is not told. */
function lengthsBeside(python: PythonModule, { body: [first] }: OwnLoss): Pick<OwnLoss, "lengths"> | null {
  const names = first !== undefined && "names" in first ? first.names : [];
  const cuts = python.calls.toSorted((a, b) => a.start - b.start);
  const lengths = cuts.flatMap((call) => plain(keyword(call, "max_length")?.value) ?? []);
  if (names.length < 2 || new Set(lengths).size < 2) return {};
  const own = names.flatMap((name, k) =>
    Number(lengths[k]) >= 1 ? [[name, Math.floor(Number(lengths[k]))] as const] : [],
  );
  return lengths.length === names.length && own.length === names.length ? { lengths: Object.fromEntries(own) } : null;
}

/** A module of the script's own around the model that does what is not read: it may have layers, or keep no gradients. */
export function unreadModule(python: PythonModule): readonly LocatedSetting[] {
  const holder = holderOf(python);
  return holder === undefined || holder.module !== undefined ? [] : [uncounted(holder.name, holder, holder)];
}

function said(key: string, loss: OwnLoss | null, { start, end }: Span): LocatedSetting {
  const value = loss === null ? "" : JSON.stringify(loss);
  return placed("own_loss", key, { start, end }, { ...scalar("", { start, end }), value }, value);
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
