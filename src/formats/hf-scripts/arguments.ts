/**
 * What a script does to the Trainer's arguments once they are made: attributes that it sets, methods that set several at a time, those
 * it does not name too (transformers/training_args.py, `set_training` and its like), and copies with others (`dataclasses.replace`).
 */
import type { Entry, PythonCall, PythonModule } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import { table } from "../../terms/table";
import { attributesSaid, type Said } from "../attributes";
import type { LocatedSetting } from "../types";
import { at, given, lastName, qualified } from "./called";
import { callsBehind } from "./training";

/** A parameter of a method; what it sets, and to what where it is not given. */
interface Parameter {
  readonly name: string;
  readonly sets?: string;
  readonly standard?: readonly [SettingName, string | number | boolean];
}

const only = (...names: readonly string[]): readonly Parameter[] => names.map((name) => ({ name }));

/** Parameters in their order. */
const METHODS: Readonly<Record<string, readonly Parameter[]>> = table({
  set_training: [
    { name: "learning_rate", sets: "learning_rate" },
    { name: "batch_size", sets: "per_device_train_batch_size", standard: ["micro_batch_size", 8] },
    ...only("weight_decay", "num_epochs", "max_steps"),
    {
      name: "gradient_accumulation_steps",
      sets: "gradient_accumulation_steps",
      standard: ["gradient_accumulation_steps", 1],
    },
    ...only("seed"),
    { name: "gradient_checkpointing", sets: "gradient_checkpointing", standard: ["gradient_checkpointing", false] },
  ],
  set_evaluate: [
    { name: "strategy", sets: "eval_strategy" },
    ...only("steps"),
    { name: "batch_size", sets: "per_device_eval_batch_size", standard: ["eval_batch_size", 8] },
    { name: "accumulation_steps", sets: "eval_accumulation_steps" },
    ...only("delay"),
    { name: "loss_only", sets: "prediction_loss_only" },
  ],
  set_testing: [
    { name: "batch_size", sets: "per_device_eval_batch_size", standard: ["eval_batch_size", 8] },
    { name: "loss_only", sets: "prediction_loss_only" },
  ],
  set_optimizer: [
    { name: "name", sets: "optim", standard: ["optimizer", "adamw_torch"] },
    ...only("learning_rate", "weight_decay", "beta1", "beta2", "epsilon"),
    { name: "args", sets: "optim_args" },
  ],
  set_dataloader: [
    { name: "train_batch_size", sets: "per_device_train_batch_size", standard: ["micro_batch_size", 8] },
    { name: "eval_batch_size", sets: "per_device_eval_batch_size", standard: ["eval_batch_size", 8] },
  ],
});

/** They give the arguments back. */
const SAME: ReadonlySet<string> = new Set(Object.keys(METHODS));

/**
 * What is decided while the arguments are made: mixed precision, how the model is sharded, what compiles it
 * (transformers/training_args.py, `__post_init__`). Set afterwards it changes nothing.
 */
const DECIDED: ReadonlySet<string> = new Set("bf16 fp16 deepspeed fsdp fsdp_config torch_compile".split(" "));

/** Copies and changes of arguments, looked through from one to the next. */
const MAX_CHANGES = 64;

const methodOf = ({ callee }: PythonCall): readonly Parameter[] | undefined => METHODS[lastName(callee)];

const copies = ({ callee }: PythonCall, python: PythonModule): boolean =>
  qualified(callee, python) === "dataclasses.replace";

/** Calls whose arguments a call changes or copies; none where it does neither. */
function changedBy(call: PythonCall, python: PythonModule): readonly PythonCall[] {
  const from = copies(call, python) ? call.positional[0] : methodOf(call) === undefined ? undefined : call.receiver;
  return from === undefined ? [] : callsBehind(python, from);
}

/** Calls that made the arguments which a call changes, through copies and changes before it. */
function makersBehind(call: PythonCall, python: PythonModule): ReadonlySet<PythonCall> {
  const makers = new Set<PythonCall>();
  const waiting = [...changedBy(call, python)];
  for (let one = waiting.shift(); one !== undefined && makers.size < MAX_CHANGES; one = waiting.shift()) {
    if (makers.has(one)) continue;
    makers.add(one);
    waiting.push(...changedBy(one, python));
  }
  return makers;
}

const modules = new WeakMap<PythonModule, ReadonlyMap<PythonCall, readonly PythonCall[]>>();

