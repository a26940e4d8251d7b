/** The least a language client must do to have a document analysed. */
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import type { Readable, Writable } from "node:stream";
import {
  CancellationTokenSource,
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver/node";
import { uriOf } from "../src/host/node";
import { METHODS, type ReportResult, type WhatIfParams, type WhatIfResult } from "../src/server/protocol";

const LANGUAGES: Readonly<Record<string, string>> = { ".json": "json", ".py": "python" };

export class LanguageClient {
  private readonly connection: MessageConnection;

  constructor(output: Readable, input: Writable) {
    this.connection = createMessageConnection(new StreamMessageReader(output), new StreamMessageWriter(input));
    this.connection.listen();
  }

  /** Starts the server on a workspace folder, given as a path. */
  async initialize(folder: string): Promise<void> {
    const uri = uriOf(folder);
    await this.connection.sendRequest("initialize", {
      processId: process.pid,
      rootUri: uri,
      capabilities: {},
      workspaceFolders: [{ uri, name: "samples" }],
    });
    await this.connection.sendNotification("initialized", {});
  }

  /** Opens a document and waits for its report. */
  async openAndWait(path: string): Promise<ReportResult> {
    const uri = uriOf(path);
    const languageId = LANGUAGES[extname(path)] ?? "yaml";
    const textDocument = { uri, languageId, version: 1, text: readFileSync(path, "utf8") };
    await this.connection.sendNotification("textDocument/didOpen", { textDocument });
    return this.connection.sendRequest(METHODS.report, { uri });
  }

  /** Tells the server something. */
  notify(method: string, params?: object): Promise<void> {
    return params === undefined
      ? this.connection.sendNotification(method)
      : this.connection.sendNotification(method, params);
  }

  /** Asks the server for anything. */
  request(method: string, params: object): Promise<unknown> {
    return this.connection.sendRequest(method, params);
  }

  /** Asks for something and takes it back at once; the answer, if there is one, is nobody's. */
  async askAndCancel(method: string, params: object): Promise<void> {
    const source = new CancellationTokenSource();
    const answer = this.connection.sendRequest(method, params, source.token).catch(() => undefined);
    source.cancel();
    await answer;
  }

  /** A run with other values. */
  whatIf(params: WhatIfParams): Promise<WhatIfResult> {
    return this.connection.sendRequest(METHODS.whatIf, params);
  }
}
