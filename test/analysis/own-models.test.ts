/**
 * Models of somebody's own: those of `test/analysis/own` were traced (`python -m vram_lens trace`), and trained in the plain loop below
 * on fake CUDA tensors whose storages were followed. Peaks are equal to the byte.
 */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnalyzer } from "../../src/analysis";
import { keeping, traceKept } from "../../src/analysis/models/traces";
import { ownGraphs } from "../../src/core/graph/own";
import { memoryRuntime, uri } from "./memory-runtime";

const FOLDER = join(__dirname, "own");
const read = (path: string): string => readFileSync(join(FOLDER, path), "utf8");
const GRAPHS = {
  Reader: read(".vramlens/graphs/Reader.json"),
  Seer: read(".vramlens/graphs/Seer.json"),
  Grower: read(".vramlens/graphs/Grower.json"),
  Again: read(".vramlens/graphs/Again.json"),
  Owner: read(".vramlens/graphs/Owner.json"),
};
const MODEL = read("model.py");
const AGAIN = read("again.py");
const OWNER = read("owner.py");
/** Files of the models that do not stand in `model.py`. */
const FILES: Readonly<Record<string, string>> = { Again: "again", Owner: "owner" };

interface Row {
  readonly model: keyof typeof GRAPHS;
  readonly sizes: Readonly<Record<string, number>>;
  readonly amp: boolean;
  readonly allocated: number;
}

const ROWS = read("rows.jsonl")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

const CONSTANTS: Readonly<Record<string, string>> = { B: "batch_size", S: "block_size", I: "image_size" };

function script(model: string, sizes: Row["sizes"], amp: boolean, made = `${model}()`): string {
  const forward = model === "Reader" ? "logits, loss = model(x, y)" : "out = model(x)\n        loss = out.mean()";
  return `import torch
from ${FILES[model] ?? "model"} import ${model}
${Object.entries(sizes)
  .map(([letter, size]) => `${CONSTANTS[letter]} = ${size}`)
  .join("\n")}
model = ${made}
model = model.to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for x, y in batches:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16, enabled=${amp ? "True" : "False"}):
        ${forward}
    loss.backward()
    optimizer.step()
`;
}

async function runOf(text: string, files: Readonly<Record<string, string>>) {
  const pins = "runs:\n  - match: train.py\n    dtype: float32\n";
  const analyzer = createAnalyzer(memoryRuntime({ "train.py": text, ".vramlens.yaml": pins, ...files }));
  const [run] = (await analyzer.analyse(uri("train.py"), {})).runs;
  assert.ok(run);
  return run;
}

const traced = (name: keyof typeof GRAPHS, code = MODEL) => ({
  [`.vramlens/graphs/${name}.json`]: GRAPHS[name],
  "model.py": code,
  "again.py": AGAIN,
  "owner.py": OWNER,
});

describe("analysis: models of somebody's own", () => {
  for (const { model, sizes, amp, allocated } of ROWS)
    it(`${model} at ${JSON.stringify(sizes)}${amp ? " under autocast" : ""}`, async () => {
      const run = await runOf(script(model, sizes, amp), traced(model));
      assert.equal(run.perDevice?.allocatedPeakBytes, allocated);
      assert.equal(run.model?.source, "trace");
    });

  it("says when it was traced, and what has changed since", async () => {
    const said = async (code: string) =>
      (await runOf(script("Seer", { B: 2, I: 64 }, false), traced("Seer", code))).assumptions.map(({ what }) => what);
    assert.ok((await said(MODEL)).some((what) => /^Seer\(\) as traced on 20\d\d-\d\d-\d\d \d\d:\d\d UTC$/.test(what)));
    assert.ok((await said(`${MODEL}\n`)).some((what) => what.endsWith("changed since: model.py")));
    assert.ok((await said(MODEL)).some((what) => what.startsWith("loss: out.mean()")));
  });

  it("takes a pinned graph before a config that imported code names, whatever class that makes", async () => {
    const made = `from transformers import AutoConfig, AutoModelForSeq2SeqLM
def seer():
    return AutoModelForSeq2SeqLM.from_config(AutoConfig.from_pretrained("small", trust_remote_code=True))
`;
    const files = { ...traced("Seer"), "made.py": made, "small/config.json": '{"model_type": "gpt2"}' };
    const text = script("Seer", { B: 4, I: 236 }, false, "seer()").replace(
      "from model import Seer",
      "from made import seer",
    );
    const pins =
      "runs:\n  - match: train.py\n    model: .vramlens/graphs/Seer.json\n    dtype: float32\n    image_size: 236\n";
    const analyzer = createAnalyzer(memoryRuntime({ "train.py": text, ...files, ".vramlens.yaml": pins }));
    const [run] = (await analyzer.analyse(uri("train.py"), {})).runs;
    assert.equal(run?.model?.source, "trace");
    assert.equal(run?.perDevice?.allocatedPeakBytes, 19689472);
  });

  describe("a graph that holds for some lengths", () => {
    const bounded = (condition: string) => {
      const graph = JSON.parse(GRAPHS.Reader);
      for (const one of graph.graphs) one.when = [condition];
      graph.traced.holds = [condition];
      return { ...traced("Reader"), ".vramlens/graphs/Reader.json": JSON.stringify(graph) };
    };
    const at = (S: number, condition: string) => runOf(`${script("Reader", { B: 4, S }, false)}`, bounded(condition));

    it("gives a number within them", async () => {
      const run = await at(48, "S < 60");
      assert.ok(run.perDevice);
      assert.ok(run.assumptions.some(({ what }) => what === "the graph holds for S < 60"));
    });

    it("takes a run that says no length to have the one that it was traced for", async () => {
      const run = await runOf(script("Reader", { B: 4 }, false), bounded("S == 128"));
      assert.ok(run.perDevice);
      assert.equal(run.perDevice.allocatedPeakBytes, (await at(128, "S == 128")).perDevice?.allocatedPeakBytes);
    });

    for (const condition of ["S < 60", "S == 128", "S % 64 == 0"])
      it(`has no verdict beyond ${condition}, and says how to have one`, async () => {
        const run = await at(191, condition);
        assert.equal(run.perDevice, null);
        assert.equal(run.verdict, "unknown");
        assert.ok((run.fitsOn ?? []).every(({ fits }) => !fits));
        const found = run.findings.find(({ code }) => code === "not-modelled");
        assert.ok(found?.message.includes(`Reader was traced for ${condition}, this run has S=191: trace it for that`));
        assert.ok(found?.message.includes("--inputs '… S=191'"));
      });
  });

  it("asks for a trace where there is none", async () => {
    const run = await runOf(script("Seer", { B: 2, I: 64 }, false), {});
    assert.equal(run.perDevice, null);
    const found = run.findings.find(({ code }) => code === "unknown-model");
    assert.match(found?.message ?? "", /called `Seer`: trace it once/);
  });

  it("knows a class of the same file, and a model that is handed on", async () => {
    const own = script("Seer", { B: 2, I: 64 }, false, "torch.compile(Seer())").replace(
      "from model import Seer",
      "from torch import nn\nclass Base(nn.Module): pass\nclass Seer(Base): pass",
    );
    assert.equal((await runOf(own, traced("Seer"))).model?.family, "own.Seer");
  });

  it("leaves other scripts alone", async () => {
    const analyzer = createAnalyzer(
      memoryRuntime({ "train.py": "import torch\nx = torch.zeros(1, requires_grad=True)\n(x * 2).sum().backward()\n" }),
    );
    assert.deepEqual((await analyzer.analyse(uri("train.py"), {})).runs, []);
  });

  it("takes a pinned graph", async () => {
    const pins = "runs:\n  - match: train.py\n    dtype: float32\n    model: .vramlens/graphs/Seer.json\n";
    const run = await runOf(script("Seer", { B: 4, I: 101 }, true), { ...traced("Seer"), ".vramlens.yaml": pins });
    assert.equal(run.perDevice?.allocatedPeakBytes, ROWS.find(({ sizes }) => sizes["I"] === 101)?.allocated);
  });
});

