/** What follows from several settings of a document together: it asks what is stated and makes what that means. */
import type { SettingName } from "../terms/settings";
import type { LocatedSetting } from "./types";

export class Deriving {
  /** What was made so far. */
  readonly made: LocatedSetting[] = [];

  constructor(readonly stated: readonly LocatedSetting[]) {}

  /** The last statement of a name. */
  find(name: SettingName): LocatedSetting | undefined {
    return this.stated.findLast((setting) => setting.name === name);
  }

  /** The last statement of a name, where it says this value: what stands before it is overruled. */
  said(name: SettingName, value: LocatedSetting["value"]): LocatedSetting | undefined {
    const last = this.find(name);
    return last?.value === value ? last : undefined;
  }

  /** Whether one of the names is stated. */
  has(...names: readonly SettingName[]): boolean {
    return this.stated.some(({ name }) => name !== null && names.includes(name));
  }

  /** The last statement of a name that is a number, stated or made here. */
  numeric(name: SettingName): LocatedSetting | undefined {
    const isNumber = (setting: LocatedSetting) => setting.name === name && typeof setting.value === "number";
    return this.made.findLast(isNumber) ?? this.stated.findLast(isNumber);
  }

  number(name: SettingName): number | undefined {
    const found = this.numeric(name);
    return found === undefined ? undefined : Number(found.value);
  }

  /** Makes a setting at another one's place; nothing where there is no place or no value. */
  make(from: LocatedSetting | undefined, name: SettingName, value: LocatedSetting["value"] | undefined): void {
    if (from !== undefined && value !== undefined) this.made.push({ ...from, name, value });
  }

  /** Processes of all machines, where GPUs are counted by the machine and nothing else says how many there are. */
  makeWorld(): void {
    const devices = this.find("devices");
    const nodes = this.find("nodes")?.value ?? 1;
    if (typeof devices?.value === "number" && typeof nodes === "number" && !this.has("world_size"))
      this.make(devices, "world_size", devices.value * nodes);
  }

  /** Micro-batches of a step: the global batch over what `copies` GPUs with data of their own take at once, where that divides. */
  makeAccumulation(copies: number | undefined): void {
    const global = this.numeric("global_batch_size");
    const steps = Number(global?.value) / (Number(this.number("micro_batch_size")) * Number(copies));
    if (Number.isInteger(steps) && steps >= 1) this.make(global, "gradient_accumulation_steps", steps);
  }

  /** AdamW's fused form, where a switch of its own asks for it. */
  makeFused(): void {
    if (this.said("optimizer_fused", true) !== undefined)
      this.make(this.said("optimizer", "adamw_torch"), "optimizer", "adamw_torch_fused");
  }
}
