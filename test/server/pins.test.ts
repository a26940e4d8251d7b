/** Writing `.vramlens.yaml`: minimal, in place, refused when the file is not one. */
import { strict as assert } from "node:assert";
import { TextDocument } from "vscode-languageserver-textdocument";
import { pinEdit, pinsCandidates } from "../../src/server/pins";

function apply(source: string, key: string, value: string, path = "train.yaml"): string | undefined {
  const edit = pinEdit(source, path, key, value);
  if (edit === undefined) return undefined;
  return TextDocument.applyEdits(TextDocument.create("mem:///p", "yaml", 1, source), [edit]);
}

describe("pins", () => {
  const cases: readonly [string, string, string, string, string][] = [
    ["starts a file", "", "sequence_length", "2048", "runs:\n  - match: train.yaml\n    sequence_length: 2048\n"],
    [
      "quotes what YAML would read otherwise",
      "",
      "device.name",
      "NVIDIA A100-SXM4-80GB",
      'runs:\n  - match: train.yaml\n    device: { name: "NVIDIA A100-SXM4-80GB" }\n',
    ],
    [
      "keeps a comment at the top",
      "# pins\n",
      "task",
      "causal-lm",
      "# pins\nruns:\n  - match: train.yaml\n    task: causal-lm\n",
    ],
    [
      "replaces a value and keeps its comment",
      "runs:\n  - match: train.yaml\n    sequence_length: 512 # short\n",
      "sequence_length",
      "2048",
      "runs:\n  - match: train.yaml\n    sequence_length: 2048 # short\n",
    ],
    [
      "adds a key after the last one of the entry",
      "runs:\n  - match: train.yaml\n    model: ./m # here\n  - match: other.yaml\n    task: seq-cls\n",
      "sequence_length",
      "2048",
      "runs:\n  - match: train.yaml\n    model: ./m # here\n    sequence_length: 2048\n  - match: other.yaml\n    task: seq-cls\n",
    ],
    [
      "adds an entry for another document",
      "runs:\n  - match: other.yaml\n    task: seq-cls\n\n# end\n",
      "sequence_length",
      "2048",
      "runs:\n  - match: other.yaml\n    task: seq-cls\n  - match: train.yaml\n    sequence_length: 2048\n\n# end\n",
    ],
    [
      "keeps a list that is not indented",
      "runs:\n- match: other.yaml\n  task: seq-cls\n",
      "task",
      "causal-lm",
      "runs:\n- match: other.yaml\n  task: seq-cls\n- match: train.yaml\n  task: causal-lm\n",
    ],
    [
      "adds to a flow map",
      "runs:\n  - match: train.yaml\n    device: { count: 2 }\n",
      "device.name",
      "24GB",
      'runs:\n  - match: train.yaml\n    device: { count: 2, name: "24GB" }\n',
    ],
    [
      "adds to a block map",
      "runs:\n  - match: train.yaml\n    device:\n      count: 2\n    task: causal-lm\n",
      "device.name",
      "T4",
      "runs:\n  - match: train.yaml\n    device:\n      count: 2\n      name: T4\n    task: causal-lm\n",
    ],
    [
      "goes before a pattern that would hide it",
      'runs:\n  # all\n  - match: "*.yaml"\n    task: seq-cls\n',
      "task",
      "causal-lm",
      'runs:\n  # all\n  - match: train.yaml\n    task: causal-lm\n  - match: "*.yaml"\n    task: seq-cls\n',
    ],
    [
      "survives a file without a last line break",
      "runs:\n  - match: train.yaml",
      "task",
      "causal-lm",
      "runs:\n  - match: train.yaml\n    task: causal-lm\n",
    ],
  ];
  for (const [name, before, key, value, after] of cases) {
    it(name, () => assert.equal(apply(before, key, value), after));
  }

  it("refuses broken files and foreign shapes", () => {
    assert.equal(apply("runs: [", "task", "causal-lm"), undefined);
    assert.equal(apply("- 1\n", "task", "causal-lm"), undefined);
    assert.equal(apply("runs: 3\n", "task", "causal-lm"), undefined);
  });

  it("looks from the document's folder up to its workspace folder", () => {
    assert.deepEqual(pinsCandidates("file:///w/a/b/t.yaml", ["file:///w", "file:///w/a"]), [
      "file:///w/a/b/.vramlens.yaml",
      "file:///w/a/.vramlens.yaml",
    ]);
    assert.deepEqual(pinsCandidates("file:///other/t.yaml", ["file:///w"]), ["file:///other/.vramlens.yaml"]);
  });
});
