/** Modules that peft takes where none are named, by model type. */
import { table } from "../../../terms/table";
import captured from "./peft-targets.json";

type Targets = Readonly<Record<string, readonly string[]>>;

/** LoRA, VeRA, LoHa, LoKr, OFT and most others; a text is a pattern. */
export const PEFT_TARGETS: Readonly<Record<string, readonly string[] | string>> = table(captured.lora);
/** AdaLoRA where it differs from LoRA. */
export const ADALORA_TARGETS: Targets = table(captured.adalora);
export const IA3_TARGETS: Targets = table(captured.ia3);
/** IA3: those whose input is scaled. */
export const IA3_FEEDFORWARD: Targets = table(captured.ia3Feedforward);
export const LN_TUNING_TARGETS: Targets = table(captured.lnTuning);
