/** Every sentence that the core can say has words in Simplified Chinese. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { t } from "../../src/analysis/messages";
import { engineZh } from "../../src/analysis/messages/engine-zh";

const CORE = path.join(__dirname, "..", "..", "src", "core");

/** Sentences of a file: assumptions (`what`), reasons, and what is thrown as not modelled; holes hold a number. */
function sentencesOf(source: string): string[] {
  const found: string[] = [];
  const place = /(?:\bwhat(?: =|:)|\breason(?: =|:)|new NotModelled\()\s*(?:`([^`]*)`|"([^"]*)")/g;
  const plain = source.replace(/\$\{reason\}/g, "expert parallel degree 8");
  for (const [, template, text] of plain.matchAll(place))
    found.push((template ?? text ?? "").replace(/\$\{[^}]*\}/g, "8"));
  return found;
}

describe("the engine's sentences", () => {
  it("all speak Simplified Chinese", () => {
    const files = readdirSync(CORE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    const sentences = files.flatMap((name) => sentencesOf(readFileSync(path.join(CORE, name), "utf8")));
    assert.ok(sentences.length > 30, String(sentences.length));
    // The name that others are made of.
    const missing = sentences.filter((one) => one !== "expert parallel degree 8" && engineZh(one) === one);
    assert.deepEqual(missing, []);
  });

  it("that graphs bring along do, too", () => {
    const folder = path.join(__dirname, "..", "..", "models", "graphs");
    const told = readdirSync(folder).flatMap((name) => [
      ...readFileSync(path.join(folder, name), "utf8").matchAll(/"what":"([^"]*)","settleWith"/g),
    ]);
    const sentences = new Set(told.map((match) => match[1] ?? ""));
    assert.ok(sentences.size > 0);
    assert.deepEqual(
      [...sentences].filter((one) => engineZh(one) === one),
      [],
    );
  });

  it("keep what is named in them", () => {
    assert.equal(engineZh("operator fold"), "算子 fold");
    assert.equal(t("zh-cn", "engine", { reason: "optimizer adabound" }), "优化器 adabound");
    assert.equal(t("en", "engine", { reason: "optimizer adabound" }), "optimizer adabound");
  });
});
