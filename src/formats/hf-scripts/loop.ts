/**
 * What a training loop of one's own says by the calls it makes, where a trainer's arguments would: optimizer, autocast, the dtype
 * of the weights, clipping, accumulation, compilation, and which of a micro-batch's results its names keep.
 */
import type { LocatedNode, PythonCall, PythonModule } from "../../syntax/tree";
import { type FloatName, floatNamed, shortOf } from "../../terms/dtypes";
import type { LocatedSetting } from "../types";
import { at, given, isInside, keyword, plain, said, scalar, uncounted } from "./called";
import { castInLoop } from "./casts";
import { compileInLoop } from "./compiling";
import { adaptedAt } from "./freezing";
import { namesBeside, rawOf, trainedNames } from "./loads";
import { isOptimizer, optimizerSettings } from "./optimizer";
import { spreadSettings } from "./spread";
import { ACCELERATOR, callsBehind, loadsBehind, trainingOf } from "./training";

const ACCUMULATION =
  /(?:^|\.)(?:gradient_accumulation\w*|grad_accum\w*|accum(?:ulation)?_steps|accumulate_grad_batches)$/i;
/** Calls that cut a dataset into batches, of one sample each where they do not say (torch/utils/data/dataloader.py). */
export const LOADER = /(?:^|\.)DataLoader$/;
/** Names of what is not trained on. */
const HELD_OUT = /val|test|eval|dev/i;

function optimizerOf(python: PythonModule): LocatedSetting[] {
  const call = python.calls.find(isOptimizer);
  if (call !== undefined) return optimizerSettings(call, python);
  const wrapping = wrappedOptimizer(python);
  if (wrapping !== undefined) return optimizerSettings(wrapping, python);
  // One that nobody knows is not counted: AdamW is.
  const step = python.calls.find(({ callee }) => STEPS.test(callee));
  const [made] = callsBehind(python, step?.receiver);
  return made === undefined || PREPARES.test(made.callee)
    ? []
    : [uncounted(made.callee, made.calleeSpan, made.calleeSpan)];
}

/** Calls that hand an optimizer on. */
const PREPARES = /(?:^|\.)(?:prepare|initialize|configure_optimizers)$/;
const OF_TORCH = /^(?:torch\.)?optim\.\w+$/;

/** An optimizer of the script's own that is given the class of the one that it steps (`SAM(model.parameters(), torch.optim.SGD)`). */
function wrappedOptimizer(python: PythonModule): PythonCall | undefined {
  for (const call of python.calls) {
    const own = python.classes.find(({ name }) => name === call.callee);
    if (own?.bases.some((base) => /(?:^|\.)Optimizer$/.test(base)) !== true) continue;
    const given = [...call.positional, ...call.keywords.entries.map(({ value }) => value)].map(rawOf);
    const callee = given.find((raw) => raw !== undefined && OF_TORCH.test(raw));
    if (callee !== undefined) return { ...call, callee };
  }
  return undefined;
}

/** The dtype of products that a value names; undefined for whole precision, which autocast does not have. */
function halfOf(node: LocatedNode | undefined): FloatName | undefined {
  const dtype = floatNamed(String(plain(node)));
  return dtype === "float16" || dtype === "bfloat16" ? dtype : undefined;
}

/** `torch.autocast`, whose dtype on CUDA is float16 where none is given (torch/amp/autocast_mode.py). */
function autocastOf(python: PythonModule): LocatedSetting[] {
  const call = python.calls.find((one) => /(?:^|\.)autocast$/.test(one.callee) && !wraps(python, one));
  if (call === undefined || plain(given(call, "enabled")) === false) return [];
  const named = [given(call, "dtype"), ...call.positional].find((node) => halfOf(node) !== undefined);
  return [at("compute_dtype", call, shortOf(halfOf(named) ?? "float16"), named)];
}

/**
 * A scaler of the loop's own that divides the gradients: float16 ones stop there (torch/amp/grad_scaler.py, `_unscale_grads_`; FSDP's
 * ShardedGradScaler takes them). None where it may be switched off.
 */
function scalerOf(python: PythonModule): LocatedSetting[] {
  const call = python.calls.find(({ callee }) => /(?:^|\.)GradScaler$/.test(callee));
  const enabled = given(call, "enabled");
  if (call === undefined || (call.guards ?? []).length > 0 || (enabled !== undefined && plain(enabled) !== true))
    return [];
  const divides = python.calls.some(
    ({ callee, receiver }) =>
      /(?:^|\.)(?:step|unscale_)$/.test(callee) &&
      callsBehind(python, receiver).some(({ start }) => start === call.start),
  );
  return divides ? [at("loop_scales", call, true)] : [];
}

function clippingOf({ calls }: PythonModule): LocatedSetting[] {
  const call = calls.find(({ callee }) => /(?:^|\.)clip_grad_norm_?$/.test(callee));
  if (call === undefined) return [];
  const node = call.positional[1] ?? given(call, "max_norm");
  const norm = plain(node);
  return [at("max_grad_norm", call, typeof norm === "number" ? norm : 1, node)];
}

