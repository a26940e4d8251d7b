/** How models of somebody's own are traced, as `.vramlens.yaml` beside the graphs keeps it: for whoever starts a trace. */
import { ownGraphs } from "../../core/graph/own";
import type { ReportEdit } from "../../core/report/schema";
import { parseDocument } from "../../formats/parse";
import { PINS_FILE } from "../../formats/pins";
import { type KeptTrace, keepTrace, keptFor, keptTraces } from "../../formats/pins/traces";
import type { ConfigDocument } from "../../formats/types";
import { LineIndex } from "../documents/lines";
import { joinUri } from "../documents/uris";
import type { FileAccess } from "../runtime";
import { graphUri } from "./own-models";

export type { KeptTrace };

/** What a person asks to be traced. */
export interface AskedTrace {
  /** A Python file or a model's folder, relative to the folder that holds `.vramlens`. */
  readonly file: string;
  /** A class, a function or a call of the file; empty: its outermost model. */
  readonly entry: string;
  /** The file is a script that trains the model. */
  readonly script: boolean;
  /** Arguments of that script. */
  readonly arguments: string;
}

/** Losses that nobody asked for (python/vram_lens/tracing/own.py, `loss_of`). */
const FOUND_LOSSES: ReadonlySet<string> = new Set(["returned", "out.mean()", "mean of the first output"]);

async function pinsOf(
  files: FileAccess,
  folder: string,
): Promise<{ uri: string; document: ConfigDocument; is: boolean }> {
  const uri = joinUri(folder, PINS_FILE);
  const text = await files.readText(uri);
  const document = parseDocument(uri, text ?? "");
  if (document === undefined) throw new Error(`${PINS_FILE} is YAML`);
  return { uri, document, is: text !== undefined };
}

/** How something was traced before, as a folder's `.vramlens.yaml` says it. */
export async function traceKept(
  files: FileAccess,
  folder: string,
  { file, entry, script }: AskedTrace,
): Promise<KeptTrace | undefined> {
  const { document } = await pinsOf(files, folder);
  return keptFor(keptTraces(document), file, entry, script);
}

/** What keeps a trace: the edit, and the text of the file as it is then. */
export interface Keeping {
  readonly edit: ReportEdit;
  readonly text: string;
  /** The file has to be made. */
  readonly create: boolean;
}

/** The edit that keeps how a graph was traced; undefined where there is nothing to keep, or no way to write it. */
export async function keeping(
  files: FileAccess,
  folder: string,
  name: string,
  asked: AskedTrace,
): Promise<Keeping | undefined> {
  const graph = await files.readText(graphUri(folder, name));
  const traced = graph === undefined ? undefined : ownGraphs(graph)?.traced;
  if (traced === undefined) return undefined;
  const { file, script } = asked;
  const loss = FOUND_LOSSES.has(traced.loss) ? undefined : traced.loss;
  const trace: KeptTrace = script
    ? { file, script, arguments: asked.arguments, loss }
    : { file, entry: asked.entry === name ? undefined : asked.entry, inputs: traced.inputs, loss };
  const { uri, document, is } = await pinsOf(files, folder);
  const change = keepTrace(document, name, trace);
  if (change === undefined || change === null) return undefined;
  const { span, text } = change;
  const whole = document.text.slice(0, span.start) + text + document.text.slice(span.end);
  return { edit: { uri, range: new LineIndex(document.text).range(span), newText: text }, text: whole, create: !is };
}
