/**
 * Which of a module's calls make what is trained: from the trainer whose `train()` runs last back through what it is given, or
 * from what a loop of one's own steps. What is loaded, configured or trained for something else is not read.
 */
import type { LocatedNode, PythonCall, PythonClass, PythonModule, Span } from "../../syntax/tree";
import { given, isInside } from "./called";

/** Calls that make a model from published weights or from a config. */
export const LOADS =
  /(?:AutoModel\w{0,80}|For\w{1,80}|(?<!Peft)Model|UNet\w{0,80}|Transformer\w{0,80}|^Auto\w{0,80}Model\w{0,80})\.(?:from_pretrained|from_config|_from_config)$/;
/** Classes of sentence-transformers, which take the name of published weights themselves. */
export const NAMED = /(?:^|\.)(?:SentenceTransformer|SparseEncoder|CrossEncoder)$/;
/** Its module around a transformers model, which `SentenceTransformer(modules=[…])` is made of. */
export const MODULE = /(?:^|\.)(?:models|modules)\.Transformer$/;
/** Calls of a model's own class, with a config or without. */
export const BUILDS = /(?:^|\.)([A-Z]\w{0,80}(?:For[A-Z]\w{1,80}|LMHeadModel|Model))$/;

/** Whether a call gives a model with published weights, or one made from a config. */
export function isLoad(callee: string): boolean {
  return LOADS.test(callee) || NAMED.test(callee) || MODULE.test(callee);
}

export const TRAINER = /Trainer$/;
export const OPTIMIZER =
  /(?:^|\.)(?:\w{0,80}Adam\w{0,80}|SGD|RMSprop|Adagrad|Adafactor|Lion\w{0,80}|LAMB|LARS|Muon|Sophia\w{0,80})$/;
/** `fit` is that of Lightning's Trainer, which is given the module there. */
const TRAIN = /(?:^|\.)(?:train|fit)$/;

/** Values looked through from one to the next; bounds models that are wrapped around each other. */
const MAX_STEPS = 16;

/** What wraps the models it prepares (accelerate/accelerator.py). */
export const ACCELERATOR = /(?:^|\.)Accelerator$/;

/** What is trained, and when. */
export interface Training {
  /** The trainer that runs; undefined: a loop does. */
  readonly trainer: PythonCall | undefined;
  /** The call that loads the trained model; undefined: none that is known does. */
  readonly load: PythonCall | undefined;
  /** Calls that make something which the trainer or the trained model is given. */
  readonly parts: ReadonlySet<PythonCall>;
  /** Whether the trained model is followed from the trainer back to where it is loaded: nothing else is done with it. */
  readonly followed: boolean;
  /** When training is over; what is called later is for something else. */
  readonly ends: number;
  /** The module of the script's own that loads the model inside: what it does happens where it is made. */
  readonly own: PythonClass | undefined;
}

const trainings = new WeakMap<PythonModule, Training>();

/** What a module trains, found once. */
export function trainingOf(python: PythonModule): Training {
  const known = trainings.get(python) ?? found(python);
  trainings.set(python, known);
  return known;
}

/** Calls that a value may be the result of. */
export function callsBehind(python: PythonModule, node: LocatedNode | undefined): readonly PythonCall[] {
  return callsOf(python).behind(node);
}

/** The call that stands in a place. */
export function callAt(python: PythonModule, place: Span): PythonCall | undefined {
  return callsOf(python).at(place);
}

/** The call that a value is the result of; undefined: it may be that of several. */
export function callBehind(python: PythonModule, node: LocatedNode | undefined): PythonCall | undefined {
  const [call, ...others] = callsBehind(python, node);
  return others.length === 0 ? call : undefined;
}

/** The loads that a value goes back to, through calls that wrap the model; the last first. */
export function loadsBehind(python: PythonModule, node: LocatedNode | undefined): readonly PythonCall[] {
  return callsOf(python).loads(node);
}

/** Calls that give another model like the one they are given (`copy.deepcopy`). */
const COPIES = /(?:^|\.)deepcopy$/;

/** Whether a value is a copy, or what a method of one gives back (`copy.deepcopy(model).eval()`). */
export function isCopy(python: PythonModule, node: LocatedNode | undefined): boolean {
  let value = node;
  for (let step = 0; step < MAX_STEPS && value !== undefined; step++) {
    const [call] = callsBehind(python, value);
    if (call === undefined) return false;
    if (COPIES.test(call.callee)) return true;
    value = call.receiver;
  }
  return false;
}

const others = new WeakMap<PythonModule, readonly PythonCall[]>();

/** Copies of models that are not what the trainer gets, found once: an average of the weights, a teacher. */
export function otherCopies(python: PythonModule): readonly PythonCall[] {
  const known = others.get(python) ?? copiesApart(python);
  others.set(python, known);
  return known;
}

