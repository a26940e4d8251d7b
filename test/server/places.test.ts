/** Everywhere a person may be: launch scripts, pins, broken files, models nobody knows; with the real analysis behind the server. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CodeAction, CompletionItem } from "vscode-languageserver/node";
import { createAnalyzer } from "../../src/analysis";
import { programOf } from "../../src/server/apart/errands";
import {
  CLIENT_COMMANDS,
  METHODS,
  type ReportResult,
  type SummaryResult,
  type SweepResult,
  type WhatIfResult,
} from "../../src/server/protocol";
import { memoryRuntime, uri } from "../analysis/memory-runtime";
import { connect, type TestClient, VSCODE } from "./client";

const SAMPLES = join(__dirname, "..", "..", "samples");
const sample = (path: string) => readFileSync(join(SAMPLES, path), "utf8");

const FILES: Readonly<Record<string, string>> = {
  "one/train.yaml": sample("llama-1b/train.yaml"),
  "one/model/config.json": sample("llama-1b/model/config.json"),
  "one/.vramlens.yaml": sample("llama-1b/.vramlens.yaml"),
  "one/run.sh": "#!/bin/bash\naccelerate launch --num_processes 4 \\\n  train.py train.yaml\n",
  "other/train.yaml":
    "model_name_or_path: acme/Secret-7B\nper_device_train_batch_size: 4\noutput_dir: out\nlearning_rate: 1e-5\n",
  "own.py":
    "import torch\nfrom model import GPT\nmodel = GPT().cuda()\noptimizer = torch.optim.AdamW(model.parameters())\nfor x, y in batches:\n    logits, loss = model(x, y)\n    loss.backward()\n    optimizer.step()\n",
  "pins/.vramlens.yaml":
    "runs:\n  - match: train.yaml\n    sequence_lenght: 2048\n    device: { name: RTX 4O90 }\n    dtype: bfloat61\n    \n",
  "broken/train.yaml": sample("llama-1b/train.yaml").replace("bf16: true", "bf16: [true"),
  "broken/model/config.json": sample("llama-1b/model/config.json"),
  "broken/.vramlens.yaml": sample("llama-1b/.vramlens.yaml"),
  "card/train.yaml": `# vramlens: gpu=H100\n${sample("llama-1b/train.yaml")}`,
  "card/model/config.json": sample("llama-1b/model/config.json"),
  "card/.vramlens.yaml": "runs:\n  - match: train.yaml\n    model: ./model\n    sequence_length: 512\n",
  "zero/train.json": sample("llama-8b-zero3/train.json"),
  "zero/ds_zero3.json": sample("llama-8b-zero3/ds_zero3.json"),
  "zero/model/config.json": sample("llama-8b-zero3/model/config.json"),
};

describe("places", () => {
  let client: TestClient;

  before(async () => {
    client = await connect(
      VSCODE,
      { commands: Object.values(CLIENT_COMMANDS), pictures: "dark" },
      { runtime: memoryRuntime(FILES), createAnalyzer: programOf(createAnalyzer), reads: () => true },
    );
    client.settings = { device: "RTX 4090" };
  });
  after(() => client.dispose());

  async function opened(path: string, language: string) {
    const at = uri(path);
    const text = FILES[path] ?? "";
    await client.open(at, text, language);
    const status = await client.statuses.find((one) => one.uri === at && one.state !== "computing");
    const position = (needle: string) => {
      const lines = text.split("\n");
      const line = lines.findIndex((one) => one.includes(needle));
      return { line, character: (lines[line] ?? "").indexOf(needle) + 1 };
    };
    const asked = (method: string, needle: string) =>
      client.rpc.sendRequest(method, { textDocument: { uri: at }, position: position(needle) });
    return {
      status,
      hover: async (needle: string) =>
        ((await asked("textDocument/hover", needle)) as { contents: { value: string } } | null)?.contents.value ?? "",
      complete: async (line: number, character: number) => {
        const found = await client.rpc.sendRequest("textDocument/completion", {
          textDocument: { uri: at },
          position: { line, character },
        });
        return found as readonly CompletionItem[] | { items: readonly CompletionItem[] };
      },
      diagnostics: async () => (await client.pull(at)).items ?? [],
      actions: async () => {
        const diagnostics = (await client.pull(at)).items ?? [];
        const range = { start: { line: 0, character: 0 }, end: { line: 1000, character: 0 } };
        return (await client.rpc.sendRequest("textDocument/codeAction", {
          textDocument: { uri: at },
          range,
          context: { diagnostics, triggerKind: 1 },
        })) as readonly CodeAction[];
      },
    };
  }

  it("shows the run in the script that launches it, without asking for a model there", async () => {
    const script = await opened("one/run.sh", "shellscript");
    assert.match(script.status.run?.statement.short ?? "", /^\d+\.\d \/ 23\.5 GiB$/);
    assert.match(await script.hover("train.yaml"), /Does not fit/);
    assert.match(await script.hover("num_processes"), /GPUs/);
    assert.deepEqual(await script.diagnostics(), []);
  });

  it("names the best plan in the hovers after the first of a run that does not fit", async () => {
    const config = await opened("one/train.yaml", "yaml");
    let said = await config.hover("per_device_train_batch_size");
    assert.match(said, /This key/);
    for (let tries = 0; tries < 100 && !said.includes("Apply ["); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      said = await config.hover("per_device_train_batch_size");
    }
    assert.match(said, /^Apply \[.+ GiB · .+ · same results\]\(command:vramlens\.applyBest/m);
  });

  it("offers ways to say the model where none is known", async () => {
    const config = await opened("other/train.yaml", "yaml");
    const titles = (await config.actions()).map(({ title }) => title);
    assert.deepEqual(titles.slice(0, 2), ["Point to a local folder…", "Choose from the catalogue…"]);
  });

  it("says of an unknown model what is missing, and nothing that was assumed for no estimate", async () => {
    const config = await opened("other/train.yaml", "yaml");
    const said = await config.hover("per_device");
    assert.match(said, /No estimate.*the config of `acme\/Secret-7B` was not found/);
    assert.doesNotMatch(said, /Assumes/);
  });

  it("says of a broken file why it cannot be read, where its last verdict would stand, too", async () => {
    const config = await opened("broken/train.yaml", "yaml");
    const said = await config.hover("per_device");
    assert.match(said, /The file cannot be read as it is/);
    assert.doesNotMatch(said, /best plan/);
  });

  it("explains the GPU of a comment as a pin does, not as a job's key", async () => {
    const config = await opened("card/train.yaml", "yaml");
    const said = await config.hover("gpu=");
    assert.match(said, /H100/);
    assert.match(said, /GPU to check against/);
    assert.doesNotMatch(said, /the job gets|Costs no GPU memory/);
  });

  it("offers to trace the model of a script", async () => {
    const script = await opened("own.py", "python");
    const trace = (await script.actions()).find(({ command }) => command?.command === CLIENT_COMMANDS.traceModel);
    assert.deepEqual(trace?.command?.arguments, [uri("own.py")]);
    await client.rpc.sendNotification(METHODS.trust, { trusted: false });
    const titles = (await script.actions()).map(({ title }) => title);
    assert.ok(titles.length > 0 && !titles.some((title) => /Trace/.test(title)), titles.join());
    await client.rpc.sendNotification(METHODS.trust, { trusted: true });
  });

  it("explains, completes and checks pins that no run uses", async () => {
    const pins = await opened("pins/.vramlens.yaml", "yaml");
    const codes = (await pins.diagnostics()).map(({ code }) => code);
    assert.ok(codes.includes("unknown-key") && codes.includes("invalid-value"), String(codes));
    assert.match(await pins.hover("dtype"), /Dtype the weights are loaded in.*`bfloat16`/);
    const found = await pins.complete(5, 4);
    const items = "items" in found ? found.items : found;
    assert.ok(items.some(({ label }) => label === "sequence_length") && items.some(({ label }) => label === "lengths"));
    for (const stated of ["match", "device", "dtype"])
      assert.ok(!items.some(({ label }) => label === stated), `${stated} stands there already`);
    const values = await pins.complete(4, 11);
    assert.ok(("items" in values ? values.items : values).some(({ label }) => label === "bfloat16"));
  });

  it("offers a pin for the number of GPUs where a file has no comments", async () => {
    const config = await opened("zero/train.json", "json");
    const pin = (await config.actions()).find(({ command }) => command?.command === CLIENT_COMMANDS.pin);
    assert.equal(pin?.command?.arguments?.[1], "device.count");
    assert.match(String(pin?.command?.arguments?.[2]), /^\d+$/);
  });

  it("draws two settings at once, and puts the run beside itself with edits", async () => {
    const at = uri("zero/train.json");
    await client.open(at, FILES["zero/train.json"] ?? "", "json").catch(() => {});
    const params = { uri: at, runId: "zero/train.json" };
    const { sweep } = await client.rpc.sendRequest<SweepResult>(METHODS.sweep, params);
    assert.ok(sweep !== null);
    assert.ok(sweep.columns.values.includes("2") && sweep.rows.values.length >= 4);
    const here =
      sweep.cells[sweep.rows.values.indexOf(sweep.rows.now)]?.[sweep.columns.values.indexOf(sweep.columns.now)];
    const { runs } = await client.rpc.sendRequest<SummaryResult>(METHODS.summary, { uri: at });
    assert.equal(runs.length, 1);
    assert.equal(here?.usedPeakBytes, runs[0]?.usedPeakBytes);
    const lines = (FILES["zero/train.json"] ?? "").split("\n");
    const line = lines.findIndex((one) => one.includes("per_device_train_batch_size"));
    const character = (lines[line] ?? "").lastIndexOf("2");
    const range = { start: { line, character }, end: { line, character: character + 1 } };
    const edits = [{ uri: at, range, newText: "1" }];
    const { run } = await client.rpc.sendRequest<WhatIfResult>(METHODS.edited, { ...params, edits });
    assert.ok((run?.perDevice?.usedPeakBytes ?? 0) < (here?.usedPeakBytes ?? 0));
    assert.ok((run?.perDevice?.components ?? []).length > 3, "what takes the memory is said, too");
    assert.deepEqual(await client.rpc.sendRequest(METHODS.summary, { uri: uri("zero/ds_zero3.json") }), { runs: [] });
  });

  it("marks where a file breaks, once, and keeps the last good verdict as such", async () => {
    const at = uri("one/train.yaml");
    const good = (await opened("one/train.yaml", "yaml")).status;
    assert.equal(good.state, "ready");
    await client.change(at, (FILES["one/train.yaml"] ?? "").replace("bf16: true", "bf16: [true\n  x: {"), 2);
    // The whole file's may come once more behind the change.
    const broken = await client.statuses.next((one) => one.uri === at && one.state === "broken");
    assert.equal(broken.run?.statement.short, good.run?.statement.short);
    const report = await client.rpc.sendRequest<ReportResult | null>(METHODS.report, { uri: at });
    assert.equal(report?.broken, broken.because);
    const found = (await client.pull(at)).items ?? [];
    assert.deepEqual(
      found.map(({ code }) => code),
      ["syntax"],
    );
    assert.ok((found[0]?.range.start.line ?? 0) > 0);
  });
});
