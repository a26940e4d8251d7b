/** One process that several GPUs are visible to, and copies its model to each (`torch.nn.DataParallel`). */
import type { ParallelSpec } from "../../core/training/run";
import { say } from "../../words/message";
import type { ResolveContext } from "./context";

/** What leaves the Trainer's model as it is, or spreads it another way (transformers/trainer.py, `_wrap_model`; training_args.py, `_setup_devices`). */
function isUnwrapped({ settings, inputs }: ResolveContext): boolean {
  const packed = (settings.string("quantization") ?? "none") !== "none";
  const otherwise = (["fsdp_options", "fsdp", "device_map", "tensor_plan"] as const).some(
    (name) => settings.find(name) !== undefined,
  );
  const four = settings.on("load_in_4bit") || settings.on("load_in_8bit");
  // Its own code for one GPU.
  if (settings.on("use_unsloth")) return true;
  return packed || otherwise || four || inputs.deepspeed !== undefined;
}

/** Whether the Trainer wraps the model so where several GPUs are there and no launcher is. */
function byTrainer(c: ResolveContext): boolean {
  const { trainer } = c.framework;
  return !c.ownLoop && (trainer === "plain" || trainer === "named") && !isUnwrapped(c);
}

/** Whether all GPUs that one process sees take part in the run. */
export function usesAllVisible(c: ResolveContext): boolean {
  return byTrainer(c) || c.settings.find("gathers_replicas") !== undefined;
}

/** The part of a run on `count` GPUs that says so. */
export function oneProcessOf(c: ResolveContext, count: number): Pick<ParallelSpec, "inOneProcess"> {
  const { settings } = c;
  const call = settings.find("gathers_replicas");
  const visible = settings.find("visible_devices");
  const launched = settings.all("world_size").some(({ from }) => from !== "pin");
  if (launched || (call === undefined && !(visible !== undefined && byTrainer(c)))) return {};
  if (count === 1) {
    if (call !== undefined) c.suppose(say("assume.replicas", { call: call.key }), call.key);
    return {};
  }
  c.suppose(say(call === undefined ? "assume.trainer-replicas" : "assume.first-replica", { count }), "device.count");
  // accelerate, which puts autocast around models, is not given one that is wrapped.
  return { inOneProcess: { keepsAutocast: call !== undefined } };
}
