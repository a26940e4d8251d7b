/**
 * The settings of a run from all its documents, in layers: the first layer that states a value wins, and every value
 * keeps where it came from.
 */
import type { ReportSetting } from "../../core/report/schema";
import { plainValue } from "../../formats/table";
import type { LocatedSetting } from "../../formats/types";
import type { Span } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";

export type From = ReportSetting["from"];
export type SettingValue = string | number | boolean | null | readonly string[];

/** Where a setting is written. */
export interface Place {
  readonly uri: string;
  readonly keySpan: Span;
  readonly valueSpan: Span;
}

/** One setting with its provenance. */
export interface Setting {
  readonly name: SettingName;
  readonly value: SettingValue;
  readonly from: From;
  /** The key as its document spells it. */
  readonly key: string;
  readonly place: Place | null;
  /** The document says `auto`. */
  readonly auto?: true;
  /** The document states something that cannot be known from the text. */
  readonly unknown?: true;
  /** The variable of a script that its own arguments may set otherwise. */
  readonly standard?: string;
  /** Holds whatever the key at its place says. */
  readonly standing?: true;
}

/** What one source states: a document, a pin, the command line, a library's defaults. */
export interface Layer {
  readonly id: "override" | "directive" | "pin" | "document" | "linked" | "default";
  readonly settings: readonly Setting[];
}

/** Whether a setting has a value to use. */
function usable(setting: Setting): boolean {
  return setting.auto === undefined && setting.unknown === undefined && setting.value !== null;
}

const nameOf = ({ name }: Setting): SettingName => name;

/** What a key implied besides the overridden name goes with it: writing the override would change that key. */
function withoutImplied(settings: readonly Setting[], overridden: ReadonlySet<SettingName>): readonly Setting[] {
  if (overridden.size === 0) return settings;
  const at = ({ place }: Setting) => (place === null ? null : `${place.uri} ${place.keySpan.start}`);
  const keys = new Set(settings.filter((setting) => overridden.has(setting.name)).map(at));
  const stays = (one: Setting) => overridden.has(one.name) || one.standing === true || at(one) === null;
  return settings.filter((setting) => stays(setting) || !keys.has(at(setting)));
}

export class Settings {
  private readonly byName = new Map<SettingName, Setting[]>();

  constructor(readonly layers: readonly Layer[]) {
    const overridden = new Set(layers.flatMap(({ id, settings }) => (id === "override" ? settings : [])).map(nameOf));
    for (const layer of layers) {
      const last = new Map<SettingName, Setting>();
      for (const setting of withoutImplied(layer.settings, overridden)) last.set(setting.name, setting);
      for (const setting of last.values()) {
        const known = this.byName.get(setting.name);
        if (known) known.push(setting);
        else this.byName.set(setting.name, [setting]);
      }
    }
  }

  /** Every statement of a name, strongest first; `auto`, null and unknown ones included. */
  all(name: SettingName): readonly Setting[] {
    return this.byName.get(name) ?? [];
  }

  /** The strongest usable statement. */
  find(name: SettingName): Setting | undefined {
    return this.all(name).find(usable);
  }

  /** The strongest usable statement of any of some names; where one layer states several, the first's. */
  strongest(names: readonly SettingName[]): Setting | undefined {
    const found = names.flatMap((name) => this.find(name) ?? []);
    return this.layers.flatMap(({ settings }) => found.find((one) => settings.includes(one)) ?? [])[0];
  }

  /** The strongest statement that leaves the value open: `auto`, a template, an explicit null. */
  open(name: SettingName): Setting | undefined {
    const [first] = this.all(name);
    return first !== undefined && !usable(first) ? first : undefined;
  }

  number(name: SettingName): number | undefined {
    const value = this.find(name)?.value;
    return typeof value === "number" ? value : undefined;
  }

  boolean(name: SettingName): boolean | undefined {
    const value = this.find(name)?.value;
    return typeof value === "boolean" ? value : undefined;
  }

  /** Whether it is switched on. */
  on(name: SettingName): boolean {
    return this.find(name)?.value === true;
  }

  string(name: SettingName): string | undefined {
    const value = this.find(name)?.value;
    return typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined;
  }

  list(name: SettingName): readonly string[] | undefined {
    const value = this.find(name)?.value;
    if (Array.isArray(value)) return value.map(String);
    return typeof value === "string" ? [value] : undefined;
  }
}

/** Settings a document states, as a layer's settings. */
export function located(settings: readonly LocatedSetting[], uri: string, from: From): Setting[] {
  return settings.flatMap((setting): Setting[] => {
    if (setting.name === null) return [];
    const place: Place = { uri, keySpan: setting.keySpan, valueSpan: setting.valueSpan };
    const standard = setting.node.kind === "scalar" ? setting.node.standard : undefined;
    const base = {
      ...{ name: setting.name, from, key: setting.key, place },
      ...(standard !== undefined && { standard }),
      ...(setting.standing && { standing: setting.standing }),
    };
    if (typeof setting.value === "object" && setting.value !== null) {
      return [{ ...base, value: null, from: "auto", auto: true }];
    }
    if (setting.unknown === true) return [{ ...base, value: null, unknown: true }];
    if (setting.node.kind === "list") {
      const items = plainValue(setting.node);
      return [{ ...base, value: Array.isArray(items) ? items.map(String) : null }];
    }
    if (setting.node.kind === "map") return [{ ...base, value: setting.value }];
    return [{ ...base, value: setting.value }];
  });
}
