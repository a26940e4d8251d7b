// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell and OmegaConf text
/** Bad input of every kind: no parser throws, hangs or gives a place outside of the text. Bounded by counts. */
import { strict as assert } from "node:assert";
import fc from "fast-check";
import { parseDocument } from "../../src/syntax/dispatch";
import { applyEdits, type EditDialect, setScalar } from "../../src/syntax/edit";
import type { ParsedDocument } from "../../src/syntax/tree";
import { describeCorpus } from "../corpus";
import { plain, walk } from "./values";

const SAMPLES: Readonly<Record<string, string>> = {
  "a.json": '{\n  "zero_optimization": {"stage": 3, "x": [1, "a\\n", auto\n]}, // c\n  k: v, \n "n": -1.5e8,}\n',
  "a.yaml":
    "# c\nbase: &b {lr: 1e-5, l: [1, 'no']}\nrun:\n  <<: *b\n  t: |\n    {{ x }}\n  u: {{ y }}\n  - z\n? q\n: r\n---\nb: 1\n",
  "a.toml": '[a.b]\nc = "x\\u0041" # d\ne = [1, {f = 1979-05-27}, """m\nn"""]\n[[g]]\nh = 0x1F\n',
  "a.py":
    "from a import b\nX = 4\n@dataclass\nclass A(B):\n    v: int = field(default=X * 2)\nTrainingArguments('o', n=X, **dict(a=1), d={'k': [1, 2]}, f=f'{X}')\n",
  "a.sh":
    "A=(\n --a 1 # c\n)\nexport B=${C:-4}\nX=$((B*2))\nif [ -z $D ]; then D=1; fi\ntorchrun ${A[@]} t.py --x=\"$X y\" \\\n --z 'q' <<EOF | tee l\nbody $B\nEOF\n",
  Makefile: "B ?= 4\nt: x\n\t@run --b $(B) \\\n\t--c $$D\n",
  Dockerfile: 'FROM x\nENV A=1\nRUN a && b --c 1\nCMD ["t", "--d", "4"]\n',
  "a.ipynb": '{"cells": [{"cell_type": "code", "source": ["x = 1\\n", "%magic\\n", "T(a=x, b=\\"c\\\\n\\")"]}]}',
};

function check(name: string, text: string): ParsedDocument {
  const parsed = parseDocument(name, "", text);
  for (const { node } of walk(parsed.root)) assertSpan(node, text);
  for (const problem of parsed.problems) assertSpan(problem, text);
  return parsed;
}

function assertSpan(span: { start: number; end: number }, text: string): void {
  assert.ok(
    span.start >= 0 && span.start <= span.end && span.end <= text.length,
    `${span.start}..${span.end} of ${text.length}: ${JSON.stringify(text)}`,
  );
}

describe("syntax: bad input", () => {
  for (const [name, sample] of Object.entries(SAMPLES)) {
    it(`${name}: cut at every place`, () => {
      for (let length = 0; length <= sample.length; length++) check(name, sample.slice(0, length));
    });

    it(`${name}: random edits`, () => {
      const fragment = fc.oneof(
        fc.string({ maxLength: 6 }),
        fc.constantFrom(
          "{",
          "}",
          "[",
          "]",
          '"',
          "'",
          "\\",
          "\n",
          "\r\n",
          "\t",
          "\0",
          "#",
          "$",
          "${",
          "$(",
          "`",
          "<<",
          ":",
          "- ",
          "&a",
          "*a",
          "(",
          ")",
          "=",
          "{{",
          "}}",
          "\ufeff",
          "\ud83d",
          "9e999",
          "-",
        ),
      );
      const edit = fc.tuple(fc.nat(sample.length), fc.nat(8), fragment);
      fc.assert(
        fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
          let text = sample;
          for (const [at, removed, added] of edits) text = text.slice(0, at) + added + text.slice(at + removed);
          check(name, text);
        }),
        { numRuns: 150 },
      );
    });
  }

  it("takes deep nesting and long lines", () => {
    for (const name of Object.keys(SAMPLES)) {
      for (const piece of [
        "[",
        "{",
        "(",
        '{"a":',
        "a: {",
        "- ",
        "$(",
        "${x:-",
        "((",
        "'",
        '"',
        "x=(",
        "if ",
        "a.",
        "\\\n",
        "-",
        "not ",
        "lambda: ",
      ])
        check(name, piece.repeat(2000));
    }
  });
});

describeCorpus("syntax: corpus", (entries) => {
  it("every file gives a tree whose places are right", () => {
    for (const { file, text } of entries) {
      const parsed = check(file, text);
      assert.ok(parsed.root !== null, file);
      for (const { path, node } of walk(parsed.root))
        if (node.kind === "scalar") assert.equal(node.raw, text.slice(node.start, node.end), `${file}: ${path}`);
    }
  });

  it("setting any number or boolean changes that value and not one other byte", () => {
    for (const { file, text } of entries) {
      const parsed = parseDocument(file, "", text);
      const dialect = (
        { json: "json", yaml: "pyyaml", toml: "toml", python: "python", shell: "shell", notebook: "notebook" } as const
      )[parsed.syntax ?? "yaml"] satisfies EditDialect;
      const before = walk(parsed.root);
      const places = before.filter(
        ({ node }) => node.kind === "scalar" && (typeof node.value === "number" || typeof node.value === "boolean"),
      );
      for (const { path, node } of places.filter((_, index) => index % Math.ceil(places.length / 4) === 0)) {
        if (node.kind !== "scalar") continue;
        const value = typeof node.value === "boolean" ? !node.value : Number(node.value) + 1;
        const outcome = setScalar(text, node, value, dialect);
        if ("refused" in outcome || outcome.edits.length === 0) continue;
        const changed = applyEdits(text, outcome.edits);
        const at = outcome.edits[0]!;
        assert.equal(
          changed.slice(0, at.start) + changed.slice(at.start + at.newText.length),
          text.slice(0, at.start) + text.slice(at.end),
        );
        const after = walk(parseDocument(file, "", changed).root);
        assert.equal(after.length, before.length, `${file}: ${path}`);
        after.forEach((place, index) => {
          const old = before[index]!.node;
          const same =
            old.kind !== "scalar" || old === node || (old.source ?? old).start === (node.source ?? node).start;
          if (!same && dialect !== "python" && dialect !== "shell")
            assert.deepEqual(plain(place.node), plain(old), `${file}: ${place.path} changed with ${path}`);
        });
        const now = after[before.findIndex((place) => place.node === node)]?.node;
        assert.ok(now?.kind === "scalar", `${file}: ${path} is gone`);
        assert.ok(
          typeof now.value === "number"
            ? Math.abs(now.value - Number(value)) <= 1e-9 * Math.abs(Number(value))
            : now.value === value,
          `${file}: ${path} is ${String(now.value)}, not ${String(value)}`,
        );
      }
    }
  });
});
