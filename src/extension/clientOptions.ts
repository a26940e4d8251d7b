/** Options of the language client, the same in Node and in the browser. Loaded only when the server is needed. */
import * as vscode from "vscode";
import {
  type BaseLanguageClient,
  CloseAction,
  type CloseHandlerResult,
  ErrorAction,
  type ErrorHandler,
  type LanguageClientOptions,
  RevealOutputChannelOn,
} from "vscode-languageclient";
import {
  CLIENT_COMMANDS,
  type InitializationOptions,
  type ListResult,
  METHODS,
  type ModelDataResult,
  type ReadTextResult,
  type StatResult,
  type UriParams,
} from "../server/protocol";
import { base64Of } from "../terms/base64";
import { decode } from "../terms/text";
import { documentSelector } from "./documents";
import { RestartPolicy } from "./restartPolicy";
import { themeKind } from "./theme";

export interface ClientEnvironment {
  readonly context: vscode.ExtensionContext;
  readonly channel: vscode.LogOutputChannel;
  /** Called when the server crashed too often to be started again. */
  readonly gaveUp: () => void;
}

/** Options of a fresh client. */
export function clientOptions(
  environment: ClientEnvironment,
  initializationOptions: InitializationOptions,
): LanguageClientOptions {
  return {
    documentSelector: documentSelector(),
    outputChannel: environment.channel,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: {
      locale: vscode.env.language,
      commands: Object.values(CLIENT_COMMANDS),
      fileRequests: true,
      trusted: vscode.workspace.isTrusted,
      pictures: themeKind(vscode.window.activeColorTheme),
      ...initializationOptions,
    } satisfies InitializationOptions,
    diagnosticPullOptions: { onChange: true, onSave: true, onFocus: true, onTabs: false },
    markdown: { isTrusted: { enabledCommands: Object.values(CLIENT_COMMANDS) }, supportHtml: false },
    errorHandler: errorHandler(environment),
  };
}

function errorHandler(environment: ClientEnvironment): ErrorHandler {
  const policy = new RestartPolicy();
  return {
    error: (_error, _message, count) => ({
      action: (count ?? 0) <= 3 ? ErrorAction.Continue : ErrorAction.Shutdown,
      handled: true,
    }),
    closed: (): CloseHandlerResult => {
      if (policy.crashed(Date.now())) {
        environment.channel.warn("The language server stopped and is started again.");
        return { action: CloseAction.Restart, handled: true };
      }
      environment.channel.error("The language server keeps stopping and is not started again.");
      environment.gaveUp();
      return { action: CloseAction.DoNotRestart, handled: true };
    },
  };
}

/** Larger files are no configs; bytes. */
const LARGEST_FILE = 64 * 1024 * 1024;

/** Answers the server's requests for files that only the editor can read. Call before the client starts. */
export function serveFiles(client: BaseLanguageClient, context: vscode.ExtensionContext): void {
  const { fs } = vscode.workspace;
  const read = async (uri: vscode.Uri): Promise<ReadTextResult> => {
    try {
      const { type, size } = await fs.stat(uri);
      if ((type & vscode.FileType.File) === 0 || size > LARGEST_FILE) return { text: null };
      return { text: decode(await fs.readFile(uri)) };
    } catch {
      return { text: null };
    }
  };
  client.onRequest(METHODS.readText, ({ uri }: UriParams) => read(vscode.Uri.parse(uri)));
  client.onRequest(
    METHODS.stat,
    ({ uri }: UriParams): Promise<StatResult> =>
      Promise.resolve(fs.stat(vscode.Uri.parse(uri))).then(
        ({ type, size, mtime }) => ({ stat: isKnown(type) ? { type: nameOf(type), size, mtime } : null }),
        () => ({ stat: null }),
      ),
  );
  client.onRequest(
    METHODS.list,
    ({ uri }: UriParams): Promise<ListResult> =>
      Promise.resolve(fs.readDirectory(vscode.Uri.parse(uri))).then(
        (entries) => ({
          entries: entries.flatMap(([name, type]) => (isKnown(type) ? [{ name, type: nameOf(type) }] : [])),
        }),
        () => ({ entries: [] }),
      ),
  );
  client.onRequest(
    METHODS.modelData,
    (): Promise<ModelDataResult> =>
      Promise.resolve(fs.readFile(vscode.Uri.joinPath(context.extensionUri, "dist", "models.xz"))).then(
        (bytes) => ({ base64: base64Of(bytes) }),
        () => ({ base64: null }),
      ),
  );
}

function isKnown(type: vscode.FileType): boolean {
  return (type & (vscode.FileType.File | vscode.FileType.Directory)) !== 0;
}

function nameOf(type: vscode.FileType): "file" | "directory" {
  return (type & vscode.FileType.Directory) !== 0 ? "directory" : "file";
}
