/** What an adapter that was saved beside its weights says of itself. */
import { LORA_FIELDS, PINNED_FIELDS, savedAdapter } from "../../formats/peft";
import type { SettingName } from "../../terms/settings";
import type { Setting } from "../frameworks/settings";

/** Settings that an `adapter_config.json` beside the weights states. */
export function adapterSettings(adapter: Readonly<Record<string, unknown>>, uri: string): Setting[] {
  const settings: Setting[] = [];
  const add = (name: SettingName, key: string): void => {
    const value = adapter[key];
    if (value === null || value === undefined) return;
    const plain = Array.isArray(value) ? value.map(String) : value;
    if (typeof plain !== "object" || Array.isArray(plain)) {
      settings.push({ name, value: plain as Setting["value"], from: "linked", key, place: { uri, ...NO_SPANS } });
    }
  };
  const type = String(adapter["peft_type"] ?? "LORA");
  const known = savedAdapter(type);
  if (known === undefined && type.toUpperCase() !== "LORA") return [];
  const value = known?.type ?? "lora";
  settings.push({ name: "adapter", value, from: "linked", key: "peft_type", place: { uri, ...NO_SPANS } });
  if (known !== undefined) {
    for (const [key, name] of Object.entries(known.names)) add(name, key);
    return settings;
  }
  add("lora_rank", "r");
  add("lora_alpha", "lora_alpha");
  add("lora_dropout", "lora_dropout");
  add("lora_target_modules", "target_modules");
  add("lora_modules_to_save", "modules_to_save");
  add("lora_bias", "bias");
  add("use_dora", "use_dora");
  add("use_rslora", "use_rslora");
  for (const [key, field] of Object.entries(LORA_FIELDS)) {
    const name = PINNED_FIELDS[field];
    if (name !== undefined) add(name, key);
  }
  return settings;
}

const NO_SPANS = { keySpan: { start: 0, end: 0 }, valueSpan: { start: 0, end: 0 } };
