/**
 * What a script's own code keeps or runs beside the Trainer's step and that is counted by nothing: copies of the weights (an average of
 * them), further forwards in a loss of its own, further backwards in a step of its own.
 */
import type { Entry, LocatedNode, PythonCall, PythonClass, PythonModule, Span } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, isInside, keyword, lastName, placed, plain, said, scalar, uncounted } from "./called";
import { rawOf } from "./loads";
import { LOADER } from "./loop";
import { builtNetwork } from "./networks";
import { callsBehind, isBefore, loadsBehind, otherCopies, trainingOf } from "./training";

/** Classes that keep an average of a model's weights (torch.optim.swa_utils, timm, torch_ema, scripts' own). */
const AVERAGES = /(?:^|\.)(?:AveragedModel|ExponentialMovingAverage|ModelEma\w{0,20}|EMA\w{0,20})$/;
const CLONES = /\.clone$/;
/** A dictionary or list of copies (`{n: p.detach().clone() for n, p in model.named_parameters()}`). */
const COPIED = /\.clone\(/;
const OF_MODEL = /\.(?:named_parameters|parameters|state_dict)\(\)/;
const FORWARDS = /^(?:self\.)?model$/;
const BACKWARDS = /(?:^|\.)backward$/;

/** Calls that keep a copy of the whole model they are given (torch/optim/swa_utils.py, AveragedModel; timm/utils/model_ema.py). */
const COPIES_MODEL = /(?:^|\.)(?:deepcopy|AveragedModel|ModelEma\w{0,20})$/;
/**
 * Calls that give the model on the device: accelerate/accelerator.py, `prepare_model` (`device_placement`); lightning/fabric/fabric.py,
 * `setup` (`move_to_device`).
 */
const PLACES = /^(?:.*\.)?(?:cuda|to|prepare|prepare_model|setup|setup_module)$/;
/** Calls on the way from one to what it copies. */
const MAX_STEPS = 16;

/** A copy of the trained model that lies on the device, where the script itself has put that one before. */
function wholeCopy(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const made = training.load ?? builtNetwork(python);
  /** Whether a value is that model where it is on the device; undefined: it is something else. */
  const isMoved = (node: LocatedNode | undefined, steps = 0): boolean | undefined => {
    const [from] = steps < MAX_STEPS ? callsBehind(python, node) : [];
    if (from === undefined) return undefined;
    if (from === made) return isOnDevice(python);
    // A method is the model's, or that of what is given the model.
    const before = isMoved(from.receiver, steps + 1) ?? isMoved(from.positional[0], steps + 1);
    return before === undefined ? undefined : before || PLACES.test(from.callee);
  };
  const call = python.calls.find(
    (one) => COPIES_MODEL.test(one.callee) && isBefore(training, one) && isMoved(one.positional[0]) === true,
  );
  return call === undefined ? [] : [at("weight_copies", call, "all")];
}

/** Copies of the trained weights that are not a model which the script's own trainer calls: that one is counted. */
export function copiesKept(python: PythonModule, counted: boolean): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const whole = counted ? [] : wholeCopy(python);
  if (whole.length > 0) return whole;
  const copies = counted ? [] : otherCopies(python);
  const steps = python.round?.further?.some((action) => action.do === "keep") === true;
  const calls = python.calls.filter(
    (call) =>
      isBefore(training, call) &&
      !(steps && CLONES.test(call.callee)) &&
      (AVERAGES.test(call.callee) ||
        copies.includes(call) ||
        (CLONES.test(call.callee) &&
          call.path?.steps.some((step) => step.kind === "call" && step.name === "named_parameters") === true)),
  );
  const written = python.assignments.entries.filter(({ value }) => {
    const raw = rawOf(value) ?? "";
    return COPIED.test(raw) && OF_MODEL.test(raw);
  });
  const [entry] = written;
  // A class of the script's own keeps what is written in it.
  const keeper = python.classes.find((own) => entry !== undefined && isInside(entry.keySpan, own));
  const others = calls.filter(({ callee }) => callee !== keeper?.name);
  const raw = rawOf(entry?.value) ?? "";
  // Copies by name lie where the model was then: on the device where the script itself has put it there.
  const isThere = ON_DEVICE.test(raw) || isOnDevice(python) || keeper?.bases.some((base) => AFTER.test(base)) === true;
  if (entry !== undefined && others.length === 0 && isThere)
    return [copied(entry, TRAINED.test(raw) ? "trained" : "all")];
  return [
    ...calls.map((call) => uncounted(call.callee, call.calleeSpan, call.calleeSpan)),
    ...written.map(({ key, keySpan, value }) => uncounted(key, keySpan, value)),
  ]
    .slice(0, 1)
    .map((one) => ({ ...one, direction: "more" as const }));
}

