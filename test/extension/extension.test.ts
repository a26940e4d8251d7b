/** The parts of the client that need no editor. */
import { strict as assert } from "node:assert";
import { withEdits } from "../../src/core/report/apply";
import {
  besidePyTorch,
  checkArguments,
  checkSaid,
  commandLine,
  namesPlace,
  ownClasses,
  tracedSources,
} from "../../src/extension/ownModels";
import { makeNonce, panelHtml } from "../../src/extension/panelHtml";
import { reportMarkdown } from "../../src/extension/reportText";
import { CoalescedTask, RestartPolicy } from "../../src/extension/restartPolicy";
import { mayBeConfig } from "../../src/extension/sniff";
import { statusText, summaryText } from "../../src/extension/statusText";
import type { StatusParams, StatusRun } from "../../src/server/protocol";
import { clientWords } from "../../src/words/client";
import { describeCorpus } from "../corpus";
import { makeRun } from "../server/fake";

const GIB = 2 ** 30;
const t = clientWords("en");

const sniff = (path: string, languageId: string, text: string) => mayBeConfig({ path, languageId, head: () => text });

describe("models of somebody's own, before anything runs", () => {
  const hash = "0".repeat(64);
  const graph = (path: unknown) => JSON.stringify({ traced: { sources: [{ path, sha256: hash }] } });

  it("finds classes of a text", () => {
    const text =
      "class A(nn.Module):\n  class B(nn.Module): pass\nclass C(object): pass\nclass D(L.LightningModule):\n";
    assert.deepEqual(ownClasses(text), [
      { name: "A", line: 0 },
      { name: "D", line: 3 },
    ]);
  });

  it("reads which files a graph was traced from, and none outside of the folder", () => {
    assert.deepEqual(tracedSources(graph("src/model.py")), [{ path: "src/model.py", sha256: hash }]);
    for (const path of ["../x.py", "a/../../x.py", "/etc/passwd", "C:\\x.py", "..\\x.py", 7])
      assert.deepEqual(tracedSources(graph(path)), []);
    for (const text of ["", "{", "[]", "null", '{"traced": 1}', '{"traced": {"sources": [null]}}'])
      assert.deepEqual(tracedSources(text), []);
  });

  it("knows a Python by its place from one by its name, on every system", () => {
    const places = ["C:\\env\\python.exe", "d:/env/python.exe", "\\\\share\\python.exe", "/usr/bin/python3"];
    assert.deepEqual(places.map(namesPlace), [true, true, true, true]);
    assert.deepEqual(["python3", "python.exe", "env\\python.exe"].map(namesPlace), [false, false, false]);
    assert.equal(commandLine("C:\\Program Files\\python.exe", ["-m"]), '"C:\\\\Program Files\\\\python.exe" -m');
  });
});

describe("a check of all runs", () => {
  it("ends with how many have which verdict, worst first", () => {
    assert.equal(
      summaryText(["fits", "does-not-fit", "unknown", "fits", "tight"], 17, t),
      "Does not fit: 1 · Tight: 1 · No verdict: 1 · Fits: 2 · Files: 17",
    );
    assert.equal(summaryText([], 3, t), "No training config · Files: 3");
  });
});

describe("a script that was run on a device that is not there", () => {
  it("has PyTorch's peak beside the estimate's, and how far apart they are", () => {
    assert.deepEqual(checkArguments("train.py", 4, "/s/check.json").slice(-5), [
      "--ranks",
      "4",
      "--said",
      "/s/check.json",
      "train.py",
    ]);
    assert.equal(checkSaid('{"allocatedPeakBytes": 12}'), 12);
    for (const text of ["", "{", "null", "{}", '{"allocatedPeakBytes": "12"}', '{"allocatedPeakBytes": -1}'])
      assert.equal(checkSaid(text), undefined);
    const said = (measured: number, estimated?: number) => besidePyTorch("train.py", measured, estimated, t);
    assert.equal(said(GIB), "train.py: PyTorch allocates 1.000 GiB at most. There is no estimate of it.");
    assert.match(said(GIB, GIB), /equal to the byte/);
    assert.match(said(4 * GIB, 3 * GIB), /The estimate says 3\.000 GiB: −25\.00 %\./);
    assert.match(said(GIB, GIB + 512), /less than \+0\.01 %/);
  });
});

