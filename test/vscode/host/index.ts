/** The editor suite: what VS Code itself gets from the extension, on the samples. Runs in web server and desktop. */
import { strict as assert } from "node:assert";
import * as vscode from "vscode";
import { eventually, type HostTest, runAll } from "./harness";

const EXTENSION = "vram-lens.vram-lens";
const BATCH = "per_device_train_batch_size";

async function open(path: string): Promise<vscode.TextDocument> {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder, "a workspace folder is open");
  const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder.uri, path));
  await vscode.window.showTextDocument(document);
  return document;
}

/** Place of the first occurrence of a text. */
function at(document: vscode.TextDocument, text: string): vscode.Position {
  const offset = document.getText().indexOf(text);
  assert.notEqual(offset, -1, `${text} is in ${document.uri.path}`);
  return document.positionAt(offset + 1);
}

/** Text of every hover at a place. */
async function hovers(document: vscode.TextDocument, position: vscode.Position): Promise<string> {
  const found = await vscode.commands.executeCommand<vscode.Hover[]>(
    "vscode.executeHoverProvider",
    document.uri,
    position,
  );
  return found
    .flatMap((hover) => hover.contents)
    .map((content) => (typeof content === "string" ? content : content.value))
    .join("\n");
}

async function hoverWith(document: vscode.TextDocument, key: string, pattern: RegExp): Promise<string> {
  return eventually(`a hover on ${key} with ${pattern}`, async () => {
    const text = await hovers(document, at(document, key));
    return pattern.test(text) ? text : undefined;
  });
}

function findings(document: vscode.TextDocument): readonly vscode.Diagnostic[] {
  return vscode.languages.getDiagnostics(document.uri);
}

function codeOf(diagnostic: vscode.Diagnostic): string {
  const code = diagnostic.code;
  return String(typeof code === "object" ? code.value : code);
}

async function findingWith(document: vscode.TextDocument, code: string): Promise<vscode.Diagnostic> {
  return eventually(`the finding ${code}`, () => findings(document).find((one) => codeOf(one) === code));
}

async function gone(document: vscode.TextDocument, code: string): Promise<void> {
  await eventually(`the finding ${code} to go`, () =>
    findings(document).some((one) => codeOf(one) === code) ? undefined : true,
  );
}

async function replace(document: vscode.TextDocument, before: string, after: string): Promise<void> {
  const start = document.getText().indexOf(before);
  assert.notEqual(start, -1, `${before} is in the document`);
  const edit = new vscode.WorkspaceEdit();
  edit.replace(
    document.uri,
    new vscode.Range(document.positionAt(start), document.positionAt(start + before.length)),
    after,
  );
  assert.ok(await vscode.workspace.applyEdit(edit));
}

async function revert(): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.files.revert");
}

/** Two cells, as Jupyter saves them. */
const NOTEBOOK = JSON.stringify({
  cells: [
    ["batch = 2\n"],
    [
      "from trl import SFTConfig, SFTTrainer\n",
      "args = SFTConfig(output_dir='out', per_device_train_batch_size=batch, bf16=True, fp16=True, max_length=512)\n",
      "trainer = SFTTrainer(model='Qwen/Qwen2.5-0.5B', args=args, train_dataset=data)\n",
    ],
  ].map((source) => ({ cell_type: "code", metadata: {}, execution_count: null, outputs: [], source })),
  metadata: { kernelspec: { name: "python3", language: "python" }, language_info: { name: "python" } },
  nbformat: 4,
  nbformat_minor: 5,
});