/** What changes the arguments that each call made, whatever happens, in its order; found once. */
function changesIn(python: PythonModule): ReadonlyMap<PythonCall, readonly PythonCall[]> {
  const known = modules.get(python);
  if (known !== undefined) return known;
  const changes = new Map<PythonCall, PythonCall[]>();
  for (const call of python.calls.toSorted((a, b) => (a.order ?? 0) - (b.order ?? 0))) {
    if ((call.guards ?? []).length > 0) continue;
    for (const maker of makersBehind(call, python)) {
      const own = changes.get(maker);
      if (own === undefined) changes.set(maker, [call]);
      else own.push(call);
    }
  }
  modules.set(python, changes);
  return changes;
}

/** Calls that change the arguments which a call made. */
function changesOf(made: PythonCall, python: PythonModule): readonly PythonCall[] {
  return changesIn(python).get(made) ?? [];
}

/** What one change says, under the names of the arguments. */
function saidBy(call: PythonCall): readonly Entry[] {
  const parameters = methodOf(call);
  if (parameters === undefined) return call.keywords.entries;
  const given = call.positional.flatMap((value, index): Entry[] => {
    const sets = parameters[index]?.sets;
    return sets === undefined ? [] : [{ key: sets, keySpan: call.calleeSpan, value }];
  });
  const named = call.keywords.entries.flatMap((entry): Entry[] => {
    const sets = parameters.find(({ name }) => name === entry.key)?.sets;
    return sets === undefined ? [] : [{ ...entry, key: sets }];
  });
  return [...given, ...named];
}

/** What is said of arguments after the call that makes them, in its order. */
function saidAfter(made: PythonCall, python: PythonModule): readonly Said[] {
  const calls = changesOf(made, python);
  const changed = calls.flatMap((call) => saidBy(call).map((entry) => ({ entry, order: call.order ?? 0 })));
  const set = [made, ...calls.filter((call) => copies(call, python))].flatMap((call) =>
    attributesSaid(call, python, SAME),
  );
  return [...set.filter(({ entry }) => !DECIDED.has(entry.key)), ...changed].toSorted((a, b) => a.order - b.order);
}

/** What is set when it is decided already. */
export function setTooLate(made: PythonCall, python: PythonModule): readonly Entry[] {
  return attributesSaid(made, python, SAME).flatMap(({ entry }) => (DECIDED.has(entry.key) ? [entry] : []));
}

/** What is said of arguments after the call that makes them. */
export function argumentsSet(made: PythonCall, python: PythonModule): readonly Entry[] {
  return saidAfter(made, python).map(({ entry }) => entry);
}

/** What methods set arguments to that they are not given, unless something is said of them later. */
export function argumentsReset(made: PythonCall, python: PythonModule): readonly LocatedSetting[] {
  const said = saidAfter(made, python);
  return changesOf(made, python).flatMap((call) =>
    (methodOf(call) ?? []).flatMap(({ sets, standard }) => {
      const stated = said.some(({ entry, order }) => entry.key === sets && order >= (call.order ?? 0));
      return standard === undefined || stated ? [] : [at(standard[0], call, standard[1])];
    }),
  );
}

/** Calls that make arguments of what the command line, a file or a dictionary says. */
const PARSES = /(?:^|\.)parse_(?:args|dict|json_file|yaml_file|args_and_config|args_into_dataclasses)$/;

/** Attributes that are set on arguments which a parser made, where a trainer is given them by the same name. */
function setOnParsed(trainer: PythonCall, python: PythonModule): readonly Entry[] {
  const args = given(trainer, "args") ?? trainer.positional[1];
  if (args?.kind !== "unknown" || !callsBehind(python, args).some(({ callee }) => PARSES.test(callee))) return [];
  return python.effects.flatMap(({ path, attribute, value, guards, start }): Entry[] => {
    const isOwn = path.root === args.raw && path.steps.length === 0 && guards.length === 0;
    return isOwn ? [{ key: attribute, keySpan: { start, end: value.start }, value }] : [];
  });
}

/** Those of them that count, and those that come too late. */
export function parsedArguments(trainer: PythonCall | undefined, python: PythonModule) {
  const set = trainer === undefined ? [] : setOnParsed(trainer, python);
  return {
    count: set.filter(({ key }) => !DECIDED.has(key)),
    late: set.filter(({ key }) => DECIDED.has(key)),
  };
}
