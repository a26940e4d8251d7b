/** How LoRA's factors get their first values: drawn, or made from the weights they stand beside. */
import { initializationNamed } from "../../core/training/adapters/initialization";
import type { InitializationSpec } from "../../core/training/run";
import { say } from "../../words/message";
import type { ResolveContext } from "./context";

/** Ways that gather something from data first (peft/tuners/lora/{eva,corda,loraga}.py). */
const FROM_DATA = /^(?:eva|corda|lora_ga)$/;

export function initializationOf(c: ResolveContext, quantized: boolean): InitializationSpec | undefined {
  const stated = c.settings.find("adapter_initialization");
  const word = stated?.value;
  if (stated === undefined || typeof word !== "string") return undefined;
  if (FROM_DATA.test(word)) c.suppose(say("assume.initialization-data", { way: word }), stated.key);
  const onDevice = quantized || loadsOnDevice(c);
  const spec = initializationNamed(word, loftqOf(c), onDevice);
  if (spec !== undefined && !onDevice) c.suppose(say("assume.initialized-on-host"), "device_map");
  return spec;
}

/** LoftQ's bits and rounds, and LLaMA-Factory's rounds of PiSSA are part of the word already. */
function loftqOf({ settings }: ResolveContext): Pick<InitializationSpec, "bits" | "iterations"> {
  const bits = settings.number("adapter_loftq_bits");
  const iterations = settings.number("adapter_loftq_iterations");
  return {
    ...(bits === 4 || bits === 8 ? { bits } : {}),
    ...(iterations === undefined || iterations < 1 ? {} : { iterations }),
  };
}

/**
 * Whether the weights are on the device by then. The plain Trainer moves the model after the adapter was put on; TRL loads a
 * model it is given by name onto the device, if there is one process (trl/trainer/utils.py, create_model_from_path).
 */
function loadsOnDevice(c: ResolveContext): boolean {
  const { settings, framework, namedTrainer } = c;
  if (framework.loadsOnDevice === true) return true;
  const map = settings.find("device_map");
  if (map !== undefined) return map.value !== null && map.value !== "cpu";
  const processes = settings.number("world_size") ?? c.choice.deviceCount ?? 1;
  return namedTrainer && processes === 1 && !settings.find("model")?.key.startsWith("load.");
}
