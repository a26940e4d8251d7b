/** The Python that the package has: the same code, line by line, without what is there for its readers. */
import { strict as assert } from "node:assert";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readModule } from "../../src/syntax/python";

interface Shipped {
  codeOf(text: string): string;
}

describe("python: as it is shipped", () => {
  let codeOf: Shipped["codeOf"];
  before(async () => {
    ({ codeOf } = (await import("../../scripts/python-code.mjs" as string)) as Shipped);
  });

  it("loses comments and docstrings, and nothing else", () => {
    const text =
      '"""About."""\nx = "# no comment"  # one\n\n\ndef f():\n    """Told\n    twice."""\n    return """kept  \n"""\n\n\nclass A:\n    # why\n    "B."\n';
    const code =
      '\nx = "# no comment"  \n\n\ndef f():\n    0\n\n    return """kept  \n"""\n\n\nclass A:\n    \n    0\n';
    assert.equal(codeOf(text), code);
    const told = '"""usage"""\nprint(__doc__)\n';
    assert.equal(codeOf(told), told);
  });

  it("keeps the lines and the calls of every file", () => {
    const folder = join(__dirname, "../../python/vram_lens");
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((one) =>
      one.endsWith(".py"),
    )) {
      const text = readFileSync(join(folder, name), "utf8");
      const code = codeOf(text);
      assert.equal(code.split("\n").length, text.split("\n").length, name);
      const calls = (of: string) => readModule(of).calls.map(({ callee }) => callee);
      assert.deepEqual(calls(code), calls(text), name);
    }
  });
});