describe("analysis: how a model was traced", () => {
  const asked = { file: "model.py", entry: "Seer", script: false, arguments: "" };
  const kept = async (files: Readonly<Record<string, string>>) => {
    const { files: access } = memoryRuntime({ ...traced("Seer"), ...files });
    return keeping(access, uri(""), "Seer", asked);
  };

  it("is kept beside the graph, and read for the next trace", async () => {
    const change = await kept({});
    assert.ok(change?.create);
    const { files } = memoryRuntime({ ".vramlens.yaml": change.text });
    assert.deepEqual(await traceKept(files, uri(""), asked), {
      file: "model.py",
      inputs: JSON.parse(GRAPHS.Seer).traced.inputs,
    });
    assert.equal(await traceKept(files, uri(""), { ...asked, entry: "Other" }), undefined);
    assert.equal(await kept({ ".vramlens.yaml": change.text }), undefined);
  });

  it("leaves runs of the same file alone", async () => {
    const pins = "runs:\n  - match: train.py\n    dtype: float32\n";
    const change = await kept({ ".vramlens.yaml": pins });
    assert.ok(change);
    assert.ok(change.text.startsWith(pins));
    const run = await runOf(script("Seer", { B: 2, I: 64 }, false), {
      ...traced("Seer"),
      ".vramlens.yaml": change.text,
    });
    assert.deepEqual(
      run.findings.filter(({ code }) => code === "invalid-value"),
      [],
    );
  });

  it("is nothing where there is no graph", async () => {
    assert.equal(await keeping(memoryRuntime({}).files, uri(""), "Seer", asked), undefined);
  });
});

describe("graphs of a workspace", () => {
  const graph = () => JSON.parse(GRAPHS.Seer);
  const hostile: Readonly<Record<string, (data: ReturnType<typeof graph>) => unknown>> = {
    "no JSON": () => "{",
    "no object": () => [],
    "another family's name": (data) => ({ ...data, family: "llama" }),
    "parts that point into each other": (data) => ({ ...data, parts: [{ same: 0 }] }),
    "an instruction of another form": (data) => {
      data.graphs[0].main.body[0] = { op: 7 };
      return data;
    },
    "a size that is no text": (data) => {
      data.graphs[0].parameters[0].shape = [1e300];
      return data;
    },
    "a date that is none": (data) => ({ ...data, traced: { ...data.traced, when: "soon" } }),
  };
  for (const [what, change] of Object.entries(hostile))
    it(`are none with ${what}`, () => {
      const changed = change(graph());
      assert.equal(ownGraphs(typeof changed === "string" ? changed : JSON.stringify(changed)), undefined);
    });

  for (const [what, change] of [
    ["values nobody made", (text: string) => text.replaceAll("%0", "%99999")],
    ["sizes beyond all bounds", (text: string) => text.replaceAll('"3"', '"9**9"').replaceAll('"16"', '"1e300"')],
    ["operators nobody knows", (text: string) => text.replaceAll("silu", "../../x")],
    ["names of every object", (text: string) => text.replaceAll("head.weight", "__proto__")],
  ] as const)
    it(`give no number with ${what}, and no exception`, async () => {
      const run = await runOf(script("Seer", { B: 2, I: 64 }, false), {
        ".vramlens/graphs/Seer.json": change(GRAPHS.Seer),
      });
      assert.ok(run.perDevice === null || Number.isSafeInteger(run.perDevice.allocatedPeakBytes));
    });
});
