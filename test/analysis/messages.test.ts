/** Every message id that code uses has a text, in both languages, with the same holes. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { RULES } from "../../src/analysis/findings/catalogue";
import { localeOf, TABLES, text } from "../../src/analysis/messages";
import { effectOf } from "../../src/analysis/messages/effects";
import { VERSION } from "../../src/analysis/version";
import { FORMATS } from "../../src/formats";

const SOURCES = ["src/formats", "src/analysis"].map((folder) => join(__dirname, "../..", folder));

function* files(folder: string): Generator<string> {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".ts")) yield join(folder, name);
  }
}

const holes = (message: string): string[] =>
  [...message.matchAll(/\{(\w+)(?:\|[^}]*)?\}/g)].map((match) => match[1] ?? "").sort();

describe("analysis: messages", () => {
  it("are there in both languages, with the same holes", () => {
    assert.deepEqual(Object.keys(TABLES["zh-cn"]).sort(), Object.keys(TABLES.en).sort());
    for (const [id, english] of Object.entries(TABLES.en)) {
      const used = new Set(holes(english));
      const foreign = holes(TABLES["zh-cn"][id] ?? "").filter((hole) => !used.has(hole));
      assert.deepEqual(foreign, [], id);
    }
  });

  it("exist for every id that code names", () => {
    const missing: string[] = [];
    for (const file of SOURCES.flatMap((folder) => [...files(folder)])) {
      const source = readFileSync(file, "utf8");
      const named = [
        ...source.matchAll(
          /\b(?:say|problem|bad|set)\(\s*(?:"[\w-]+",\s*(?:"\w+"|[\w.]+),\s*[^,"]+,\s*)?"([a-z][\w-]*(?:\.[\w-]+)*)"/g,
        ),
        ...source.matchAll(/\bt\(\s*(?:\w+\.)?locale,\s*"([\w.-]+)"/g),
      ].map((match) => match[1] ?? "");
      for (const id of named) if (id.includes(".") && TABLES.en[id] === undefined) missing.push(`${id} in ${file}`);
    }
    assert.deepEqual(missing, []);
  });

  it("fill their holes and fall back to English", () => {
    assert.equal(text({ id: "assume.sequence-length", args: { length: 5 } }, "en"), "sequence length 5");
    const chain = (value: number): string =>
      text({ id: "hover.chain-world_size", args: { value, source: "run.sh" } }, "en");
    assert.deepEqual([1, 2].map(chain), ["1 GPU (run.sh)", "2 GPUs (run.sh)"]);
    assert.equal(localeOf("zh-CN"), "zh-cn");
    assert.equal(localeOf("fr"), "en");
    assert.ok(RULES.length >= 80);
    assert.ok(FORMATS.length > 0);
  });

  it("say in Chinese what the keys of the trainers and of DeepSpeed do", () => {
    const ours = FORMATS.filter((format) => ["hf-training-arguments", "trl", "deepspeed"].includes(format.id));
    const english = ours.flatMap((format) => format.keys).filter((key) => effectOf(key, "zh-cn") === key.effect);
    assert.deepEqual([...new Set(english.map((key) => key.effect))], []);
  });

  it("carry the version of the package", () => {
    const manifest = JSON.parse(readFileSync(join(__dirname, "../../package.json"), "utf8")) as { version: string };
    assert.equal(VERSION, manifest.version);
  });
});
