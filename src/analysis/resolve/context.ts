/** The state of one resolution: the settings in force, and what was decided from them with its origin. */
import { PRECISION } from "../../formats/effects";
import { lossFrom } from "../../formats/hf-scripts/own-loss";
import { lazily } from "../../terms/lazily";
import { type SettingName, settingName } from "../../terms/settings";
import { type Message, say } from "../../words/message";
import { defaultOf, keyFor, trainerDefault } from "../frameworks/defaults";
import type { Framework, LossSource } from "../frameworks/framework";
import { frameworkOf } from "../frameworks/frameworks";
import { type From, type Place, type Setting, Settings, type SettingValue } from "../frameworks/settings";
import { lossesOf } from "../frameworks/trainers";
import type { Versions } from "../frameworks/versions";
import { overrideValue } from "../linking/asked";
import type { RunInputs } from "../linking/inputs";
import { librariesOf } from "../linking/pinned-libraries";
import { writtenAs } from "../linking/written";
import type { Choice, Obstacle, Resolution, Resolved, Supposition } from "./types";

export class ResolveContext {
  /** Whether a loop of the script's own trains, on a model that transformers' code loads. */
  readonly ownLoop: boolean;
  /** Whether the Hugging Face Trainer carries the run out, or a script's own loop in its place. */
  readonly trains: boolean;
  /** Whether the class or the command that is called names the trainer, with a config class of its own. */
  readonly namedTrainer: boolean;
  readonly framework: Framework;
  readonly settings: Settings;
  /** The captured losses that are the run's, or stand for them; null: the plain Trainer's own. */
  readonly losses: LossSource | null;
  readonly libraries: Versions;
  readonly resolved = new Map<SettingName, Resolved>();
  readonly suppositions: Supposition[] = [];
  readonly obstacles: Obstacle[] = [];
  /** The loss that a script writes itself, where it is read. */
  readonly ownLoss = lazily(() => lossFrom(this.settings.string("own_loss")));
  /** Which trainer runs, by TRL's name, once that is known. */
  trainer: string | null = null;

  constructor(
    readonly inputs: RunInputs,
    readonly choice: Choice,
  ) {
    const overrides = choice.set === undefined ? [] : overrideSettings(inputs, choice.set);
    this.settings = new Settings([{ id: "override", settings: overrides }, ...inputs.layers]);
    this.framework = frameworkOf(inputs.format);
    this.libraries = librariesOf(this.settings, this.framework);
    this.losses = lossesOf(inputs, this.settings, this.libraries);
    this.ownLoop = this.settings.on("own_loop");
    this.trains = this.ownLoop || this.framework.trainer !== undefined;
    this.namedTrainer = this.framework.trainer === "named";
  }

  /** Records a decided value. */
  put(name: SettingName, value: SettingValue, from: From, key: string, place: Place | null): void {
    this.resolved.set(name, { name, value, from, key, place });
  }

  /** Records a statement as the decided value. */
  keep(name: SettingName, setting: Setting, value: SettingValue = setting.value): void {
    this.put(name, value, setting.from, setting.key, setting.place);
  }

  /** Records what is stated, if anything is. */
  keepStated(name: SettingName): Setting | undefined {
    const stated = this.settings.find(name);
    if (stated !== undefined) this.keep(name, stated);
    return stated;
  }

  /** Records the number that is stated; undefined where none is, or one below the least that is meant. */
  keepNumber(name: SettingName, least = Number.NEGATIVE_INFINITY): number | undefined {
    const stated = this.settings.find(name);
    if (typeof stated?.value !== "number" || stated.value < least) return undefined;
    this.keep(name, stated);
    return stated.value;
  }

  /** A plain value: stated, else the format's default, else `fallback` (a default of the libraries). */
  value(name: SettingName, fallback: string | number | boolean): string | number | boolean {
    const stated = this.settings.find(name);
    if (stated !== undefined && stated.value !== null && !Array.isArray(stated.value)) {
      this.keep(name, stated);
      return stated.value as string | number | boolean;
    }
    const open = this.settings.open(name);
    const spec = keyFor(this.inputs.format, name, this.libraries);
    const known = this.ofTrainer(name) ?? (spec === undefined ? undefined : defaultOf(spec, this.libraries));
    const standard = known ?? fallback;
    // A library that has null decides by itself, as one that says nothing.
    if (!this.trains && (known ?? undefined) === undefined && open === undefined) return standard;
    if (open?.auto) this.put(name, null, "auto", open.key, open.place);
    else this.put(name, standard, "default", spec?.key ?? name, null);
    return standard;
  }

