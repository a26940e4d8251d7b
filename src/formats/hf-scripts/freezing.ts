/**
 * Which weights a script leaves as they are, by what it sets `requires_grad` to: for every parameter of a part of the model, by
 * tests of their names, or for a module at once (torch/nn/modules/module.py, `requires_grad_`). Methods of transformers' models that
 * do so are known by their names (`freeze_encoder`, `freeze_feature_encoder`).
 */

import type {
  PythonCall,
  PythonGuard,
  PythonModule,
  PythonPath,
  PythonStep,
  PythonTest,
  Span,
} from "../../syntax/tree";
import type { PartStep, WeightRule } from "../../terms/weights";
import type { LocatedSetting } from "../types";
import { given, isInside, lastName, listed } from "./called";
import { ofModules } from "./freezing-modules";
import {
  FREEZES,
  guarded,
  hearsWaves,
  MAX_ROUNDS,
  MOST_RULES,
  patternOf,
  placeAt,
  TRAINS_WAVES,
} from "./freezing-rules";
import { callAt, isBefore, isCopy, isLoad, loadsBehind, otherCopies, type Training, trainingOf } from "./training";

/** A rule, or why what is done cannot be followed. */
type Freezing = { readonly rule: WeightRule } | { readonly unknown: string };

/** Calls that put an adapter on a model. */
const ADAPTS = /(?:^|\.)(?:get_peft_model|add_adapter|PeftModel\w{0,40}\.from_pretrained)$/;

/** One thing that a script does to weights. */
interface Deed {
  readonly order: number;
  readonly at: Span;
  readonly path: PythonPath;
  readonly guards: readonly PythonGuard[];
  /** What `requires_grad` becomes; a test of the name, or null: something else. */
  readonly value: boolean | PythonTest | null;
  readonly raw: string;
}

/** The way with only those rounds of its loops in which the conditions on their counters hold, and the conditions that are left. */
function inRounds({ path, guards }: Deed): Pick<Deed, "path" | "guards"> {
  let { steps } = path;
  const left: PythonGuard[] = [];
  for (const guard of guards.flatMap(conjuncts)) {
    const { test, holds } = guard;
    const inner = test.kind === "not" ? test.test : test;
    const place = inner.kind === "rounds" ? inner.over.steps.length : -1;
    const same =
      inner.kind === "rounds" &&
      inner.over.root === path.root &&
      JSON.stringify(inner.over.steps) === JSON.stringify(steps.slice(0, place));
    if (inner.kind !== "rounds" || !same || !goesOverAll(steps[place])) {
      left.push(guard);
      continue;
    }
    const wanted = holds === (test.kind !== "not");
    steps = steps.with(place, wanted ? inner.chosen : others(inner.chosen));
  }
  return { path: { ...path, steps }, guards: left };
}

/** Whether a step takes each element of a sequence, one after another or by a number that counts them (`layers[i]`). */
function goesOverAll(step: PythonStep | undefined): boolean {
  return (
    step?.kind === "each" || (step?.kind === "items" && step.from === 0 && step.to === null && step.step === undefined)
  );
}

/** The rounds beside the chosen ones. */
function others(chosen: PythonStep): PythonStep {
  if (chosen.kind === "picked") {
    const at = Array.from({ length: MAX_ROUNDS }, (_, k) => k).filter((k) => !chosen.at.includes(k));
    return { kind: "picked", at };
  }
  if (chosen.kind !== "items") return chosen;
  const { from, to } = chosen;
  if (to !== null) return { kind: "items", from: to, to: null };
  return from === 0 ? { kind: "picked", at: [] } : { kind: "items", from: 0, to: from };
}

/** Conditions that hold together, one by one. */
function conjuncts(guard: PythonGuard): readonly PythonGuard[] {
  return guard.holds && guard.test.kind === "and" ? guard.test.tests.map((test) => ({ ...guard, test })) : [guard];
}

