/** Models beside the trained one. */
import type { PythonModule } from "../../syntax/tree";
import type { LocatedSetting } from "../types";
import { at, given, isInside, qualified } from "./called";
import { rawOf } from "./loads";
import { callsBehind, endOf, isBefore, isLoad, loadsBehind, otherCopies, trainingOf } from "./training";

/** Models beside the trained one that the script's own trainer is given, or calls by a name of the module's. */
export function otherModels(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const { trainer, load, parts } = training;
  const own = trainer === undefined ? python.round : python.classes.find(({ name }) => name === trainer.callee);
  if (own === undefined) return [];
  const inside = python.calls.filter((call) => isInside(call, own));
  const ends = trainer === undefined ? endOf(python.calls, own) : training.ends;
  // Functions of the script's call what they are given.
  const handed = inside.filter(({ callee }) => python.functions.has(callee)).flatMap(({ positional }) => positional);
  const called = new Set([...inside.map(({ callee }) => callee), ...handed.map((node) => rawOf(node) ?? "")]);
  const named = python.assignments.entries.filter(({ key }) => called.has(key));
  const calledLoads = named.flatMap(({ value }) => loadsBehind(python, value));
  const copied = otherCopies(python).some((copy) =>
    named.some(({ value }) => callsBehind(python, value).includes(copy)),
  );
  const other =
    [...parts, ...calledLoads].find(
      (call) => call !== load && isLoad(call.callee) && isBefore({ ...training, ends }, call),
    ) ?? (copied ? load : undefined);
  const name = other?.positional[0];
  if (other === undefined) return [];
  const dtype = given(other, "dtype") ?? given(other, "torch_dtype");
  const first = (isIt: (callee: string) => boolean): number =>
    Math.min(...python.calls.flatMap((call) => (isInside(call, own) && isIt(call.callee) ? [call.start] : [])));
  const teacher = first((callee) => /^(?:self\.)?\w{0,20}teacher\w{0,20}$/i.test(callee));
  const student = first((callee) => callee === "model");
  return [
    ...(Number.isFinite(teacher) && student < teacher ? [at("other_model_runs", other, true)] : []),
    at("other_model", other, name?.kind === "scalar" ? String(name.value) : other.callee),
    ...(dtype?.kind === "scalar" && typeof dtype.value === "string" && dtype.value !== "auto"
      ? [at("other_model_dtype", other, dtype.value, dtype)]
      : []),
  ];
}

/** DeepSpeed's experts that a script puts into its model, which is another then (deepspeed/moe/layer.py). */
export function deepspeedExperts(python: PythonModule): readonly LocatedSetting[] {
  const made = python.calls.find(({ callee }) => qualified(callee, python) === "deepspeed.moe.layer.MoE");
  return made === undefined ? [] : [at("deepspeed_moe", made, true)];
}

/** Models that trainers of TRL are given beside the trained one, as what loads them or by name. */
const BESIDE = ["teacher_model", "ref_model"] as const;

export function givenModels(python: PythonModule): readonly LocatedSetting[] {
  const { trainer, load } = trainingOf(python);
  if (trainer === undefined || python.classes.some(({ name }) => name === trainer.callee)) return [];
  const own = load?.positional[0];
  return BESIDE.flatMap((setting) => {
    const handed = given(trainer, setting);
    const name = handed?.kind === "scalar" ? handed : loadsBehind(python, handed).at(-1)?.positional[0];
    if (name?.kind !== "scalar" || typeof name.value !== "string") return [];
    // A reference like the trained model is what the trainer makes itself.
    const same = setting === "ref_model" && own?.kind === "scalar" && own.value === name.value;
    return same ? [] : [at(setting, trainer, name.value, name)];
  });
}
