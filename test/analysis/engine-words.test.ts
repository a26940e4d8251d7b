/** What graphs bring along to say is in the tables. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { messageId, t } from "../../src/analysis/messages";

describe("the engine's sentences", () => {
  it("that graphs bring along are in the tables", () => {
    const folder = path.join(__dirname, "..", "..", "models", "graphs");
    const told = readdirSync(folder).flatMap((name) => [
      ...readFileSync(path.join(folder, name), "utf8").matchAll(/"what":"([^"]*)","settleWith"/g),
    ]);
    const ids = [...new Set(told.map((match) => match[1] ?? ""))];
    assert.ok(ids.length > 0);
    assert.deepEqual(
      ids.filter((id) => messageId(id) === undefined),
      [],
    );
  });

  it("keep what is named in them", () => {
    assert.equal(t("zh-cn", "engine.operator", { name: "fold" }), "算子 fold");
    assert.equal(t("zh-cn", "engine.optimizer", { name: "adabound" }), "优化器 adabound");
    assert.equal(t("en", "engine.optimizer", { name: "adabound" }), "optimizer adabound");
  });
});