function rulesOf(deed: Deed, adapted: boolean): readonly Freezing[] {
  const { value, raw } = deed;
  const found = ofModules(inRounds(deed));
  if (found === null) return [{ unknown: raw }];
  const { path, guards, modules, except, around } = found;
  const place = placeAt(path);
  const unknown = [{ unknown: raw }];
  if (place === null) return unknown;
  const { part, loop, weight } = place;
  const condition = loop === null ? (guards.length === 0 ? "" : null) : guarded(guards, loop);
  if (condition === null || value === null) return unknown;
  const named = weight === null ? condition : `${modules === undefined ? "^" : "(?:^|\\.)"}${weight}$`;
  // Names of parameters are asked from the module on.
  if (around !== undefined && named !== "") return unknown;
  const rule = (pattern: string, trained: boolean): Freezing => ({
    rule: {
      pattern: pattern === "" || pattern.startsWith("^") ? pattern : `^${pattern}`,
      trained,
      ...(modules === undefined ? {} : { modules }),
      ...(except === undefined ? {} : { except }),
      ...(around === undefined ? {} : { around }),
      ...(part.length > 0 ? { part: adapted ? wrappedPart(part) : part } : {}),
      ...(adapted ? { adapted } : {}),
    },
  });
  if (typeof value === "boolean") return [rule(named, value)];
  const tested = loop === null ? null : patternOf(value, loop);
  return tested === null ? unknown : [rule(named, false), rule(named + tested, true)];
}

/** The way from a model that peft wrapped to the model itself. */
export const WRAPPED: readonly string[] = ["base_model", "model"];

/**
 * A part by the way to it in a model that peft wrapped: what is no attribute of the wrapper is looked for in what it wraps
 * (peft/peft_model.py, `__getattr__`; peft/tuners/tuners_utils.py, BaseTuner).
 */
function wrappedPart(part: readonly PartStep[]): readonly PartStep[] {
  const [first, second] = part;
  const inside = typeof first === "object" && "method" in first;
  if (inside && first.method !== "base") return part;
  const passed = inside ? (second === "model" ? 2 : 1) : first === "model" ? 1 : 0;
  return [...WRAPPED, ...part.slice(passed)];
}

/** A rule that means every weight of a part of the model; undefined: the way leads to none. */
export function ruleOfPart(path: PythonPath, adapted: boolean): WeightRule | undefined {
  const place = placeAt(path);
  if (place === null || place.loop !== null || place.weight !== null) return undefined;
  const { part } = place;
  return {
    pattern: "",
    trained: true,
    ...(part.length > 0 ? { part: adapted ? wrappedPart(part) : part } : {}),
    ...(adapted ? { adapted: true } : {}),
  };
}

/** When the trained model gets its adapter from the script itself; what is set before is lost then. */
export function adaptedAt(python: PythonModule, training: Training): number {
  const calls = python.calls.filter(({ callee }) => ADAPTS.test(callee));
  return Math.min(...calls.filter((call) => isBefore(training, call)).map(({ order = 0 }) => order));
}

/** Whether a path starts at the trained model. */
export function isModel(path: PythonPath, training: Training, python: PythonModule): boolean {
  const { object } = path;
  if (object.kind === "unknown" && object.raw === "self") return isOfSelf(path, python);
  if (training.load === undefined) return object.kind === "unknown";
  const copies = otherCopies(python);
  const { own } = training;
  const seen = new Set<string>();
  const leads = (node: PythonPath["object"] | undefined): boolean => {
    if (node?.kind !== "unknown") return false;
    const at = node.source ?? node;
    const key = `${at.start}:${at.end}`;
    if (seen.has(key)) return false;
    seen.add(key);
    if (node.alternatives?.some(leads) === true) return true;
    const call = callAt(python, at);
    if (call === undefined) return false;
    if (call === training.load || (own !== undefined && call.callee === own.name)) return true;
    if (isLoad(call.callee) || copies.includes(call)) return false;
    return [call.positional[0], call.receiver, ...call.keywords.entries.map(({ value }) => value)].some(leads);
  };
  return leads(object);
}

/** Whether a way begins at an object that holds the trained model: one that keeps a copy of it under this name does not. */
function isOfSelf({ object, steps }: PythonPath, python: PythonModule): boolean {
  const [first] = steps;
  const own = python.classes.find((one) => isInside(object, one));
  if (first?.kind !== "attribute" || own === undefined) return true;
  const held = python.assignments.entries.findLast(
    ({ key, keySpan }) => key === `self.${first.name}` && isInside(keySpan, own),
  );
  return !isCopy(python, held?.value);
}

