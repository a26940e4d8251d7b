/** What the client on the other end can do, read once from `initialize`. */
import { type InitializeParams, MarkupKind } from "vscode-languageserver";
import type { DiagnosticSupport } from "./diagnostics";
import type { EditSupport } from "./edits";
import type { InitializationOptions } from "./protocol";
import { type Locale, localeOf } from "./text";

export interface Client {
  /** It asks for diagnostics; otherwise they are pushed. */
  readonly pull: boolean;
  readonly refreshDiagnostics: boolean;
  readonly refreshHints: boolean;
  readonly refreshLenses: boolean;
  /** It answers `workspace/configuration`. */
  readonly configuration: boolean;
  readonly registerConfiguration: boolean;
  readonly watchFiles: boolean;
  /** It can watch folders outside the workspace. */
  readonly watchFolders: boolean;
  readonly workspaceFolders: boolean;
  readonly markdown: boolean;
  /** It knows the messages of this product: status notifications are sent. */
  readonly status: boolean;
  readonly commands: ReadonlySet<string>;
  readonly diagnostics: DiagnosticSupport;
  readonly edits: EditSupport;
  readonly locale: Locale;
}

/** Reads the capabilities; whatever a client leaves out counts as absent. */
export function readClient(params: InitializeParams, options: InitializationOptions): Client {
  const { textDocument, workspace } = params.capabilities;
  const pulled = textDocument?.diagnostic;
  const pushed = textDocument?.publishDiagnostics;
  return {
    pull: pulled !== undefined,
    refreshDiagnostics: workspace?.diagnostics?.refreshSupport === true,
    refreshHints: workspace?.inlayHint?.refreshSupport === true,
    refreshLenses: workspace?.codeLens?.refreshSupport === true,
    configuration: workspace?.configuration === true,
    registerConfiguration: workspace?.didChangeConfiguration?.dynamicRegistration === true,
    watchFiles: workspace?.didChangeWatchedFiles?.dynamicRegistration === true,
    watchFolders: workspace?.didChangeWatchedFiles?.relativePatternSupport === true,
    workspaceFolders: workspace?.workspaceFolders === true,
    markdown: textDocument?.hover?.contentFormat?.includes(MarkupKind.Markdown) === true,
    status: options.commands !== undefined,
    commands: new Set(options.commands ?? []),
    diagnostics: {
      relatedInformation: (pulled?.relatedInformation ?? pushed?.relatedInformation) === true,
      codeDescription: (pulled?.codeDescriptionSupport ?? pushed?.codeDescriptionSupport) === true,
      besideHovers: options.pictures !== undefined,
      tags: (pulled?.tagSupport ?? pushed?.tagSupport) !== undefined,
    },
    edits: {
      documentChanges: workspace?.workspaceEdit?.documentChanges === true,
      changeAnnotations: workspace?.workspaceEdit?.changeAnnotationSupport !== undefined,
    },
    locale: localeOf(options.locale ?? params.locale),
  };
}
