/** What was pasted, as the files that an analysis reads and edits change: the config, the pins beside it, and their report. */

import { joinUri } from "../analysis/documents/uris";
import type { FileAccess } from "../analysis/runtime";
import { withEdits } from "../core/report/apply";
import type { Report, ReportEdit } from "../core/report/schema";
import type { HostToPage } from "../server/panelProtocol";
import type { Locale } from "../server/text";

export interface Pasted {
  /** File name; it says what syntax the text has. */
  readonly name: string;
  readonly text: string;
  /** Text of `.vramlens.yaml`; empty: there is none. */
  readonly pins: string;
}

export const FOLDER = "file:///config";
export const PINS = joinUri(FOLDER, ".vramlens.yaml");

/** URI of the config. Folders in its name say nothing here, and a name is no place outside of the page. */
export function uriOf({ name }: Pasted): string {
  const last = name.trim().split(/[\\/]/).at(-1) ?? "";
  return joinUri(FOLDER, last === "" || last === "." || last === ".." ? "train.yaml" : last);
}

/** The files as they are whenever they are read. */
export function filesOf(read: () => Pasted): FileAccess {
  const own = (uri: string): string | undefined => {
    const pasted = read();
    if (uri === uriOf(pasted)) return pasted.text;
    return uri === PINS && pasted.pins !== "" ? pasted.pins : undefined;
  };
  return {
    readText: async (uri) => own(uri),
    stat: async (uri) => {
      const text = own(uri);
      if (text !== undefined) return { type: "file", size: text.length, mtime: 0 };
      return uri === FOLDER ? { type: "directory", size: 0, mtime: 0 } : undefined;
    },
    list: async (uri) =>
      uri === FOLDER ? [uriOf(read()), PINS].map((file) => ({ name: nameOf(file), type: "file" as const })) : [],
  };
}

function nameOf(uri: string): string {
  return decodeURIComponent(uri.slice(FOLDER.length + 1));
}

/** The files with edits made; undefined where an edit belongs to none of them, or where there are none. */
export function edited(pasted: Pasted, edits: readonly ReportEdit[]): Pasted | undefined {
  const of = (wanted: string): readonly ReportEdit[] => edits.filter(({ uri }) => uri === wanted);
  const config = of(uriOf(pasted));
  const pins = of(PINS);
  if (edits.length === 0 || config.length + pins.length < edits.length) return undefined;
  return { ...pasted, text: withEdits(pasted.text, config), pins: withEdits(pasted.pins, pins) };
}

/** The report of what was pasted, as the panel's page shows it outside an editor. */
export function reportOf(report: Report, runId: string, pasted: Pasted, locale: Locale): HostToPage {
  return {
    ...{ type: "report", uri: uriOf(pasted), label: pasted.name, report, runId, locale },
    ...{ reserve: 0.1, follow: false, because: "", localCards: false, editor: false, runsCode: false },
  };
}