const STEPS = /(?:optim\w{0,40}|opt|scaler)\.step$/i;

/** Micro-batches of a step: what a condition before an optimizer's step asks for, else what a name says. */
function accumulationOf({ assignments, calls, round }: PythonModule): LocatedSetting[] {
  const step = calls.find(({ callee }) => STEPS.test(callee));
  const counts = round?.counts;
  // A loop that only takes gradients, and steps behind it, goes once around for each micro-batch.
  if (step !== undefined && round !== undefined && counts !== undefined && !isInside(step, round)) {
    const times = Math.max(1, counts.items.length);
    return [at("gradient_accumulation_steps", step, times, scalar(times, counts))];
  }
  const every = step?.guards?.find(({ holds, every }) => holds && typeof plain(every) === "number")?.every;
  if (step !== undefined && every !== undefined)
    return [at("gradient_accumulation_steps", step, plain(every) as number, every)];
  const entry = assignments.entries.find(
    ({ key, value }) => ACCUMULATION.test(key) && typeof plain(value) === "number",
  );
  if (entry === undefined) return [];
  return [said("gradient_accumulation_steps", entry)];
}

/** The loader that is trained on: the first whose name does not say otherwise. */
export function trainingLoader(python: PythonModule): PythonCall | undefined {
  const loaders = python.calls.filter(({ callee }) => LOADER.test(callee));
  const nameOf = (call: PythonCall): string =>
    python.assignments.entries.find(({ value }) => value.start === call.start)?.key ?? rawOf(call.positional[0]) ?? "";
  return loaders.find((call) => !HELD_OUT.test(nameOf(call))) ?? loaders[0];
}

/** Processes that make the loader's batches, and how many each makes ahead. */
function workersOf(python: PythonModule): LocatedSetting[] {
  const call = trainingLoader(python);
  if (call === undefined) return [];
  const rows = [
    ["loader_workers", "num_workers"],
    ["loader_prefetch", "prefetch_factor"],
  ] as const;
  return rows.flatMap(([name, key]) => {
    const node = given(call, key);
    const value = plain(node);
    return typeof value === "number" ? [at(name, call, value, node)] : [];
  });
}

/** The batch where no keyword says it; the table of keys reads that one. */
function batchOf(python: PythonModule): LocatedSetting[] {
  const call = trainingLoader(python);
  if (call === undefined || keyword(call, "batch_size", "batch_sampler") !== undefined) return [];
  const [, node] = call.positional;
  if (node === undefined) return [at("micro_batch_size", call, 1)];
  const size = plain(node);
  return typeof size === "number" ? [at("micro_batch_size", call, size, node)] : [];
}

/** What of a forward's results an expression takes, and what it does to it: `model(…).loss / 4`. */
const LOSS_ALONE =
  /\)\s{0,9}(?:\.loss|\["loss"\]|\['loss'\]|\[0\])(?:\.mean\(\))?(?:\s{0,9}[*/]\s{0,9}[\w.]{1,80})?\s*$/;

/** What the loop's names keep of a forward: `loss = model(…).loss` lets go of the outputs, any other name of them does not. */
function heldOf({ assignments, unpacked }: PythonModule, names: ReadonlySet<string>): "loss" | "outputs" {
  const called = (raw: string): string | undefined => [...names].find((name) => raw.startsWith(`${name}(`));
  const binds = assignments.entries.some(({ value }) => {
    const raw = rawOf(value);
    return raw !== undefined && called(raw) !== undefined && !LOSS_ALONE.test(raw);
  });
  return binds || unpacked.some((callee) => names.has(callee)) ? "outputs" : "loss";
}

/** Names that stand for the model: what is trained, and what such scripts call it. */
function modelNames(python: PythonModule): ReadonlySet<string> {
  return new Set([...trainedNames(python), "model", "self.model", "net"]);
}

/** What both plain loops and Lightning's modules say in calls. */
function loopSettings(python: PythonModule): readonly LocatedSetting[] {
  const names = modelNames(python);
  const cacheless = python.assignments.entries.find(
    ({ key, value }) => /\.config\.use_cache$/.test(key) && plain(value) === false,
  );
  const compiles = compileInLoop(python, names);
  return [
    ...optimizerOf(python),
    ...castInLoop(python, names),
    ...batchOf(python),
    ...(cacheless === undefined ? [] : [said("use_cache", cacheless)]),
    ...(compiles === undefined ? [] : [at("torch_compile", compiles, true)]),
  ];
}

/**
 * What Lightning's own loop does around a module's `training_step`, whose names go when it returns; the gradients of the step
 * before stay until then (lightning/pytorch/loops/optimization/automatic.py, Closure). Modules keep the mode that they have
 * (lightning/pytorch/loops/fit_loop.py calls no `train`; evaluation_loop.py, `_ModuleMode`, gives it back).
 *
 * @param trainer the call that makes the trainer
 */
