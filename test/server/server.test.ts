/** The server through a real connection, with an analyzer whose behaviour the tests control. */
import { strict as assert } from "node:assert";
import type { CodeAction, DocumentLink, Hover, InlayHint, Range } from "vscode-languageserver/node";
import { CancellationTokenSource, DiagnosticSeverity } from "vscode-languageserver/node";
import type {
  CompareResult,
  EditsResult,
  FindDeviceResult,
  GuideResult,
  ReportResult,
  WhatIfResult,
} from "../../src/server/protocol";
import { CLIENT_COMMANDS, FIX_ALL_KIND, METHODS } from "../../src/server/protocol";
import { connect, PLAIN, type TestClient, VSCODE } from "./client";

const A = "file:///w/a.yaml";
const B = "file:///w/b.yaml";
const START: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 5 } };

describe("server", () => {
  let client: TestClient;
  afterEach(() => client.dispose());

  const hover = (uri: string, line = 0) =>
    client.rpc.sendRequest<Hover | null>("textDocument/hover", {
      textDocument: { uri },
      position: { line, character: 1 },
    });
  const actions = (uri: string, items: readonly unknown[] = [], only?: readonly string[]) =>
    client.rpc.sendRequest<CodeAction[]>("textDocument/codeAction", {
      textDocument: { uri },
      range: START,
      context: { diagnostics: items, ...(only === undefined ? {} : { only }) },
    });

  describe("with VS Code's capabilities", () => {
    beforeEach(async () => {
      client = await connect(VSCODE, { commands: Object.values(CLIENT_COMMANDS), fileRequests: true });
    });

    it("announces what it does", () => {
      const { capabilities, serverInfo } = client.initialized;
      assert.equal(serverInfo?.name, "VRAM Lens");
      assert.equal(capabilities.hoverProvider, true);
      assert.deepEqual(capabilities.codeActionProvider, { codeActionKinds: ["quickfix", FIX_ALL_KIND] });
      assert.ok(capabilities.diagnosticProvider);
    });

    it("answers a pull with stable codes, links and places, and says when nothing changed", async () => {
      await client.open(A, "batch: 30\nlink: b.yaml\n");
      const first = await client.pull(A);
      assert.equal(first.kind, "full");
      assert.equal(first.items?.length, 1);
      const item = first.items?.[0];
      assert.equal(item?.code, "does-not-fit");
      assert.equal(item?.source, "VRAM Lens");
      assert.equal(item?.severity, 1);
      assert.equal(item?.codeDescription?.href, "https://example.org/does-not-fit");
      assert.equal(item?.relatedInformation?.[0]?.location.uri, B);
      const second = await client.pull(A, first.resultId);
      assert.equal(second.kind, "unchanged");
    });

    it("greys out keys without effect", async () => {
      await client.open(A, "batch: 1\nignored: 2\n");
      const { items } = await client.pull(A);
      assert.deepEqual(items?.[0]?.tags, [1]);
      assert.equal(items?.[0]?.codeDescription, undefined);
    });

    it("never pushes to a client that pulls", async () => {
      await client.open(A, "batch: 30\n");
      await client.statuses.find(({ state }) => state === "ready");
      assert.deepEqual(client.published.all, []);
    });

    it("hovers with links to the client's own commands", async () => {
      await client.open(A, "batch: 30\n");
      const found = await hover(A);
      assert.ok(found !== null && typeof found.contents === "object" && "value" in found.contents);
      const { value } = found.contents as { value: string };
      assert.match(value, /\*\*30 GiB\*\*/);
      assert.match(value, /\[Open panel\]\(command:vramlens\.openPanel\?%5B%22file/);
      assert.match(value, /\[Choose GPU\]\(command:vramlens\.chooseDevice/);
    });

    it("reads unsaved text, also of linked documents, and tells their dependents", async () => {
      client.files.set(B, "batch: 1\n");
      await client.open(A, "batch: 20\nlink: b.yaml\n");
      assert.equal((await client.pull(A)).items?.length, 0);
      await client.open(B, "batch: 1\n");
      await client.statuses.find(({ uri }) => uri === B);
      const told = client.refreshes.next((method) => method === "diagnostic");
      const status = client.statuses.next(({ uri, run }) => uri === A && run?.verdict === "does-not-fit");
      await client.change(B, "batch: 9\n", 2);
      await told;
      await status;
      assert.equal((await client.pull(A)).items?.length, 1);
    });

    it("sees files that change on disk, and forgets unsaved text when a document closes", async () => {
      client.files.set(B, "batch: 1\n");
      await client.open(A, "batch: 20\nlink: b.yaml\n");
      assert.equal((await client.pull(A)).items?.length, 0);
      client.files.set(B, "batch: 9\n");
      await client.rpc.sendNotification("workspace/didChangeWatchedFiles", { changes: [{ uri: B, type: 2 }] });
      assert.equal((await client.pull(A)).items?.length, 1);
      await client.open(B, "batch: 2\n");
      assert.equal((await client.pull(A)).items?.length, 0);
      await client.close(B);
      assert.equal((await client.pull(A)).items?.length, 1);
    });

    it("stays with the newest text while it is typed", async () => {
      await client.open(A, "batch: 30\n");
      let open = () => {};
      client.control.gate = new Promise((resolve) => {
        open = resolve;
      });
      const asked = hover(A);
      await client.change(A, "batch: 3", 2);
      await client.change(A, "batch: 31", 3);
      client.control.gate = undefined;
      open();
      const found = await asked;
      assert.match(JSON.stringify(found?.contents), /31 GiB/);
      await client.change(A, "batc", 4);
      assert.equal(await hover(A), null);
      assert.deepEqual((await client.pull(A)).items, []);
    });

    it("answers a cancelled request with the cancellation, and the next one normally", async () => {
      await client.open(A, "batch: 30\n");
      let open = () => {};
      client.control.gate = new Promise((resolve) => {
        open = resolve;
      });
      const source = new CancellationTokenSource();
      const asked = client.rpc.sendRequest(
        "textDocument/hover",
        { textDocument: { uri: A }, position: { line: 0, character: 0 } },
        source.token,
      );
      source.cancel();
      client.control.gate = undefined;
      open();
      await assert.rejects(asked, { code: -32800 });
      assert.ok((await hover(A)) !== null);
    });

    it("survives handlers that throw: empty answer, log line, still alive", async () => {
      await client.open(A, "batch: 30\nexplode: 1\n");
      assert.equal(await hover(A), null);
      assert.deepEqual(await actions(A), []);
      await client.log.find((line) => line.includes("hover failed") && line.includes("exploded"));
      assert.equal((await client.pull(A)).items?.length, 1);
      await client.change(A, "batch: 30\n", 2);
      assert.ok((await hover(A)) !== null);
    });

    it("survives requests about documents it was never told of", async () => {
      assert.equal(await hover("file:///w/none.yaml"), null);
      assert.deepEqual((await client.pull("file:///w/none.yaml")).items, []);
      assert.deepEqual(await actions("file:///w/none.yaml"), []);
    });

    it("offers the preferred fix first, asks before touching another file", async () => {
      await client.open(A, "batch: 30\nlink: b.yaml\n");
      const { items = [] } = await client.pull(A);
      const found = await actions(A, items);
      assert.deepEqual(
        found.map(({ title }) => title),
        [
          "Batch 2",
          "Offload",
          "All plans…",
          "Disable does-not-fit for this line",
          "Disable does-not-fit for this file",
        ],
      );
      const [own, cross, , line] = found;
      assert.equal(own?.isPreferred, true);
      assert.equal(own?.diagnostics?.[0]?.code, "does-not-fit");
      assert.equal(own?.edit?.changeAnnotations, undefined);
      assert.deepEqual(own?.edit?.documentChanges?.[0], {
        textDocument: { uri: A, version: 1 },
        edits: [{ range: { start: { line: 0, character: 7 }, end: { line: 0, character: 9 } }, newText: "2" }],
      });
      const annotations = Object.values(cross?.edit?.changeAnnotations ?? {});
      assert.deepEqual(annotations, [
        { label: "Changes another file", description: "Offload", needsConfirmation: true },
      ]);
      assert.match(JSON.stringify(line?.edit), /# vramlens-disable-next-line does-not-fit\\n/);
    });

    it("keeps choices out of fix-all, and other languages' comments out of JSON", async () => {
      await client.open(A, "batch: 30\nignored: 1\n", "json");
      const { items = [] } = await client.pull(A);
      const [all, ...rest] = await actions(A, items, [FIX_ALL_KIND]);
      assert.deepEqual(rest, []);
      assert.equal(all?.kind, FIX_ALL_KIND);
      assert.deepEqual(all?.edit?.documentChanges?.[0], {
        textDocument: { uri: A, version: 1 },
        edits: [{ range: { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } }, newText: "" }],
      });
      assert.ok((await actions(A, items)).every(({ title }) => !title.startsWith("Disable")));
      assert.deepEqual(await actions(A, items, ["refactor"]), []);
    });

    it("does no work for a light bulb away from its findings", async () => {
      await client.open(A, "batch: 30\n");
      const ask = (triggerKind: number) =>
        client.rpc.sendRequest<CodeAction[]>("textDocument/codeAction", {
          textDocument: { uri: A },
          range: START,
          context: { diagnostics: [], triggerKind },
        });
      assert.deepEqual(await ask(2), []);
      assert.equal((await ask(1)).length, 1);
    });

    it("links to the other documents of the run", async () => {
      await client.open(A, "batch: 3\nlink: b.yaml\n");
      const links = await client.rpc.sendRequest<DocumentLink[]>("textDocument/documentLink", {
        textDocument: { uri: A },
      });
      assert.equal(links[0]?.target, B);
    });

    it("follows settings: hints on, hover off, severity, everything off and on again", async () => {
      await client.open(A, "batch: 30\n");
      const hints = () =>
        client.rpc.sendRequest<InlayHint[]>("textDocument/inlayHint", {
          textDocument: { uri: A },
          range: { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } },
        });
      assert.deepEqual(await hints(), []);
      client.settings = {
        inlayHints: { enable: true },
        codeLens: { enable: true },
        hover: { enable: false },
        severity: { "does-not-fit": "off" },
        device: " RTX 4090 ",
        reservePercent: 25,
        plans: { keepNumerics: true, adapters: "no" },
      };
      await client.configured();
      assert.deepEqual(
        (await hints()).map(({ label }) => label),
        ["activations 30.0 GiB"],
      );
      assert.equal(await hover(A), null);
      assert.deepEqual((await client.pull(A)).items, []);
      assert.equal(client.control.options.at(-1)?.defaultDevice, "RTX 4090");
      assert.equal(client.control.options.at(-1)?.reserve, 0.25);
      assert.deepEqual(client.control.options.at(-1)?.allow, {
        keepGlobalBatch: true,
        keepNumerics: true,
        adapters: true,
        packages: true,
      });
      const lenses = await client.rpc.sendRequest<{ command: { title: string } }[]>("textDocument/codeLens", {
        textDocument: { uri: A },
      });
      assert.equal(lenses[0]?.command.title, "30.0 / 23.5 GiB · Does not fit");

      client.settings = { enable: false };
      const off = client.statuses.next(({ state }) => state === "off");
      await client.configured();
      await off;
      assert.deepEqual((await client.pull(A)).items, []);
      client.settings = {};
      const on = client.statuses.next(({ state }) => state === "ready");
      await client.configured();
      await on;
      assert.equal((await client.pull(A)).items?.length, 1);
    });

    it("reports status: parts largest first, and documents that are no configs", async () => {
      await client.open(A, "batch: 30\n");
      const status = await client.statuses.find(({ state }) => state === "ready");
      assert.equal(status.because, "has `batch`");
      assert.equal(status.run?.verdict, "does-not-fit");
      assert.deepEqual(status.run?.parts, [{ kind: "activations", bytes: 30 * 2 ** 30 }]);
      await client.open(B, "something: else\n");
      const other = await client.statuses.find(({ uri }) => uri === B);
      assert.equal(other.state, "not-recognised");
      const line = new RegExp(`^${B}: not-recognised \\(.*\\), \\d+ ms$`);
      await client.log.find((said) => line.test(said));
      assert.ok(!client.control.analysed.includes(B), "a document that is no config is not analysed");
    });

    it("reads outside of the workspace only where it is trusted, and other machines never", async () => {
      const outside = "file:///elsewhere/b.yaml";
      client.files.set(outside, "batch: 20\n");
      client.files.set("file:///w/c.yaml", "batch: 5\n");
      client.files.set("http://host/b.yaml", "batch: 20\n");
      const runs = async (uri: string, link: string) => {
        await client.open(uri, `batch: 1\nlink: ${link}\n`);
        const report = await client.rpc.sendRequest<ReportResult>(METHODS.report, { uri });
        return (report.report.runs[0]?.perDevice?.allocatedPeakBytes ?? 0) / 2 ** 30;
      };
      assert.equal(await runs("file:///w/1.yaml", outside), 21);
      assert.equal(await runs("file:///w/2.yaml", "http://host/b.yaml"), 1);
      await client.rpc.sendNotification(METHODS.trust, { trusted: false });
      assert.equal(await runs("file:///w/3.yaml", outside), 1);
      assert.equal(await runs("file:///w/4.yaml", "c.yaml"), 6);
      await client.rpc.sendNotification(METHODS.trust, { trusted: true });
      assert.equal(await runs("file:///w/5.yaml", outside), 21);
    });

    it("serves the panel: report, what-if, plan edits of the plan that was seen", async () => {
      await client.open(A, "batch: 30\n");
      const result = await client.rpc.sendRequest<ReportResult>(METHODS.report, { uri: A });
      assert.equal(result.version, 1);
      assert.equal(result.reserve, 0.1);
      assert.equal(result.report.runs[0]?.plans.length, 1);
      const whatIf = await client.rpc.sendRequest<WhatIfResult>(METHODS.whatIf, {
        uri: A,
        runId: "run",
        set: { batch: "4" },
      });
      assert.equal(whatIf.run?.perDevice?.usedPeakBytes, 4 * 2 ** 30);
      const guide = (runId: string) => client.rpc.sendRequest<GuideResult>(METHODS.guide, { uri: A, runId });
      assert.equal((await guide("run")).guide?.limits.reserve, 0.1);
      assert.equal((await guide("gone")).guide, null);
      const compare = (runId: string) => client.rpc.sendRequest<CompareResult>(METHODS.compare, { uri: A, runId });
      assert.deepEqual((await compare("run")).lines, []);
      assert.equal((await compare("gone")).lines, null);
      const write = (set: Record<string, string>, runId = "run") =>
        client.rpc.sendRequest<EditsResult>(METHODS.whatIfEdits, { uri: A, runId, set });
      const written = await write({ batch: "4" });
      assert.ok(written.ok);
      assert.equal(written.title, "batch 30 → 4");
      assert.equal(written.edits[0]?.newText, "4");
      assert.deepEqual(written.versions, { [A]: 1 });
      assert.equal((await write({ other: "4" })).ok, false);
      assert.equal((await write({ batch: "4" }, "gone")).ok, false);
      const plan = (title: string, runId = "run") =>
        client.rpc.sendRequest<EditsResult>(METHODS.planEdits, { uri: A, runId, planIndex: 0, title });
      const edits = await plan("Batch 2");
      assert.ok(edits.ok);
      assert.deepEqual(edits.versions, { [A]: 1 });
      assert.equal(edits.edits[0]?.newText, "2");
      assert.equal((await plan("Batch 4")).ok, false);
      assert.equal((await plan("Batch 2", "gone")).ok, false);
      const overridden = await client.rpc.sendRequest<ReportResult>(METHODS.report, {
        uri: A,
        device: "80GB",
        set: { batch: "7" },
      });
      assert.equal(overridden.report.runs[0]?.perDevice?.usedPeakBytes, 7 * 2 ** 30);
      assert.equal(client.control.options.at(-1)?.device, "80GB");
    });

    it("pins a value through unsaved pins files too", async () => {
      await client.open(A, "batch: 30\n");
      await client.open("file:///w/.vramlens.yaml", "runs:\n  - match: a.yaml\n    model: ./m # kept\n");
      const result = await client.rpc.sendRequest<EditsResult>(METHODS.settle, {
        uri: A,
        key: "sequence_length",
        value: "2048",
      });
      assert.ok(result.ok);
      assert.deepEqual(result.create, []);
      assert.equal(result.edits[0]?.newText, "    sequence_length: 2048\n");
      const refused = await client.rpc.sendRequest<EditsResult>(METHODS.settle, { uri: A, key: "x", value: "1" });
      assert.equal(refused.ok, false);
    });

    it("gives the device catalogue by group, slices included", async () => {
      const { groups } = await client.rpc.sendRequest<{
        groups: { label: string; devices: { name: string; slices: unknown[] }[] }[];
      }>(METHODS.devices, {});
      assert.equal(groups[0]?.label, "Data centre");
      const all = groups.flatMap(({ devices }) => devices);
      assert.ok(all.some(({ name }) => name === "NVIDIA GeForce RTX 4090"));
      assert.ok(all.some(({ slices }) => slices.length > 0));
    });

    it("finds documents whatever way the editor spells their URI", async () => {
      await client.open("file:///C:/w/a.yaml", "batch: 20\nlink: b.yaml\n");
      await client.open("file:///C:/w/b.yaml", "batch: 9\n");
      assert.equal((await client.pull("file:///C:/w/a.yaml")).items?.length, 1);
      assert.equal(client.control.analysed[0], "file:///c%3A/w/a.yaml");
      await client.change("file:///C:/w/b.yaml", "batch: 1\n", 2);
      assert.equal((await client.pull("file:///C:/w/a.yaml")).items?.length, 0);
    });

    it("analyses parts of a run: pins and model configs, but not every file of that name", async () => {
      const model = "file:///w/model/config.json";
      await client.open("file:///w/.vramlens.yaml", "runs: []\n");
      await client.open(model, '{"name": "app"}\n', "json");
      const pins = await client.statuses.find(
        ({ uri, state }) => uri.endsWith(".vramlens.yaml") && state !== "computing",
      );
      assert.equal(pins.state, "ready");
      assert.equal((await client.statuses.find(({ uri }) => uri === model)).state, "not-recognised");
      assert.ok(!client.control.analysed.includes(model));
      const ready = client.statuses.next(({ uri, state }) => uri === model && state === "ready");
      await client.change(model, '{"model_type": "llama"}\n', 2);
      await ready;
    });

    it("keeps a config in sight while it is broken, with the error at its place", async () => {
      await client.open(A, "batch: 30\n");
      await client.statuses.find(({ state }) => state === "ready");
      const broken = client.statuses.next(({ state }) => state === "broken");
      await client.change(A, "broken\n", 2);
      assert.equal((await broken).run?.verdict, "does-not-fit");
      assert.equal((await broken).because, "cannot be read");
      const { items = [] } = await client.pull(A);
      assert.deepEqual(
        items.map(({ code, message, severity }) => [code, message, severity]),
        [["syntax", "cannot be read", DiagnosticSeverity.Error]],
      );
      const back = client.statuses.next(({ state }) => state === "ready");
      await client.change(A, "batch: 3\n", 3);
      assert.equal((await back).run?.verdict, "fits");
      const gone = client.statuses.next(({ state }) => state === "not-recognised");
      await client.change(A, "other: 3\n", 4);
      assert.equal((await gone).run, null);
    });

    it("watches the folders of files outside the workspace, once", async () => {
      const outside = (options: unknown) => JSON.stringify(options).includes("baseUri");
      await client.open(A, "batch: 3\nlink: ../shared/b.yaml\n");
      assert.deepEqual(await client.registered.find(outside), {
        watchers: [{ globPattern: { baseUri: "file:///shared", pattern: "*" } }],
      });
      client.files.set("file:///shared/b.yaml", "batch: 30\n");
      await client.rpc.sendNotification("workspace/didChangeWatchedFiles", {
        changes: [{ uri: "file:///shared/b.yaml", type: 1 }],
      });
      assert.equal((await client.pull(A)).items?.length, 1);
      await client.change(A, "batch: 4\nlink: ../shared/b.yaml\n", 2);
      await client.statuses.next(({ state }) => state === "ready");
      assert.equal(client.registered.all.filter(outside).length, 1);
    });

    it("says what a typed device means, and warns of a setting that means none", async () => {
      const find = (text: string) =>
        client.rpc.sendRequest<FindDeviceResult>(METHODS.findDevice, { text }).then(({ device }) => device);
      assert.equal((await find("2x 4090"))?.count, 2);
      assert.equal((await find("24GB"))?.memoryBytes, 24 * 2 ** 30);
      assert.equal(await find("RTX 9999"), null);
      client.settings = { device: "RTX 9999" };
      await client.open(A, "batch: 30\nno_device: 1\n");
      const { notice } = await client.statuses.find(({ state }) => state === "ready");
      assert.equal(notice, "The setting vramlens.device names no known GPU: RTX 9999");
    });

    it("leaves diff sides and notebook cells alone", async () => {
      for (const uri of ["git:/w/a.yaml", "vscode-notebook-cell:/w/n.ipynb#1"]) {
        await client.open(uri, "batch: 30\n");
        assert.deepEqual((await client.pull(uri)).items, []);
        assert.equal(await hover(uri), null);
      }
    });
  });

  describe("with a plain editor", () => {
    beforeEach(async () => {
      client = await connect(PLAIN, { settings: { "inlayHints.enable": true } });
    });

    it("pushes diagnostics with versions, and clears them at once when a document closes", async () => {
      await client.open(A, "batch: 30\nlink: b.yaml\n");
      const first = await client.published.find(({ diagnostics }) => diagnostics.length === 1);
      assert.equal(first.version, 1);
      assert.equal(first.diagnostics[0]?.codeDescription, undefined);
      assert.equal(first.diagnostics[0]?.relatedInformation, undefined);
      const next = client.published.next();
      await client.change(A, "batch: 3\n", 2);
      assert.deepEqual(await next, { uri: A, version: 2, diagnostics: [] });
      const cleared = client.published.next();
      await client.close(A);
      assert.deepEqual(await cleared, { uri: A, diagnostics: [] });
    });

    it("hovers in plain text without command links, and sends no message of its own", async () => {
      await client.open(A, "batch: 30\n");
      const found = await hover(A);
      assert.deepEqual(found?.contents, { kind: "plaintext", value: "30 GiB batch=30" });
      await client.published.find(() => true);
      assert.deepEqual(client.statuses.all, []);
      assert.equal(client.initialized.capabilities.diagnosticProvider, undefined);
    });

    it("writes edits without versions or annotations", async () => {
      await client.open(A, "batch: 30\n");
      const [fix] = await actions(A);
      assert.deepEqual(Object.keys(fix?.edit ?? {}), ["changes"]);
    });

    it("takes settings from the notification", async () => {
      await client.open(A, "batch: 30\n");
      await client.published.find(({ diagnostics }) => diagnostics.length === 1);
      const next = client.published.next();
      await client.rpc.sendNotification("workspace/didChangeConfiguration", {
        settings: { vramlens: { diagnostics: { enable: false } } },
      });
      assert.deepEqual((await next).diagnostics, []);
    });
  });

  it("speaks Chinese when asked to", async () => {
    client = await connect(VSCODE, { locale: "zh-cn", commands: [CLIENT_COMMANDS.openPanel] });
    await client.open(A, "batch: 30\n");
    assert.match(JSON.stringify((await hover(A))?.contents), /打开面板/);
    assert.equal(client.control.options[0]?.locale, "zh-cn");
  });
});