function copiesApart(python: PythonModule): readonly PythonCall[] {
  const copies = python.calls.filter(({ callee }) => COPIES.test(callee));
  const { trainer, load } = trainingOf(python);
  const own = new Set<PythonCall>();
  let node = trainer === undefined ? undefined : modelOf(trainer);
  for (let step = 0; step < MAX_STEPS && node !== undefined; step++) {
    const [call]: readonly PythonCall[] = callsBehind(python, node);
    if (call === undefined || call === load) break;
    own.add(call);
    node = call.positional[0] ?? given(call, "model") ?? call.receiver;
  }
  return copies.filter((call) => !own.has(call) && loadsBehind(python, call.positional[0]).length > 0);
}

/** Whether a call happens while training is made ready or runs. */
export function isBefore({ ends, own }: Pick<Training, "ends" | "own">, call: PythonCall): boolean {
  return call.deferred === true || (call.order ?? 0) <= ends || isInside(call, own);
}

/** Calls that happen while training is made ready or runs. */
export function callsBefore(python: PythonModule): readonly PythonCall[] {
  const training = trainingOf(python);
  return python.calls.filter((call) => isBefore(training, call));
}

const modules = new WeakMap<PythonModule, Calls>();

function callsOf(python: PythonModule): Calls {
  const known = modules.get(python) ?? new Calls(python);
  modules.set(python, known);
  return known;
}

class Calls {
  /** What each call loads; nothing while that is being found out. */
  private readonly loaded = new Map<PythonCall, readonly PythonCall[]>();
  readonly all: readonly PythonCall[];
  private readonly classes: ReadonlyMap<string, PythonClass>;
  private readonly byPlace: ReadonlyMap<string, PythonCall>;

  constructor({ calls, classes }: PythonModule) {
    this.all = calls;
    this.classes = new Map(classes.map((one) => [one.name, one]));
    this.byPlace = new Map(calls.map((call) => [placeOf(call), call]));
  }

  /** Calls that a value may be the result of. */
  behind(node: LocatedNode | undefined): readonly PythonCall[] {
    if (node?.kind === "list") return node.items.flatMap((item) => this.behind(item));
    if (node?.kind !== "unknown") return [];
    if (node.alternatives !== undefined) return node.alternatives.flatMap((one) => this.behind(one));
    const call = this.at(node.source ?? node);
    return call === undefined ? [] : [call];
  }

  at(place: Span): PythonCall | undefined {
    return this.byPlace.get(placeOf(place));
  }

  /** Calls that a value is the result of, or that stand in what makes it (`list(a.parameters()) + list(b.parameters())`). */
  within(node: LocatedNode | undefined): readonly PythonCall[] {
    const place = node?.kind === "unknown" ? (node.source ?? node) : node;
    return [...this.behind(node), ...this.all.filter((call) => isInside(call, place))];
  }

  /** The loads that a value goes back to, through calls that wrap the model; the last first. */
  loads(node: LocatedNode | undefined, steps = 0): readonly PythonCall[] {
    if (steps > MAX_STEPS) return [];
    return this.behind(node).flatMap((call) => {
      const known = this.loaded.get(call);
      if (known !== undefined) return known;
      this.loaded.set(call, []);
      const loads = this.loadedBy(call, steps);
      this.loaded.set(call, loads);
      return loads;
    });
  }

  private loadedBy(call: PythonCall, steps: number): readonly PythonCall[] {
    const own = this.classes.get(call.callee);
    if (own !== undefined) return this.loadsOf(own, call, steps);
    const modules = NAMED.test(call.callee) ? given(call, "modules") : undefined;
    if (modules !== undefined) return this.loads(modules, steps + 1);
    if (isLoad(call.callee) || BUILDS.test(call.callee)) return [call];
    for (const inner of [call.positional[0], given(call, "model"), call.receiver]) {
      const loads = this.loads(inner, steps + 1);
      if (loads.length > 0) return loads;
    }
    return [];
  }

  /** What a module of one's own is given to train, or loads itself; one that does neither is made here. */
  private loadsOf(own: PythonClass, call: PythonCall, steps: number): readonly PythonCall[] {
    const handed = argumentsOf(call).flatMap((node) => this.loads(node, steps + 1));
    if (handed.length > 0) return handed;
    const inside = this.all.filter(
      (one) => isInside(one, own) && (isLoad(one.callee) || (BUILDS.test(one.callee) && !this.classes.has(one.callee))),
    );
    return inside.length > 0 || !BUILDS.test(call.callee) ? inside : [call];
  }
}

function argumentsOf({ positional, keywords }: PythonCall): readonly LocatedNode[] {
  return [...positional, ...keywords.entries.map(({ value }) => value)];
}

function placeOf({ start, end }: Span): string {
  return `${start}:${end}`;
}

function inOrder(calls: readonly PythonCall[]): PythonCall[] {
  return calls.toSorted((a, b) => (a.order ?? 0) - (b.order ?? 0));
}

