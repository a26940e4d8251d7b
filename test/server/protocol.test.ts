/** docs/protocol.md against src/server/protocol.ts and panelProtocol.ts: who changes the messages changes their description. */
import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { METHODS } from "../../src/server/protocol";

const root = join(__dirname, "..", "..");
const page = readFileSync(join(root, "docs", "protocol.md"), "utf8");
const [source = "", panel = ""] = ["protocol", "panelProtocol"].map((name) =>
  readFileSync(join(root, "src", "server", `${name}.ts`), "utf8"),
);

/** Hash of the code without comments and layout, so that rewording a comment changes nothing. */
function fingerprint(text: string): string {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "").replace(/\s+/g, " ");
  return createHash("sha256").update(code).digest("hex").slice(0, 16);
}

describe("protocol page", () => {
  it("describes every method", () => {
    const described = [...page.matchAll(/^### `(vramlens\/\w+)`/gm)].map((match) => match[1]);
    assert.deepEqual(described.sort(), Object.values(METHODS).sort());
  });

  it("names every message of the panel", () => {
    const types = [...panel.matchAll(/readonly type: "(\w+)"/g)].map((match) => match[1] ?? "");
    assert.ok(types.length > 10);
    for (const type of types) assert.ok(page.includes(`\`${type}\``), type);
  });

  it("was read again when the messages changed", () => {
    const hash = fingerprint(source + panel);
    const stated = /<!-- protocol\.ts: (\w+) -->/.exec(page)?.[1];
    assert.equal(stated, hash, `bring docs/protocol.md up to date, then write ${hash} into its last line`);
  });
});
