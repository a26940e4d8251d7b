/** A part of the hostile strings (`npm run attack` tries them in every text of every format), in both languages. */
import { strict as assert } from "node:assert";
import { inMarkdown, printable } from "../../src/words/printable";
import { uri } from "../analysis/memory-runtime";
import { replaced, scalarsOf } from "./mutations";
import { SEEDS, type Seed } from "./seeds";
import { ACTING, faultsShown } from "./shown";

describe("hostile strings", () => {
  for (const name of ["trl", "trainer", "python"]) {
    it(`${name}: hover, completion, status, panel, terminal, SARIF, JSON, tools`, async () => {
      const seed = SEEDS[name];
      assert.ok(seed);
      const text = seed.files[seed.main] ?? "";
      const texts = scalarsOf(uri(seed.main), text).filter(
        ({ kind, path }) => kind === "text" && !/output_dir/.test(path),
      );
      for (const [index, scalar] of texts.entries()) {
        const value = ACTING[index % ACTING.length] ?? "";
        const files: Seed["files"] = { ...seed.files, [seed.main]: replaced(text, scalar, JSON.stringify(value)) };
        assert.deepEqual(await faultsShown({ ...seed, files }, value), [], scalar.path);
      }
    });
  }

  it("are made visible, not taken away", () => {
    assert.equal(printable("a\u001b[31m\n"), "a\\u001b[31m\\n");
    assert.equal(inMarkdown("[a](b)"), "\\[a\\]\\(b\\)");
  });
});