/** The class whose text a load stands in. */
function around({ classes }: PythonModule, load: PythonCall | undefined): PythonClass | undefined {
  return load && classes.find((own) => isInside(load, own));
}

function found(python: PythonModule): Training {
  const calls = callsOf(python);
  const own = new Set(
    python.classes.filter(({ bases }) => bases.some((base) => TRAINER.test(base))).map(({ name }) => name),
  );
  const trainers = inOrder(python.calls.filter(({ callee }) => TRAINER.test(callee) || own.has(callee)));
  const runs = inOrder(python.calls.filter(({ callee }) => TRAIN.test(callee)));
  const last = runs.findLast(({ receiver }) => calls.behind(receiver).some((call) => trainers.includes(call)));
  const trainer = calls.behind(last?.receiver).find((call) => trainers.includes(call)) ?? trainers.at(-1);
  const ends = last?.order ?? Number.MAX_SAFE_INTEGER;
  if (trainer === undefined) {
    const load = ofLoop(calls, runs, python.round) ?? lastBuilt(calls, python);
    return { trainer, load, parts: new Set(), followed: false, ends, own: around(python, load) };
  }
  const model = modelOf(trainer) ?? (last === undefined ? undefined : modelOf(last));
  const behind = calls.loads(model).at(-1);
  const load = behind ?? (model?.kind === "scalar" ? undefined : lastLoad(calls, ends));
  const module = around(python, load);
  const isInTime = (call: PythonCall): boolean => (call.order ?? 0) <= ends || isInside(call, module);
  const parts = partsOf(calls, trainer, load, isInTime);
  return { trainer, load, parts, followed: behind !== undefined, ends, own: module };
}

function modelOf(trainer: PythonCall): LocatedNode | undefined {
  // Trainers of a script's own take a student beside its teacher.
  return (
    given(trainer, "model") ?? given(trainer, "student_model") ?? given(trainer, "student") ?? trainer.positional[0]
  );
}

/** When the last call of a loop's round happens; what is called later is for something else. */
export function endOf(calls: readonly PythonCall[], round: Span | undefined): number {
  let end: number | undefined;
  for (const call of round === undefined ? [] : calls)
    if (isInside(call, round)) end = Math.max(end ?? 0, call.order ?? 0);
  return end ?? Number.MAX_SAFE_INTEGER;
}

/** The last model of transformers that is made from a config (`BertModel(config)`), where nothing says which one is trained. */
function lastBuilt({ all }: Calls, { bound, classes }: PythonModule): PythonCall | undefined {
  const own = new Set(classes.map(({ name }) => name));
  const isOfLibrary = ({ callee }: PythonCall): boolean => {
    const [root = ""] = callee.split(".", 1);
    return !own.has(callee) && BUILDS.test(callee) && /^transformers\b/.test(bound.get(root) ?? "");
  };
  return inOrder(all.filter(isOfLibrary)).at(-1);
}

function lastLoad({ all }: Calls, ends: number): PythonCall | undefined {
  const loads = inOrder(all.filter(({ callee }) => isLoad(callee)));
  return loads.findLast(({ order = 0, deferred }) => deferred === true || order <= ends) ?? loads.at(-1);
}

/** What an optimizer steps, or what `train()` is called on; else what is loaded last before the loop's round is over. */
function ofLoop(calls: Calls, runs: readonly PythonCall[], round: Span | undefined): PythonCall | undefined {
  const stepped = calls.all
    .filter(({ callee }) => OPTIMIZER.test(callee))
    .flatMap(({ positional, keywords }) => calls.within(positional[0] ?? keywords.entries[0]?.value))
    .filter(({ callee }) => /(?:^|\.)(?:named_)?parameters$/.test(callee));
  for (const { receiver } of [...stepped, ...runs]) {
    const load = calls.loads(receiver).at(-1);
    if (load !== undefined) return load;
  }
  return lastLoad(calls, endOf(calls.all, round));
}

/** Everything the trainer is made of, and what is done with the trained model before it trains. */
function partsOf(
  calls: Calls,
  trainer: PythonCall,
  load: PythonCall | undefined,
  isInTime: (call: PythonCall) => boolean,
): ReadonlySet<PythonCall> {
  const parts = new Set<PythonCall>();
  const add = (first: PythonCall): void => {
    const waiting = [first];
    for (let call = waiting.pop(); call !== undefined; call = waiting.pop()) {
      if (parts.has(call)) continue;
      parts.add(call);
      const made = [...argumentsOf(call), call.receiver].flatMap((node) => calls.behind(node));
      for (const one of made.toReversed()) waiting.push(one);
    }
  };
  add(trainer);
  if (load === undefined) return parts;
  add(load);
  for (const call of calls.all)
    if (isInTime(call) && [call.receiver, ...call.positional].some((node) => calls.loads(node).includes(load)))
      add(call);
  return parts;
}