function requiresGrad(call: PythonCall): boolean | null {
  const grad = call.positional[0] ?? given(call, "requires_grad");
  if (grad === undefined) return true;
  return grad.kind === "scalar" && typeof grad.value === "boolean" ? grad.value : null;
}

function deedsOf(python: PythonModule): readonly Deed[] {
  const set = python.effects
    .filter(({ attribute }) => attribute === "requires_grad")
    .map(
      ({ order, path, guards, value, test, start, end }): Deed => ({
        order,
        at: { start, end },
        path,
        guards,
        value: value.kind === "scalar" && typeof value.value === "boolean" ? value.value : test,
        raw: `${path.root}.requires_grad`,
      }),
    );
  const called = python.calls.flatMap((call): Deed[] => {
    const { path, order = 0, guards = [], callee } = call;
    if (path === undefined || !/(?:^|\.)requires_grad_$/.test(callee)) return [];
    return [{ order, at: call.calleeSpan, path, guards, value: requiresGrad(call), raw: callee }];
  });
  const told = [...set, ...called];
  const first = Math.min(...told.map(({ order }) => order));
  // What is made anew is trained, whatever was told of the module in whose place it stands.
  const put = python.effects.flatMap(({ order, path, attribute, item, guards, layers, start, end }): Deed[] =>
    layers === undefined || order < first || path.root === "self"
      ? []
      : [
          {
            ...{ order, at: { start, end }, guards, value: true, raw: `${path.root}.${attribute}` },
            path: { ...path, steps: [...path.steps, item ?? { kind: "attribute", name: attribute }] },
          },
        ],
  );
  return [...told, ...put];
}

/** Rules as settings carry them: each as JSON. */
export function ruleOf(text: string): WeightRule | undefined {
  try {
    return JSON.parse(text) as WeightRule;
  } catch {
    return undefined;
  }
}

/**
 * What a script does to the trained model's weights before it trains, in its order: `weight_rules`, and what of it cannot be
 * followed: `weights_unfollowed`.
 */
export function freezingOf(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const adapter = adaptedAt(python, training);
  const inside = insideOwn(python, training);
  const { own } = training;
  const made = python.calls.find(({ callee }) => callee === own?.name)?.order;
  // What its class does happens where it is made.
  const placed = (deed: Deed): Deed => (made !== undefined && isInside(deed.at, own) ? { ...deed, order: made } : deed);
  const written = deedsOf(python).map(placed);
  const done = [...written, ...byCallbacks(python, training)].filter(({ order }) => order <= training.ends);
  const deeds = done
    .filter(({ path }) => isModel(path, training, python))
    .map((deed) => ({ ...deed, path: inside(deed.path) }))
    .map((deed) => ({ order: deed.order, at: deed.at, found: rulesOf(deed, deed.order > adapter) }));
  const lost = [
    ...done.filter(({ path }) => isOfLoop(path) && !isModel(path, training, python)),
    ...written.filter((deed) => deed.order > training.ends && isCalledSomewhere(deed, python, training)),
  ].map(({ order, at, raw }) => ({ order, at, found: [{ unknown: raw }] as readonly Freezing[] }));
  const methods = python.calls.flatMap((call) => {
    const name = lastName(call.callee);
    const rule = Object.hasOwn(FREEZES, name) ? FREEZES[name] : undefined;
    const { path, order = 0, calleeSpan } = call;
    if (rule === undefined || path === undefined || !isBefore(training, call) || !isModel(path, training, python))
      return [];
    return [{ order, at: calleeSpan, found: [{ rule }] as readonly Freezing[] }];
  });
  const { load } = training;
  const loaded =
    load !== undefined && hearsWaves(load.callee)
      ? [{ order: load.order ?? 0, at: load.calleeSpan, found: [{ rule: TRAINS_WAVES }] as readonly Freezing[] }]
      : [];
  const all = [...loaded, ...deeds, ...lost, ...methods].toSorted((a, b) => a.order - b.order);
  const texts = all.flatMap(({ at, found }) => found.map((one) => ({ at, ...saidOf(one) }))).map(bounded);
  return [
    ...listed("weight_rules", "requires_grad", placedAtFirst(texts.filter(({ known }) => known))),
    ...listed("weights_unfollowed", "requires_grad", placedAtFirst(texts.filter(({ known }) => !known))),
  ];
}

