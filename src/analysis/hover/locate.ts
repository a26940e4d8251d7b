/** Which setting of a run a place in a document is. */

import { FORMATS } from "../../formats";
import { DEEPSPEED_KEYS } from "../../formats/deepspeed/keys";
import { JOB_KEYS } from "../../formats/jobs/keys";
import type { KeySpec } from "../../formats/types";
import { contains } from "../../syntax/text";
import type { Span } from "../../syntax/tree";
import type { SettingName } from "../../terms/settings";
import type { LoadedDocument } from "../documents/store";
import type { RunAnalysis } from "../estimate/run-analysis";
import type { Place, Setting } from "../frameworks/settings";
import { CURVES } from "./curves";
import type { HoverTarget } from "./hover";

export interface LocatedTarget extends HoverTarget {
  readonly span: Span;
}

/** Characters before a value that are looked at for its name. */
const LONGEST_NAME = 200;

interface Candidate {
  readonly key: string;
  readonly name: SettingName | null;
  readonly place: Place;
  /** What is hovered: the key itself, or the definition that its value is taken from. */
  readonly hovered: { readonly keySpan: Span; readonly valueSpan: Span };
}

const lengthOf = ({ hovered: { valueSpan } }: Candidate): number => valueSpan.end - valueSpan.start;

const means = (spec: KeySpec, { key, name }: Pick<Candidate, "key" | "name">): boolean =>
  [spec.key, ...(spec.aliases ?? [])].some((path) => key === path || key.endsWith(`.${path}`)) && spec.name === name;

/** Documents of a run whose text stands in a file: its own, and those that it writes. */
export function textsOf({ inputs }: RunAnalysis, uri: string): readonly LoadedDocument[] {
  return inputs.documents.filter(({ file }) => file === uri);
}

/** What a run has at a place of a file, and the document that it is in. */
export function hoveredIn(
  analysis: RunAnalysis,
  uri: string,
  line: number,
  character: number,
): { readonly document: LoadedDocument; readonly target: LocatedTarget } | undefined {
  for (const document of textsOf(analysis, uri)) {
    const offset = document.lines.offset(line, character);
    const target = settingAt(analysis, document.uri, offset) ?? linkAt(analysis, document.uri, offset);
    if (target !== undefined) return { document, target };
  }
  return undefined;
}

/** The innermost setting whose key or value is at an offset of a document. */
function settingAt(analysis: RunAnalysis, uri: string, offset: number): LocatedTarget | undefined {
  const { inputs } = analysis;
  const hits: Candidate[] = [];
  const consider = (
    { key, name }: Pick<Candidate, "key" | "name">,
    place: Place,
    hovered: Candidate["hovered"],
  ): void => {
    const hit = contains(hovered.keySpan, offset) || contains(hovered.valueSpan, offset);
    if (hit && place.uri === uri) hits.push({ key, name, place, hovered });
  };
  for (const document of [inputs.main, ...(inputs.deepspeed === undefined ? [] : [inputs.deepspeed])]) {
    if (document.uri !== uri) continue;
    const { settings } = document.read;
    const keys = new Map(settings.map(({ keySpan, valueSpan }) => [valueSpan.start, keySpan]));
    for (const setting of settings) {
      const place = { uri, keySpan: setting.keySpan, valueSpan: setting.valueSpan };
      consider(setting, place, place);
      const source = setting.node.kind === "scalar" ? setting.node.source : undefined;
      if (source !== undefined)
        consider(setting, place, {
          keySpan: keys.get(source.start) ?? nameBefore(document.text, source),
          valueSpan: source,
        });
    }
  }
  const others: readonly Setting[] = inputs.layers.flatMap((layer) => layer.settings);
  for (const setting of others) if (setting.place !== null) consider(setting, setting.place, setting.place);
  const shortest = Math.min(...hits.map(lengthOf));
  const best = mostTelling(
    analysis,
    hits.filter((one) => lengthOf(one) === shortest),
  );
  if (best === undefined) return undefined;
  const { keySpan, valueSpan } = best.hovered;
  return {
    key: best.key,
    name: best.name,
    place: best.place,
    spec: specOf(analysis, best.key, best.name),
    span: contains(keySpan, offset) ? keySpan : valueSpan,
  };
}

/** The name that a definition gives to a value, on the value's line; the value where there is none. */
function nameBefore(text: string, value: Span): Span {
  const from = Math.max(text.lastIndexOf("\n", value.start - 1) + 1, value.start - LONGEST_NAME);
  const line = text.slice(from, value.start).trimEnd();
  if (!line.endsWith("=") && !line.endsWith(":")) return value;
  const before = line.slice(0, -1).trimEnd();
  const end = /["']$/.test(before) ? before.length - 1 : before.length;
  const name =
    before
      .slice(0, end)
      .split(/[^\w.-]/)
      .at(-1) ?? "";
  return name === "" ? value : { start: from + end - name.length, end: from + end };
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
function linkAt({ inputs }: RunAnalysis, uri: string, offset: number): LocatedTarget | undefined {
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
  // A job's keys are what a scheduler calls them: a pin or a directive of the same meaning is none of those.
  return name === null ? undefined : tables.flat().find((spec) => spec.name === name && !JOB_KEYS.includes(spec));
}