export function lightningLoop(python: PythonModule, trainer: PythonCall): readonly LocatedSetting[] {
  return [
    at("own_loop", trainer, true),
    at("loop_holds", trainer, "nothing"),
    at("loop_zeros_late", trainer, true),
    at("loop_keeps_cache", trainer, true),
    at("loop_keeps_dtype", trainer, true),
    ...modeOf(python, trainer),
    ...loopSettings(python),
  ];
}

/** The call that takes the gradients of a loop of one's own; undefined: the module has none. */
export function backwardCall({ calls }: PythonModule): PythonCall | undefined {
  return calls.find(({ callee }) => /(?:^|\.)backward$/.test(callee));
}

/** Whether the gradients of the step before are let go between forward and backward. */
function zerosLate({ calls }: PythonModule, backward: PythonCall, names: ReadonlySet<string>): boolean {
  const before = calls.filter(({ order = 0 }) => order < (backward.order ?? 0));
  const forward = Math.max(...before.filter(({ callee }) => names.has(callee)).map(({ order = 0 }) => order));
  return before.some(({ callee, order = 0 }) => /(?:^|\.)zero_grad$/.test(callee) && order > forward && forward >= 0);
}

/**
 * Whether the model is in evaluation while the loop runs: as `from_pretrained` gives it, or by `eval()`, and no call of `train` ends it.
 * What stands beside the model has a mode of its own, and so have layers of adapters that are put on it later: new modules are in
 * training (torch/nn/modules/module.py; peft/tuners/lora/layer.py, update_layer).
 */
function modeOf(python: PythonModule, loop: PythonCall): readonly LocatedSetting[] {
  const { load } = trainingOf(python);
  const beside = namesBeside(python);
  const trains = python.calls.some(
    ({ callee, receiver }) =>
      (/\.train$/.test(callee) && !beside.has(callee.slice(0, -".train".length))) ||
      (callee === "train" && receiver !== undefined),
  );
  if (load === undefined || trains) return [];
  const begins = python.round?.start ?? 0;
  const asked = python.calls.filter(
    ({ callee, receiver, start }) =>
      /(?:^|\.)eval$/.test(callee) && start < begins && loadsBehind(python, receiver).includes(load),
  );
  if (!load.callee.endsWith("from_pretrained") && (beside.size === 0 || asked.length === 0)) return [];
  const adapted = adaptedAt(python, trainingOf(python));
  const drops = Number.isFinite(adapted) && asked.every(({ order = 0 }) => order < adapted);
  return [at("loop_evaluates", loop, true), ...(drops ? [at("adapter_drops", loop, true)] : [])];
}

/** Whether a call is one of an object that wraps the models it prepares, whatever its name is. */
function wraps(python: PythonModule, { callee, receiver }: PythonCall): boolean {
  if (/accelerator/i.test(callee)) return true;
  return callsBehind(python, receiver).some((made) => ACCELERATOR.test(made.callee));
}

/** What a plain loop, or one of Accelerate's, says and does; nothing where the module has none. */
export function plainLoop(python: PythonModule): readonly LocatedSetting[] {
  const backward = backwardCall(python);
  if (backward === undefined) return [];
  const prepared = wraps(python, backward);
  return [
    at("own_loop", backward, true),
    // The names of a function that is one round go when it returns.
    at("loop_holds", backward, python.round?.apart === true ? "nothing" : heldOf(python, modelNames(python))),
    at("loop_keeps_cache", backward, true),
    ...(zerosLate(python, backward, modelNames(python)) ? [at("loop_zeros_late", backward, true)] : []),
    ...modeOf(python, backward),
    // Accelerate converts what a prepared model returns (accelerate/accelerator.py, prepare_model).
    ...(prepared ? [] : [at("loop_keeps_dtype", backward, true)]),
    ...loopSettings(python),
    ...workersOf(python),
    ...autocastOf(python),
    ...scalerOf(python),
    ...clippingOf(python),
    ...accumulationOf(python),
    ...engineOf(python),
    ...spreadSettings(python),
  ];
}

/**
 * DeepSpeed's engine around a loop of one's own: its config, and whether the model was built in parts. A model that was not goes to
 * the card whole before it is spread (deepspeed/runtime/engine.py, `_configure_distributed_model`).
 */
function engineOf({ calls }: PythonModule): LocatedSetting[] {
  const call = calls.find(({ callee }) => /(?:^|\.)deepspeed\.initialize$/.test(callee));
  if (call === undefined) return [];
  const config = given(call, "config") ?? given(call, "config_params");
  const inParts = calls.some(({ callee }) => /(?:^|\.)(?:zero\.Init|HfDeepSpeedConfig)$/.test(callee));
  const file = plain(config);
  const isRead = typeof file === "string" || config?.kind === "map";
  return [
    ...(isRead ? [{ ...at("deepspeed", call, file ?? null, config), key: "deepspeed" }] : []),
    at("zero3_init", call, inParts),
  ];
}
