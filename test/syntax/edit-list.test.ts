/** Lists keep their layout and comments; only what differs is written. */

import { strict as assert } from "node:assert";
import { applyEdits, type EditDialect, type Value } from "../../src/syntax/edit";
import { setValue } from "../../src/syntax/edit-list";
import { parseJson } from "../../src/syntax/json";
import { parsePython } from "../../src/syntax/python";
import { mainCommand, parseShell } from "../../src/syntax/shell";
import { parseToml } from "../../src/syntax/toml";
import type { MapNode } from "../../src/syntax/tree";
import { parseYaml } from "../../src/syntax/yaml";
import { english } from "../english";

const PARSERS: Readonly<Record<string, (text: string) => MapNode | undefined>> = {
  json: (text) => parseJson(text).root as MapNode,
  pyyaml: (text) => parseYaml(text).root as MapNode,
  toml: (text) => parseToml(text).root as MapNode,
  python: (text) => parsePython(text).python?.calls[0]?.keywords,
  shell: (text) => {
    const { shell } = parseShell(text);
    return shell === undefined ? undefined : mainCommand(shell)?.flags;
  },
};

/** The text after its key `t` was set. */
function set(dialect: EditDialect, text: string, value: Value): string {
  const entry = PARSERS[dialect]?.(text)?.entries.find(({ key }) => key === "t");
  assert.ok(entry, text);
  const outcome = setValue(text, entry.value, value, dialect);
  return "refused" in outcome ? `refused: ${english(outcome.refused)}` : applyEdits(text, outcome.edits);
}

const BLOCK = "t:\n  - q_proj # queries\n  # the values\n  - v_proj\nlr: 1\n";

describe("editing lists", () => {
  it("adds items behind the last one, in its layout", () => {
    assert.equal(
      set("pyyaml", BLOCK, ["q_proj", "v_proj", "o_proj"]),
      BLOCK.replace("- v_proj\n", "- v_proj\n  - o_proj\n"),
    );
    assert.equal(set("pyyaml", "t: ['q'] # x\n", ["q", "v"]), "t: ['q', 'v'] # x\n");
    assert.equal(set("json", '{"t": [\n  "q",\n  "k"\n]}', ["q", "k", "v"]), '{"t": [\n  "q",\n  "k",\n  "v"\n]}');
    assert.equal(set("toml", 't = ["q"]\n', ["q", "v"]), 't = ["q", "v"]\n');
    assert.equal(set("python", "f(t=['q', 'k'])\n", ["q", "k", "v"]), "f(t=['q', 'k', 'v'])\n");
    assert.equal(set("shell", "python a.py --t q k --x 1\n", ["q", "k", "v"]), "python a.py --t q k v --x 1\n");
  });

  it("takes items out with their commas or lines, and leaves other comments", () => {
    assert.equal(set("pyyaml", BLOCK, ["v_proj"]), "t:\n  # the values\n  - v_proj\nlr: 1\n");
    assert.equal(set("pyyaml", BLOCK, ["q_proj"]), "t:\n  - q_proj # queries\n  # the values\nlr: 1\n");
    assert.equal(set("json", '{"t": ["q", "k", "v"]}', ["q", "v"]), '{"t": ["q", "v"]}');
    assert.equal(set("json", '{"t": ["q", "k", "v"]}', ["q"]), '{"t": ["q"]}');
    assert.equal(set("json", '{"t": ["q", "k", "v"]}', ["v"]), '{"t": ["v"]}');
    assert.equal(set("toml", 't = ["q", "k", "v"]\n', ["k"]), 't = ["k"]\n');
    assert.equal(set("python", "f(t=('q', 'k'), x=1)\n", ["q"]), 'f(t=["q"], x=1)\n');
    assert.equal(set("shell", "python a.py --t q k v --x 1\n", ["q", "v"]), "python a.py --t q v --x 1\n");
  });

  it("writes over what goes where something else comes", () => {
    assert.equal(set("pyyaml", BLOCK, ["k_proj", "v_proj"]), BLOCK.replace("q_proj", "k_proj"));
    assert.equal(set("json", '{"t": ["q", "k"]}', ["v", "k"]), '{"t": ["v", "k"]}');
  });

  it("leaves a list alone that says the same in another order", () => {
    assert.equal(set("json", '{"t": ["q", "k"]}', ["k", "q"]), '{"t": ["q", "k"]}');
  });

  it("turns a list into one value and one value into a list", () => {
    assert.equal(set("pyyaml", BLOCK, "all-linear"), "t: all-linear\nlr: 1\n");
    assert.equal(set("json", '{"t": ["q"], "x": 1}', "all-linear"), '{"t": "all-linear", "x": 1}');
    assert.equal(set("pyyaml", "t: all-linear # all\n", ["q", "v"]), "t: [q, v] # all\n");
    assert.equal(set("python", 'f(t="all-linear")\n', ["q", "v"]), 'f(t=["q", "v"])\n');
    assert.equal(set("shell", "python a.py --t all-linear --x 1\n", ["q", "v"]), "python a.py --t q v --x 1\n");
  });

  it("splits a text of several words where a list stands", () => {
    assert.equal(
      set("json", '{"t": ["full_shard", "auto_wrap"]}', "hybrid_shard auto_wrap"),
      '{"t": ["hybrid_shard", "auto_wrap"]}',
    );
  });

  it("refuses lists of other things", () => {
    assert.match(set("json", '{"t": [{"a": 1}]}', ["q"]), /^refused/);
    assert.match(set("json", '{"t": ["q"]}', 4), /^refused/);
    assert.match(set("json", '{"t": ["q"]}', []), /^refused/);
  });
});
