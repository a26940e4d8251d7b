/** Which setting of a run a place in a document is. */

import { FORMATS } from "../../formats";
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import { JOB_KEYS } from "../../formats/jobs/keys";
import type { KeySpec } from "../../formats/types";
import type { Span } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import type { RunAnalysis } from "../run-analysis";
import type { Place, Setting } from "../settings";
import { CURVES } from "./curves";
import type { HoverTarget } from "./hover";

export interface LocatedTarget extends HoverTarget {
  readonly span: Span;
}

const contains = (span: Span, offset: number): boolean => span.start <= offset && offset <= span.end;

interface Candidate {
  readonly key: string;
  readonly name: SettingName | null;
  readonly place: Place;
}

const lengthOf = ({ place: { valueSpan } }: Candidate): number => valueSpan.end - valueSpan.start;

const means = (spec: KeySpec, { key, name }: Omit<Candidate, "place">): boolean =>
  [spec.key, ...(spec.aliases ?? [])].some((path) => key === path || key.endsWith(`.${path}`)) && spec.name === name;

/** The innermost setting whose key or value is at an offset of a document. */
export function settingAt(analysis: RunAnalysis, uri: string, offset: number): LocatedTarget | undefined {
  const { inputs } = analysis;
  const hits: Candidate[] = [];
  const consider = (key: string, name: SettingName | null, place: Place): void => {
    const hit = contains(place.keySpan, offset) || contains(place.valueSpan, offset);
    if (hit && place.uri === uri) hits.push({ key, name, place });
  };
  for (const document of [inputs.main, ...(inputs.deepspeed === undefined ? [] : [inputs.deepspeed])]) {
    if (document.uri !== uri) continue;
    for (const setting of document.read.settings) {
      consider(setting.key, setting.name, { uri, keySpan: setting.keySpan, valueSpan: setting.valueSpan });
    }
  }
  const others: readonly Setting[] = inputs.layers.flatMap((layer) => layer.settings);
  for (const setting of others) if (setting.place !== null) consider(setting.key, setting.name, setting.place);
  const shortest = Math.min(...hits.map(lengthOf));
  const best = mostTelling(
    analysis,
    hits.filter((one) => lengthOf(one) === shortest),
  );
  if (best === undefined) return undefined;
  const onKey = contains(best.place.keySpan, offset);
  return {
    key: best.key,
    name: best.name,
    place: best.place,
    spec: specOf(analysis, best.key, best.name),
    span: onKey ? best.place.keySpan : best.place.valueSpan,
  };
}

/**
 * Of the settings that one key decides: the one that it is called by, if there are values to try of it; else the one made of it
 * that there are, unless the key decides more than that (a model's builder); else the one that it is called by.
 */
function mostTelling({ inputs }: RunAnalysis, hits: readonly Candidate[]): Candidate | undefined {
  const single = new Set(hits.map(({ name }) => name)).size <= 2;
  const worth = (one: Candidate): number => {
    const own = inputs.format.keys.some((spec) => means(spec, one));
    const tried = CURVES[one.name ?? ""] !== undefined && (own || single);
    return (tried ? 2 : 0) + (own ? 1 : 0);
  };
  return hits.toReversed().toSorted((a, b) => worth(b) - worth(a))[0];
}

/** A word that names another file of the run, as a launch script names its config: the run itself is hovered. */
export function linkAt({ inputs }: RunAnalysis, uri: string, offset: number): LocatedTarget | undefined {
  const link = inputs.links.find(({ from, span }) => from === uri && contains(span, offset));
  if (link === undefined) return undefined;
  const { span } = link;
  return { key: "", name: null, spec: undefined, span, place: { uri, keySpan: span, valueSpan: span } };
}

/** Table entry of a key, also when it stands under another key or in a linked file. */
function specOf(analysis: RunAnalysis, key: string, name: SettingName | null): KeySpec | undefined {
  const tables = [analysis.inputs.format.keys, DEEPSPEED_KEYS, JOB_KEYS, ...FORMATS.map((format) => format.keys)];
  for (const keys of tables) {
    const found = keys.find((spec) => means(spec, { key, name }));
    if (found !== undefined) return found;
  }
  return name === null ? undefined : tables.flat().find((spec) => spec.name === name);
}
