/**
 * Optimizers that a script makes itself: for a loop of its own, or for the Trainer in the place of `optim`. Source:
 * transformers/trainer.py (`optimizers`, `optimizer_cls_and_kwargs`, `create_optimizer`, which subclasses override).
 */
import type { LocatedNode, MapNode, PythonCall, PythonModule } from "../../syntax/tree";
import { OPTIMIZER_CLASSES } from "../../terms/optimizers";
import type { LocatedSetting } from "../types";
import { at, given, isInside, keyword, lastName, plain, uncounted } from "./called";
import { rawOf } from "./loads";
import { steppedWeights } from "./stepped";
import { callsBehind, trainingOf } from "./training";

/** `transformers.Adafactor` and the class of torch.optim keep other states. */
const ADAFACTOR = /(?:^|\.)Adafactor$/;
const NO_OPTIONS: MapNode = { kind: "map", entries: [], start: 0, end: 0 };
/** Arguments of optimizers that decide what a step allocates. */
const OPTIONS = [
  ...["foreach", "fused", "momentum", "nesterov", "centered", "amsgrad", "capturable", "beta1"],
  ...["history_size", "max_iter", "line_search_fn"],
];

/** Whether a call makes an optimizer that is known. */
export function isOptimizer(call: PythonCall): boolean {
  return Object.hasOwn(OPTIMIZER_CLASSES, lastName(call.callee)) || ADAFACTOR.test(call.callee);
}

/** What the call that makes the optimizer says; one that nobody knows by its class alone. */
export function optimizerSettings(call: PythonCall, python: PythonModule): LocatedSetting[] {
  const { imports } = python;
  const ofTorch = /optim\./.test(call.callee) || imports.includes("torch.optim.Adafactor");
  const name =
    OPTIMIZER_CLASSES[lastName(call.callee)] ??
    (!ADAFACTOR.test(call.callee) ? lastName(call.callee) : ofTorch ? "adafactor_torch" : "adafactor");
  const stepped = call.positional[0] ?? given(call, "params");
  const groups = stepped?.kind === "list" ? stepped.items.filter((item) => item.kind === "map") : [];
  // A group's own option stands before the call's (torch/optim/optimizer.py, `add_param_group`).
  const ofGroup = (option: string): LocatedNode | undefined =>
    groups.flatMap(({ entries }) => entries.filter(({ key }) => key === option))[0]?.value;
  const options = OPTIONS.flatMap((option) => {
    const value = plain(ofGroup(option) ?? given(call, option));
    return value === undefined || value === null
      ? []
      : [`${option}=${value === true ? "True" : value === false ? "False" : value}`];
  });
  const decay = keyword(call, "weight_decay");
  const whole = /\.parameters\(\)/.test(rawOf(stepped) ?? "");
  return [
    at("optimizer", call, name),
    at("own_optimizer", call, true),
    ...(options.length > 0 ? [at("optim_args", call, options.join(","))] : []),
    ...(whole ? [at("one_group", call, true)] : []),
    ...steppedWeights(call, python),
    ...(decay !== undefined && typeof plain(decay.value) === "number"
      ? [at("weight_decay", call, plain(decay.value) as number, decay.value)]
      : []),
  ];
}

/** The optimizer that the Trainer is given, or that its subclass makes. */
export function trainerOptimizer(python: PythonModule): readonly LocatedSetting[] {
  const { trainer } = trainingOf(python);
  if (trainer === undefined) return [];
  const stated = keyword(trainer, "optimizers");
  const first = firstOf(stated?.value);
  const [call] = [...callsBehind(python, first), ...python.calls.filter((one) => isMadeBy(one, trainer, python))];
  if (call !== undefined) return optimizerSettings(call, python);
  const pair = given(trainer, "optimizer_cls_and_kwargs");
  const type = firstOf(pair);
  const name = rawOf(type);
  const options = pair?.kind === "list" && pair.items[1]?.kind === "map" ? pair.items[1] : NO_OPTIONS;
  // The Trainer makes it over its own two groups.
  if (type !== undefined && name !== undefined)
    return optimizerSettings({ ...trainer, callee: name, positional: [], keywords: options }, python);
  // One that cannot be followed to where it is made is not counted; without one the Trainer makes its own.
  return stated === undefined || plain(first) === null
    ? []
    : [uncounted("optimizers", trainer.calleeSpan, stated.value)];
}

function firstOf(node: LocatedNode | undefined): LocatedNode | undefined {
  return node?.kind === "list" ? node.items[0] : undefined;
}

/** Whether an optimizer is made inside of the trainer's own class. */
function isMadeBy(call: PythonCall, { callee }: PythonCall, { classes }: PythonModule): boolean {
  if (!isOptimizer(call)) return false;
  return classes.some((own) => own.name === callee && isInside(call, own));
}
