/** docs/clusters.md is what the engine says of the runs on it; `UPDATE_DOCS=1` writes it. */
import { strict as assert } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clustersPage } from "../../bench/clusters/page";

const PAGE = join(__dirname, "..", "..", "docs", "clusters.md");

describe("docs/clusters.md", () => {
  it("is what the engine says (UPDATE_DOCS=1 rewrites it)", async () => {
    const page = await clustersPage();
    if (process.env["UPDATE_DOCS"]) writeFileSync(PAGE, page);
    assert.equal(readFileSync(PAGE, "utf8"), page);
  });
});
