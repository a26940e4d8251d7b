/** What resolving gives: the run, the origin of every value, and what had to be supposed. */

import type { SampleLengths } from "../../core/allocator/lengths";
import type { DeviceSpec, TrainingRun } from "../../core/training/run";
import type { SettingName } from "../../terms/settings";
import type { Message } from "../../words/message";
import type { From, Place, Setting, Settings, SettingValue } from "../frameworks/settings";
import type { Versions } from "../frameworks/versions";
import type { AnalysisOptions } from "../options";

/** A canonical value of the run with its origin. */
export interface Resolved {
  readonly name: SettingName;
  readonly value: SettingValue;
  readonly from: From;
  /** Key as written, or the key that would set it. */
  readonly key: string;
  readonly place: Place | null;
}

/** Something the estimate had to suppose. */
export interface Supposition {
  readonly message: Message;
  readonly settleWith: string;
  /** Another plausible value, as an override, to measure how much it matters. */
  readonly alternative?: Readonly<Record<string, string>>;
  /** It matters for the allocator's pool alone: what steps of other lengths leave there is replayed. */
  readonly pool?: true;
}

/** Why there is no run to estimate. */
export interface Obstacle {
  readonly code: string;
  readonly message: Message;
}

/** Batches padded to their longest sample. */
export interface Padding {
  /** Lengths are rounded up to it. */
  readonly multiple: number;
  /** Whether samples of one batch are of like length, so that its longest says nothing. */
  readonly grouped: boolean;
  /** What is pinned of the data set's lengths; absent: nothing. */
  readonly lengths?: SampleLengths;
  /** Whether the length is only the longest that batches may have: a pin of its own says what every step has. */
  readonly varies: boolean;
}

export interface Resolution {
  readonly run: TrainingRun | null;
  readonly settings: Settings;
  readonly resolved: ReadonlyMap<SettingName, Resolved>;
  readonly suppositions: readonly Supposition[];
  readonly obstacles: readonly Obstacle[];
  readonly libraries: Versions;
  /** As in `RunInputs`. */
  readonly splitUnread: boolean;
  /** A file of hosts is named that is not there: one GPU stands for nobody knows how many. */
  readonly hostsUnread: boolean;
  readonly device: {
    readonly spec: DeviceSpec | null;
    readonly source: "pin" | "config" | "setting" | "none";
    readonly asked: Setting | undefined;
  };
  readonly trainer: string;
  /** How batches of different lengths are padded; null: all are alike. */
  readonly padding: Padding | null;
}

/** What the person chose outside the documents, of what a run is resolved from. */
export type Choice = Pick<AnalysisOptions, "device" | "defaultDevice" | "deviceCount" | "learns" | "set">;
