// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell and OmegaConf text
import { strict as assert } from "node:assert";
import { yamlScalar } from "../../src/syntax/scalars";
import { parseYaml } from "../../src/syntax/yaml";
import { codes, plain, walk } from "./values";

describe("syntax: YAML", () => {
  const read = (text: string) => plain(parseYaml(text).root);

  it("reads texts and brackets that go on at any column, as PyYAML does, with every place kept", () => {
    const read = (text: string) => plain(parseYaml(text).root);
    // Values as PyYAML 6.0 gives them, where a line end in a quoted text is one blank.
    const table: [string, unknown][] = [
      ["c:\n  a: [\n  1,\n  2 # two\n  ]\n  d: x\nb: 2\n", { c: { a: [1, 2], d: "x" }, b: 2 }],
      ["c:\n  a: ['x y\n  ']\n  e: 3\nb: 2\n", { c: { a: ["x y   "], e: 3 }, b: 2 }],
      ["c: {a: 1,\nb: 2,\n}\nd: 3\n", { c: { a: 1, b: 2 }, d: 3 }],
      ["c: 'abc\ndef' # it's\nd: it's\n", { c: "abc def", d: "it's" }],
      [
        'x:\n- a: b\n  c: "d\n  e"\n  t: |\n    \'open [\n  f: 1\n',
        { x: [{ a: "b", c: "d   e", t: "'open [\n", f: 1 }] },
      ],
    ];
    for (const [text, value] of table) {
      const { root, problems } = parseYaml(text);
      assert.deepEqual(problems, [], text);
      assert.deepEqual(read(text), value);
      for (const { node } of walk(root))
        if (node.kind === "scalar" && typeof node.value === "number")
          assert.equal(text.slice(node.start, node.end), String(node.value));
    }
    assert.notDeepEqual(parseYaml("a: 'never closed\nb: 1\n").problems, []);
  });

  it("types plain scalars as PyYAML and OmegaConf do", () => {
    // text, PyYAML, OmegaConf; answers recorded from PyYAML 6.0 and OmegaConf 2.3
    const table: [string, unknown, unknown][] = [
      ["no", false, false],
      ["NO", false, false],
      ["off", false, false],
      ["yes", true, true],
      ["y", "y", "y"],
      ["2e-5", "2e-5", 2e-5],
      ["5e8", "5e8", 5e8],
      ["5.0e8", "5.0e8", 5e8],
      ["2.0e-5", 2e-5, 2e-5],
      ["5.0e+8", 5e8, 5e8],
      ["1_000", 1000, 1000],
      ["017", 15, 15],
      ["0o17", "0o17", "0o17"],
      ["1:30", 90, 90],
      ["0x1F", 31, 31],
      ["~", null, null],
      ["", null, null],
      ["-.5", "-.5", "-.5"],
      [".5", 0.5, 0.5],
      ["1.", 1, 1],
      ["+3", 3, 3],
    ];
    for (const [text, pyyaml, omegaconf] of table) {
      assert.deepEqual(yamlScalar(text, "pyyaml"), pyyaml, `${text} for PyYAML`);
      assert.deepEqual(yamlScalar(text, "omegaconf"), omegaconf, `${text} for OmegaConf`);
    }
  });

  it("reads nesting, quotes, lists and block text with exact places", () => {
    const text = "# c\na:\n  b: 'no' # keep\n  c: [1, two]\nd: |\n  {{ jinja }}\n  x\ne:\nf: - x\n".replace(
      "f: - x\n",
      "f: ''\n",
    );
    assert.deepEqual(read(text), { a: { b: "no", c: [1, "two"] }, d: "{{ jinja }}\nx\n", e: null, f: "" });
    for (const { node } of walk(parseYaml(text).root))
      if (node.kind === "scalar") assert.equal(text.slice(node.start, node.end), node.raw);
  });

  it("places aliases and merged keys where they are used, with their source", () => {
    const text = "base: &b {lr: 1, x: 2}\nrun:\n  <<: *b\n  x: 3\nsame: *b\n";
    assert.deepEqual(read(text), { base: { lr: 1, x: 2 }, run: { lr: 1, x: 3 }, same: { lr: 1, x: 2 } });
    const lr = walk(parseYaml(text).root).find((place) => place.path === "run.lr")?.node;
    assert.ok(lr?.kind === "scalar" && lr.source !== undefined);
    assert.equal(text.slice(lr.start, lr.end), "*b");
    assert.equal(text.slice(lr.source.start, lr.source.end), "1");
  });

  it("does not explode on nested aliases", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 12; level++)
      lines.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(", ")}]`);
    assert.ok(walk(parseYaml(lines.join("\n")).root).length < 200_000);
  });

  it("reads only the first document, keeps duplicates and reports them", () => {
    const parsed = parseYaml("a: 1\na: 2\n---\nb: 3\n");
    assert.deepEqual(plain(parsed.root), { a: 2 });
    assert.deepEqual(codes(parsed.problems), ["duplicate-key"]);
  });

  it("names tabs, templates and conflicts at their place and reads the rest", () => {
    assert.ok(codes(parseYaml("a:\n\tb: 1\n").problems).includes("tab"));
    const templated = parseYaml("{% if x %}\na: {{ cookiecutter.a }}\n{% endif %}\nb: 2\n");
    assert.deepEqual(plain(templated.root), { a: { unknown: "template" }, b: 2 });
    assert.deepEqual(codes(templated.problems), ["template"]);
    const conflict = parseYaml("a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x\nc: 4\n");
    assert.deepEqual(plain(conflict.root), { a: 1, b: 2, c: 4 });
    assert.deepEqual(codes(conflict.problems), ["merge-conflict", "merge-conflict"]);
  });

  it("reads CRLF and a byte-order mark, and bounds depth and size", () => {
    assert.deepEqual(read("\ufeffa: 1\r\nb:\r\n  c: x y\r\n"), { a: 1, b: { c: "x y" } });
    assert.ok(codes(parseYaml("[".repeat(5000)).problems).includes("too-deep"));
    assert.ok(codes(parseYaml(`a: ${"- ".repeat(5000)}x`).problems).length > 0);
    assert.deepEqual(codes(parseYaml("a: 1\n".repeat(400_000)).problems), ["too-large"]);
  });
});
