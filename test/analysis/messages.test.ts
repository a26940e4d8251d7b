/** Every message id that code uses has a text, in both languages, with the same holes. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { RULES } from "../../src/analysis/findings/rules";
import { localeOf, tableOf, text } from "../../src/analysis/messages";
import { VERSION } from "../../src/analysis/version";
import { WORDS } from "../../src/cli/words";
import { FORMATS } from "../../src/formats";
import { EFFECTS as effectsEn } from "../../src/words/en/effects";
import { LEVERS as leversEn } from "../../src/words/en/levers";
import { EFFECTS as effectsZh } from "../../src/words/zh-cn/effects";
import { LEVERS as leversZh } from "../../src/words/zh-cn/levers";
import { en as panelEn } from "../../webview-ui/messages/en";
import { zhCn as panelZh } from "../../webview-ui/messages/zh-cn";

const SOURCES = ["src/formats", "src/analysis"].map((folder) => join(__dirname, "../..", folder));

function* files(folder: string): Generator<string> {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".ts")) yield join(folder, name);
  }
}

/** Characters of the longest sentence. */
const LONGEST = 120;

/** Sentences that are longer, each with its reason. */
const REASONS: Readonly<Record<string, string>> = {
  "missing-file.deepspeed": "names the three places that were searched",
  "missing-file.fsdp": "names the three places that were searched",
  "missing-file.untrusted": "says why a file beside the config is not read",
  "unknown-model.untrusted": "says why a file beside the config is not read",
  "hover.largest-either": "two answers with the keys to write",
  "hover.fits": "five figures",
  "hover.does-not-fit": "five figures",
};

/** Every sentence of the analysis, the command line, the panel and the plans, by language and id. */
const EVERY: readonly (readonly [id: string, sentence: string])[] = [
  ...[tableOf("en"), tableOf("zh-cn"), WORDS.en, WORDS["zh-cn"], panelEn, panelZh, effectsEn, effectsZh].flatMap(
    (table) => Object.entries(table),
  ),
  ...[leversEn, leversZh].flatMap((table) =>
    Object.entries(table).flatMap(([id, { title, why }]) => [
      [`${id}.title`, title] as const,
      [`${id}.why`, why] as const,
    ]),
  ),
];

const holes = (message: string): string[] =>
  [...message.matchAll(/\{(\w+)(?:\|[^}]*)?\}/g)].map((match) => match[1] ?? "").sort();

describe("analysis: messages", () => {
  it("are there in both languages, with the same holes", () => {
    assert.deepEqual(Object.keys(tableOf("zh-cn")).sort(), Object.keys(tableOf("en")).sort());
    for (const [id, english] of Object.entries(tableOf("en"))) {
      const used = new Set(holes(english));
      const foreign = holes(tableOf("zh-cn")[id] ?? "").filter((hole) => !used.has(hole));
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
      for (const id of named) if (id.includes(".") && tableOf("en")[id] === undefined) missing.push(`${id} in ${file}`);
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

  it("are short in both languages, or have a reason not to be", () => {
    const long = EVERY.filter(([id, sentence]) => sentence.length > LONGEST && REASONS[id] === undefined);
    assert.deepEqual(
      long.map(([id, sentence]) => `${id}: ${sentence.length}`),
      [],
    );
  });

  it("carry the version of the package", () => {
    const manifest = JSON.parse(readFileSync(join(__dirname, "../../package.json"), "utf8")) as { version: string };
    assert.equal(VERSION, manifest.version);
  });
});
