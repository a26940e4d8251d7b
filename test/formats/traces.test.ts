/** What `.vramlens.yaml` keeps of traces: read, complained about, written. */
import { strict as assert } from "node:assert";
import { parseDocument } from "../../src/formats/parse";
import { readPins } from "../../src/formats/pins";
import { type KeptTrace, keepTrace, keptFor, keptTraces, wrongInput } from "../../src/formats/pins/traces";

const read = (text: string) => {
  const document = parseDocument("file:///w/.vramlens.yaml", text);
  assert.ok(document);
  return document;
};

const GPT: KeptTrace = { file: "model.py", entry: "GPT(Config(n_layer=4))", inputs: "idx=int64[B,S]" };

/** The text of a pins file that keeps a trace. */
function kept(text: string, name: string, trace: KeptTrace): string | null | undefined {
  const change = keepTrace(read(text), name, trace);
  return change && text.slice(0, change.span.start) + change.text + text.slice(change.span.end);
}

describe("pins: how models are traced", () => {
  it("is read by the graph's name, and found by file and entry", () => {
    const traces = keptTraces(read(kept("", "GPT", GPT) ?? ""));
    assert.deepEqual(Object.fromEntries(traces), { GPT });
    assert.deepEqual(keptFor(traces, "model.py", "GPT", false), GPT);
    assert.deepEqual(keptFor(traces, "model.py", "GPT(Config(n_layer=4))", false), GPT);
    assert.deepEqual(keptFor(traces, "model.py", "", false), GPT);
    assert.equal(keptFor(traces, "model.py", "Other", false), undefined);
    assert.equal(keptFor(traces, "model.py", "GPT", true), undefined);
  });

  it("is written behind what is there, with comments and order left alone", () => {
    const pins = "# mine\nruns:\n  - match: '**'\n    dtype: float32 # so\n";
    const text = kept(pins, "GPT", GPT) ?? "";
    assert.ok(text.startsWith(pins));
    const both = kept(text, "Net", { file: "train.py", script: true, arguments: "--layers 3" }) ?? "";
    assert.deepEqual([...keptTraces(read(both)).keys()], ["GPT", "Net"]);
    assert.equal(readPins(read(both)).runs.length, 1);
    assert.deepEqual(readPins(read(both)).problems, []);
  });

  it("takes the place of what was kept before, and is left alone where it says so already", () => {
    const text = `${kept("", "GPT", GPT)}  Net:\n    file: net.py\n`;
    assert.equal(kept(text, "GPT", GPT), null);
    const changed = kept(text, "GPT", { ...GPT, inputs: "idx=int64[B,S] mask=bool[B,S]" }) ?? "";
    const traces = keptTraces(read(changed));
    assert.equal(traces.get("GPT")?.inputs, "idx=int64[B,S] mask=bool[B,S]");
    assert.equal(traces.get("Net")?.file, "net.py");
  });

  it("is not written into what cannot be edited", () => {
    assert.equal(kept("runs: [", "GPT", GPT), undefined);
    assert.equal(kept("{ runs: [] }\n", "GPT", GPT), undefined);
    assert.equal(kept("traces: {}\n", "GPT", GPT), undefined);
  });

  it("is complained about where it is wrong", () => {
    const said = (text: string) => readPins(read(text)).problems.map(({ message }) => message.id);
    assert.deepEqual(said("traces:\n  GPT:\n    inputs: idx=int64[B,S] n=3 mode='a b'\n"), []);
    assert.deepEqual(said("traces:\n  GPT:\n    inputs: idx=int64[B;S]\n"), ["invalid-value.inputs"]);
    assert.deepEqual(said("traces:\n  a b:\n    file: x.py\n"), ["invalid-value.graph-name"]);
    assert.deepEqual(said("traces:\n  GPT:\n    input: x\n"), ["unknown-key.pins-near"]);
    assert.deepEqual(said("traces:\n  GPT:\n    script: 3\n"), ["invalid-value.pins"]);
  });

  it("knows the words of inputs as Python does", () => {
    assert.equal(wrongInput("x=float[B,3,I//8,2*I] t=int64[B] flag=True k=(1, 2) s='a b'"), undefined);
    assert.equal(wrongInput("x"), "x");
    assert.equal(wrongInput("x=float[B,os.system('x')]"), "x=float[B,os.system('x')]");
  });
});