describe("sniff", () => {
  it("says yes to training configs of many kinds", () => {
    assert.ok(sniff("/w/train.yaml", "yaml", "per_device_train_batch_size: 8\n"));
    assert.ok(sniff("/w/ds_config.json", "json", "{}"));
    assert.ok(sniff("/w/zero3.json", "json", '{"zero_optimization": {"stage": 3}}'));
    assert.ok(sniff("/w/run.sh", "shellscript", "accelerate launch train.py --bf16"));
    assert.ok(sniff("/w/train.py", "python", "args = TrainingArguments(output_dir='x')"));
    assert.ok(sniff("/w/.vramlens.yaml", "yaml", ""));
    assert.ok(sniff("/w/config.toml", "plaintext", "micro_batch_size = 2"));
  });

  it("says no to everyday files without reading more than it must", () => {
    assert.ok(!sniff("/w/package.json", "json", '{"name": "x", "version": "1"}'));
    assert.ok(!sniff("/w/docker-compose.yaml", "yaml", "services:\n  db:\n    image: postgres\n"));
    assert.ok(!sniff("/w/app.py", "python", "import flask\napp = flask.Flask(__name__)\n"));
    const untouched = () => assert.fail("read");
    assert.ok(!mayBeConfig({ path: "/w/readme.md", languageId: "markdown", head: untouched }));
    assert.ok(!mayBeConfig({ path: "/w/notes.txt", languageId: "plaintext", head: untouched }));
    assert.ok(mayBeConfig({ path: "/w/accelerate_config.yaml", languageId: "yaml", head: untouched }));
  });
});

describeCorpus("what may be a config, in the corpus", (entries) => {
  it("misses no file", () => {
    const LANGUAGE: Record<string, string> = { yaml: "yaml", yml: "yaml", json: "json", toml: "toml", py: "python" };
    const missed: string[] = [];
    for (const { file, text } of entries) {
      const ending = file.split(".").at(-1) ?? "";
      const languageId = LANGUAGE[ending] ?? (/^(sh|slurm|sbatch|bash)$/.test(ending) ? "shellscript" : undefined);
      if (languageId !== undefined && !sniff(`/${file}`, languageId, text)) missed.push(file);
    }
    assert.deepEqual(missed, []);
  });
});

describe("status item", () => {
  const run: StatusRun = {
    id: "r",
    verdict: "does-not-fit",
    modelName: "m",
    usedPeakBytes: 41.2 * GIB,
    deviceName: "NVIDIA GeForce RTX 4090",
    deviceSource: "setting",
    memoryBytes: 23.99 * GIB,
    deviceCount: 1,
    statement: {
      verdict: "Does not fit",
      detail: "41.2 GiB (40.1–43.0) of 23.5 usable on RTX 4090, peak in backward",
      need: "",
      peak: "",
      room: "",
      short: "41.2 / 23.5 GiB",
    },
    parts: [
      { kind: "activations", bytes: 13.1 * GIB },
      { kind: "logits-and-loss", bytes: 9.7 * GIB },
      { kind: "optimizer", bytes: 9.2 * GIB },
      { kind: "weights", bytes: 4.6 * GIB },
    ],
  };
  const status = (over: Partial<StatusParams>): StatusParams => ({
    uri: "file:///t.yaml",
    state: "ready",
    because: "has keys",
    run,
    ...over,
  });

  it("shows the total against the card, and the three largest parts", () => {
    assert.deepEqual(statusText(status({}), t), {
      text: "$(chip) 41.2 / 23.5 GiB",
      label: "Does not fit · 41.2 GiB (40.1–43.0) of 23.5 usable on RTX 4090, peak in backward",
      tooltip: [
        "**Does not fit · 41.2 GiB (40.1–43.0) of 23.5 usable on RTX 4090, peak in backward**",
        "activations 13.1 · logits and loss 9.7 · optimizer 9.2 GiB",
        "Analysed because: has keys",
      ],
      level: "error",
    });
  });

  it("colours a tight run, and no run without a verdict", () => {
    assert.equal(statusText(status({ run: { ...run, verdict: "tight" } }), t)?.level, "warning");
    assert.equal(statusText(status({ run: { ...run, verdict: "unknown" } }), t)?.level, "none");
  });

  it("keeps the last total in sight while the file is broken, and says so", () => {
    const broken = statusText(status({ state: "broken", because: "line 3: expected a value" }), t);
    assert.equal(broken?.text, "$(chip) 41.2 / 23.5 GiB $(warning)");
    assert.match(broken?.label ?? "", /line 3/);
    assert.equal(broken?.level, "none");
  });

  it("shows nothing where there is no run, and never hides a failure", () => {
    assert.equal(statusText(status({ state: "not-recognised", run: null }), t), undefined);
    assert.equal(statusText(status({ state: "off", run: null }), t), undefined);
    assert.match(statusText(status({ state: "failed", because: "boom", run: null }), t)?.label ?? "", /boom/);
    assert.match(statusText(status({ run: { ...run, usedPeakBytes: null } }), t)?.text ?? "", /\? GiB/);
  });
});

