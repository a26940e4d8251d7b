/**
 * The settings `vramlens.*`: one table that says what exists, reading with validation, and a cache per resource.
 * package.json's `contributes.configuration` is checked against the table by test/extension/manifest.test.ts.
 */
import type { PlanAllowance } from "../analysis/options";

/** How a setting may be set, in VS Code's words. */
export type SettingScope = "resource" | "machine-overridable" | "window";

export interface SettingSpec {
  /** Name below `vramlens.`. */
  readonly name: string;
  readonly type: "boolean" | "integer" | "number" | "string" | "object";
  readonly default: boolean | number | string | Readonly<Record<string, never>>;
  readonly scope: SettingScope;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly values?: readonly string[];
}

/** Severities a finding may be given; `off` removes it. */
export const SEVERITIES = ["error", "warning", "information", "hint", "off"] as const;
export type SeveritySetting = (typeof SEVERITIES)[number];

/** Every setting of the extension, in the order the settings editor shows them. */
export const SETTINGS: readonly SettingSpec[] = [
  { name: "enable", type: "boolean", default: true, scope: "resource" },
  { name: "device", type: "string", default: "", scope: "machine-overridable" },
  { name: "deviceCount", type: "integer", default: 0, scope: "machine-overridable", minimum: 0, maximum: 100_000 },
  { name: "reservePercent", type: "number", default: 10, scope: "resource", minimum: 0, maximum: 90 },
  { name: "plans.keepGlobalBatch", type: "boolean", default: true, scope: "resource" },
  { name: "plans.keepNumerics", type: "boolean", default: false, scope: "resource" },
  { name: "plans.adapters", type: "boolean", default: true, scope: "resource" },
  { name: "plans.packages", type: "boolean", default: true, scope: "resource" },
  { name: "receipts.learn", type: "boolean", default: true, scope: "resource" },
  { name: "severity", type: "object", default: {}, scope: "resource" },
  { name: "diagnostics.enable", type: "boolean", default: true, scope: "resource" },
  { name: "hover.enable", type: "boolean", default: true, scope: "resource" },
  { name: "inlayHints.enable", type: "boolean", default: false, scope: "resource" },
  { name: "codeLens.enable", type: "boolean", default: false, scope: "resource" },
  { name: "statusBar.enable", type: "boolean", default: true, scope: "window" },
  { name: "pythonPath", type: "string", default: "", scope: "machine-overridable" },
  {
    name: "trace.server",
    type: "string",
    default: "off",
    scope: "window",
    values: ["off", "messages", "verbose"],
  },
];

/** Settings of one resource as the server uses them. */
export interface Settings {
  readonly enable: boolean;
  /** undefined = none chosen. */
  readonly device: string | undefined;
  /** undefined = what the configs say. */
  readonly deviceCount: number | undefined;
  /** Share of usable memory kept free, 0..1. */
  readonly reserve: number;
  /** What plans may do. */
  readonly allow: PlanAllowance;
  /** Whether receipts say what context and libraries take. */
  readonly learns: boolean;
  readonly severity: Readonly<Record<string, SeveritySetting>>;
  readonly diagnostics: boolean;
  readonly hover: boolean;
  readonly inlayHints: boolean;
  readonly codeLens: boolean;
}

/**
 * Reads the section `vramlens` as a client sent it. Anything missing or of the wrong type takes its default; both
 * nested objects and dotted keys are understood, since other editors write them either way.
 */
function readSettings(section: unknown): Settings {
  const value = (name: string) => lookUp(section, name);
  const device = text(value("device"));
  const count = integer(value("deviceCount"));
  return {
    enable: flag(value("enable"), "enable"),
    device: device === "" ? undefined : device,
    deviceCount: count === undefined || count < 1 ? undefined : count,
    reserve: Math.min(90, Math.max(0, number(value("reservePercent")) ?? 10)) / 100,
    allow: {
      keepGlobalBatch: flag(value("plans.keepGlobalBatch"), "plans.keepGlobalBatch"),
      keepNumerics: flag(value("plans.keepNumerics"), "plans.keepNumerics"),
      adapters: flag(value("plans.adapters"), "plans.adapters"),
      packages: flag(value("plans.packages"), "plans.packages"),
    },
    learns: flag(value("receipts.learn"), "receipts.learn"),
    severity: severities(value("severity")),
    diagnostics: flag(value("diagnostics.enable"), "diagnostics.enable"),
    hover: flag(value("hover.enable"), "hover.enable"),
    inlayHints: flag(value("inlayHints.enable"), "inlayHints.enable"),
    codeLens: flag(value("codeLens.enable"), "codeLens.enable"),
  };
}

function lookUp(section: unknown, name: string): unknown {
  if (!isRecord(section)) return undefined;
  if (name in section) return section[name];
  const [first, ...rest] = name.split(".");
  if (first === undefined || rest.length === 0) return undefined;
  return lookUp(section[first], rest.join("."));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function flag(value: unknown, name: string): boolean {
  return typeof value === "boolean" ? value : SETTINGS.find((setting) => setting.name === name)?.default === true;
}

function text(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function integer(value: unknown): number | undefined {
  const found = number(value);
  return found === undefined ? undefined : Math.trunc(found);
}

function severities(value: unknown): Readonly<Record<string, SeveritySetting>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, SeveritySetting] =>
      (SEVERITIES as readonly unknown[]).includes(entry[1]),
    ),
  );
}

/** Asks the client once per resource and remembers the answer until it is told that settings changed. */
export class SettingsCache {
  private readonly cache = new Map<string, Promise<Settings>>();

  /** @param fetch reads the section `vramlens` for a resource; a rejection counts as "nothing set" */
  constructor(private readonly fetch: (uri: string) => Promise<unknown>) {}

  get(uri: string): Promise<Settings> {
    let found = this.cache.get(uri);
    if (found === undefined) {
      found = this.fetch(uri).then(readSettings, () => readSettings(undefined));
      this.cache.set(uri, found);
    }
    return found;
  }

  delete(uri: string): void {
    this.cache.delete(uri);
  }

  clear(): void {
    this.cache.clear();
  }
}
