/** The package holds what a person needs and nothing of how it is made. */
import { strict as assert } from "node:assert";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { REPOSITORY } from "../../src/terms/address";

const ALLOWED =
  /^(?:(?:dist|images|schemas|syntaxes)\/.+|python\/vram_lens\/(?:\w+\/)?\w+\.py|package(?:\.nls(?:\.[\w-]+)?)?\.json|README\.md|CHANGELOG\.md|LICENSE)$/;
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

  it("has pages whose links and pictures have addresses, of files that there are", async () => {
    const root = join(__dirname, "..", "..");
    const script = pathToFileURL(join(root, "scripts", "packaged.mjs")).href;
    const { packagedContent } = (await import(script)) as { packagedContent: (path: string) => Buffer };
    for (const page of ["README.md", "CHANGELOG.md"]) {
      const text = packagedContent(page).toString();
      const links = [...text.matchAll(/(!?)\[[^\]\n]*\]\(([^)\s]+)\)/g)];
      assert.ok(links.length > 5, page);
      for (const [, picture, target = ""] of links) {
        if (target.startsWith("#")) continue;
        assert.match(target, /^https:\/\//, page);
        const own = new RegExp(`^${REPOSITORY}/(raw|blob)/HEAD/([^#]+)`).exec(target);
        if (own === null) continue;
        assert.equal(own[1], picture === "!" ? "raw" : "blob");
        assert.ok(existsSync(join(root, own[2] ?? "")), `${page}: ${target}`);
      }
    }
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
