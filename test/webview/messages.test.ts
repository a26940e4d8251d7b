import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { COMPONENT_KINDS, PHASES } from "../../src/core/report/estimate";
import { fill, translator } from "../../webview-ui/messages";
import { en } from "../../webview-ui/messages/en";
import { zhCn } from "../../webview-ui/messages/zh-cn";
import { EXPORTS } from "../../webview-ui/view/exports";

const folder = join(__dirname, "..", "..", "webview-ui");
const places = (message: string) => [...message.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

describe("webview messages", () => {
  it("has the same keys and the same places in both languages", () => {
    assert.deepEqual(Object.keys(zhCn), Object.keys(en));
    for (const [key, message] of Object.entries(en)) {
      assert.notEqual(message, "");
      assert.deepEqual(places(zhCn[key as keyof typeof en]), places(message), key);
    }
  });

  it("names every kind, phase and export", () => {
    for (const kind of [...COMPONENT_KINDS, "cache", "context"]) assert.ok(`kind.${kind}` in en, kind);
    for (const phase of PHASES) assert.ok(`phase.${phase}` in en, phase);
    for (const kind of EXPORTS) assert.ok(`export.${kind}` in en, kind);
  });

  it("has no message that nothing shows", () => {
    const source = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.startsWith("messages"))
      .map((file) => readFileSync(join(folder, file), "utf8"))
      .join("\n");
    const made = [...source.matchAll(/`([\w.]+)\.\$\{/g)].map((match) => match[1]!);
    const unused = Object.keys(en).filter(
      (key) => !source.includes(`"${key}"`) && !made.some((prefix) => key.startsWith(`${prefix}.`)),
    );
    assert.deepEqual(unused, []);
  });

  it("shouts in no language", () => {
    for (const message of [...Object.values(en), ...Object.values(zhCn)]) assert.doesNotMatch(message, /[!！]/);
  });

  it("fills places and leaves what it does not know", () => {
    assert.equal(fill("{a} of {b}", { a: 1 }), "1 of {b}");
    const t = translator("zh-cn");
    assert.equal(t("devices.fits"), zhCn["devices.fits"]);
    assert.equal(t.named("kind.weights", "?"), "权重");
    assert.equal(t.named("kind.newer", "newer"), "newer");
    assert.equal(translator("fr")("devices.fits"), "fits");
  });
});
