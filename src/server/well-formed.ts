/**
 * Messages of a client that are not what the protocol says are not handed on: a notification is dropped, a request has an
 * error for an answer. Handlers, ours and the library's, may then take documents and positions for what they are.
 */
import { type Connection, type ConnectionOptions, ErrorCodes, Message, ResponseError } from "vscode-languageserver";
import { METHODS } from "./protocol";

/** Where the requests go that are not well formed. */
const MALFORMED = "vramlens/malformed";

/** How deep in a message its names mean what they are looked at for. */
const DEEPEST = 5;

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What a diagnostic carries for its server. */
const OURS = "data";

const has =
  (...names: readonly string[]) =>
  (value: unknown): boolean =>
    isRecord(value) && names.every((name) => value[name] !== undefined && value[name] !== null);
const each =
  (kind: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(kind);

/** What stands under a name of the protocol, wherever it stands. */
const KINDS: ReadonlyMap<string, (value: unknown) => boolean> = new Map<string, (value: unknown) => boolean>([
  ...["uri", "text", "languageId", "runId", "name", "key", "title", "folder", "file", "entry"].map(
    (name) => [name, isText] as const,
  ),
  ...["line", "character", "planIndex"].map((name) => [name, isNumber] as const),
  ...["textDocument", "notebookDocument"].map((name) => [name, has("uri")] as const),
  ...["position", "start", "end"].map((name) => [name, has("line", "character")] as const),
  ...["context", "set", "asked"].map((name) => [name, isRecord] as const),
  ["range", has("start", "end")],
  ["contentChanges", each(has("text"))],
  ["diagnostics", each(isRecord)],
  ["edits", each(isRecord)],
  ["configs", each(isText)],
]);

const DOCUMENT = ["textDocument"];
const PLACE = ["textDocument", "position"];
const RUN = ["uri", "runId"];
const TRACE = ["folder", "file", "entry"];

/** What a message must say. */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map([
  ["textDocument/didOpen", DOCUMENT],
  ["textDocument/didChange", ["textDocument", "contentChanges"]],
  ["textDocument/didClose", DOCUMENT],
  ["textDocument/hover", PLACE],
  ["textDocument/completion", PLACE],
  ["textDocument/codeAction", ["textDocument", "range", "context"]],
  ["textDocument/documentLink", DOCUMENT],
  ["textDocument/codeLens", DOCUMENT],
  ["textDocument/inlayHint", ["textDocument", "range"]],
  ["textDocument/diagnostic", DOCUMENT],
  ["notebookDocument/didOpen", ["notebookDocument", "cellTextDocuments"]],
  ["notebookDocument/didChange", ["notebookDocument", "change"]],
  ["notebookDocument/didClose", ["notebookDocument", "cellTextDocuments"]],
  ["workspace/didChangeWatchedFiles", ["changes"]],
  ["workspace/didChangeWorkspaceFolders", ["event"]],
  [METHODS.report, ["uri"]],
  [METHODS.summary, ["uri"]],
  [METHODS.whatIf, [...RUN, "set"]],
  [METHODS.whatIfEdits, [...RUN, "set"]],
  [METHODS.guide, RUN],
  [METHODS.compare, RUN],
  [METHODS.sweep, RUN],
  [METHODS.edited, [...RUN, "edits"]],
  [METHODS.planEdits, [...RUN, "planIndex", "title"]],
  [METHODS.settle, ["uri", "key", "value"]],
  [METHODS.keptTrace, TRACE],
  [METHODS.keepTrace, [...TRACE, "name"]],
  [METHODS.findDevice, ["text"]],
  [METHODS.explain, ["text", "configs"]],
  [METHODS.tool, ["uri", "name", "asked"]],
  [METHODS.trust, ["trusted"]],
  [METHODS.theme, ["theme"]],
]);

/** Whether every name of the protocol in a value stands for what it says. */
function isSound(value: unknown, depth: number): boolean {
  if (depth > DEEPEST || typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every((one) => isSound(one, depth + 1));
  const named = value as Readonly<Record<string, unknown>>;
  return Object.keys(named).every((name) => {
    const inner = named[name];
    if (inner === undefined || name === OURS) return true;
    return (KINDS.get(name)?.(inner) ?? true) && isSound(inner, depth + 1);
  });
}

/** Whether a message says what its method needs, in the form that the protocol has for it. */
function isWellFormed(method: string, params: unknown): boolean {
  const needed = NEEDED.get(method);
  if (needed === undefined) return true;
  if (!has(...needed)(params) || !isSound(params, 0)) return false;
  const { textDocument, changes } = params as { textDocument?: unknown; changes?: unknown };
  if (method === "textDocument/didOpen") return has("text")(textDocument);
  return method !== "workspace/didChangeWatchedFiles" || each(has("uri"))(changes);
}

/** For the connection as it is made. */
export const WELL_FORMED: ConnectionOptions = {
  messageStrategy: {
    handleMessage(message, next) {
      if (Message.isResponse(message)) return next(message);
      if (!Message.isRequest(message) && !Message.isNotification(message)) return next(message);
      if (isWellFormed(message.method, message.params)) return next(message);
      if (Message.isRequest(message)) next({ ...message, method: MALFORMED, params: {} } as typeof message);
    },
  },
};

/** Answers what is not well formed. */
export function refuseMalformed(connection: Connection): void {
  connection.onRequest(
    MALFORMED,
    () => new ResponseError(ErrorCodes.InvalidParams, "The parameters are not well formed"),
  );
}
