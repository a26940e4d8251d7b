/** The project's address stands in one place; the manifest repeats it, as manifests must. */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HOME, REPOSITORY } from "../../src/terms/address";

const manifest = JSON.parse(readFileSync(join(__dirname, "..", "..", "package.json"), "utf8"));

describe("address", () => {
  it("is the manifest's", () => {
    assert.equal(manifest.homepage, HOME);
    assert.equal(manifest.repository.url, `${REPOSITORY}.git`);
    assert.equal(manifest.bugs.url, `${REPOSITORY}/issues`);
  });

  it("has the programs and the types that the package promises", () => {
    assert.deepEqual(Object.keys(manifest.bin), ["vram-lens", "vram-lens-mcp"]);
    for (const path of [...Object.values(manifest.bin as Record<string, string>), manifest.exports["."].types.slice(2)])
      assert.ok(manifest.files.includes(path), path);
  });
});
