/** Notebooks whose cells the client syncs one by one: all of them are one document, and every answer is in its cell. */
import { strict as assert } from "node:assert";
import type { CodeAction, Hover, TextDocumentEdit } from "vscode-languageserver/node";
import { TextDocument } from "vscode-languageserver-textdocument";
import { createAnalyzer } from "../../src/analysis";
import { programOf } from "../../src/server/apart/errands";
import { CLIENT_COMMANDS, type EditsResult, METHODS, type ReportResult } from "../../src/server/protocol";
import { memoryRuntime } from "../analysis/memory-runtime";
import { connect, PLAIN, type TestClient, VSCODE } from "./client";

const BOOK = "file:///w/train.ipynb";
const cellUri = (index: number) => `vscode-notebook-cell:/w/train.ipynb#${index}`;

const CELLS = [
  '%pip install trl\nfrom trl import SFTConfig\nname = "a \\"quoted\\" text"\n',
  'args = SFTConfig(\n\toutput_dir="out", optim="adamw_8bit",\n    bf16=True, fp16=True)',
];

describe("server: notebooks", () => {
  let client: TestClient;
  afterEach(() => client.dispose());

  async function start(capabilities = VSCODE): Promise<void> {
    const runtime = memoryRuntime({});
    client = await connect(
      capabilities,
      { commands: Object.values(CLIENT_COMMANDS) },
      { runtime, reads: () => true, createAnalyzer: programOf(createAnalyzer) },
    );
  }
  const open = (cells: readonly string[] = CELLS) =>
    client.rpc.sendNotification("notebookDocument/didOpen", {
      notebookDocument: {
        uri: BOOK,
        notebookType: "jupyter-notebook",
        version: 1,
        cells: cells.map((_, index) => ({ kind: 2, document: cellUri(index) })),
      },
      cellTextDocuments: cells.map((text, index) => ({ uri: cellUri(index), languageId: "python", version: 1, text })),
    });
  /** Replaces a cell's text, as typing does. */
  const type = (index: number, text: string, version: number) =>
    client.rpc.sendNotification("notebookDocument/didChange", {
      notebookDocument: { uri: BOOK, version },
      change: { cells: { textContent: [{ document: { uri: cellUri(index), version }, changes: [{ text }] }] } },
    });
  const hover = (index: number, line: number, character: number) =>
    client.rpc.sendRequest<Hover | null>("textDocument/hover", {
      textDocument: { uri: cellUri(index) },
      position: { line, character },
    });
  const codes = async (index: number) => ((await client.pull(cellUri(index))).items ?? []).map(({ code }) => code);

  it("announces that it takes the Python cells of Jupyter notebooks", async () => {
    await start();
    assert.deepEqual(client.initialized.capabilities.notebookDocumentSync, {
      notebookSelector: [{ notebook: { notebookType: "jupyter-notebook" }, cells: [{ language: "python" }] }],
    });
  });

  it("hovers and finds in the cell that says it, with the places of the cell", async () => {
    await start();
    await open();
    const found = await hover(1, 1, 20);
    assert.deepEqual(found?.range, { start: { line: 1, character: 19 }, end: { line: 1, character: 24 } });
    const items = (await client.pull(cellUri(1))).items ?? [];
    const both = items.find(({ code }) => code === "contradictory-keys");
    assert.deepEqual(both?.range, { start: { line: 2, character: 15 }, end: { line: 2, character: 19 } });
    assert.ok(!(await codes(0)).includes("contradictory-keys"));
    const status = await client.statuses.find(({ state }) => state === "ready");
    assert.equal(status.uri, BOOK);
  });

  it("reads all cells as one module and follows the typing in any of them", async () => {
    await start();
    await open([
      "precise = True",
      'from trl import SFTConfig\nargs = SFTConfig(output_dir="o", bf16=True, fp16=precise)',
    ]);
    assert.ok((await codes(1)).includes("contradictory-keys"));
    await type(0, "precise = False", 2);
    await client.refreshes.find((kind) => kind === "diagnostic");
    assert.ok(!(await codes(1)).includes("contradictory-keys"));
  });

  it("edits the right cell and nothing else", async () => {
    await start();
    await open();
    const actions = await client.rpc.sendRequest<CodeAction[]>("textDocument/codeAction", {
      textDocument: { uri: cellUri(1) },
      range: { start: { line: 2, character: 15 }, end: { line: 2, character: 19 } },
      context: { diagnostics: (await client.pull(cellUri(1))).items ?? [] },
    });
    const action = actions.find(({ title, edit }) => edit !== undefined && /fp16/.test(title));
    const [change] = (action?.edit?.documentChanges ?? []) as TextDocumentEdit[];
    assert.deepEqual(change?.textDocument, { uri: cellUri(1), version: 1 });
    const cell = TextDocument.create(cellUri(1), "python", 1, CELLS[1] ?? "");
    const edits = (change?.edits ?? []) as { range: TextDocumentEdit["edits"][number]["range"]; newText: string }[];
    assert.equal(TextDocument.applyEdits(cell, edits), CELLS[1]?.replace("fp16=True", "fp16=False"));
  });

  it("writes what the panel tried into the cell, and reports places as the cell has them", async () => {
    await start();
    await open();
    const report = await client.rpc.sendRequest<ReportResult | null>(METHODS.report, { uri: cellUri(1) });
    const run = report?.report.runs[0];
    const optimizer = run?.settings.find(({ name }) => name === "optimizer");
    assert.equal(optimizer?.uri, cellUri(1));
    assert.equal(optimizer?.range?.start.line, 1);
    const result = await client.rpc.sendRequest<EditsResult>(METHODS.whatIfEdits, {
      uri: BOOK,
      runId: run?.id,
      set: { optimizer: "adafactor" },
    });
    assert.ok(result.ok, JSON.stringify(result));
    const [edit] = result.edits;
    assert.deepEqual([result.edits.length, edit?.uri, edit?.newText], [1, cellUri(1), '"adafactor"']);
    assert.deepEqual(edit?.range, { start: { line: 1, character: 25 }, end: { line: 1, character: 37 } });
    assert.deepEqual(result.versions, { [cellUri(1)]: 1 });
  });

  it("obeys comments in cells, and writes them there", async () => {
    await start();
    await open(["# vramlens: gpu=RTX-4090\n", `# vramlens-disable contradictory-keys\n${CELLS[1]}`]);
    assert.ok(!(await codes(1)).includes("contradictory-keys"));
    const report = await client.rpc.sendRequest<ReportResult | null>(METHODS.report, { uri: BOOK });
    assert.match(report?.report.runs[0]?.devices.name ?? "", /4090/);
  });

  it("pushes to the cells of a client that does not ask, and clears them when the notebook closes", async () => {
    await start(PLAIN);
    await open();
    const both = await client.published.find(({ uri, diagnostics }) => uri === cellUri(1) && diagnostics.length > 0);
    assert.ok(both.diagnostics.some(({ code }) => code === "contradictory-keys"));
    await client.rpc.sendNotification("notebookDocument/didClose", {
      notebookDocument: { uri: BOOK },
      cellTextDocuments: CELLS.map((_, index) => ({ uri: cellUri(index) })),
    });
    await client.published.find(({ uri, diagnostics }) => uri === cellUri(1) && diagnostics.length === 0);
    assert.equal(await hover(1, 1, 20), null);
  });
});
