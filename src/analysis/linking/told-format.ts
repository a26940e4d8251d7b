/** The format of a config by the command that starts a program on it: the program decides it, not what the keys look like. */
import type { Recognised } from "../../formats";
import { configFormat } from "../../formats/launchers";
import { runs } from "../../formats/recognition";
import type { ShellCommand } from "../../syntax/tree";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { frameworkOf } from "../frameworks/frameworks";
import { findCommand, hands, ownPythonTrains } from "./launch";

const CERTAIN = 1;

/** Whether a document may be a program's config: data, and no part that others name (an accelerate config, DeepSpeed's). */
function mayBeConfig({ config, recognised }: LoadedDocument): boolean {
  const isData = config !== undefined && config.parsed.python === undefined && config.parsed.shell === undefined;
  return isData && (recognised === undefined || frameworkOf(recognised.format).part === undefined);
}

function toldBy({ words }: ShellCommand, document: LoadedDocument): LoadedDocument {
  const format = configFormat(words.map(({ text }) => text));
  const { recognised } = document;
  if (format === undefined || (recognised !== undefined && frameworkOf(recognised.format) === frameworkOf(format)))
    return document;
  const told: Recognised = { format, confidence: CERTAIN, because: runs(words[0]?.text ?? format.id) };
  return document.readAs(told);
}

/** The document as a command of the scripts beside it has it read; itself where none says. */
export async function asStarted(
  document: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
): Promise<LoadedDocument> {
  if (!mayBeConfig(document)) return document;
  const line = await findCommand(document, folders, store, new Set());
  return line === undefined ? document : toldBy(line.command, document);
}

/** The document as a script's own commands have it read. */
export function asStartedBy(script: LoadedDocument, document: LoadedDocument): LoadedDocument {
  const commands = script.config?.parsed.shell?.commands ?? [];
  const command = commands.find((one) => hands(one, document.uri));
  return command === undefined || !mayBeConfig(document) ? document : toldBy(command, document);
}

/** The training config that a script or a notebook writes, and that one of its commands starts a program on. */
export function startedWritten(script: LoadedDocument): LoadedDocument | undefined {
  if (ownPythonTrains(script)) return undefined;
  const commands = script.config?.parsed.shell?.commands ?? [];
  if (commands.length === 0) return undefined;
  const named = script.written.filter(({ uri }) => commands.some((command) => hands(command, uri)));
  return named
    .map((document) => asStartedBy(script, document))
    .find((document) => mayBeConfig(document) && document.recognised !== undefined);
}
