/** Several keys that go into a map which is not there yet: it is made once. */
import { strict as assert } from "node:assert";
import { deepspeed } from "../../src/formats/deepspeed";
import { parseDocument } from "../../src/formats/parse";
import { applyEdits } from "../../src/syntax/edit";

const CHANGES = [
  { name: "offload_optimizer", value: "cpu" },
  { name: "zero_stage", value: 3 },
  { name: "offload_param", value: "cpu" },
] as const;

/** The settings that a file states after the changes. */
function after(text: string): { readonly text: string; readonly stated: readonly (readonly [unknown, unknown])[] } {
  const document = parseDocument("file:///w/ds.json", text);
  assert.ok(document);
  const result = deepspeed.edit(document, CHANGES);
  assert.ok(!("refused" in result));
  const changed = applyEdits(text, result.edits);
  const again = parseDocument("file:///w/ds.json", changed);
  assert.deepEqual(again?.parsed.problems, []);
  const names = new Set<unknown>(CHANGES.map(({ name }) => name));
  const stated = again === undefined ? [] : deepspeed.read(again).settings.filter(({ name }) => names.has(name));
  return { text: changed, stated: stated.map(({ name, value }) => [name, value] as const) };
}

describe("keys of one map that is missing", () => {
  for (const text of [
    '{\n  "fp16": {"enabled": false}\n}\n',
    "{}",
    '{"a": 1}',
    '{\r\n\t"bf16": {"enabled": true}\r\n}\r\n',
  ])
    it(JSON.stringify(text), () => {
      const { text: changed, stated } = after(text);
      assert.equal(changed.split('"zero_optimization"').length, 2, changed);
      assert.deepEqual(Object.fromEntries(stated), Object.fromEntries(CHANGES.map(({ name, value }) => [name, value])));
    });
});
