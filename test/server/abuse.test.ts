/** A client that says nonsense, too much or too late: every request settles, and the next one is answered. */
import { strict as assert } from "node:assert";
import { CancellationTokenSource, type Hover } from "vscode-languageserver/node";
import { METHODS, type ReportResult } from "../../src/server/protocol";
import { connect, type TestClient, VSCODE } from "./client";

const A = "file:///w/a.yaml";

/** What no method takes. */
const NONSENSE: readonly unknown[] = [
  null,
  {},
  { uri: 7 },
  { uri: "" },
  { uri: "::" },
  { uri: A, set: "x", runId: {} },
  { uri: A, set: { batch: null }, version: "one" },
  { uri: "file:///w/%E0%A4%A.yaml" },
  { textDocument: null },
  { textDocument: { uri: null }, position: null },
  { textDocument: { uri: A }, position: { line: -1, character: 1e9 } },
  { textDocument: { uri: A }, position: { line: Number.MAX_SAFE_INTEGER, character: 0.5 }, context: null },
  { textDocument: { uri: A }, range: { start: null, end: null }, context: { diagnostics: 5 } },
  { text: 5, path: {}, name: [] },
];

const REQUESTS = [
  "textDocument/hover",
  "textDocument/codeAction",
  "textDocument/completion",
  "textDocument/diagnostic",
  "textDocument/documentLink",
  "textDocument/inlayHint",
  "textDocument/codeLens",
  ...Object.values(METHODS).filter((method) => method !== METHODS.trust && method !== METHODS.status),
];

const NOTIFICATIONS = [
  METHODS.trust,
  "textDocument/didOpen",
  "textDocument/didChange",
  "textDocument/didClose",
  "workspace/didChangeWatchedFiles",
  "workspace/didChangeWorkspaceFolders",
  "workspace/didChangeConfiguration",
];

describe("a client that abuses the server", () => {
  let client: TestClient;
  beforeEach(async () => {
    client = await connect(VSCODE, { fileRequests: true });
  });
  afterEach(() => client.dispose());

  const report = async (uri: string): Promise<ReportResult> => client.rpc.sendRequest(METHODS.report, { uri });

  it("with parameters of the wrong kind gets an answer or an error to each request, and is served on", async () => {
    await client.open(A, "batch: 30\n");
    const settled = await Promise.allSettled(
      REQUESTS.flatMap((method) => NONSENSE.map((params) => client.rpc.sendRequest(method, params))),
    );
    assert.equal(settled.length, REQUESTS.length * NONSENSE.length);
    for (const method of NOTIFICATIONS)
      for (const params of NONSENSE) await client.rpc.sendNotification(method, params);
    await client.open("file:///w/after.yaml", "batch: 3\n");
    assert.equal((await report("file:///w/after.yaml")).report?.runs.length, 1);
    for (const line of client.log.all) assert.doesNotMatch(line, /Maximum call stack|out of memory|TypeError/);
  });

  it("with versions out of order is answered for the text that came last", async () => {
    await client.open(A, "batch: 1\n");
    for (const [version, batch] of [
      [9, 2],
      [3, 3],
      [-1, 4],
      [3, 5],
    ] as const)
      await client.change(A, `batch: ${batch}\n`, version);
    const run = (await report(A)).report?.runs[0];
    assert.equal(run?.perDevice?.usedPeakBytes, 5 * 2 ** 30);
  });

  it("with ranges that are not in the text keeps a text that can be read", async () => {
    await client.open(A, "batch: 1\n");
    const far = { line: 1e6, character: 1e6 };
    for (const range of [
      { start: far, end: { line: 0, character: 0 } },
      { start: { line: -5, character: -5 }, end: far },
    ])
      await client.rpc.sendNotification("textDocument/didChange", {
        textDocument: { uri: A, version: 2 },
        contentChanges: [{ range, text: "batch: 7\n" }],
      });
    await client.change(A, "batch: 6\n", 3);
    assert.equal((await report(A)).report?.runs[0]?.perDevice?.usedPeakBytes, 6 * 2 ** 30);
  });

  it("with thousands of requests that it gives up at once has none left open", async () => {
    await client.open(A, "batch: 30\n");
    const asked = Array.from({ length: 2000 }, (_, k) => {
      const source = new CancellationTokenSource();
      const params = { textDocument: { uri: A }, position: { line: 0, character: k % 5 } };
      const answer = client.rpc.sendRequest<Hover | null>("textDocument/hover", params, source.token);
      source.cancel();
      return answer;
    });
    assert.equal((await Promise.allSettled(asked)).length, 2000);
    assert.ok(
      await client.rpc.sendRequest("textDocument/hover", {
        textDocument: { uri: A },
        position: { line: 0, character: 1 },
      }),
    );
  });

  it("with thousands of changes in a row is answered for the last, without an analysis of each", async () => {
    await client.open(A, "batch: 1\n");
    for (let version = 2; version < 3000; version++) await client.change(A, `batch: ${version % 20}\n`, version);
    await client.change(A, "batch: 12\n", 3000);
    assert.equal((await report(A)).report?.runs[0]?.perDevice?.usedPeakBytes, 12 * 2 ** 30);
    assert.ok(client.control.analysed.length < 300, `${client.control.analysed.length} analyses`);
  });

  it("with five thousand files that changed at once analyses what is open, once or twice", async () => {
    await client.open(A, "batch: 3\nlink: b.yaml\n");
    await report(A);
    const before = client.control.analysed.length;
    const changes = Array.from({ length: 5000 }, (_, k) => ({ uri: `file:///w/data/${k}.yaml`, type: 1 + (k % 3) }));
    await client.rpc.sendNotification("workspace/didChangeWatchedFiles", { changes });
    for (const one of changes.slice(0, 500))
      await client.rpc.sendNotification("workspace/didChangeWatchedFiles", { changes: [one] });
    assert.equal((await report(A)).report?.runs[0]?.perDevice?.usedPeakBytes, 3 * 2 ** 30);
    const analyses = client.control.analysed.length - before;
    assert.ok(analyses < 600, `${analyses} analyses`);
  });
});
