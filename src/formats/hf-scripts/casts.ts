/** The dtypes that a script casts weights to: the whole model's (`model.half()`, `model.to(dtype=torch.bfloat16)`), or its adapter's alone. */
import type { PythonCall, PythonModule } from "../../syntax/tree";
import { floatNamed } from "../../terms/dtypes";
import type { LocatedSetting } from "../types";
import { at, given, placed, plain, scalar } from "./called";
import { adaptedAt, isModel } from "./freezing";
import { BUILDS, loadsBehind, trainingOf } from "./training";

const METHOD = /^(?:([\w.]+)\.)?(half|bfloat16|float|to)$/;
/** Steps on the way to the object that leave it the whole model. */
const WHOLE: ReadonlySet<string> = new Set(
  "from_pretrained from_config train eval cuda to half bfloat16 float".split(" "),
);

/** The object whose weights a call casts, the dtype, and where it is said; undefined: the call casts none. */
function castBy(call: PythonCall) {
  const [, owner, method = ""] = METHOD.exec(call.callee) ?? [];
  const said = [given(call, "dtype"), ...call.positional].find((node) =>
    /^(?:float32|float16|bfloat16)$/.test(String(plain(node))),
  );
  const dtype = floatNamed(method) ?? plain(said);
  return typeof dtype === "string" ? { owner, dtype, said } : undefined;
}

/** What a loop's model is cast to: by a name of it, or where it is made (`GPT2LMHeadModel(config).to(torch.bfloat16)`). */
export function castInLoop(python: PythonModule, names: ReadonlySet<string>): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  for (const call of python.calls.toReversed()) {
    const cast = castBy(call);
    if (cast === undefined) continue;
    const { owner, dtype, said } = cast;
    const isOwn =
      owner === undefined ? loadsBehind(python, call.receiver).some((one) => one === load) : names.has(owner);
    if (isOwn) return [at("load_dtype", call, dtype, said)];
  }
  return madeWith(python);
}

/** The dtype that a model made from its config has where the script sets torch's (torch/_torch_docs.py, `set_default_dtype`). */
function madeWith(python: PythonModule): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  if (load === undefined || !BUILDS.test(load.callee)) return [];
  const set = python.calls
    .filter(
      ({ callee, order = 0, guards = [] }) => DEFAULT.test(callee) && order < (load.order ?? 0) && guards.length === 0,
    )
    .toSorted((a, b) => (a.order ?? 0) - (b.order ?? 0))
    .at(-1);
  const dtype = plain(set?.positional[0]);
  return set === undefined || typeof dtype !== "string" ? [] : [at("load_dtype", set, dtype, set.positional[0])];
}

const DEFAULT = /(?:^|\.)set_default_dtype$/;

/**
 * What the model that a trainer gets is cast to, whatever it was loaded as (torch/nn/modules/module.py, `to`); with the adapter's
 * weights where they are on it by then.
 */
export function castBeforeTrainer(python: PythonModule): readonly LocatedSetting[] {
  const { load, trainer, ends } = trainingOf(python);
  if (load === undefined || trainer === undefined) return [];
  const last = Math.min(ends, trainer.order ?? ends);
  const adapter = adaptedAt(python, trainingOf(python));
  for (const call of python.calls.toReversed()) {
    const { order = 0, path, receiver, guards = [] } = call;
    const cast = order <= last && guards.length === 0 && METHOD.test(call.callee) ? castBy(call) : undefined;
    if (cast === undefined || path === undefined) continue;
    const steps = path.steps.filter(({ kind }) => kind !== "attribute");
    const isWhole =
      steps.every((step) => step.kind === "call" && WHOLE.has(step.name)) &&
      // Attributes stand before the load alone (`transformers.AutoModel.from_pretrained(…)`).
      (steps.length === path.steps.length || (path.steps.at(-1) as { kind: string }).kind === "call");
    if (!isWhole || !loadsBehind(python, receiver).includes(load)) continue;
    const { dtype, said } = cast;
    return [at("load_dtype", call, dtype, said), ...(order > adapter ? [at("adapter_dtype", call, dtype, said)] : [])];
  }
  return madeWith(python);
}

/** `p.data = p.data.to(torch.bfloat16)`, `.half()` */
const CAST_DATA =
  /\.(?:to\(\s{0,9}(?:dtype\s{0,9}=\s{0,9})?torch\.(float32|float16|bfloat16)\s{0,9}\)|(float|half|bfloat16)\(\))$/;
/** Conditions that trained factors alone fulfil. */
const TRAINED = /(?:\.requires_grad|["']lora\w{0,20}["'] in \w{1,40})$/;

/** The dtype that a script casts its adapter's weights to, once they are there. */
export function adapterCast(python: PythonModule): readonly LocatedSetting[] {
  const training = trainingOf(python);
  const adapter = adaptedAt(python, training);
  const cast = python.effects.findLast(
    ({ attribute, order, path, guards }) =>
      attribute === "data" &&
      order > adapter &&
      order <= training.ends &&
      guards.some(({ raw, holds }) => holds && TRAINED.test(raw)) &&
      isModel(path, training, python),
  );
  const [, named, method = ""] = CAST_DATA.exec(cast?.value.kind === "unknown" ? cast.value.raw : "") ?? [];
  const dtype = named ?? floatNamed(method);
  if (cast === undefined || dtype === undefined) return [];
  const { start, end } = cast.value;
  return [placed("adapter_dtype", "data", { start, end }, scalar(dtype, { start, end }), dtype)];
}
