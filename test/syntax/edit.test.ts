// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell and OmegaConf text

import { strict as assert } from "node:assert";
import {
  applyEdits,
  type EditDialect,
  type EditOutcome,
  insertPath,
  setScalar,
  type Value,
} from "../../src/syntax/edit";
import { parseJson } from "../../src/syntax/json";
import { parseNotebook } from "../../src/syntax/notebook";
import { parsePython } from "../../src/syntax/python";
import { removeEntry } from "../../src/syntax/removing";
import { mainCommand, parseShell } from "../../src/syntax/shell";
import { nodeAt } from "../../src/syntax/text";
import { parseToml } from "../../src/syntax/toml";
import type { Entry, MapNode } from "../../src/syntax/tree";
import { parseYaml } from "../../src/syntax/yaml";
import { english } from "../english";

const PARSERS: Readonly<Record<EditDialect, (text: string) => MapNode>> = {
  json: (text) => parseJson(text).root as MapNode,
  pyyaml: (text) => parseYaml(text).root as MapNode,
  omegaconf: (text) => parseYaml(text, "omegaconf").root as MapNode,
  toml: (text) => parseToml(text).root as MapNode,
  python: (text) => parsePython(text).python?.calls[0]?.keywords as MapNode,
  notebook: (text) => parseNotebook(text).python?.calls[0]?.keywords as MapNode,
  shell: (text) =>
    mainCommand(parseShell(text).shell as NonNullable<ReturnType<typeof parseShell>["shell"]>)?.flags as MapNode,
};

function apply(text: string, outcome: EditOutcome): string {
  if ("refused" in outcome) return `refused: ${english(outcome.refused)}`;
  return applyEdits(text, outcome.edits);
}

function set(dialect: EditDialect, text: string, path: string, value: Value): string {
  const node = nodeAt(PARSERS[dialect](text), path);
  assert.ok(node !== undefined, path);
  return apply(text, setScalar(text, node, value, dialect));
}

function insert(dialect: EditDialect, text: string, path: string[], value: Value, near?: string): string {
  const root = PARSERS[dialect](text);
  const entry = root.entries.find((candidate) => candidate.key === near);
  return apply(text, insertPath(text, root, path, value, dialect, entry));
}

function remove(dialect: EditDialect, text: string, path: string): string {
  const root = PARSERS[dialect](text);
  const steps = path.split(".");
  const parent = (steps.length === 1 ? root : nodeAt(root, steps.slice(0, -1).join("."))) as MapNode;
  return apply(
    text,
    removeEntry(
      text,
      parent,
      parent.entries.findLast((entry) => entry.key === steps[steps.length - 1]) as Entry,
      dialect,
    ),
  );
}

