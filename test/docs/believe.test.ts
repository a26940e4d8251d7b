/** docs/believe.md and its picture follow the pages of figures (`UPDATE_DOCS=1` writes them). */
import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { believePage, pictureOf, pointsOf } from "../../bench/published/picture";

const docs = join(__dirname, "..", "..", "docs");
const read = (name: string): string => readFileSync(join(docs, name), "utf8");

describe("docs/believe.md", () => {
  const published = read("published-memory.md");
  const points = pointsOf(published);
  const made = {
    "believe.md": believePage(read("accuracy.md"), published),
    [join("images", "published.svg")]: pictureOf(points),
  };

  it("draws every published peak", () => {
    const [, count, inside] = /(\d+) published peaks of real cards: (\d+) inside/.exec(published) ?? [];
    assert.equal(points.length, Number(count));
    assert.equal(points.filter((point) => point.inside).length, Number(inside));
    for (const { published: real, estimate, low, high } of points)
      assert.ok(real > 0 && low <= estimate && estimate <= high, `${estimate}`);
  });

  for (const [name, text] of Object.entries(made)) {
    it(`${name} is what the figures make of it`, () => {
      if (process.env["UPDATE_DOCS"] !== undefined) writeFileSync(join(docs, name), text);
      assert.equal(read(name), text);
    });
  }
});