const tests: readonly HostTest[] = [
  {
    name: "starts when a training config is opened",
    run: async () => {
      await open("llama-1b/train.yaml");
      await eventually(
        "the extension to start",
        () => vscode.extensions.getExtension(EXTENSION)?.isActive || undefined,
      );
    },
  },
  {
    name: "hover on the batch size gives the total, the verdict and a curve",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      const text = await hoverWith(document, BATCH, /GiB/);
      // The finding at the key says the verdict; the hover has the picture and the next step.
      assert.match(text, /!\[Peak 34\.0 GiB: weights .* 8: 34\.0 ✗/);
      assert.match(text, /\[Set 2 × 4\]\(command:vramlens\.applyValues/);
    },
  },
  {
    name: "hover works on other keys that touch memory",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      for (const key of ["gradient_checkpointing", "bf16", "optim:"]) await hoverWith(document, key, /GiB/);
    },
  },
  {
    name: "a run that does not fit is an error at one key, with a documented code",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      const finding = await findingWith(document, "does-not-fit");
      assert.equal(finding.severity, vscode.DiagnosticSeverity.Error);
      assert.ok(typeof finding.code === "object", "the code links to its page");
      assert.equal(findings(document).filter((one) => codeOf(one) === "does-not-fit").length, 1);
    },
  },
  {
    name: "the preferred quick fix makes it fit",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      const finding = await findingWith(document, "does-not-fit");
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        "vscode.executeCodeActionProvider",
        document.uri,
        finding.range,
        vscode.CodeActionKind.QuickFix.value,
        20,
      );
      const preferred = actions.find((action) => action.isPreferred);
      assert.ok(
        preferred?.edit,
        `one of ${actions.map((action) => action.title).join(" | ")} is preferred and has an edit`,
      );
      assert.ok(await vscode.workspace.applyEdit(preferred.edit));
      await gone(document, "does-not-fit");
      await hoverWith(document, BATCH, /fits/i);
      await revert();
      await findingWith(document, "does-not-fit");
    },
  },
  {
    name: "unsaved changes count",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      await findingWith(document, "does-not-fit");
      await replace(document, `${BATCH}: 8`, `${BATCH}: 1`);
      await replace(document, "gradient_checkpointing: false", "gradient_checkpointing: true");
      assert.ok(document.isDirty);
      await gone(document, "does-not-fit");
      await revert();
    },
  },
  {
    name: "a half-typed document gives no wrong number and recovers",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      await replace(document, `${BATCH}: 8`, `${BATCH}: `);
      await replace(document, "bf16: true", "bf16: tr\n  : [");
      await hovers(document, at(document, BATCH));
      await revert();
      await findingWith(document, "does-not-fit");
    },
  },
  {
    name: "the other samples have no errors",
    run: async () => {
      for (const path of ["qwen2.5-7b-lora/train.yaml", "llama-8b-zero3/train.json", "gpt2-scratch/train.yaml"]) {
        const document = await open(path);
        await hoverWith(document, BATCH, /GiB/);
        const errors = findings(document).filter((one) => one.severity === vscode.DiagnosticSeverity.Error);
        assert.deepEqual(
          errors.map((one) => one.message),
          [],
          path,
        );
      }
    },
  },
  {
    name: "a file that is no training config is left alone",
    run: async () => {
      const document = await vscode.workspace.openTextDocument({ language: "yaml", content: "services:\n  web: 1\n" });
      await vscode.window.showTextDocument(document);
      assert.equal(await hovers(document, new vscode.Position(0, 2)), "");
      assert.deepEqual(findings(document), []);
    },
  },
  {
    name: "files of one run link to each other, and its parts are analysed too",
    run: async () => {
      const document = await open("llama-8b-zero3/train.json");
      await eventually("the link to the DeepSpeed file", async () => {
        const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>(
          "vscode.executeLinkProvider",
          document.uri,
        );
        return links.some(({ target }) => target?.path.endsWith("/ds_zero3.json")) || undefined;
      });
      const engine = await open("llama-8b-zero3/ds_zero3.json");
      assert.match(await hoverWith(engine, '"stage"', /GiB/), /ZeRO/);
    },
  },
  {
    name: "cells of a notebook have hovers, findings and fixes of their own",
    run: async () => {
      const folder = vscode.workspace.workspaceFolders?.[0];
      assert.ok(folder, "a workspace folder is open");
      const uri = vscode.Uri.joinPath(folder.uri, "sft.ipynb");
      await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(NOTEBOOK));
      const notebook = await vscode.workspace.openNotebookDocument(uri);
      await vscode.window.showNotebookDocument(notebook);
      const cell = notebook.cellAt(1).document;
      await hoverWith(cell, BATCH, /GiB/);
      const finding = await findingWith(cell, "contradictory-keys");
      assert.equal(cell.getText(finding.range), "fp16");
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
        "vscode.executeCodeActionProvider",
        cell.uri,
        finding.range,
        vscode.CodeActionKind.QuickFix.value,
      );
      const fix = actions.find(({ title }) => /fp16/.test(title));
      assert.ok(fix?.edit, actions.map(({ title }) => title).join(", "));
      assert.ok(await vscode.workspace.applyEdit(fix.edit));
      assert.match(cell.getText(), /fp16=False/);
      await gone(cell, "contradictory-keys");
      // A value of the first cell counts in the second.
      const before = await hoverWith(cell, BATCH, /GiB/);
      const first = notebook.cellAt(0).document;
      await replace(first, "batch = 2", "batch = 8");
      await eventually("the hover to follow the other cell", async () =>
        (await hovers(cell, at(cell, BATCH))) === before ? undefined : true,
      );
      await revert();
    },
  },
  {
    name: "the master switch and a severity take effect at once, and back",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      await findingWith(document, "does-not-fit");
      const settings = vscode.workspace.getConfiguration("vramlens", document.uri);
      await settings.update("severity", { "does-not-fit": "off" }, vscode.ConfigurationTarget.Workspace);
      await gone(document, "does-not-fit");
      await settings.update("severity", undefined, vscode.ConfigurationTarget.Workspace);
      await findingWith(document, "does-not-fit");
      await settings.update("enable", false, vscode.ConfigurationTarget.Workspace);
      await eventually("all findings to go", () => findings(document).length === 0 || undefined);
      assert.equal(await hovers(document, at(document, BATCH)), "");
      await settings.update("enable", undefined, vscode.ConfigurationTarget.Workspace);
      await findingWith(document, "does-not-fit");
    },
  },
  {
    name: "the analyzer restarts and answers as before",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      await findingWith(document, "does-not-fit");
      await vscode.commands.executeCommand("vramlens.restart");
      await findingWith(document, "does-not-fit");
      await hoverWith(document, BATCH, /This key: \d/);
    },
  },
  {
    name: "the report goes to the clipboard as Markdown",
    run: async () => {
      await open("llama-1b/train.yaml");
      await vscode.commands.executeCommand("vramlens.copyReport");
      const text = await vscode.env.clipboard.readText();
      assert.match(text, /^## .*llama-1b\/train\.yaml/);
      assert.match(text, /Does not fit/);
      assert.match(text, /\| weights \| \d/);
    },
  },
  {
    name: "language-model tools answer from the same analysis, and say what to do about a missing file",
    run: async () => {
      const document = await open("llama-1b/train.yaml");
      const ask = async (tool: string, input: object) => {
        const result = await vscode.lm.invokeTool(tool, { input, toolInvocationToken: undefined });
        return result.content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : "")).join("");
      };
      const path = document.uri.fsPath;
      assert.match(await ask("estimate_gpu_memory", { path }), /"verdict":"does-not-fit"/);
      assert.match(await ask("estimate_gpu_memory", { path, device: "80GB" }), /"verdict":"fits"/);
      assert.match(await ask("find_fitting_config", { path }), /"plans":\[\{"title"/);
      await assert.rejects(ask("estimate_gpu_memory", { path, device: "A100 80" }), /no GPU called/);
      await assert.rejects(ask("estimate_gpu_memory", { path: "/none.yaml" }), /There is no file/);
    },
  },
];

export function run(): Promise<void> {
  return runAll(tests);
}