describe("syntax: edits", () => {
  it("sets a scalar in the spelling of its consumer", () => {
    assert.equal(set("pyyaml", "a: 5.0e+8 # c\nb: 2\n", "a", 2e8), "a: 2.0e+8 # c\nb: 2\n");
    assert.equal(set("pyyaml", "a: 1.0e-4\n", "a", 2e-5), "a: 2.0e-5\n");
    assert.equal(set("omegaconf", "a: 1e-4\n", "a", 2e-5), "a: 2e-5\n");
    assert.equal(set("json", '{"a": 5e8}', "a", 2e8), '{"a": 2e8}');
    assert.equal(set("json", '{"a": "auto", "b": 1}', "a", 4), '{"a": 4, "b": 1}');
    assert.equal(set("pyyaml", "a: 'no'\n", "a", "bf16"), "a: 'bf16'\n");
    assert.equal(set("pyyaml", "a: bf16\n", "a", "no"), 'a: "no"\n');
    assert.equal(set("pyyaml", "a: True\n", "a", false), "a: False\n");
    assert.equal(set("pyyaml", "a:\nb: 1\n", "a", 4), "a: 4\nb: 1\n");
    assert.equal(set("toml", "a = 3.0\n", "a", 2), "a = 2.0\n");
    assert.equal(set("toml", "[t]\na = 'x' # c\n", "t.a", "y"), "[t]\na = 'y' # c\n");
    assert.equal(set("python", "T(a='x', b=True)", "b", false), "T(a='x', b=False)");
    assert.equal(set("python", "T(a='x', b=True)", "a", "it's"), "T(a='it\\'s', b=True)");
    assert.equal(set("python", "m = 4\nT(a=m)", "a", 8), "m = 8\nT(a=m)");
    assert.equal(set("python", "T(a=torch.bfloat16)", "a", "float16"), "T(a=torch.float16)");
    assert.equal(
      set("shell", 'B=4\nrun --a "$B" --c=True \\\n  --d 1\n', "a", 8),
      'B=8\nrun --a "$B" --c=True \\\n  --d 1\n',
    );
    assert.equal(set("shell", "run --a 4 --c=True\n", "c", false), "run --a 4 --c=False\n");
  });

  it("writes into a notebook's JSON", () => {
    const text = JSON.stringify({ cells: [{ cell_type: "code", source: ['T(a="x", b=1)\n'] }] });
    assert.equal(JSON.parse(set("notebook", text, "a", "y")).cells[0].source[0], 'T(a="y", b=1)\n');
    assert.equal(JSON.parse(insert("notebook", text, ["c"], "z")).cells[0].source[0], 'T(a="x", b=1, c="z")\n');
  });

  it("refuses what it cannot write", () => {
    for (const [dialect, text, path] of [
      ["pyyaml", "a: |\n  x\nb: 1\n", "a"],
      ["pyyaml", "a: [1]\n", "a"],
      ["omegaconf", "a: ${b}\nb: 1\n", "a"],
      ["python", "T(a=f())", "a"],
      ["shell", "run --a $X --b 1\n", "a"],
    ] as const) {
      assert.match(set(dialect, text, path, 4), /^refused: /, text);
    }
  });

  it("inserts next to its neighbours in their layout", () => {
    assert.equal(
      insert("json", '{\n  "a": 1, // c\n  "b": 2\n}', ["x"], true),
      '{\n  "a": 1, // c\n  "b": 2,\n  "x": true\n}',
    );
    assert.equal(insert("json", '{\n  "a": 1,\n  "b": 2\n}', ["x"], 3, "a"), '{\n  "a": 1,\n  "x": 3,\n  "b": 2\n}');
    assert.equal(insert("json", '{"a": 1}', ["x", "y"], 3), '{"a": 1, "x": {"y": 3}}');
    assert.equal(insert("json", "{}", ["x"], 3), '{"x": 3}');
    assert.equal(
      insert("pyyaml", "a: 1\r\nb:\r\n  c: 2 # k\r\n# end\r\n", ["b", "x"], "no"),
      'a: 1\r\nb:\r\n  c: 2 # k\r\n  x: "no"\r\n# end\r\n',
    );
    assert.equal(insert("pyyaml", "a: 1\nb: 2", ["x"], 3, "a"), "a: 1\nx: 3\nb: 2");
    assert.equal(insert("pyyaml", "a: 1", ["x", "y"], 3), "a: 1\nx:\n  y: 3");
    assert.equal(insert("pyyaml", "a: {b: 1}\n", ["a", "x"], 3), "a: {b: 1, x: 3}\n");
    assert.equal(insert("pyyaml", '{\n  "a": 1, # c\n}\n', ["x"], "y"), '{\n  "a": 1,\n  "x": "y", # c\n}\n');
    assert.equal(insert("pyyaml", "a:\n  - b: 1\nc: 2\n", ["x"], 3, "a"), "a:\n  - b: 1\nx: 3\nc: 2\n");
    assert.equal(
      insert("toml", "[a]\nb = 1 # c\n\n[d]\ne = 1\n", ["a", "x"], true),
      "[a]\nb = 1 # c\nx = true\n\n[d]\ne = 1\n",
    );
    assert.equal(insert("toml", "[a]\nb = 1", ["z", "x"], true), "[a]\nb = 1\n\n[z]\nx = true\n");
    assert.equal(
      insert("python", "T(\n    a=1,\n    b=2,  # c\n)", ["x"], true),
      "T(\n    a=1,\n    b=2,\n    x=True,  # c\n)",
    );
    assert.equal(insert("python", "T('o')", ["x"], 1), "T('o', x=1)");
    assert.equal(insert("python", "T()", ["x"], 1), "T(x=1)");
    assert.equal(
      insert("shell", "run --a 1 \\\n  --b 2 \\\n  --c 3\n", ["x"], true, "b"),
      "run --a 1 \\\n  --x \\\n  --b 2 \\\n  --c 3\n",
    );
    assert.equal(
      insert("shell", "A=(\n  --a 1 # c\n  --b 2\n)\nrun ${A[@]}\n", ["x"], 5, "b"),
      "A=(\n  --a 1 # c\n  --x 5\n  --b 2\n)\nrun ${A[@]}\n",
    );
    assert.equal(insert("shell", "run --a=1 --b=2\n", ["x"], 5), "run --a=1 --b=2 --x=5\n");
  });

  it("spells new options as a command spells the others", () => {
    assert.equal(
      insert(
        "shell",
        "torchrun --nproc_per_node 8 a.py --micro-batch-size 4 --seq-length 64\n",
        ["recompute_granularity"],
        "full",
      ),
      "torchrun --nproc_per_node 8 a.py --micro-batch-size 4 --seq-length 64 --recompute-granularity full\n",
    );
    assert.equal(
      insert("shell", "python a.py --max_length 64\n", ["lora_rank"], 8),
      "python a.py --max_length 64 --lora_rank 8\n",
    );
  });

  it("removes a key and nothing else", () => {
    assert.equal(remove("json", '{\n  "a": 1, \n  "b": 2\n}', "b"), '{\n  "a": 1 \n}');
    assert.equal(remove("json", '{\n  "a": 1,\n  "b": 2\n}', "a"), '{\n  "b": 2\n}');
    assert.equal(remove("json", '{"a": 1, "b": 2}', "a"), '{"b": 2}');
    assert.equal(remove("json", '{"a": 1, "b": 2}', "b"), '{"a": 1}');
    assert.equal(remove("pyyaml", "a: 1\nb:\n  c: 1\n  d: 2\n# e\nf: 1\n", "b"), "a: 1\n# e\nf: 1\n");
    assert.equal(remove("pyyaml", "a: 1\nb: 2", "b"), "a: 1");
    assert.match(remove("pyyaml", "a:\n  b: 1\n", "a.b"), /^refused/);
    assert.equal(remove("toml", "[a]\nb = 1\nc = 2 # x\n", "a.c"), "[a]\nb = 1\n");
    assert.equal(remove("python", "T(\n    a=1,\n    b=2,\n)", "a"), "T(\n    b=2,\n)");
    assert.equal(remove("shell", "run --a 1 \\\n  --b 2 \\\n  --c 3\n", "b"), "run --a 1 \\\n  --c 3\n");
    assert.equal(remove("shell", "run --a 1 \\\n  --b 2 \\\n  --c 3\n", "c"), "run --a 1 \\\n  --b 2\n");
    assert.equal(remove("shell", "run --a 1 --b\n", "b"), "run --a 1\n");
  });
});
