/** The package holds what a person needs and nothing of how it is made. */
import { strict as assert } from "node:assert";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ALLOWED =
  /^(?:(?:dist|images|l10n|schemas|syntaxes)\/.+|python\/vram_lens\/(?:\w+\/)?\w+\.py|package(?:\.nls(?:\.[\w-]+)?)?\.json|README\.md|CHANGELOG\.md|LICENSE)$/;
const NEEDED = [
  "package.json",
  "package.nls.json",
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
  "images/icon.png",
  "python/vram_lens/__main__.py",
];

describe("package", () => {
  it("is what .vscodeignore allows", async () => {
    const script = pathToFileURL(join(__dirname, "..", "..", "scripts", "packaged.mjs")).href;
    const { packagedFiles } = (await import(script)) as { packagedFiles: () => readonly string[] };
    const files = packagedFiles();
    assert.deepEqual(
      files.filter((file) => !ALLOWED.test(file)),
      [],
    );
    assert.deepEqual(
      NEEDED.filter((file) => !files.includes(file)),
      [],
    );
    assert.ok(!files.includes("dist/cli.js"));
  });

  it("has examples that are ES modules in any folder: they wait at their top", () => {
    const examples = readdirSync(join(__dirname, "..", "..", "samples", "api"));
    assert.ok(examples.length >= 2);
    assert.deepEqual(
      examples.filter((name) => !/\.m[jt]s$/.test(name)),
      [],
    );
  });
});
