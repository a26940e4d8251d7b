/**
 * Edits as the libraries' own parsers see them: one value changes. Needs Python with PyYAML, so it only runs when
 * VRAM_LENS_PYTHON names an interpreter; the other tests check the same with our parsers.
 */
import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { recogniseFormat } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";
import { applyEdits } from "../../src/syntax/edit";

const CORPUS = process.env["VRAM_LENS_CORPUS"] ?? join(__dirname, "../../../shared/corpus");
const PYTHON = process.env["VRAM_LENS_PYTHON"];

/** Reads `[{syntax, before, after}]`, prints for each how many values differ (null: the library cannot read it). */
const CHECK = `
import ast, json, sys, tomllib, yaml
def flat(x, path=()):
    items = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else None
    if items is None: return {path: x}
    out = {}
    for key, value in items: out.update(flat(value, path + (str(key),)))
    return out
LOAD = {"yaml": lambda t: next(iter(yaml.safe_load_all(t))), "json": json.loads, "toml": tomllib.loads}
def changed(case):
    if case["syntax"] == "python":
        return [1] if ast.dump(ast.parse(case["before"])) != ast.dump(ast.parse(case["after"])) else []
    try: before = flat(LOAD[case["syntax"]](case["before"]))
    except Exception: return None
    after = flat(LOAD[case["syntax"]](case["after"]))
    return sorted({str(after.get(k)) for k in set(before) | set(after)
                   if (k in before) != (k in after) or before.get(k) != after.get(k)})
print(json.dumps([changed(case) for case in json.load(sys.stdin)]))
`;

const CHANGES: readonly (readonly [string, string | number | boolean | null])[] = [
  ["micro_batch_size", 3],
  ["gradient_accumulation_steps", 5],
  ["sequence_length", 1234],
  ["gradient_checkpointing", true],
  ["gradient_checkpointing", false],
  ["compute_dtype", "bf16"],
  ["max_grad_norm", 0.5],
  ["zero_stage", 2],
];

describe("formats: edits as the libraries read them", () => {
  if (PYTHON === undefined || !existsSync(join(CORPUS, "index.jsonl"))) {
    it("is skipped: VRAM_LENS_PYTHON names no interpreter, or there is no corpus", () => {});
    return;
  }

  it("change one value", () => {
    const cases = readFileSync(join(CORPUS, "index.jsonl"), "utf8")
      .trim()
      .split("\n")
      .flatMap((line) => {
        const { file } = JSON.parse(line) as { file: string };
        const before = readFileSync(join(CORPUS, file), "utf8");
        const document = parseDocument(`file:///w/${file.split("/")[1]}`, before);
        const format = document === undefined ? undefined : recogniseFormat(document)?.format;
        const syntax = document?.parsed.syntax ?? "";
        if (document === undefined || format === undefined || !/^(?:yaml|json|toml|python)$/.test(syntax)) return [];
        return CHANGES.flatMap(([name, value]) => {
          const outcome = format.edit(document, [{ name, value }]);
          if ("refused" in outcome || outcome.edits.length === 0) return [];
          return [{ file, name, value, syntax, before, after: applyEdits(before, outcome.edits) }];
        });
      });
    const result = spawnSync(PYTHON, ["-c", CHECK], { input: JSON.stringify(cases), encoding: "utf8", maxBuffer: 1e8 });
    assert.equal(result.status, 0, result.stderr);
    const changed = JSON.parse(result.stdout) as (readonly string[] | null)[];
    const wrong = cases.filter((_, index) => changed[index] !== null && (changed[index]?.length ?? 0) > 1);
    assert.deepEqual(
      wrong.map((one) => [one.file, one.name, one.value]),
      [],
    );
    assert.ok(cases.length > 800, `${cases.length} edits`);
  });
});
