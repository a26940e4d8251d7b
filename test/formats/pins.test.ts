/** Pins: reading with places, globs, problems, and the page that lists them. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseDocument } from "../../src/formats/parse";
import { pinnedFor, pinPathOf, readPins } from "../../src/formats/pins";
import { editPin } from "../../src/formats/pins/edit";
import { matchesGlob } from "../../src/formats/pins/glob";
import { applyEdits } from "../../src/syntax/edit";

function document(text: string) {
  const parsed = parseDocument("file:///w/.vramlens.yaml", text);
  assert.ok(parsed);
  return parsed;
}

describe("formats: pins", () => {
  const globs: readonly (readonly [string, string, boolean])[] = [
    ["train.yaml", "train.yaml", true],
    ["train.yaml", "a/train.yaml", true],
    ["*.yaml", "a/b.yaml", true],
    ["a/*.yaml", "a/b.yaml", true],
    ["a/*.yaml", "a/b/c.yaml", false],
    ["a/**/c.yaml", "a/b/d/c.yaml", true],
    ["**", "anything/at/all.json", true],
    ["train.{yaml,json}", "train.json", true],
    ["train?.yaml", "train1.yaml", true],
    ["./train.yaml", "train.yaml", true],
    ["[x", "y", false],
  ];
  for (const [pattern, path, expected] of globs) {
    it(`${pattern} ${expected ? "matches" : "does not match"} ${path}`, () =>
      assert.equal(matchesGlob(pattern, path), expected));
  }

  it("are read by their canonical names; the first matching run counts", () => {
    const file = readPins(
      document(
        'runs:\n  - match: "a.yaml"\n    device: { name: T4, count: 2 }\n  - sequence_length: 5\n    adapter: null\n',
      ),
    );
    assert.deepEqual(file.problems, []);
    const settings = pinnedFor(file, "a.yaml").flatMap((run) => run.settings.map(({ name, value }) => [name, value]));
    assert.deepEqual(settings, [
      ["device", "T4"],
      ["world_size", 2],
      ["sequence_length", 5],
      ["adapter", "none"],
    ]);
    assert.equal(pinnedFor(file, "b.yaml").length, 1);
  });

  it("report unknown keys and wrong types where they are", () => {
    const text = "runs:\n  - sequence_lenght: 5\n    image_size: -1\n    adapter: { rank: 4 }\n";
    const found = readPins(document(text)).problems.map((problem) => [
      problem.code,
      text.slice(problem.start, problem.end),
    ]);
    assert.deepEqual(found.sort(), [
      ["invalid-value", "-1"],
      ["unknown-key", "rank"],
      ["unknown-key", "sequence_lenght"],
    ]);
  });

  it("are written into the run that applies", () => {
    const text = 'runs:\n  - match: "a.yaml" # mine\n    sequence_length: 5\n';
    const parsed = document(text);
    const runs = readPins(parsed).runs;
    const result = editPin(parsed, runs, [
      { name: "sequence_length", value: 7 },
      { name: "image_size", value: 224 },
    ]);
    assert.ok("edits" in result);
    assert.equal(
      applyEdits(text, result.edits),
      'runs:\n  - match: "a.yaml" # mine\n    sequence_length: 7\n    image_size: 224\n',
    );
  });

  it("are all on their page", () => {
    const page = readFileSync(join(__dirname, "../../docs/runs.md"), "utf8");
    const names = [
      "model",
      "task",
      "sequence_length",
      "target_length",
      "image_size",
      "load_dtype",
      "attention",
      "lora_rank",
      "use_rslora",
      "autocast_adapter_dtype",
      "double_quantization",
      "prepare_for_kbit",
      "quantization_compute_dtype",
      "device",
      "library.trl",
    ];
    for (const name of names) assert.ok(page.includes(pinPathOf(name)?.split(".").at(-1) ?? "-"), name);
  });
});