describe("panel page", () => {
  const page = panelHtml({
    cspSource: "https://x.vscode-cdn.net",
    scriptUri: 'https://x/webview.js?"><script>',
    styleUri: "https://x/webview.css",
    nonce: "abc",
    language: "zh-cn",
    title: "VRAM Lens",
  });

  it("allows its own script and style and nothing else", () => {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? "";
    assert.match(policy, /^default-src 'none'; /);
    assert.match(policy, /script-src 'nonce-abc'(;|$)/);
    assert.doesNotMatch(policy, /unsafe|\*/);
  });

  it("has no inline script or style, and escapes what is put in", () => {
    assert.equal(page.match(/<script/g)?.length, 1);
    assert.doesNotMatch(page, /<style| style=| on\w+=/);
    assert.match(page, /lang="zh-cn"/);
  });

  it("uses a fresh random nonce each time", () => {
    assert.match(makeNonce(), /^[0-9a-f]{32}$/);
    assert.notEqual(makeNonce(), makeNonce());
  });
});

describe("previewed text", () => {
  const place = (line: number, character: number, toLine: number, toCharacter: number, newText: string) => ({
    uri: "file:///t.yaml",
    range: { start: { line, character }, end: { line: toLine, character: toCharacter } },
    newText,
  });

  it("applies edits in any order, over line ends and past the end", () => {
    const text = "a: 1\r\nb: 2\nc: 3";
    const edits = [
      place(2, 3, 2, 4, "30"),
      place(0, 3, 0, 4, "10"),
      place(1, 0, 2, 0, ""),
      place(9, 0, 9, 0, "\nd: 4"),
    ];
    assert.equal(withEdits(text, edits), "a: 10\r\nc: 30\nd: 4");
  });

  it("leaves a text without edits alone", () => assert.equal(withEdits("a", []), "a"));
});

describe("restarts", () => {
  it("gives up after the fifth crash within three minutes, not before", () => {
    const policy = new RestartPolicy();
    assert.deepEqual(
      [0, 1000, 2000, 3000, 4000].map((now) => policy.crashed(now)),
      [true, true, true, true, false],
    );
    const slow = new RestartPolicy();
    assert.ok([0, 1, 2, 3, 4, 5].every((count) => slow.crashed(count * 60_000)));
  });

  it("runs once more for any number of requests while running", async () => {
    let runs = 0;
    const releases: (() => void)[] = [];
    const task = new CoalescedTask(() => {
      runs += 1;
      return new Promise((resolve) => releases.push(resolve));
    });
    const first = task.request();
    const second = task.request();
    const third = task.request();
    assert.equal(second, third);
    assert.equal(runs, 1);
    releases[0]?.();
    await first;
    while (releases.length < 2) await Promise.resolve();
    releases[1]?.();
    await second;
    assert.equal(runs, 2);
  });

  it("runs again after a failure", async () => {
    let runs = 0;
    const task = new CoalescedTask(async () => {
      runs += 1;
      if (runs === 1) throw new Error("first");
    });
    await assert.rejects(task.request());
    await task.request();
    assert.equal(runs, 2);
  });
});

describe("report as text", () => {
  const run = makeRun({
    id: "train.yaml",
    model: { name: "Llama-3.2-1B", family: "llama", parameters: 1, trainableParameters: 1, source: "config.json" },
    verdict: "does-not-fit",
    perDevice: {
      allocatedPeakBytes: 40 * GIB,
      reservedPeakBytes: 41 * GIB,
      usedPeakBytes: 41.5 * GIB,
      band: { lowBytes: 41 * GIB, highBytes: 42 * GIB, coverage: 0.99 },
      peakPhase: "backward",
      rank: 0,
      components: [{ kind: "weights", bytes: 40 * GIB, origins: [] }],
      phases: [],
    },
    settings: [{ name: "micro_batch_size", value: 8, key: "per_device_train_batch_size", uri: "", from: "document" }],
    assumptions: [{ id: "assume.model", what: "no padding", settleWith: "packing", effectBytes: 0 }],
    plans: [
      {
        title: "Batch 2",
        levers: [],
        usedPeakBytes: 20 * GIB,
        savesBytes: 0,
        stepTimeFactor: 1.1,
        says: "−20.5 GiB · +6 % time · same results",
        edits: [],
        fits: true,
      },
      {
        title: "Batch 4",
        levers: [],
        usedPeakBytes: 30 * GIB,
        savesBytes: 0,
        stepTimeFactor: 1,
        says: "−20.5 GiB · +6 % time · same results",
        edits: [],
        fits: false,
      },
    ],
  });
  const report = { schema: "vram-lens/report/1" as const, version: "0", runs: [run], errors: [] };

  it("copies as Markdown", () => {
    const markdown = reportMarkdown(report, "train.yaml", t);
    assert.match(markdown, /^## train\.yaml\n\n\*\*Llama-3\.2-1B: Does not fit\*\*/);
    assert.match(markdown, /\| weights \| 40\.0 \|/);
    assert.match(markdown, /`per_device_train_batch_size=8`/);
    assert.match(markdown, /- no padding/);
  });
});
