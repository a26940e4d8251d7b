/** What a rule is, and what it may ask of a run. */

import type { Estimate } from "../../core/report/estimate";
import type { TrainingRun } from "../../core/training/run";
import { removing, replacing } from "../../formats/fix";
import type { ProblemFix, Severity } from "../../formats/types";
import type { SettingName } from "../../terms/settings";
import type { RULES } from "../../words/en/rules";
import type { Message, MessageId } from "../../words/message";
import type { Framework } from "../frameworks/framework";
import { frameworkOf } from "../frameworks/frameworks";
import type { Place, Setting, Settings } from "../frameworks/settings";
import type { RunInputs } from "../linking/inputs";
import type { Resolution } from "../resolve";

export type RuleCode = keyof typeof RULES;

/** A finding of a rule, before it is placed. */
export interface Hit {
  /** The setting it is about; its key is underlined. */
  readonly at: Omit<Setting, "name"> | undefined;
  readonly args?: Message["args"];
  readonly severity?: Severity;
  readonly fixes?: readonly ProblemFix[];
  /** Other settings that take part. */
  readonly related?: readonly (Setting | undefined)[];
}

/** What is looked for in a whole run. Its words stand under its code in `src/words`, its page in `docs/findings`. */
export interface Rule {
  readonly code: RuleCode;
  readonly severity: Severity;
  readonly check: (facts: Facts) => readonly Hit[];
}

/** @param severity of a hit that names no other; the page of the code says the same */
export function rule(code: RuleCode, severity: Severity, check: Rule["check"]): Rule {
  return { code, severity, check };
}

/** What rules may ask of a run. */
export class Facts {
  readonly settings: Settings;
  readonly run: TrainingRun | null;
  readonly framework: Framework;
  /** The trainer is Hugging Face's (TrainingArguments or TRL). */
  readonly trainer: boolean;
  readonly namedTrainer: boolean;

  constructor(
    readonly inputs: RunInputs,
    readonly resolution: Resolution,
    readonly estimate: Estimate | undefined,
    readonly usable: number | null,
  ) {
    this.settings = resolution.settings;
    this.run = resolution.run;
    this.framework = frameworkOf(inputs.format);
    this.namedTrainer = this.framework.trainer === "named";
    this.trainer = this.namedTrainer || this.framework.trainer === "plain";
  }

  /** Statement of a name in the run's own document. */
  own(name: SettingName): Setting | undefined {
    return this.settings
      .all(name)
      .find((setting) => setting.place?.uri === this.inputs.main.uri && setting.from !== "pin");
  }

  /** Statement of a name in DeepSpeed's settings, wherever they are. */
  deepspeed(name: SettingName): Setting | undefined {
    if (this.framework.deepspeed === true) return this.own(name);
    const file = this.inputs.deepspeed;
    if (file === undefined) return undefined;
    return this.settings
      .all(name)
      .find(
        (setting) =>
          setting.place?.uri === file.uri &&
          (file !== this.inputs.main || this.framework.part === "engine" || setting.key.startsWith("deepspeed.")),
      );
  }

  /** A pin or directive that states a name. */
  pin(name: SettingName): Setting | undefined {
    return this.settings.all(name).find((setting) => setting.from === "pin" && setting.place !== null);
  }

  /** The strongest statement in any document. */
  stated(name: SettingName): Setting | undefined {
    return this.settings.all(name).find((setting) => setting.place !== null);
  }

  isTrue(name: SettingName): boolean {
    return this.settings.on(name);
  }

  /** ZeRO stage as DeepSpeed's settings state it; undefined when the run has none. */
  get stage(): number | undefined {
    if (this.inputs.deepspeed === undefined && this.framework.deepspeed !== true) return undefined;
    const value = this.settings.find("zero_stage")?.value;
    return typeof value === "number" ? value : 0;
  }

  get world(): number | undefined {
    const value = this.resolution.resolved.get("world_size");
    return value === undefined || value.from === "assumed" ? undefined : Number(value.value);
  }

  /** Version of a library when a file or a pin says it. */
  pinned(library: string): string | undefined {
    return this.settings.string(`library.${library}`);
  }
}

/** The hit of a single statement, or none. */
export function hit(at: Hit["at"], when: boolean, rest: Omit<Hit, "at"> = {}): readonly Hit[] {
  return at !== undefined && when ? [{ at, ...rest }] : [];
}

/** A fix that sets settings where they are obeyed. */
export function set(
  title: MessageId,
  args: Message["args"],
  safe: boolean,
  changes: ProblemFix["changes"],
): ProblemFix {
  return { title: { id: title, args }, safe, ...(changes === undefined ? {} : { changes }) };
}

/** A fix that removes the key of a statement. */
export function removal(setting: Hit["at"]): readonly ProblemFix[] {
  const place: Place | null | undefined = setting?.place;
  if (setting === undefined || place == null) return [];
  return [removing({ key: setting.key, keySpan: place.keySpan })];
}

/** A fix that replaces the value of a statement by other text. */
export function replacement(setting: Setting | undefined, newText: string, safe: boolean): readonly ProblemFix[] {
  const place = setting?.place;
  if (setting === undefined || place == null) return [];
  return [replacing({ key: setting.key, valueSpan: place.valueSpan }, newText, safe)];
}