  /** A setting's key in the words of the file that states it. */
  written({ key, place }: Pick<Setting, "key" | "place">): string {
    const document = this.inputs.documents.find(({ uri }) => uri === place?.uri);
    return place === null || document === undefined ? key : (writtenAs(document, key, place) ?? key);
  }

  /** Records something the estimate rests on and no document says. */
  suppose(message: Message, settleWith: string, alternative?: Supposition["alternative"]): void {
    this.suppositions.push({ message, settleWith, ...(alternative === undefined ? {} : { alternative }) });
  }

  /** What resolving gives, with what was recorded on the way. */
  resolution(found: Pick<Resolution, "run" | "device" | "trainer" | "padding">): Resolution {
    const { settings, resolved, obstacles, libraries } = this;
    const { splitUnread, hostsUnread, isUsage } = this.inputs;
    const usage = isUsage === true ? [{ message: say("assume.usage"), settleWith: "model" }] : [];
    const suppositions = [...usage, ...this.suppositions, ...this.standards()];
    return { ...found, settings, resolved, suppositions, obstacles, libraries, splitUnread, hostsUnread };
  }

  /** Values that a script has unless it is started with others. */
  private standards(): Supposition[] {
    const seen = new Set<string>();
    return [...this.resolved.values()].flatMap(({ name, value }): Supposition[] => {
      const { standard } = this.settings.find(name) ?? {};
      if (standard === undefined || seen.has(standard)) return [];
      seen.add(standard);
      return [{ message: say("assume.script-default", { name: standard, value: String(value) }), settleWith: name }];
    });
  }

  /** A default of the trainer's own config class. */
  ofTrainer(name: SettingName): ReturnType<typeof trainerDefault> {
    return trainerDefault(this.framework, this.trainer, name, this.libraries);
  }

  /** A default the format's own table states. */
  formatDefault(name: SettingName): SettingValue | undefined {
    const spec = keyFor(this.inputs.format, name, this.libraries);
    return spec === undefined ? undefined : defaultOf(spec, this.libraries);
  }

  /** A default of the format as a number. */
  defaultNumber(name: SettingName, fallback: number): number {
    const value = this.formatDefault(name);
    return typeof value === "number" ? value : fallback;
  }
}

/** Settings whose overrides may be comma-separated lists. */
const LISTS = new Set(["lora_target_modules", "lora_modules_to_save", "adapter_token_indices"]);

/** What the key that decides a setting decides beside it, for one value: the dtype of the weights in torchtune and axolotl. */
function meantToo(inputs: RunInputs, name: SettingName, value: SettingValue): Pick<Setting, "name" | "value">[] {
  return inputs.format.keys.flatMap(({ name: own, means = {}, also = [] }) => {
    // A switch has its own word for the value; of other keys it is not known which one would be written.
    if (own === name && typeof value === "boolean")
      return also.flatMap((one) => {
        const meant = one.means?.[String(value)];
        return meant === undefined ? [] : [{ name: one.name, value: meant }];
      });
    const other = also.find((one) => one.name === name && one.only !== true);
    const word = Object.entries(other?.means ?? {}).find(([, meant]) => meant === value)?.[0];
    const meant = word === undefined ? undefined : means[word];
    return own === null || meant === undefined ? [] : [{ name: own, value: meant }];
  });
}

/**
 * Overrides as a layer: names may be canonical, or a key of the document's format. A name that is both is canonical:
 * LLaMA-Factory reads `gradient_checkpointing` and overrules it with a switch of its own, which has that canonical name.
 */
function overrideSettings(inputs: RunInputs, set: Readonly<Record<string, string>>): Setting[] {
  const canonical: ReadonlySet<string | null> = new Set(inputs.format.keys.map(({ name }) => name));
  return Object.entries(set).flatMap(([key, text]): Setting[] => {
    const spec = canonical.has(key)
      ? undefined
      : inputs.format.keys.find((s) => s.key === key || s.aliases?.includes(key));
    const name = spec?.name ?? settingName(key);
    if (name === undefined) return [];
    const value = overrideValue(text);
    const base = { from: "pin" as const, key, place: null };
    if (name === "compute_dtype") {
      const dtype = typeof value === "string" ? (PRECISION[value] ?? value) : value;
      // Formats with one key for the precision, and those with a switch for each.
      const decided: readonly Pick<Setting, "name" | "value">[] = [
        { name, value: dtype },
        { name: "bf16", value: dtype === "bf16" },
        { name: "fp16", value: dtype === "fp16" },
      ];
      return [...decided, ...decided.flatMap((one) => meantToo(inputs, one.name, one.value))].map((one) => ({
        ...base,
        ...one,
      }));
    }
    if (LISTS.has(name) && text.includes(","))
      return [{ ...base, name, value: text.split(",").map((item) => item.trim()) }];
    return [{ ...base, name, value }];
  });
}