/** Whether a deed stands in a method that is called before training ends, of an object that is not followed. */
function isCalledSomewhere({ at, path }: Deed, python: PythonModule, training: Training): boolean {
  if (path.object.kind !== "unknown" || path.object.raw !== "self") return false;
  const methods = python.classes.flatMap((own) => [...own.methods]);
  const name = methods.find(([, method]) => isInside(at, method))?.[0];
  return (
    name !== undefined &&
    python.calls.some(
      ({ callee, order = 0, deferred }) =>
        deferred !== true && order <= training.ends && callee.endsWith(`.${name}`) && !callee.startsWith("super"),
    )
  );
}

/** Whether a way begins at a name of a loop whose rounds are not followed. */
function isOfLoop({ object }: PythonPath): boolean {
  if (object.kind !== "unknown") return false;
  const inner = object.reason.args["reason"];
  return typeof inner === "object" && inner !== null && "id" in inner && inner.id === "open.loop";
}

const CALLBACK = /Callback$/;
/** Runs once before the first step; parameters without gradients have no states by then (transformers/trainer.py, `on_train_begin`). */
const BEGINS = "on_train_begin";

/** What the script's own callbacks do to the model that they are given when training begins. */
function byCallbacks(python: PythonModule, { ends, trainer }: Training): readonly Deed[] {
  const own = python.classes.filter(
    ({ name, bases, methods }) =>
      bases.some((base) => CALLBACK.test(base)) &&
      methods.has(BEGINS) &&
      python.calls.some(({ callee }) => callee === name),
  );
  if (trainer === undefined || own.length === 0) return [];
  return deedsOf(python).flatMap((deed): Deed[] => {
    const inside = own.some(({ methods }) => isInside(deed.at, methods.get(BEGINS)));
    if (!inside || deed.path.root !== "model") return [];
    const object = given(trainer, "model") ?? trainer.positional[0];
    return object === undefined ? [] : [{ ...deed, order: ends, path: { ...deed.path, object } }];
  });
}

/** Classes of models without a head. */
const HEADLESS = /(?:^|\.)(?:AutoModel|[A-Z]\w{0,80}Model)\.(?:from_pretrained|from_config|_from_config)$/;

/** What a trainer calls the model that it was given (transformers/trainer.py). */
const OF_TRAINER = "model";

/**
 * The ways that go through a module of the script's own to the model that it loads (`self.encoder = AutoModel.from_pretrained(…)`), or
 * through its own trainer to the model that this was given.
 */
export function insideOwn(python: PythonModule, { load, trainer }: Training): (path: PythonPath) => PythonPath {
  const subclass = python.classes.find((one) => one.name === trainer?.callee);
  const entry = python.assignments.entries.find(
    ({ key, value }) => key.startsWith("self.") && load !== undefined && loadsBehind(python, value).includes(load),
  );
  const name = entry?.key.slice("self.".length);
  const base: readonly PythonStep[] = HEADLESS.test(load?.callee ?? "")
    ? [{ kind: "attribute", name: "base_model" }]
    : [];
  return (path) => {
    const [first, ...rest] = path.steps;
    if (first?.kind === "attribute" && first.name === OF_TRAINER && isInside(path.object, subclass))
      return { ...path, steps: rest };
    const passes = name !== undefined && first?.kind === "attribute" && first.name === name;
    return passes ? { ...path, steps: [...base, ...rest] } : path;
  };
}

function saidOf(one: Freezing): { readonly text: string; readonly known: boolean } {
  return "rule" in one ? { text: JSON.stringify(one.rule), known: true } : { text: one.unknown, known: false };
}

/** Rules are told together, where the first of them is said. */
function placedAtFirst<T extends { readonly at: Span }>(texts: readonly T[]): readonly T[] {
  return texts.map((one) => ({ ...one, at: texts[0]?.at ?? one.at }));
}

/** Rules behind the last that is followed are said not to be. */
function bounded<T extends { readonly text: string; readonly known: boolean }>(one: T, index: number): T {
  return index < MOST_RULES ? one : { ...one, text: "requires_grad", known: false };
}
