import { strict as assert } from "node:assert";
import { parseNotebook } from "../../src/syntax/notebook";
import { plain } from "./values";

describe("syntax: notebooks", () => {
  it("reads code cells with places in the JSON text", () => {
    const text = JSON.stringify(
      {
        cells: [
          { cell_type: "markdown", source: ["TrainingArguments(bad=1)"] },
          { cell_type: "code", source: ["%pip install x\n", "micro = 4\n"], outputs: [] },
          { cell_type: "code", source: 'a = TrainingArguments(\n    batch=micro, name="é\\n", bf16=True)\n' },
        ],
        nbformat: 4,
      },
      null,
      1,
    );
    const python = parseNotebook(text).python;
    assert.equal(python?.calls.length, 1);
    const keywords = python?.calls[0]?.keywords;
    assert.deepEqual(plain(keywords), { batch: 4, name: "é\n", bf16: true });
    const [batch, name, bf16] = keywords?.entries ?? [];
    assert.equal(text.slice(bf16?.keySpan.start, bf16?.keySpan.end), "bf16");
    assert.equal(text.slice(bf16?.value.start, bf16?.value.end), "True");
    assert.equal(text.slice(name?.value.start, name?.value.end), '\\"é\\\\n\\"');
    assert.ok(batch?.value.kind === "scalar" && batch.value.source !== undefined);
    assert.equal(text.slice(batch.value.source.start, batch.value.source.end), "4");
  });

  it("takes a broken notebook as it is", () => {
    assert.equal(parseNotebook("{").root, null);
    assert.equal(parseNotebook('{"cells": 3}').root, null);
    // The text ends within an escape.
    const cut = '{"cells": [{"cell_type": "code", "source": ["T(b=\\"c\\u';
    assert.equal(parseNotebook(cut).python?.calls[0]?.keywords.entries[0]?.value.end, cut.length);
  });
});