/** What runs when the Trainer has put its model on the device (transformers/trainer.py, `__init__` before `on_init_end`). */
const AFTER = /(?:^|\.)TrainerCallback$/;
const ON_DEVICE = /\.(?:cuda|to)\(/;
/** A condition that parameters which are trained fulfil. */
const TRAINED = /\bif \w{1,40}\.requires_grad\b/;

/** Whether a script moves the trained model to the device before its trainer does. */
function isOnDevice(python: PythonModule): boolean {
  const training = trainingOf(python);
  if (training.load !== undefined && keyword(training.load, "device_map") !== undefined) return true;
  return python.calls.some((call) => {
    if (!MOVES.test(call.callee) || !isBefore(training, call)) return false;
    return loadsBehind(python, call.receiver).includes(training.load as PythonCall);
  });
}

const MOVES = /\.cuda$|^cuda$/;

/** One more copy of the weights, which stays. */
function copied(entry: Entry, value: "trained" | "all"): LocatedSetting {
  return said("weight_copies", { ...entry, value: scalar(value, entry.value) });
}

/** The call whose result a script's own loss gives the model (`model(**both)`), and batches that are joined there. */
const GIVEN = /^(?:self\.)?model\(\*\*(\w{1,60})\)/;
const JOINS = /\btorch\.(?:cat|stack)\(|\.repeat_interleave\(/;

/** Batches that the trainer's own class makes larger before the model gets them. */
function largerBatches(python: PythonModule): readonly LocatedSetting[] {
  const own = ownTrainer(python);
  if (own === undefined) return [];
  const inside = python.assignments.entries.filter(({ keySpan }) => isInside(keySpan, own));
  const names = new Set(inside.flatMap(({ value }) => GIVEN.exec(rawOf(value) ?? "")?.[1] ?? []));
  const joined = inside.find(({ key, value }) => names.has(key) && JOINS.test(rawOf(value) ?? ""));
  return joined === undefined ? [] : [uncounted(joined.key, joined.keySpan, joined.value)];
}

/** Batches of the loader that the trainer's own class makes for training (transformers/trainer.py, `get_train_dataloader`). */
export function loaderOfTrainer(python: PythonModule): readonly LocatedSetting[] {
  const own = ownTrainer(python);
  return python.calls.flatMap((call) => {
    if (!LOADER.test(call.callee) || !isInside(call, own)) return [];
    const data = rawOf(call.positional[0] ?? given(call, "dataset")) ?? "";
    const size = given(call, "batch_size");
    const known = plain(size);
    return /train/.test(data) && typeof known === "number" ? [at("micro_batch_size", call, known, size)] : [];
  });
}

/** The class of the script's own whose trainer runs. */
function ownTrainer(python: PythonModule): PythonClass | undefined {
  const { trainer } = trainingOf(python);
  return python.classes.find(({ name }) => name === trainer?.callee);
}

/** Further calls of one kind in a class or a round of a loop, whatever conditions hold. */
function again({ calls }: PythonModule, pattern: RegExp, around: Span | undefined): readonly LocatedSetting[] {
  const [, second] = calls.filter(
    (call) => pattern.test(call.callee) && isInside(call, around) && (call.guards ?? []).length === 0,
  );
  return second === undefined ? [] : [uncounted(second.callee, second.calleeSpan, second.calleeSpan)];
}

/** What a step of the script's own does behind its first gradients, as JSON; nothing where that is not read. */
function readActions({ round }: PythonModule): readonly LocatedSetting[] {
  if (round?.further === undefined) return [];
  const value = JSON.stringify(round.further);
  const place = { start: round.start, end: round.end };
  return [placed("step_actions", "backward", place, { ...scalar("", place), value }, value)];
}

/** Further gradients of one round of a loop: those of the first stay while they are taken (adversarial training, two losses). */
export function furtherBackwards(python: PythonModule): readonly LocatedSetting[] {
  const read = readActions(python);
  return read.length > 0 ? read : again(python, BACKWARDS, python.round).map((one) => ({ ...one, direction: "more" }));
}

/** Calls that go over a data set once the trainer has trained, whatever `eval_strategy` is; what is predicted is all kept. */
export function evaluatesAfter(python: PythonModule): readonly LocatedSetting[] {
  const { trainer, ends } = trainingOf(python);
  const calls = python.calls.filter(({ callee, receiver, order = 0, deferred, guards = [] }) => {
    const asks = /\.(?:evaluate|predict)$/.test(callee) && order > ends && deferred !== true && guards.length === 0;
    return asks && trainer !== undefined && callsBehind(python, receiver).includes(trainer);
  });
  const call = calls.find(({ callee }) => callee.endsWith("predict")) ?? calls[0];
  return call === undefined ? [] : [at("evaluates_after", call, lastName(call.callee))];
}

const STEPS_ITSELF = /(?:^|\.)(?:backward|training_step)$/;

/** A step of the trainer's own class that takes no gradients: it finds its way without them (MeZO), and most of a step is not there. */
function withoutGradients(python: PythonModule): readonly LocatedSetting[] {
  const own = ownTrainer(python);
  const step = own?.methods.get("training_step");
  if (own === undefined || step === undefined) return [];
  if (python.calls.some((call) => isInside(call, own) && STEPS_ITSELF.test(call.callee))) return [];
  return [{ ...uncounted("training_step", step, step), direction: "less" }];
}

const CALLBACK = /Callback$/;
const EACH_STEP = ["on_step_begin", "on_step_end", "on_substep_end", "on_epoch_begin", "on_epoch_end"];

/** Weights that a callback freezes from step to step (LISA): how many are trained then is not known. */
function frozenByStep({ classes, effects, calls }: PythonModule): readonly LocatedSetting[] {
  for (const type of classes) {
    const method = EACH_STEP.find((name) => type.methods.has(name));
    if (method === undefined || !type.bases.some((base) => CALLBACK.test(base))) continue;
    const freezes =
      effects.some((one) => one.attribute === "requires_grad" && isInside(one, type)) ||
      calls.some((call) => /\.requires_grad_$/.test(call.callee) && isInside(call, type));
    const place = type.methods.get(method);
    if (freezes && place !== undefined) return [{ ...uncounted(method, place, place), direction: "less" }];
  }
  return [];
}

/**
 * @param counted whether a copy of the trained model is counted as a model beside it
 * @param read whether the script's own loss is read
 */
export function besideStep(python: PythonModule, counted: boolean, read: boolean): readonly LocatedSetting[] {
  const own = ownTrainer(python);
  const steps = own?.methods.get("training_step");
  const actions = steps !== undefined && steps.start === python.round?.start ? readActions(python) : [];
  return [
    ...copiesKept(python, counted),
    ...(read || actions.length > 0 ? [] : [...largerBatches(python), ...again(python, FORWARDS, own)]),
    ...(actions.length > 0 ? actions : again(python, BACKWARDS, own)),
    ...withoutGradients(python),
    ...frozenByStep(python),
  ];
}
