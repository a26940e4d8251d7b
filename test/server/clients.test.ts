/** The same small session with what different editors can do: each gets diagnostics, a hover and a fix, and no error. */
import { strict as assert } from "node:assert";
import type { ClientCapabilities, CodeAction, Hover } from "vscode-languageserver/node";
import { connect, PLAIN, VSCODE } from "./client";

const A = "file:///w/a.yaml";

/** Capabilities in the shape that the editors announce, reduced to what a server may look at. */
const CLIENTS: Readonly<Record<string, ClientCapabilities>> = {
  "VS Code": VSCODE,
  nothing: PLAIN,
  "pulls, settings by request, no refresh of hints (Neovim)": {
    general: { positionEncodings: ["utf-8", "utf-16", "utf-32"] },
    workspace: {
      configuration: true,
      workspaceFolders: true,
      didChangeConfiguration: { dynamicRegistration: false },
      didChangeWatchedFiles: { dynamicRegistration: false, relativePatternSupport: true },
      workspaceEdit: { resourceOperations: ["rename", "create", "delete"] },
    },
    textDocument: {
      diagnostic: { dynamicRegistration: true, tagSupport: { valueSet: [1, 2] } },
      hover: { contentFormat: ["markdown", "plaintext"] },
      codeAction: { isPreferredSupport: true, dataSupport: true },
    },
  },
  "push, versioned edits (Helix)": {
    general: { positionEncodings: ["utf-8", "utf-32", "utf-16"] },
    workspace: {
      configuration: true,
      workspaceFolders: true,
      didChangeConfiguration: { dynamicRegistration: false },
      workspaceEdit: { documentChanges: true, failureHandling: "abort", normalizesLineEndings: false },
    },
    textDocument: {
      publishDiagnostics: { versionSupport: true, tagSupport: { valueSet: [1, 2] } },
      hover: { contentFormat: ["markdown"] },
      codeAction: { isPreferredSupport: true },
    },
  },
  "push, plain text hovers, watched files (eglot)": {
    workspace: {
      configuration: true,
      workspaceEdit: { documentChanges: true },
      didChangeWatchedFiles: { dynamicRegistration: true },
    },
    textDocument: { publishDiagnostics: { relatedInformation: false }, hover: { contentFormat: ["plaintext"] } },
  },
};

describe("clients", () => {
  for (const [name, capabilities] of Object.entries(CLIENTS)) {
    it(`serves: ${name}`, async () => {
      const client = await connect(capabilities);
      try {
        assert.ok(client.initialized.capabilities.positionEncoding !== "utf-8", "columns stay UTF-16");
        await client.open(A, "batch: 30\nlink: b.yaml\n");
        const pulls = client.initialized.capabilities.diagnosticProvider !== undefined;
        const diagnostics = pulls
          ? ((await client.pull(A)).items ?? [])
          : (await client.published.find(({ diagnostics }) => diagnostics.length > 0)).diagnostics;
        assert.equal(diagnostics[0]?.code, "does-not-fit");
        const textDocument = { uri: A };
        const hover = await client.rpc.sendRequest<Hover | null>("textDocument/hover", {
          textDocument,
          position: { line: 0, character: 1 },
        });
        assert.match(JSON.stringify(hover?.contents), /30 GiB/);
        assert.doesNotMatch(JSON.stringify(hover?.contents), /command:/);
        const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
        const [fix] = await client.rpc.sendRequest<CodeAction[]>("textDocument/codeAction", {
          textDocument,
          range,
          context: { diagnostics },
        });
        assert.equal(fix?.title, "Batch 2");
        assert.equal(fix?.command, undefined);
        const isVersioned = capabilities.workspace?.workspaceEdit?.documentChanges === true;
        assert.deepEqual(Object.keys(fix?.edit ?? {}), [isVersioned ? "documentChanges" : "changes"]);
        await client.rpc.sendRequest("shutdown");
        // What was analysed is in the log; nothing else is.
        assert.ok(client.log.all.every((line) => /: run: .* \d+ ms$/.test(line)));
        assert.deepEqual(client.statuses.all, []);
      } finally {
        client.dispose();
      }
    });
  }
});
