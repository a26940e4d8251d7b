/**
 * Edits as the libraries' own parsers see them: PyYAML and OmegaConf, hjson and json, tomllib, Python's `ast`, shell
 * splitting. One value changes. `VRAM_LENS_PYTHON` names an interpreter that has them; its answers are recorded in
 * `library-answers.json`, and without one the recorded answers count (`UPDATE_ANSWERS=1` writes them anew).
 */

import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { recogniseFormat } from "../../src/formats";
import { parseDocument } from "../../src/formats/parse";
import { applyEdits } from "../../src/syntax/edit";
import type { SettingName } from "../../src/terms/settings";

const PYTHON = process.env["VRAM_LENS_PYTHON"];
const ANSWERS = join(__dirname, "library-answers.json");

/**
 * Reads `[{syntax, before, after}]`, prints for each the values that the change brought or took (null: the library
 * cannot read the file before the edit).
 */
const CHECK = `
import ast, json, re, shlex, sys, tomllib
import yaml
try: import hjson
except ImportError: hjson = json
try: from omegaconf import OmegaConf
except ImportError: OmegaConf = None
def flat(x, path=()):
    items = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else None
    if items is None: return {path: x}
    out = {}
    for key, value in items: out.update(flat(value, path + (str(key),)))
    return out
def omega(text):
    return OmegaConf.to_container(OmegaConf.create(text)) if OmegaConf else next(iter(yaml.safe_load_all(text)))
def python(text):
    out, leaf = {}, lambda node: not any(isinstance(x, ast.Call) for x in ast.walk(node))
    tree = ast.parse(text)
    for n, node in enumerate(x for x in ast.walk(tree) if isinstance(x, ast.Call)):
        for k in node.keywords:
            if leaf(k.value): out[(n, k.arg)] = ast.unparse(k.value)
    for n, node in enumerate(x for x in ast.walk(tree) if isinstance(x, (ast.Assign, ast.AnnAssign))):
        if node.value is not None and leaf(node.value): out[(n, "=")] = ast.unparse(node.value)
    return out
def shell(text):
    words = shlex.split(text.replace("\\\\\\n", " "), comments=True)
    return words
LOADS = {"yaml": [lambda t: flat(next(iter(yaml.safe_load_all(t)))), lambda t: flat(omega(t))],
         "json": [lambda t: flat(json.loads(t)), lambda t: flat(hjson.loads(t))],
         "toml": [lambda t: flat(tomllib.loads(t))], "python": [python]}
def words(before, after):
    a, b = shell(before), shell(after)
    while a and b and a[0] == b[0]: a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]: a, b = a[:-1], b[:-1]
    # One option with its value is added, one value replaced, or one option removed.
    return ["changed"] if max(len(a), len(b)) <= 2 else ["changed", "more"]
def changed(case):
    if case["syntax"] == "shell":
        try: return words(case["before"], case["after"])
        except ValueError: return None
    answers = []
    for load in LOADS[case["syntax"]]:
        try: before = load(case["before"])
        except Exception: continue
        after = load(case["after"])
        answers.append(sorted({str(after.get(k)) for k in set(before) | set(after)
                       if (k in before) != (k in after) or before.get(k) != after.get(k)}))
    return max(answers, key=len) if answers else None
print(json.dumps([changed(case) for case in json.load(sys.stdin)]))
`;

import { type CorpusEntry, describeCorpus } from "../corpus";

const CHANGES: readonly (readonly [SettingName, string | number | boolean | null])[] = [
  ["micro_batch_size", 3],
  ["gradient_accumulation_steps", 5],
  ["sequence_length", 1234],
  ["gradient_checkpointing", true],
  ["gradient_checkpointing", false],
  ["compute_dtype", "bf16"],
  ["bf16", true],
  ["max_grad_norm", 0.5],
  ["zero_stage", 2],
  ["zero_stage", 3],
  ["optimizer", "adafactor"],
  ["optimizer", "adamw_8bit"],
  ["load_dtype", "bfloat16"],
  ["attention", "sdpa"],
  ["lora_rank", 4],
  ["quantization", "nf4"],
  ["load_in_4bit", true],
  ["fused_loss", true],
  ["packing", false],
  ["offload_optimizer", "cpu"],
  ["offload_param", "cpu"],
  ["eval_batch_size", 1],
  ["micro_batch_size", null],
];

/** One edit of one file. */
interface Case {
  readonly file: string;
  readonly name: string;
  readonly value: string | number | boolean | null;
  readonly syntax: string;
  readonly before: string;
  readonly after: string;
}

function cases(entries: readonly CorpusEntry[]): Case[] {
  return entries.flatMap(({ file, text: before }) => {
    const document = parseDocument(`file:///w/${file.split("/")[1]}`, before);
    const format = document === undefined ? undefined : recogniseFormat(document)?.format;
    const syntax = document?.parsed.syntax ?? "";
    if (document === undefined || format === undefined || !/^(?:yaml|json|toml|python|shell)$/.test(syntax)) return [];
    return CHANGES.flatMap(([name, value]) => {
      const outcome = format.edit(document, [{ name, value }]);
      if ("refused" in outcome || outcome.edits.length === 0) return [];
      return [{ file, name, value, syntax, before, after: applyEdits(before, outcome.edits) }];
    });
  });
}

/** Identity of an edit: its file's text before and after. */
function keyOf({ before, after }: Case): string {
  return createHash("sha256").update(before).update("\0").update(after).digest("base64url").slice(0, 12);
}

describeCorpus("formats: edits as the libraries read them", (entries) => {
  it("change one value", () => {
    const all = cases(entries);
    const keys = all.map(keyOf);
    let recorded: Record<string, number | null> = existsSync(ANSWERS) ? JSON.parse(readFileSync(ANSWERS, "utf8")) : {};
    if (PYTHON !== undefined) {
      const result = spawnSync(PYTHON, ["-c", CHECK], { input: JSON.stringify(all), encoding: "utf8", maxBuffer: 1e9 });
      assert.equal(result.status, 0, result.stderr);
      const changed = JSON.parse(result.stdout) as (readonly string[] | null)[];
      recorded = Object.fromEntries(keys.map((key, index) => [key, changed[index]?.length ?? null]));
      if (process.env["UPDATE_ANSWERS"] !== undefined)
        writeFileSync(ANSWERS, `${JSON.stringify(Object.fromEntries(Object.entries(recorded).sort()), null, 2)}\n`);
    }
    const wrong = all.filter((_, index) => (recorded[keys[index] ?? ""] ?? 0) > 1);
    assert.deepEqual(
      wrong.map((one) => [one.file, one.name, one.value]),
      [],
    );
    const known = keys.filter((key) => key in recorded).length;
    // An edit that is made otherwise than when the answers were recorded has none until they are recorded again.
    assert.ok(known >= 0.9 * all.length, `${known} of ${all.length} edits have an answer: run with UPDATE_ANSWERS=1`);
    assert.ok(all.length > 1500, `${all.length} edits`);
  });
});
